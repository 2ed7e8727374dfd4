#include "cli/report/text_table.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::text_table_test {

using namespace actorrun::cli;

TEST_CASE("text_table: cells are aligned, also with letters beyond ASCII",
          "[cli]") {
  CHECK(aligned({{"HOST", "STATE"}, {"nä", "up"}, {"node", "down"}})
        == "  HOST  STATE\n"
           "  nä    up\n"
           "  node  down\n");
}

} // namespace actorrun::test::text_table_test
