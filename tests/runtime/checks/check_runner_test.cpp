// Tests commands that check a node.
#include "runtime/checks/check_runner.hpp"
#include "tests/runtime/deadline.hpp"
#include "tests/runtime/folders.hpp"
#include "tests/runtime/network/listener_fixture.hpp"
#include "tests/support/catch.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>

namespace actorrun::test::check_runner_test {

using namespace actorrun::detail;
using namespace actorrun::detail::test;
using test_deadline::soon;

namespace {

struct fixture {
  inbox<core::check_ended> ended; // Outlives the reactor.
  std::shared_ptr<reactor> loop = std::make_shared<reactor>();
  std::shared_ptr<ports::check_runner> uut
    = make_check_runner(loop, {"PATH=/usr/bin:/bin", "MARK=yes"}, nullptr);

  core::check_ended result_of(const std::string& command,
                              core::duration limit = 1min) {
    uut->run({7, command, limit},
             [this](core::check_ended x) { ended.put(std::move(x)); });
    const auto x = ended.take();
    REQUIRE(x);
    CHECK(x->run == 7);
    return *x;
  }
};

} // namespace

TEST_CASE_METHOD(fixture, "check_runner: a command that ends with 0 is well",
                 "[runtime]") {
  const auto x = result_of("test \"$MARK\" = yes");
  CHECK(x.trouble.empty());
  CHECK(x.words.empty());
}

TEST_CASE_METHOD(fixture,
                 "check_runner: one that fails says how, and its last line",
                 "[runtime]") {
  auto x = result_of("echo one; echo two; exit 9");
  CHECK(x.trouble == "exit code 9");
  CHECK(x.words == "two");
  x = result_of("echo out; echo why >&2; exit 1");
  CHECK(x.words == "why");
  x = result_of("kill -SEGV $$");
  CHECK(x.trouble == "killed by SIGSEGV");
  x = result_of("nosuchcommand");
  CHECK(x.trouble == "exit code 127");
  CHECK(
    x.words.find("not found; checks of actorrun are clock, disk, gpu-quick, "
                 "gpu")
    != std::string::npos);
}

TEST_CASE_METHOD(fixture,
                 "check_runner: one that takes too long is killed with its "
                 "children",
                 "[runtime]") {
  const auto folder = test_folders::folder{};
  const auto file = folder / "pid";
  const auto x = result_of(
    "sh -c 'echo $$ > " + file + "; exec sleep 1000' & wait", 500ms);
  CHECK(x.trouble == "it has not ended within 500.0 ms");
  auto pid = pid_t{};
  std::ifstream{file} >> pid;
  REQUIRE(pid > 0);
  CHECK(soon([&] { return ::kill(pid, 0) != 0; }));
  CHECK(result_of("true").trouble.empty()); // It can run others.
}

} // namespace actorrun::test::check_runner_test
