// Munge behind real connections: it is asked off the reactor, and may hang.

#include "runtime/network/connector.hpp"
#include "runtime/network/listener.hpp"
#include "runtime/network/munge_queue.hpp"
#include "runtime/network/tombstone.hpp"
#include "tests/runtime/network/listener_fixture.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_munge.hpp"

#include <future>
#include <memory>
#include <utility>
#include <vector>

namespace actorrun::test::munge_queue_test {

using namespace actorrun::detail;
using namespace actorrun::detail::test;
using actorrun::test::fake_munge;
using actorrun::test::fake_munge_cluster;

namespace {

/// A daemon that hangs until the test lets go.
class gate {
public:
  ~gate() { open(); }

  void open() {
    if (!std::exchange(is_open_, true))
      opened_.set_value();
  }

  /// Calls may come when the gate is gone.
  std::function<std::optional<failure>()> wait() {
    return [come = come_, until = until_] {
      come->put(true);
      until.wait();
      return std::optional<failure>{};
    };
  }

  bool has_caller() const { return come_->take().has_value(); }

private:
  std::promise<void> opened_;
  std::shared_future<void> until_ = opened_.get_future().share();
  std::shared_ptr<inbox<bool>> come_ = std::make_shared<inbox<bool>>();
  bool is_open_ = false;
};

struct fixture : listener_fixture {
  std::shared_ptr<fake_munge_cluster> cluster
    = std::make_shared<fake_munge_cluster>();
  std::shared_ptr<fake_munge> servers = daemon();
  std::shared_ptr<fake_munge> clients = daemon();

  std::shared_ptr<fake_munge> daemon(uid_t user = 1000) {
    return std::make_shared<fake_munge>(cluster, user);
  }

  static credentials with(const std::shared_ptr<fake_munge>& munge) {
    auto out = credentials_of(job_id{"job"}, "");
    out.munge = std::make_shared<munge_queue>(munge);
    out.demands_munge = true;
    out.key = random_key();
    return out;
  }

  static client_identity
  an_agent_with(const std::shared_ptr<fake_munge>& munge) {
    return {with(munge), purpose::join, "n1-7-0badcafe"};
  }

  listener listen(const listener_limits& limits = {}) {
    auto out = listener::listen(loop, loopback(0), mine, callbacks(), limits);
    return std::move(*out);
  }

