# Installs actorrun into a folder, builds examples/embed against it as a project
# of its own, and runs that.

function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE code OUTPUT_VARIABLE text
                  ERROR_VARIABLE text)
  message("${text}")
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "'${ARGV}' gave ${code}")
  endif()
  set(output "${text}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/installed)
file(GLOB_RECURSE leaked ${WORK}/installed/include/*/detail/*)
if(leaked)
  message(FATAL_ERROR "internal headers are installed: ${leaked}")
endif()
if(SANITIZE)
  set(FLAGS "${FLAGS} -fsanitize=${SANITIZE}")
endif()
run(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/build -G Ninja
    -DCMAKE_PREFIX_PATH=${WORK}/installed -DCMAKE_CXX_COMPILER=${CXX}
    -DCMAKE_CXX_FLAGS=${FLAGS})
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/embed sh -c "exit 0")
foreach(expected "epoch 1: world size 2" "job ended: all workers of epoch 1")
  if(NOT output MATCHES "${expected}")
    message(FATAL_ERROR "the host program did not learn of '${expected}'")
  endif()
endforeach()
