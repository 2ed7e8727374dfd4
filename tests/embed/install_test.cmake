# Installs actorrun below the folder TO and compares the files there with the
# expected ones. Then installs it to the configured prefix below the folder
# STAGE, as packagers do, and compares again. Uses gdb, man and readelf where
# available.
cmake_policy(VERSION 3.25)
if(SANITIZE)
  set(size_max 200000000)
else()
  set(size_max 18000000) # Debian 12: 15.2 MB; with debug info six times that.
endif()

function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE code OUTPUT_VARIABLE text
                  ERROR_VARIABLE text)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "'${ARGV}' gave ${code}: ${text}")
  endif()
  set(output "${text}" PARENT_SCOPE)
endfunction()

# Sets NAME to the files below a folder, those in hidden folders included.
function(list_files folder name)
  file(GLOB_RECURSE files RELATIVE ${folder} ${folder}/*)
  list(SORT files)
  set(${name} "${files}" PARENT_SCOPE)
endfunction()

function(compare what found expected)
  set(missing ${expected})
  set(surplus ${found})
  if(found)
    list(REMOVE_ITEM missing ${found})
  endif()
  list(REMOVE_ITEM surplus ${expected})
  if(missing OR surplus)
    message(FATAL_ERROR "${what}: missing are '${missing}', and not expected are"
                        " '${surplus}'")
  endif()
endfunction()

set(expected
    bin/.debug/actorctl.debug
    bin/.debug/actorrun.debug
    bin/actorctl
    bin/actorrun
    ${LIBDIR}/cmake/actorrun/FindCAF.cmake
    ${LIBDIR}/cmake/actorrun/actorrunConfig.cmake
    ${LIBDIR}/cmake/actorrun/actorrunConfigVersion.cmake
    ${LIBDIR}/cmake/actorrun/actorrunTargets.cmake
    ${LIBDIR}/cmake/actorrun/actorrunWorkerTargets.cmake
    ${LIBDIR}/pkgconfig/actorrun.pc
    ${LIBDIR}/pkgconfig/actorrun-worker.pc
    lib/systemd/system/actorrun@.service
    share/actorrun/python/pyproject.toml)
list_files(${CMAKE_CURRENT_LIST_DIR}/../../runtime/worker/python/actorrun modules)
list(FILTER modules EXCLUDE REGEX __pycache__)
foreach(name ${modules})
  list(APPEND expected share/actorrun/python/actorrun/${name})
endforeach()
# Named after the build type.
file(STRINGS ${BUILD}/CMakeCache.txt build_type REGEX "^CMAKE_BUILD_TYPE:")
string(REGEX REPLACE ".*=" "" build_type "${build_type}")
string(TOLOWER "${build_type}" build_type)
list(APPEND expected
     ${LIBDIR}/cmake/actorrun/actorrunTargets-${build_type}.cmake
     ${LIBDIR}/cmake/actorrun/actorrunWorkerTargets-${build_type}.cmake)
foreach(library words wire messages core actors runtime worker)
  list(APPEND expected ${LIBDIR}/libactorrun_${library}.a)
endforeach()
foreach(name ${SHARED})
  list(APPEND expected ${LIBDIR}/${name})
endforeach()
foreach(program actorrun actorctl)
  list(APPEND expected share/man/man1/${program}.1
       share/bash-completion/completions/${program}
       share/zsh/site-functions/_${program}
       share/fish/vendor_completions.d/${program}.fish)
endforeach()
list_files(${HEADERS} headers)
list(TRANSFORM headers PREPEND include/ OUTPUT_VARIABLE paths)
list(APPEND expected ${paths})

# What host programs are promised is little, and known by its first line.
set(source ${CMAKE_CURRENT_LIST_DIR}/../..)
set(host_headers ${headers})
list(FILTER host_headers EXCLUDE REGEX "^actorrun/runtime/worker/")
list(LENGTH host_headers count)
if(count GREATER 25)
  message(FATAL_ERROR "${count} headers for host programs would be installed")
endif()
file(GLOB public RELATIVE ${source} ${source}/runtime/*.hpp)
foreach(header ${public})
  file(STRINGS ${source}/${header} first LIMIT_COUNT 1)
  set(is_public FALSE)
  if(first MATCHES "^// PUBLIC: ")
    set(is_public TRUE)
  endif()
  set(is_installed FALSE)
  if("actorrun/${header}" IN_LIST host_headers)
    set(is_installed TRUE)
  endif()
  if(NOT is_public STREQUAL is_installed)
    message(FATAL_ERROR "${header} is either PUBLIC and installed, or neither")
  endif()
endforeach()
foreach(header ${host_headers})
  file(STRINGS ${HEADERS}/${header} found
       REGEX "spdlog|fmt/|google/|\\.pb\\.h|[^a-z]v1::")
  if(found)
    message(FATAL_ERROR "${header} shows what host programs need not know: ${found}")
  endif()
endforeach()

function(check_program path)
  cmake_path(GET path FILENAME name)
  run(${path} --version)
  file(SIZE ${path} size)
  if(size GREATER size_max)
    message(FATAL_ERROR "${path} has ${size} bytes")
  endif()
  if(READELF)
    run(${READELF} -SW ${path})
    if(output MATCHES "\\.(debug_info|symtab)")
      message(FATAL_ERROR "${path} is not stripped")
    endif()
  endif()
  if(GDB)
    run(${GDB} -nx -batch -ex "info line main" ${path})
    if(NOT output MATCHES "Line [0-9]+ of .*${name}\\.cpp")
      message(FATAL_ERROR "gdb finds no debug info of ${path}: ${output}")
    endif()
  endif()
endfunction()

function(check_installed folder)
  list_files(${folder} found)
  compare("${folder}" "${found}" "${expected}")
  check_program(${folder}/bin/actorrun)
  check_program(${folder}/bin/actorctl)
  file(GLOB libraries ${folder}/${LIBDIR}/*.a)
  foreach(library ${libraries})
    if(READELF)
      run(${READELF} -SW ${library})
      if(output MATCHES "debug_info")
        message(FATAL_ERROR "${library} has debug info")
      endif()
    endif()
  endforeach()
  if(MAN)
    run(${MAN} --warnings -l ${folder}/share/man/man1/actorrun.1)
    if(NOT output MATCHES "nproc-per-node")
      message(FATAL_ERROR "man shows something else: ${output}")
    endif()
  endif()
endfunction()

file(REMOVE_RECURSE ${TO} ${STAGE})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${TO})
check_installed(${TO})

set(ENV{DESTDIR} ${STAGE})
run(${CMAKE_COMMAND} --install ${BUILD})
list_files(${STAGE} found)
list(TRANSFORM expected PREPEND "${PREFIX}/")
list(TRANSFORM found PREPEND "/")
compare("${STAGE}" "${found}" "${expected}")
check_program(${STAGE}${PREFIX}/bin/actorrun)
