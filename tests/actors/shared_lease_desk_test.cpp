#include "actors/shared_lease_desk.hpp"
#include "tests/support/catch.hpp"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace actorrun::test::shared_lease_desk_test {

using namespace std::chrono_literals;

namespace {

core::time_point at(core::duration x) {
  return core::time_point{x};
}

} // namespace

TEST_CASE("shared_lease_desk: who may not decide does not answer", "[actors]") {
  auto age = std::optional<core::duration>{340ms};
  auto uut = shared_lease_desk{[&] { return age; }};
  uut.hold()->open({"a"}, at(0s));
  CHECK(uut.hear({"a"}, at(1s), at(1s)) == 340ms);
  age.reset();
  CHECK_FALSE(uut.hear({"a"}, at(2s), at(2s)));
  CHECK(uut.hold()->heard({"a"}) == at(1s));
}

TEST_CASE("shared_lease_desk: N5 while whoever decides gives no sign no agent "
          "is answered",
          "[actors]") {
  auto uut = shared_lease_desk{{}, 1'200ms};
  uut.hold()->open({"a"}, at(0s));
  uut.give_sign(at(1s));
  CHECK(uut.hear({"a"}, at(2s), at(2'200ms)));
  CHECK_FALSE(uut.hear({"a"}, at(2'100ms), at(2'201ms)));
  CHECK(uut.hold()->heard({"a"}) == at(2'200ms)); // Its lease ends.
  uut.give_sign(at(3s));
  CHECK(uut.hear({"a"}, at(3s), at(3s)));
}

// Were one heard between the two, an agent would go on whose lease has ended.
TEST_CASE("shared_lease_desk: no agent is heard between renewals and a close",
          "[actors]") {
  constexpr auto agent_count = 4;
  auto uut = shared_lease_desk{};
  auto is_over = std::atomic<bool>{false};
  auto answered = std::vector<std::atomic<int64_t>>(agent_count);
  auto links = std::vector<std::thread>{};
  const auto name = [](int i) { return agent_id{std::to_string(i)}; };
  for (auto i = 0; i < agent_count; ++i) {
    uut.hold()->open(name(i), at(0s));
    links.emplace_back([&, i] {
      for (auto stamp = int64_t{1}; !is_over; ++stamp)
        if (uut.hear(name(i), at(core::duration{stamp}),
                     at(core::duration{stamp})))
          answered[size_t(i)] = stamp;
    });
  }
  for (auto round = 0; round < 2'000; ++round) {
    const auto i = round % agent_count;
    auto desk = uut.hold();
    auto known = desk->heard(name(i));
    for (const auto& x : desk->take())
      if (x.agent == name(i))
        known = x.heard;
    desk->close(name(i));
    REQUIRE_FALSE(desk->heard(name(i)));
    // The link may not have written down yet that it was answered.
    REQUIRE(answered[size_t(i)] <= known->time_since_epoch().count());
    desk->open(name(i), *known);
  }
  is_over = true;
  for (auto& x : links)
    x.join();
}

} // namespace actorrun::test::shared_lease_desk_test
