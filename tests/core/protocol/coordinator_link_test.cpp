#include "actors/core/protocol/coordinator_link.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/transcript.hpp"

namespace actorrun::test::coordinator_link_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

using state = coordinator_link::state;

struct fixture {
  membership_step step;
  coordinator_link uut{step, timeouts{}, agent_id{"a"}};

  std::string ordered() { return test::transcript(step.take()); }

  void be_in() {
    uut.begin();
    uut.join(true, 0s);
    uut.accept();
    step.take();
  }
};

} // namespace

TEST_CASE_METHOD(fixture, "coordinator_link: without a link nothing is sent",
                 "[core]") {
  uut.send(send_leaving{});
  CHECK(ordered() == "");
  uut.join(true, 0s);
  step.take();
  uut.send(send_leaving{});
  CHECK(ordered() == "send_leaving");
}

TEST_CASE_METHOD(fixture, "coordinator_link: it knows how long it is sought",
                 "[core]") {
  step.begin(time_point{1s});
  uut.begin();
  REQUIRE(uut.current_search());
  CHECK(uut.current_search()->since == time_point{1s});
  CHECK(uut.current_search()->until == time_point{61s});
  uut.join(true, 0s);
  uut.accept();
  CHECK_FALSE(uut.current_search());
}

TEST_CASE_METHOD(fixture,
                 "coordinator_link: a refusal is final before an acceptance",
                 "[core]") {
  const auto why = failure{errc::settings_mismatch, "other settings"};
  uut.begin();
  CHECK(uut.miss(why));
  uut.join(true, 0s);
  CHECK_FALSE(uut.refuse(why));
  uut.join(true, 0s);
  uut.accept();
  uut.lose();
  CHECK_FALSE(uut.miss(why));
  uut.join(true, 0s);
  CHECK(uut.refuse(why));
}

TEST_CASE_METHOD(fixture,
                 "coordinator_link: the next attempt waits for the end of a "
                 "dropped link",
                 "[core]") {
  be_in();
  uut.drop();
  uut.lose();
  step.take();
  uut.try_now();
  CHECK(ordered() == "");
  CHECK(uut.forget_dropped());
  CHECK(ordered() == "seek_coordinator");
  CHECK_FALSE(uut.forget_dropped());
}

TEST_CASE_METHOD(fixture, "coordinator_link: one second way is tried at a time",
                 "[core]") {
  be_in();
  uut.try_second_way();
  uut.try_second_way();
  CHECK(ordered() == "try_second_way");
  uut.forget_second_way();
  uut.forget_second_way();
  CHECK(ordered() == "forget_second_way");
}

TEST_CASE_METHOD(fixture,
                 "coordinator_link: a last word waits for its answer where "
                 "there is a lease",
                 "[core]") {
  be_in();
  SECTION("a lease") {
    CHECK_FALSE(uut.part(true));
    CHECK(uut.is(state::parting));
  }
  SECTION("none") {
    CHECK(uut.part(false));
    CHECK(uut.is(state::finished));
  }
  SECTION("no link") {
    uut.lose();
    step.take();
    CHECK(uut.part(true));
    CHECK(ordered() == "");
  }
}

} // namespace actorrun::test::coordinator_link_test
