// A program on a file system that hangs holds up its own start, nothing else.
#include "tests/runtime/hanging_file.hpp"
#include "tests/runtime/processes/process_host_fixture.hpp"
#include "tests/support/catch.hpp"

#include <array>
#include <csignal>
#include <optional>

namespace actorrun::test::process_host_hangs_test {

using namespace actorrun::detail;
using namespace actorrun::detail::process_host_test;
using actorrun::test::hanging_file;

namespace {

bool runs_program(const std::string& path) {
  for (const auto& x : fs::directory_iterator{"/proc"}) {
    auto error = std::error_code{};
    if (fs::read_symlink(x.path() / "exe", error) == path)
      return true;
  }
  return false;
}

bool has_start_thread() {
  for (const auto& x : fs::directory_iterator{"/proc/self/task"})
    if (content_of(x.path() / "comm") == "actorrun-starts\n")
      return true;
  return false;
}

struct hangs_fixture : fixture {
  // A warden being started would keep the copied file busy.
  hangs_fixture() {
    on_thread([] {});
    program.emplace(here / "program", "/bin/sleep");
  }

  folder here;
  std::optional<hanging_file> program;

  bool begins_to_hang() {
    return soon([this] { return program->is_awaited(); });
  }
};

} // namespace

TEST_CASE_METHOD(hangs_fixture,
                 "process host: a program that hangs holds up no other call",
                 "[runtime]") {
  start({worker(0, {"sleep", "1000"}), worker(1, {program->path(), "1000"}),
         worker(2, {"true"})});
  REQUIRE(wait_for_events(1));
  REQUIRE(begins_to_hang());
  // What runs is known and can be stopped; what has not begun is called off.
  uut->signal(generation, SIGTERM);
  REQUIRE(wait_for_events(3));
  const auto first = trace();
  CHECK(first.find("started 0") == 0);
  CHECK(first.find("exited 0: signal 15") != std::string::npos);
  CHECK(first.find("not started 2: ECANCELED") != std::string::npos);
  CHECK(first.find("started 1") == std::string::npos);
  // It is stopped as soon as it runs, as the others were.
  program->let_go();
  REQUIRE(wait_for_events(5));
  CHECK(trace().substr(first.size()) == "; started 1; exited 1: signal 15");
  uut->release(generation);
}

TEST_CASE_METHOD(hangs_fixture,
                 "process host: a release waits for a program that hangs",
                 "[runtime]") {
  start({worker(0, {program->path(), "1000"})});
  REQUIRE(begins_to_hang());
  SECTION("alone") {
    uut->release(generation);
  }
  SECTION("that a signal came before") {
    uut->signal(generation, SIGTERM);
    uut->release(generation);
  }
  SECTION("that a signal comes after") {
    uut->release(generation);
    uut->signal(generation, SIGTERM);
  }
  on_thread([] {});
  CHECK(events.empty());
  program->let_go();
  REQUIRE(wait_for_events(2));
  CHECK(trace() == "started 0; exited 0: signal 9");
}

TEST_CASE("process host: a program that hangs does not hold up the end",
          "[runtime]") {
  auto wardens = std::array{pid_t{0}, pid_t{0}};
  {
    auto x = hangs_fixture{};
    x.start(
      {worker(0, {"sleep", "1000"}), worker(1, {x.program->path(), "1000"})});
    REQUIRE(x.wait_for_events(1));
    REQUIRE(x.begins_to_hang());
    REQUIRE(soon([&] {
      x.on_thread([&] {
        wardens = {x.uut->warden_pid(), x.uut->second_warden_pid()};
      });
      return wardens[1] != 0;
    }));
    x.uut.reset();
    CHECK(state_of(x.pid_of(0)) == '-');
    CHECK(has_start_thread());
    x.program->let_go();
    // Its thread, which the host does not wait for any more, kills it and ends.
    REQUIRE(soon([] { return !has_start_thread(); }));
    CHECK(!runs_program(x.program->path()));
  }
  // The wardens stay, for the sake of the program.
  for (const auto pid : wardens) {
    CHECK(::kill(pid, SIGKILL) == 0);
    CHECK(::waitpid(pid, nullptr, __WALL) == pid);
  }
}

} // namespace actorrun::test::process_host_hangs_test
