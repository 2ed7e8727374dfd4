# Builds a host program and a worker program with the compiler and pkg-config alone,
# and runs them. Says what the public header costs.

function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE code OUTPUT_VARIABLE text
                  ERROR_VARIABLE text)
  message("${text}")
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "'${ARGV}' gave ${code}")
  endif()
  set(output "${text}" PARENT_SCOPE)
endfunction()

# Sets NAME to what pkg-config says, as a list of words.
function(ask_pkg_config name)
  execute_process(
    COMMAND ${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${INSTALLED}/${LIBDIR}/pkgconfig
            ${PKG_CONFIG} ${ARGN}
    OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(text UNIX_COMMAND "${text}")
  set(${name} "${text}" PARENT_SCOPE)
endfunction()

# Sets NAME to the number of lines that the compiler reads for one include.
function(count_lines name header)
  file(WRITE ${WORK}/one.cpp "#include <${header}>\n")
  run(${CXX} ${cflags} -E -P -o ${WORK}/one.ii ${WORK}/one.cpp)
  file(READ ${WORK}/one.ii text)
  string(REGEX MATCHALL "\n" ends "${text}")
  list(LENGTH ends count)
  set(${name} ${count} PARENT_SCOPE)
endfunction()

set(sanitize)
if(SANITIZE)
  set(sanitize -fsanitize=${SANITIZE})
endif()
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})

ask_pkg_config(flags --cflags --libs actorrun)
run(${CXX} -Wall -Wextra -Werror ${sanitize} -o ${WORK}/host ${SOURCE}/host.cpp ${flags})
run(${WORK}/host sleep 60)
foreach(expected "generation 1 of 2 workers" "drain refused: " "stopped: " "stopped by")
  if(NOT output MATCHES "${expected}")
    message(FATAL_ERROR "the host program does not say '${expected}'")
  endif()
endforeach()

ask_pkg_config(flags --cflags --libs actorrun-worker)
file(WRITE ${WORK}/worker.cpp "#include <actorrun/runtime/worker/record.hpp>
int main() { return actorrun::record([] { return 0; }); }
")
run(${CXX} ${sanitize} -o ${WORK}/worker ${WORK}/worker.cpp ${flags})
run(${WORK}/worker)

# It may cost a fifth more than CAF's own header for all of CAF.
ask_pkg_config(cflags --cflags actorrun)
count_lines(ours actorrun/runtime/actorrun.hpp)
count_lines(all_of_caf caf/all.hpp)
message("runtime/actorrun.hpp has ${ours} lines, caf/all.hpp ${all_of_caf}")
math(EXPR limit "${all_of_caf} * 6 / 5")
if(ours GREATER limit)
  message(FATAL_ERROR "that is more than ${limit}")
endif()
