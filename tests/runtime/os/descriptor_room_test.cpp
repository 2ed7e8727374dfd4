#include "runtime/os/descriptor_room.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>

namespace actorrun::test::descriptor_room_test {

using namespace actorrun::detail;

TEST_CASE("descriptor_room: S5 what peers may have leaves a reserve, together",
          "[runtime]") {
  for (const auto limit : {32U, 64U, 128U, 200U, 256U, 512U, 1'024U, 4'096U,
                           20'000U, 1'048'576U}) {
    const auto x = shares_of(limit);
    CAPTURE(limit);
    // Three stages until an agent is accepted; HTTP and operators.
    const auto all
      = 3 * x.pending + x.standby + x.questions + 2 * x.viewers + x.store;
    CHECK(all + std::min<size_t>(descriptor_reserve, limit / 2) <= limit);
    CHECK(x.pending > 0);
    CHECK(x.standby > 0);
    CHECK(x.viewers > 0);
    CHECK(x.store > 0);
  }
  CHECK(shares_of(1'024).store == 480);
  CHECK(shares_of(1'048'576).pending > 80'000);
}

} // namespace actorrun::test::descriptor_room_test
