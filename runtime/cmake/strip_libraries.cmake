# Runs while `cmake --install` or cpack does, after libraries have been copied:
# strips the debug info of the copies.
#
# LIBRARIES are names below LIBDIR, which is below the prefix or absolute; OBJCOPY
# is the tool.
if(NOT OBJCOPY)
  message(WARNING "objcopy was not found when the project was configured:"
                  " libraries keep their debug info. Install binutils and"
                  " configure again.")
  return()
endif()
cmake_path(ABSOLUTE_PATH LIBDIR BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}")
foreach(library ${LIBRARIES})
  execute_process(COMMAND ${OBJCOPY} --strip-debug
                          $ENV{DESTDIR}${LIBDIR}/${library}
                  COMMAND_ERROR_IS_FATAL ANY)
endforeach()
