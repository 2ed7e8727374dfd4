# Writes the source file OUTPUT, which names the commit of the tree in SOURCE, unless it
# does already. Without git, or its history, it names none.
execute_process(
  COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=8 --exclude=*
  OUTPUT_VARIABLE commit
  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT commit MATCHES "^[0-9a-f]+(-dirty)?$")
  set(commit "")
endif()
file(
  CONFIGURE
  OUTPUT ${OUTPUT}
  CONTENT
    [[#include "cli/version.hpp"

namespace actorrun::cli {

const char* build_commit() {
  return "@commit@";
}

} // namespace actorrun::cli
]]
  @ONLY)
