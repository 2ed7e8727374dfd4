# Runs PROGRAM in the new folder WORK and checks its exit code and its console
# output.
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
execute_process(
  COMMAND ${CMAKE_COMMAND} -E env TMPDIR=${WORK} ${PROGRAM}
  WORKING_DIRECTORY ${WORK}
  RESULT_VARIABLE code
  OUTPUT_VARIABLE text
  ERROR_VARIABLE text)
message("${text}")
if(NOT code EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} gave ${code}")
endif()
foreach(pattern ${EXPECTED})
  if(NOT text MATCHES "${pattern}")
    message(FATAL_ERROR "the console does not show '${pattern}'")
  endif()
endforeach()
foreach(pattern ${UNEXPECTED})
  # The name of the log folder contains that of the group.
  string(REGEX REPLACE "/[^ ]*" "" shown "${text}")
  if(shown MATCHES "${pattern}")
    message(FATAL_ERROR "the console shows '${pattern}'")
  endif()
endforeach()
