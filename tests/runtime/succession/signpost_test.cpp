// Tests who is served where nodes look for a coordinator that is elsewhere.
#include "actors/operator_questions.hpp"
#include "runtime/network/coordinator_link.hpp"
#include "runtime/network/operator_client.hpp"
#include "runtime/succession/signpost.hpp"
#include "runtime/succession/voter_links.hpp"
#include "tests/runtime/network/remote_links_fixture.hpp"

namespace actorrun::test::signpost_test {

using namespace actorrun::detail;
using namespace actorrun::detail::test;

namespace {

struct fixture {
  fixture() {
    auto opened = signpost::open(
      loop, {.mine = secret,
             .where = loopback(0),
             .place = [this] { return place; },
             .ask = [this](operator_question x) { asked.put(std::move(x)); },
             .pass_voter
             = [this](unique_fd,
                      const peer& who) { voters.put(std::string{who.id}); },
             .lines = {}});
    REQUIRE(opened);
    uut = std::move(*opened);
    port = uut->port();
  }

  std::unique_ptr<coordinator_link> agent() {
    return std::make_unique<coordinator_link>(
      client.system, loop,
      coordinator_link::target{.where = {"127.0.0.1", port},
                               .mine = secret,
                               .agent = "a",
                               .limit = timeout},
      actorrun::log{});
  }

  credentials secret = credentials_of(job_id{"job"}, "secret");
  uint16_t port = 0;
  std::optional<std::string> place = "10.0.0.2:41000";
  inbox<operator_question> asked;
  inbox<std::string> voters;
  inbox<result<ports::location>> locations;
  side client;
  reactor loop;
  std::unique_ptr<signpost> uut;
};

} // namespace

TEST_CASE_METHOD(fixture, "signpost: an agent is told where the coordinator is",
                 "[runtime]") {
  const auto x = agent();
  const auto put
    = [this](result<ports::location> y) { locations.put(std::move(y)); };
  SECTION("it follows") {
    x->seek_at({"127.0.0.1", port}, put);
    const auto y = locations.take();
    REQUIRE(y);
    REQUIRE(*y);
    CHECK((*y)->elsewhere == "10.0.0.2:41000");
    CHECK_FALSE((*y)->coordinator);
  }
  SECTION("it does not follow") {
    x->seek(false, put);
    const auto y = locations.take();
    REQUIRE(y);
    REQUIRE_FALSE(*y);
    CHECK(y->error().code == errc::connection_refused);
    CHECK(y->error().text.find("10.0.0.2:41000") != std::string::npos);
  }
  SECTION("that is unknown just now") {
    place.reset();
    x->seek_at({"127.0.0.1", port}, put);
    const auto y = locations.take();
    REQUIRE(y);
    CHECK_FALSE(*y);
  }
}

TEST_CASE_METHOD(fixture, "signpost: an operator is served", "[runtime]") {
  auto whom = operator_client::open(
    [&](reactor& home, connect_callback on_done) {
      return connect(home, {"127.0.0.1", port},
                     {secret, purpose::operate, "bob", {}, {}}, timeout,
                     std::move(on_done));
    },
    nullptr, operator_client::time_point::clock::now() + timeout);
  REQUIRE(whom);
  auto request = v1::OperatorRequest{};
  request.set_number(1);
  request.mutable_stop();
  REQUIRE(whom->send(request));
  const auto x = asked.take();
  REQUIRE(x);
  CHECK(x->by.starts_with("bob at 127.0.0.1:"));
  CHECK(x->may_steer);
  x->reply(done("yes"));
  const auto y
    = whom->receive(operator_client::time_point::clock::now() + timeout);
  REQUIRE(y);
  CHECK((**y).done().text() == "yes");
}

TEST_CASE_METHOD(fixture, "signpost: voters are passed on", "[runtime]") {
  auto links
    = voter_links::open(loop,
                        {.mine = secret,
                         .self = {"n1"},
                         .where = loopback(0),
                         .host = "127.0.0.1",
                         .limit = timeout,
                         .lines = {}},
                        {.on_message = [](const agent_id&, const voter_message&,
                                          const voter_reply&) {},
                         .on_reached = [](const agent_id&) {},
                         .on_broken = [](const agent_id&) {}});
  REQUIRE(links);
  (*links)->send({"n2"}, "127.0.0.1:" + std::to_string(port),
                 core::succession_message{core::would{1}});
  CHECK(voters.take() == "n1");
}

} // namespace actorrun::test::signpost_test
