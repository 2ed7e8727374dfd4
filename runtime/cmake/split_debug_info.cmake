# Runs while `cmake --install` does, after the programs have been copied: strips
# the copies, and installs their debug info as BINDIR/.debug/NAME.debug. Debuggers
# look there at any prefix; a folder such as lib/debug/.build-id, where packages
# have it, they search below /usr only.
#
# PROGRAMS are files of the build tree, BINDIR is below the prefix or absolute,
# OBJCOPY the tool. KEPT is a folder of the build tree where the debug info stays
# for the next install of the same programs, because it takes seconds to compress.
if(NOT OBJCOPY)
  message(WARNING "objcopy was not found when the project was configured:"
                  " programs keep their debug info. Install binutils and"
                  " configure again.")
  return()
endif()

function(objcopy)
  execute_process(COMMAND ${OBJCOPY} ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

cmake_path(ABSOLUTE_PATH BINDIR BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}")
file(MAKE_DIRECTORY ${KEPT})

foreach(program ${PROGRAMS})
  cmake_path(GET program FILENAME name)
  set(info ${KEPT}/${name}.debug)
  if(NOT EXISTS ${info} OR ${program} IS_NEWER_THAN ${info})
    objcopy(--only-keep-debug --compress-debug-sections ${program} ${info}.new)
    # It has the permissions of the program, which it is not.
    file(CHMOD ${info}.new PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ
                                       WORLD_READ)
    file(RENAME ${info}.new ${info})
  endif()
  file(INSTALL ${info} DESTINATION ${BINDIR}/.debug)
  objcopy(--strip-all --remove-section=.gnu_debuglink
          --add-gnu-debuglink=${info} $ENV{DESTDIR}${BINDIR}/${name})
endforeach()
