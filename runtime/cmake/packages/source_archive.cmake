# Writes the commit HEAD of the checkout SOURCE to TO/NAME.tar.gz. The same commit
# gives the same bytes: git takes all times from the commit, and gzip is to store
# none. What is not committed is left out.
file(MAKE_DIRECTORY ${TO})
set(tar ${TO}/${NAME}.tar)
execute_process(
  COMMAND ${GIT} -C ${SOURCE} archive --format=tar --prefix=${NAME}/
          --output=${tar} HEAD COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${GZIP} -9nf ${tar} COMMAND_ERROR_IS_FATAL ANY)
message(STATUS "${tar}.gz")
