# Asks for components that are not there: CMake says what is missing, and what helps.
file(REMOVE_RECURSE ${WORK})
if(PREFIXES)
  string(REPLACE ";" ":" PREFIXES "${PREFIXES}")
  set(ENV{CMAKE_PREFIX_PATH} "${PREFIXES}")
endif()

# The files of the package with worker programs' library alone.
set(worker_only ${WORK}/worker_only)
file(COPY ${INSTALLED}/ DESTINATION ${worker_only}
     FILES_MATCHING PATTERN "actorrunConfig*.cmake" PATTERN "actorrunWorker*.cmake"
     PATTERN "libactorrun_worker*" PATTERN "*/runtime/worker/*")

# check(<name> <where> <expected text or FOUND> <arguments of find_package>)
function(check name where expected)
  string(REPLACE ";" " " arguments "${ARGN}")
  file(WRITE ${WORK}/${name}/CMakeLists.txt "cmake_minimum_required(VERSION 3.25)
project(${name} LANGUAGES CXX)
find_package(actorrun ${arguments})
if(actorrun_FOUND)
  message(STATUS \"FOUND, runtime: \${actorrun_runtime_FOUND}\")
endif()
")
  execute_process(
    COMMAND ${CMAKE_COMMAND} -S ${WORK}/${name} -B ${WORK}/${name}/build -G Ninja
            -DCMAKE_PREFIX_PATH=${where} -DCMAKE_CXX_COMPILER=${CXX}
    RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE text)
  string(REGEX REPLACE "[ \n]+" " " text "${text}")
  if(NOT text MATCHES "${expected}")
    message(FATAL_ERROR "${name}: '${expected}' is not in: ${text}")
  endif()
  if(expected MATCHES "FOUND" AND NOT code EQUAL 0)
    message(FATAL_ERROR "${name}: ${text}")
  endif()
endfunction()

set(missing "the component runtime, for host programs, is not installed here.*libactorrun-dev")
check(runtime ${worker_only} "${missing}" REQUIRED COMPONENTS runtime)
check(both ${worker_only} "${missing}" REQUIRED)
check(optional ${worker_only} "FOUND, runtime: " COMPONENTS worker OPTIONAL_COMPONENTS
      runtime)
check(worker ${worker_only} "FOUND, runtime: " REQUIRED COMPONENTS worker)
check(unknown ${INSTALLED} "no component \"launcher\": there are runtime and worker"
      REQUIRED COMPONENTS launcher)
check(whole ${INSTALLED} "FOUND, runtime: TRUE" REQUIRED COMPONENTS runtime)
check(default ${INSTALLED} "FOUND, runtime: TRUE" REQUIRED)
