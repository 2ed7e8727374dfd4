# Installs the build tree BUILD into the folder BUILD/NAME and packs that as
# BUILD/NAME.tar.gz, and the debug info as BUILD/NAME-debug.tar.gz. The same content
# gives the same bytes: names are sorted, all belongs to root, and all has one time,
# SOURCE_DATE_EPOCH, or else that of the commit of SOURCE.
# SHARED is the file name of the shared library. OBJCOPY, TAR, GZIP and GIT are the
# tools; without git and that variable the time is 0.
cmake_policy(VERSION 3.25)
set(folder ${BUILD}/${NAME})
file(REMOVE_RECURSE ${folder} ${BUILD}/debug_info/${NAME})
foreach(component programs worker site archive)
  execute_process(
    COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${folder} --component
            ${component} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endforeach()
execute_process(COMMAND ${OBJCOPY} --strip-unneeded ${folder}/lib/${SHARED}
                COMMAND_ERROR_IS_FATAL ANY)
file(MAKE_DIRECTORY ${BUILD}/debug_info/${NAME}/bin)
file(RENAME ${folder}/bin/.debug ${BUILD}/debug_info/${NAME}/bin/.debug)

set(time $ENV{SOURCE_DATE_EPOCH})
if("${time}" STREQUAL "" AND GIT)
  execute_process(COMMAND ${GIT} -C ${SOURCE} log -1 --format=%ct
                  OUTPUT_VARIABLE time ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
if("${time}" STREQUAL "")
  set(time 0)
endif()

function(pack parent name effort)
  set(tar ${BUILD}/${name}.tar)
  execute_process(
    COMMAND ${TAR} --create --file=${tar} --directory=${parent} --format=gnu
            --sort=name --mtime=@${time} --owner=0 --group=0 --numeric-owner
            --mode=u+rwX,go+rX,go-w ${NAME} COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${GZIP} -${effort}nf ${tar} COMMAND_ERROR_IS_FATAL ANY)
  message(STATUS "${tar}.gz")
endfunction()
pack(${BUILD} ${NAME} 9)
pack(${BUILD}/debug_info ${NAME}-debug 1) # It is compressed already.
