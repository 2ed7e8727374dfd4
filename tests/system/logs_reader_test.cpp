// Consoles that are not read, read late, or closed.
#include "tests/support/catch.hpp"
#include "tests/support/sanitizer.hpp"
#include "tests/system/log_scene.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>

namespace actorrun::test::logs_reader_test {

namespace {

constexpr auto line_count = 1'000'000;
constexpr auto text = "some text that fills a line of a console, and no more";

/// Much more than any pipe holds.
const auto write_much = "yes '" + std::string{text} + "' | head -n "
                        + std::to_string(line_count) + "; touch done";

/// In KiB.
size_t resident_size(pid_t pid) {
  const auto status = content_of("/proc/" + std::to_string(pid) + "/status");
  const auto i = status.find("VmRSS:");
  return i == status.npos ? 0 : std::stoul(status.substr(i + 6));
}

/// A job of one worker that writes much to a console that is a pipe; its reader
/// waits for a file.
struct reader_scene : log_scene {
  program& job_with_reader(const words& options = {},
                           const std::string& script = write_much) {
    REQUIRE(start({"mkfifo", "pipe"}).wait() == 0);
    start({"sh", "-c",
           "exec 3<pipe; while [ ! -e read ]; do sleep 0.02; done;"
           "exec cat <&3 >console"});
    auto line = words{"sh",
                      "-c",
                      "exec \"$0\" \"$@\" >pipe",
                      ACTORRUN_PROGRAM,
                      "--standalone",
                      "--log-dir=logs",
                      "-t1"};
    line.insert(line.end(), options.begin(), options.end());
    line.insert(line.end(), {"--no-python", "sh", "-c", script});
    return start(std::move(line));
  }

  /// Waits until the worker has ended.
  void await_worker(program& x) {
    require(eventually([&] {
              return std::filesystem::exists(folder() + "/done")
                     && std::ranges::all_of(descendants(x.pid()), is_warden);
            }),
            "the worker ends");
  }
};

} // namespace

TEST_CASE_METHOD(reader_scene, "console: workers do not wait for its reader",
                 "[logs]") {
  auto& x = job_with_reader();
  await_worker(x);
  CHECK(x.wait(300ms) == program::still_running);
  // The text is 54 MB; it waits in the file and not in memory.
  CHECK(resident_size(x.pid()) > 0);
  if (!actorrun::test::has_address_sanitizer) // It keeps what is freed.
    CHECK(resident_size(x.pid()) < 40'000);
  write("read", "");
  CHECK(x.wait() == 0);
  REQUIRE(programs()[1].wait() == 0);
  const auto shown = content_of(folder() + "/console");
  const auto line = "[default0]:" + std::string{text} + "\n";
  CHECK(shown.size() == line_count * line.size());
  CHECK(count_of(shown, line) == line_count);
}

TEST_CASE_METHOD(reader_scene, "console: a second signal ends the wait for it",
                 "[logs]") {
  auto& x = job_with_reader({"--signals-to-forward=SIGUSR1"});
  await_worker(x);
  for (auto i = 0; i < 3; ++i) {
    x.signal(SIGUSR1); // No worker is left to get it.
    CHECK(x.wait(100ms) == program::still_running);
  }
  x.signal(SIGTERM);
  CHECK(x.wait(300ms) == program::still_running);
  x.signal(SIGTERM);
  CHECK(x.wait() == 0); // The job had succeeded.
  CHECK(lines_of(read_logs(logs())["attempt_0/0/stdout.log"]).size()
        == line_count);
  write("read", "");
  REQUIRE(programs()[1].wait() == 0);
}

TEST_CASE_METHOD(reader_scene,
                 "console: two signals at once do not wait for it for long",
                 "[logs]") {
  auto& x = job_with_reader({}, write_much + "; exec sleep 1000");
  require(
    eventually([&] { return std::filesystem::exists(folder() + "/done"); }),
    "the worker has written");
  x.signal(SIGTERM);
  x.signal(SIGINT);
  CHECK(x.wait() > 128);
  write("read", "");
  REQUIRE(programs()[1].wait() == 0);
}

TEST_CASE_METHOD(log_scene, "console: a reader that leaves costs no worker",
                 "[logs]") {
  auto& x = start({"sh", "-c",
                   "\"$0\" --standalone --log-dir=logs -t3 --no-python sh -c '"
                   "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); echo line $i;"
                   "done; touch done' | head -n 1",
                   ACTORRUN_PROGRAM});
  CHECK(x.wait() == 0);
  CHECK(x.output() == "[default0]:line 1\n");
  CHECK(std::filesystem::exists(folder() + "/done"));
  CHECK(lines_of(read_logs(logs())["attempt_0/0/stdout.log"]).size() == 2'000);
}

TEST_CASE_METHOD(log_scene, "console: a job runs without one", "[logs]") {
  auto& x = start({"sh", "-c",
                   "exec \"$0\" --standalone --log-dir=logs -t3 --no-python sh"
                   " -c 'echo out; echo err >&2' <&- >&- 2>&-",
                   ACTORRUN_PROGRAM});
  CHECK(x.wait() == 0);
  CHECK(x.output().empty());
  CHECK(read_logs(logs())["attempt_0/0/stdout.log"] == "out\n");
  CHECK(read_logs(logs())["attempt_0/0/stderr.log"] == "err\n");
}

} // namespace actorrun::test::logs_reader_test
