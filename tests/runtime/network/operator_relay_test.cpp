// Tests how a process passes on to the coordinator what operators ask of it.
#include "actors/operator_questions.hpp"
#include "runtime/network/operator_relay.hpp"
#include "tests/runtime/network/operator_fixture.hpp"

namespace actorrun::test::operator_relay_test {

using namespace actorrun::detail;
using namespace actorrun::detail::test;

namespace {

v1::OperatorRequest steering(uint64_t number) {
  auto out = v1::OperatorRequest{};
  out.set_number(number);
  out.mutable_stop()->set_reason("enough");
  return out;
}

v1::OperatorRequest logs(uint64_t number) {
  auto out = v1::OperatorRequest{};
  out.set_number(number);
  out.mutable_logs()->set_window(1'000);
  return out;
}

v1::OperatorRequest credit(uint64_t number, uint32_t size) {
  auto out = v1::OperatorRequest{};
  out.set_number(900);
  out.mutable_log_credit()->set_number(number);
  out.mutable_log_credit()->set_size(size);
  return out;
}

v1::OperatorReply lines(bool is_end) {
  auto out = v1::OperatorReply{};
  out.mutable_logs()->set_is_end(is_end);
  return out;
}

/// A coordinator on loopback, whose sessions a test answers, and an agent's process.
struct fixture : operator_fixture {
  fixture() {
    auto opened
      = listener::listen(loop, loopback(0), secret,
                         {.on_peer =
                            [this](unique_fd connection, const peer& who) {
                              CHECK(who.intent == purpose::operate);
                              sessions.add(std::move(connection), who.key, {},
                                           {std::string{who.id}, true}, {});
                            },
                          .on_rejections = {}});
    REQUIRE(opened);
    coordinator.emplace(std::move(*opened));
    place = endpoint{"127.0.0.1", coordinator->port()};
  }

  void ask(const v1::OperatorRequest& x, uint64_t session = 1) {
    run_and_wait(loop, [&] {
      uut.take({.what = x,
                .reply = [this](v1::OperatorReply y) { got.put(std::move(y)); },
                .by = "alice (pid 4711)",
                .may_steer = true,
                .session = session,
                .show = {}});
    });
  }

  operator_question asked() {
    auto x = questions.take();
    REQUIRE(x);
    return std::move(*x);
  }

  v1::OperatorReply reply() {
    auto x = got.take();
    REQUIRE(x);
    return std::move(*x);
  }

  credentials secret = credentials_of(job_id{"job"}, "secret");
  inbox<v1::OperatorReply> got;
  inbox<operator_question> rest; ///< For the agent.
  std::optional<endpoint> place;
  std::optional<listener> coordinator;
  operator_relay uut{
    loop,
    {.mine = secret,
     .where = [this] { return place; },
     .otherwise = [this](operator_question x) { rest.put(std::move(x)); },
     .limit = timeout}};
};

} // namespace

TEST_CASE("operator relay: what only the coordinator can answer", "[runtime]") {
  auto explain = v1::OperatorRequest{};
  explain.mutable_explain();
  auto stacks = v1::OperatorRequest{};
  stacks.mutable_stacks();
  auto journal = v1::OperatorRequest{};
  journal.mutable_journal();
  for (const auto& x : {steering(1), logs(1), explain, stacks, journal})
    CHECK(operator_relay::is_for_coordinator(x));
  for (const auto& x : {status_request(1), watch_request(1), credit(1, 1)})
    CHECK_FALSE(operator_relay::is_for_coordinator(x));
}

TEST_CASE("operator relay: the coordinator is told who asks", "[runtime]") {
  CHECK(peer_id_of("alice (pid 4711)") == "alice-(pid-4711)");
  CHECK(peer_id_of("") == "operator");
  CHECK(peer_id_of("a\n\xc3\xa4") == "a---");
  CHECK(is_peer_id(peer_id_of(std::string(500, 'x'))));
}

TEST_CASE_METHOD(fixture,
                 "operator relay: a request gets there and the answer back, "
                 "and the next one, too",
                 "[runtime]") {
  for (auto number = uint64_t{7}; number < 10; ++number) {
    ask(steering(number));
    const auto x = asked();
    CHECK(x.what.stop().reason() == "enough");
    CHECK(x.by == "alice-(pid-4711)");
    x.reply(done("it is done"));
    const auto y = reply();
    CHECK(y.number() == number);
    CHECK(y.done().text() == "it is done");
  }
  CHECK(rest.size() == 0);
}

TEST_CASE_METHOD(fixture,
                 "operator relay: logs come until they end, and credit "
                 "goes there",
                 "[runtime]") {
  ask(logs(3));
  const auto x = asked();
  x.reply(lines(false));
  CHECK_FALSE(reply().logs().is_end());
  ask(credit(3, 500));
  CHECK(asked().what.log_credit().size() == 500);
  ask(credit(4, 500)); // Of no reading.
  x.reply(lines(true));
  CHECK(reply().logs().is_end());
  ask(credit(3, 500)); // Too late.
  ask(steering(4));
  asked().reply(done("yes"));
  CHECK(reply().number() == 4);
}

TEST_CASE_METHOD(fixture,
                 "operator relay: an operator that goes ends its reading",
                 "[runtime]") {
  ask(logs(3));
  const auto x = asked();
  ask(credit(3, 0));
  const auto end = asked();
  CHECK(end.what.log_credit().size() == 0);
  x.reply(lines(false));
  CHECK_FALSE(got.take(50ms));
}

TEST_CASE_METHOD(fixture, "operator relay: operators do not mix", "[runtime]") {
  ask(steering(1), 1);
  const auto first = asked();
  ask(steering(1), 2);
  const auto second = asked();
  CHECK(first.session != second.session);
  second.reply(done("second"));
  CHECK(reply().done().text() == "second");
  first.reply(done("first"));
  CHECK(reply().done().text() == "first");
}

TEST_CASE_METHOD(fixture,
                 "operator relay: where no coordinator is known or reached, "
                 "the agent answers",
                 "[runtime]") {
  SECTION("none is known") {
    place.reset();
  }
  SECTION("none is there") {
    coordinator.reset();
  }
  SECTION("it is of another job") {
    coordinator.reset();
    auto other = listener::listen(
      loop, loopback(place->port),
      credentials_of(job_id{"job"}, "another secret"),
      {.on_peer = [](unique_fd, const peer&) {}, .on_rejections = {}});
    REQUIRE(other);
    coordinator.emplace(std::move(*other));
  }
  ask(steering(5));
  const auto x = rest.take();
  REQUIRE(x);
  CHECK(x->what.number() == 5);
  CHECK(got.size() == 0);
}

TEST_CASE_METHOD(fixture,
                 "operator relay: what was asked is not asked again when the "
                 "coordinator ends",
                 "[runtime]") {
  ask(steering(5));
  asked();
  run_and_wait(loop, [this] { sessions.clear(); });
  const auto x = reply();
  CHECK(x.refusal().code()
        == static_cast<uint32_t>(errc::connection_timed_out));
  CHECK(x.refusal().text().find("ask again") != std::string::npos);
  CHECK(rest.size() == 0);
}

} // namespace actorrun::test::operator_relay_test
