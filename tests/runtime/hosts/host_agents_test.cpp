// Tests the connections to the agents of a job with local processes.
#include "runtime/host_agents.hpp"
#include "tests/runtime/deadline.hpp"
#include "tests/support/catch.hpp"

#include <csignal>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include <malloc.h>

namespace actorrun::test::host_agents_test {

using namespace actorrun::detail::test_deadline;

namespace {

/// Takes nothing, and remembers who waits for it.
class stalled_console final : public program_console {
public:
  bool offer(core::output_stream, std::string_view) override { return false; }

  void call_when_ready(core::output_stream, std::function<void()> fn) override {
    is_awaited_.set_value(std::move(fn));
  }

  bool is_closed(core::output_stream) const override { return false; }
  void note(std::string_view) override {}
  void say(core::output_stream, std::string_view) override {}
  bool is_terminal(core::output_stream) const override { return false; }
  bool is_flushed() const override { return true; }
  void call_when_flushed(std::function<void()> fn) override { fn(); }

  /// The call that is due when it takes something again.
  std::function<void()> awaited() {
    auto future = is_awaited_.get_future();
    REQUIRE(future.wait_for(timeout) == std::future_status::ready);
    return future.get();
  }

private:
  std::promise<std::function<void()>> is_awaited_;
};

/// Keeps what it takes.
class kept_console final : public program_console {
public:
  bool offer(core::output_stream to, std::string_view text) override {
    const auto guard = std::lock_guard{mutex_};
    (to == core::output_stream::out ? out_ : err_) += text;
    return true;
  }

  void call_when_ready(core::output_stream, std::function<void()> fn) override {
    fn();
  }

  bool is_closed(core::output_stream) const override { return false; }
  void note(std::string_view) override {}
  void say(core::output_stream, std::string_view) override {}
  bool is_terminal(core::output_stream) const override { return false; }
  bool is_flushed() const override { return true; }
  void call_when_flushed(std::function<void()> fn) override { fn(); }

  std::string out() const {
    const auto guard = std::lock_guard{mutex_};
    return out_;
  }

private:
  mutable std::mutex mutex_;
  std::string out_;
  std::string err_;
};

} // namespace

TEST_CASE("host_agents: N3 signs of life are no part of the output",
          "[runtime]") {
  const auto console = std::make_shared<kept_console>();
  auto settings = core::host_settings{};
  settings.names = {"a"};
  // In the middle of a line, in two pieces, twice, and what only looks like one.
  constexpr auto script
    = R"(printf 'x\000actorrun-alive\000y\n'; printf '1\000actorrun-'
         printf 'alive\0002\n\000actorrun-alive\000\000actorrun-alive\000'
         printf '\000actorrun-alivf\n\000actorrun')";
  auto agents
    = host_agents::start({.settings = settings,
                          .starts = {{{"/bin/sh", "-c", script}, true}},
                          .order_of = {},
                          .console = console});
  REQUIRE(agents);
  (*agents)->wait();
  agents->reset();
  // Zeros at the beginning of a line are never shown.
  CHECK(console->out() == "a: xy\na: 12\na: actorrun-alivf\na: actorrun\n");
}

TEST_CASE("host_agents: a console that is read when they are gone does no harm",
          "[runtime]") {
  ::mallopt(M_PERTURB, 0xa5); // What is freed cannot be used by mistake.
  const auto console = std::make_shared<stalled_console>();
  auto settings = core::host_settings{};
  settings.names = {"a"};
  auto agents = host_agents::start(
    {.settings = settings,
     .starts = {{{"/bin/sh", "-c", "echo ready >&2; sleep 1000"}, true}},
     .order_of = {},
     .console = console});
  REQUIRE(agents);
  const auto is_ready = console->awaited();
  for (auto i = 0; i < 3; ++i)
    (*agents)->signal(SIGTERM, true);
  CHECK((*agents)->wait().why == core::end_launch::reason::signal);
  agents->reset();
  is_ready();
  ::mallopt(M_PERTURB, 0);
}

// Then the system reaps all children itself, and tells no exit code.
TEST_CASE("host_agents: they end where SIGCHLD is ignored", "[runtime]") {
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  auto settings = core::host_settings{};
  settings.names = {"a"};
  auto agents
    = host_agents::start({.settings = settings,
                          .starts = {{{"/bin/sh", "-c", "exit 3"}, true}},
                          .order_of = {},
                          .console = std::make_shared<stalled_console>()});
  REQUIRE(agents);
  auto ending
    = std::async(std::launch::async, [&] { return (*agents)->wait(); });
  const auto has_ended = ending.wait_for(timeout) == std::future_status::ready;
  CHECK(has_ended);
  for (auto i = 0; i < 3 && !has_ended; ++i)
    (*agents)->signal(SIGTERM, true);
  if (has_ended)
    CHECK(ending.get().why != core::end_launch::reason::signal);
  agents->reset();
  std::signal(SIGCHLD, before);
}

} // namespace actorrun::test::host_agents_test