  credentials mine = with(servers);
};

std::string text_of(const std::shared_ptr<result<connected>>& x) {
  return !x ? "nothing" : *x ? "connected" : x->error().text;
}

bool has(const std::string& text, const std::string& part) {
  CAPTURE(text, part);
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE_METHOD(fixture, "munge queue: processes of one user are connected",
                 "[runtime]") {
  const auto uut = listen();
  const auto outcome = try_to_enter(uut.port(), an_agent_with(clients));
  REQUIRE(text_of(outcome) == "connected");
  const auto peer = peers.take();
  REQUIRE(peer);
  CHECK((*outcome)->key == peer->who.key);
  CHECK((*outcome)->key_of_job == mine.key);
  CHECK(send_whole(peer->connection.get(), "and back"));
  CHECK(read_up_to((*outcome)->connection.get(), 8) == "and back");
}

TEST_CASE_METHOD(fixture, "munge queue: another user is told, and reported",
                 "[runtime]") {
  const auto uut = listen();
  const auto outcome = try_to_enter(uut.port(), an_agent_with(daemon(2000)));
  CHECK(has(text_of(outcome), "belongs to another user, as munge says"));
  const auto report = reports.take();
  REQUIRE(report);
  CHECK(has(report->last_reason, "cannot open what munge has sealed"));
}

TEST_CASE_METHOD(fixture,
                 "munge queue: a coordinator's daemon that hangs holds up"
                 " neither the reactor nor who waits for it",
                 "[runtime]") {
  auto hangs = gate{};
  servers->before_calls(hangs.wait());
  const auto uut = listen({.handshake = 300ms});
  const auto outcome = try_to_enter(uut.port(), an_agent_with(clients));
  CHECK(hangs.has_caller());
  CHECK(has(text_of(outcome), "does not answer on its host"));
  run_and_wait(loop, [] {});
  const auto report = reports.take();
  REQUIRE(report);
  CHECK(has(report->last_reason, "munge does not answer: it may hang"));
  hangs.open();
  CHECK(text_of(try_to_enter(uut.port(), an_agent_with(clients)))
        == "connected");
}

TEST_CASE_METHOD(fixture,
                 "munge queue: an agent's daemon that hangs is named in time",
                 "[runtime]") {
  auto hangs = gate{};
  clients->before_calls(hangs.wait());
  const auto uut = listen();
  const auto outcome
    = try_to_enter(uut.port(), an_agent_with(clients), "127.0.0.1", 300ms);
  CHECK(hangs.has_caller());
  CHECK(has(text_of(outcome),
            "demands munge, and here munge does not answer: it may hang"));
}

TEST_CASE_METHOD(fixture,
                 "munge queue: an end on either side meanwhile does no harm",
                 "[runtime]") {
  auto hangs = gate{};
  servers->before_calls(hangs.wait());
  auto uut = std::optional{listen()};
  SECTION("the client's") {
    auto attempt = connect(loop, endpoint{"127.0.0.1", uut->port()},
                           an_agent_with(clients), timeout, on_outcome());
    CHECK(hangs.has_caller());
    attempt.reset();
    hangs.open();
    CHECK(reports.take());
  }
  SECTION("the listener's") {
    auto attempt = connect(loop, endpoint{"127.0.0.1", uut->port()},
                           an_agent_with(clients), timeout, on_outcome());
    CHECK(hangs.has_caller());
    uut.reset();
    hangs.open();
    CHECK(has(text_of(outcomes.take().value_or(nullptr)), "closed the"));
  }
}

TEST_CASE_METHOD(fixture,
                 "munge queue: peers that are not known cannot fill it",
                 "[runtime]") {
  auto hangs = gate{};
  servers->before_calls(hangs.wait());
  auto calls = std::vector<munge_call>{};
  auto refused = inbox<std::string>{};
  const auto on_done = [&](const result<std::string>& x) {
    refused.put(x ? "done" : x.error().text);
  };
  const auto ask = [&] {
    calls.push_back(
      mine.munge->ask(loop, {munge_task::kind::seal, "x"}, on_done));
  };
  run_and_wait(loop, ask);
  CHECK(hangs.has_caller());
  run_and_wait(loop, [&] {
    for (size_t i = 0; i < munge_queue_max; ++i)
      ask();
  });
  CHECK(refused.size() == 0);
  run_and_wait(loop, ask);
  CHECK(has(refused.take().value_or(""), "too many wait for it"));
  // Abandoned calls cost nothing.
  run_and_wait(loop, [&] { calls.clear(); });
  hangs.open();
  REQUIRE(mine.munge->check(timeout));
  run_and_wait(loop, [] {});
  CHECK(refused.size() == 0);
}

TEST_CASE_METHOD(fixture, "munge queue: a check has a limit", "[runtime]") {
  CHECK(mine.munge->check(timeout));
  auto hangs = gate{};
  servers->before_calls(hangs.wait());
  const auto late = mine.munge->check(10ms);
  REQUIRE_FALSE(late);
  CHECK(late.error() == munge_hangs());
}

TEST_CASE_METHOD(fixture,
                 "munge queue: a successor finds a coordinator that lives",
                 "[runtime]") {
  const auto alive = listen();
  const auto found = take_over(loopback(alive.port()), with(clients));
  CHECK_FALSE(found.dead);
  CHECK_FALSE(found.is_another_job);
  CHECK_FALSE(found.has_hung_up);
  CHECK(peers.take());
}

} // namespace actorrun::test::munge_queue_test
