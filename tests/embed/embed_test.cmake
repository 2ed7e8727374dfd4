# Builds examples/embed, examples/record and examples/timers against an installed
# actorrun, as projects of their own, and runs them.

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
# Where another CAF is, as for our own build.
if(PREFIXES)
  string(REPLACE ";" ":" PREFIXES "${PREFIXES}")
  set(ENV{CMAKE_PREFIX_PATH} "${PREFIXES}")
endif()
if(SANITIZE)
  set(FLAGS "${FLAGS} -fsanitize=${SANITIZE}")
endif()
function(build example)
  run(${CMAKE_COMMAND} -S ${SOURCE}/${example} -B ${WORK}/${example} -G Ninja
      -DCMAKE_PREFIX_PATH=${INSTALLED} -DCMAKE_CXX_COMPILER=${CXX}
      -DCMAKE_CXX_FLAGS=${FLAGS})
  run(${CMAKE_COMMAND} --build ${WORK}/${example})
endfunction()

# A worker program needs only the compiler's own libraries.
build(record)
run(${WORK}/record/record_example work)
file(STRINGS ${WORK}/record/CMakeCache.txt found REGEX "CAF|Protobuf|OpenSSL")
if(found)
  message(FATAL_ERROR "a worker program looks for more than it needs: ${found}")
endif()

# Two jobs, each with a regroup, in a program that answers another one meanwhile.
build(embed)
set(fails_once "sleep 0.2; test $TORCHELASTIC_RESTART_COUNT = 1")
execute_process(
  COMMAND ${WORK}/embed/embed sh -c "${fails_once}"
  COMMAND ${WORK}/embed/embed_client
  RESULTS_VARIABLE codes OUTPUT_VARIABLE output ERROR_VARIABLE output)
message("${output}")
if(NOT codes STREQUAL "0;0")
  message(FATAL_ERROR "the host program and its client gave ${codes}")
endif()
foreach(expected "left: generation 1: world size 2" "left: generation 1 is over"
                 "left: job ended: all workers of generation 2"
                 "right: job ended: all workers of generation 2"
                 " lookups; median ")
  if(NOT output MATCHES "${expected}")
    message(FATAL_ERROR "the host program did not learn of '${expected}'")
  endif()
endforeach()

build(timers)
run(${WORK}/timers/timed_actor)
if(NOT output MATCHES "shard 2 is overdue")
  message(FATAL_ERROR "an actor did not learn that its timer was over")
endif()
run(${WORK}/timers/timer_notes ${WORK}/timers/timed_worker work)
if(NOT output MATCHES "train_step took")
  message(FATAL_ERROR "another timer server was not put in the place of ours")
endif()
