#include "runtime/system_config.hpp"
#include "runtime/timers/node_timers.hpp"
#include "tests/runtime/folders.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/log_lines.hpp"

#include <caf/actor_system.hpp>

#include <cstdlib>
#include <fstream>

namespace actorrun::test::node_timers_test {

using namespace actorrun::detail;
using namespace std::chrono_literals;

namespace {

namespace fs = std::filesystem;

struct fixture {
  fixture() {
    if (const auto* x = std::getenv("ACTORRUN_RUN_DIR"))
      before = x;
    ::setenv("ACTORRUN_RUN_DIR", run.c_str(), 1);
  }

  ~fixture() {
    if (before.empty())
      ::unsetenv("ACTORRUN_RUN_DIR");
    else
      ::setenv("ACTORRUN_RUN_DIR", before.c_str(), 1);
  }

  result<std::unique_ptr<node_timers>> try_open(timer_options options) {
    return node_timers::open(system, loop,
                             {.options = std::move(options), .lines = lines});
  }

  std::unique_ptr<node_timers> open(timer_options options) {
    auto out = try_open(std::move(options));
    INFO((out ? "" : out.error().text));
    REQUIRE(out);
    return std::move(*out);
  }

  static core::job_environment environment_of(const node_timers& x) {
    auto out = core::job_environment{};
    x.announce(out);
    return out;
  }

  std::string said() { return said_.told(); }

  actorrun::test::log_lines said_;
  actorrun::log lines = said_.writer(log_level::info);
  test_folders::folder place;
  const std::string run = place / "run";
  std::string before;
  std::shared_ptr<reactor> loop = std::make_shared<reactor>();
  system_config config;
  caf::actor_system system{config};
};

} // namespace

TEST_CASE_METHOD(fixture, "node_timers: workers get a FIFO, and no socket",
                 "[runtime]") {
  auto uut = open({});
  const auto told = environment_of(*uut);
  CHECK(fs::is_fifo(told.timer_file));
  CHECK(told.notify_socket.empty());
  CHECK(uut->server());
  uut.reset();
  CHECK_FALSE(fs::exists(told.timer_file));
}

TEST_CASE_METHOD(fixture, "node_timers: with a watchdog they get a socket, too",
                 "[runtime]") {
  auto uut = open({.watchdog = 30s});
  const auto told = environment_of(*uut);
  CHECK(fs::is_fifo(told.timer_file));
  CHECK(fs::is_socket(told.notify_socket));
  CHECK(told.watchdog == 30s);
  uut.reset();
  CHECK_FALSE(fs::exists(told.timer_file));
  CHECK_FALSE(fs::exists(told.notify_socket));
}

TEST_CASE_METHOD(fixture, "node_timers: a FIFO that is turned off is not made",
                 "[runtime]") {
  const auto none = open({.enabled = false});
  CHECK_FALSE(none->server());
  CHECK(environment_of(*none).timer_file.empty());
  CHECK_FALSE(fs::exists(run));
  const auto socket_only = open({.enabled = false, .watchdog = 1s});
  CHECK(socket_only->server());
  CHECK(environment_of(*socket_only).timer_file.empty());
  CHECK(fs::is_socket(environment_of(*socket_only).notify_socket));
}

TEST_CASE_METHOD(fixture, "node_timers: the FIFO is where it was asked for",
                 "[runtime]") {
  const auto path = place / "here";
  const auto uut = open({.path = path});
  CHECK(environment_of(*uut).timer_file == path);
  CHECK(fs::is_fifo(path));
  CHECK_FALSE(fs::exists(run));
}

TEST_CASE_METHOD(fixture,
                 "node_timers: a FIFO that is in use is left to its owner",
                 "[runtime]") {
  const auto path = place / "here";
  const auto first = open({.path = path});
  const auto second = open({.path = path});
  CHECK(environment_of(*second).timer_file != path);
  CHECK(fs::is_fifo(environment_of(*second).timer_file));
  CHECK(said().find("workers get another one") != std::string::npos);
}

TEST_CASE_METHOD(fixture,
                 "node_timers: U9 a path that was asked for but cannot be used "
                 "is told, and there is a FIFO elsewhere",
                 "[runtime]") {
  const auto path = place / "file";
  std::ofstream{path} << "text";
  const auto told = environment_of(*open({.path = path})).timer_file;
  CHECK(told != path);
  CHECK(said().find(path) != std::string::npos);
}

TEST_CASE_METHOD(fixture,
                 "node_timers: without a folder there are no timers, but the "
                 "job runs",
                 "[runtime]") {
  std::ofstream{run} << "no folder";
  const auto uut = open({});
  CHECK(environment_of(*uut).timer_file.empty());
  CHECK(uut->server()); // For actors of this program.
  CHECK(uut->obstacle().find(run) != std::string::npos);
  const auto out = try_open({.watchdog = 1s});
  REQUIRE_FALSE(out);
  CHECK(out.error().code == errc::system_failure);
}

TEST_CASE_METHOD(fixture, "node_timers: another server gets all requests",
                 "[runtime]") {
  auto given = timer_server_config{};
  auto config_with
    = node_timers_config{.options = {.watchdog = 7s}, .lines = lines};
  config_with.spawn = [&](caf::actor_system& sys, timer_server_config x) {
    given = x;
    return spawn_timer_server(sys, {});
  };
  auto uut = node_timers::open(system, loop, config_with);
  REQUIRE(uut);
  CHECK(given.source);
  CHECK(given.notices);
  CHECK(given.members);
  CHECK(given.watchdog == 7s);
  const auto path = environment_of(**uut).timer_file;
  uut->reset();
  CHECK(fs::exists(path)); // As long as it is held.
  given = {};
  CHECK_FALSE(fs::exists(path));
}

TEST_CASE_METHOD(fixture, "node_timers: P13 a server that is none is refused",
                 "[runtime]") {
  auto config_with = node_timers_config{.options = {}, .lines = lines};
  config_with.spawn = [](caf::actor_system&, timer_server_config) {
    return timer_server_actor{};
  };
  const auto uut = node_timers::open(system, loop, config_with);
  REQUIRE_FALSE(uut);
  CHECK(uut.error().code == errc::bad_argument);
}

} // namespace actorrun::test::node_timers_test
