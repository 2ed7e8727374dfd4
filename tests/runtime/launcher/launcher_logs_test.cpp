// How a launcher handles the output of its workers.
#include "runtime/launcher.hpp"
#include "runtime/system_config.hpp"
#include "tests/runtime/deadline.hpp"
#include "tests/runtime/folders.hpp"
#include "tests/support/catch.hpp"

#include <caf/actor_system.hpp>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace actorrun::test::launcher_logs_test {

using namespace actorrun::detail;
using namespace actorrun::detail::test_folders;
using namespace actorrun::detail::test_deadline;
using core::output_stream;

namespace {

/// A console that takes lines, or does not.
class fake_console final : public ports::console {
public:
  explicit fake_console(bool is_blocked) : is_blocked_(is_blocked) {}

  bool offer(output_stream, std::string_view lines) override {
    const auto lock = std::lock_guard{mutex_};
    if (!is_blocked_)
      text_ += lines;
    return !is_blocked_;
  }

  void call_when_ready(output_stream, std::function<void()> fn) override {
    const auto lock = std::lock_guard{mutex_};
    waiting_.push_back(std::move(fn));
  }

  bool is_closed(output_stream) const override { return false; }

  void unblock() {
    auto due = std::vector<std::function<void()>>{};
    {
      const auto lock = std::lock_guard{mutex_};
      is_blocked_ = false;
      due.swap(waiting_);
    }
    for (const auto& fn : due)
      fn();
  }

  std::string text() const {
    const auto lock = std::lock_guard{mutex_};
    return text_;
  }

private:
  mutable std::mutex mutex_;
  bool is_blocked_;
  std::string text_;
  std::vector<std::function<void()>> waiting_;
};

/// A layout that puts all files into one folder.
class own_layout final : public ports::log_layout {
public:
  explicit own_layout(std::string path) : path_(std::move(path)) {}

  result<core::generation_outputs>
  prepare(const core::generation_plan& plan) override {
    auto x = core::generation_outputs{};
    for (uint32_t i = 0; i < plan.own.slot_count; ++i) {
      const auto path = path_ + "/" + std::to_string(i);
      x.workers.push_back({.out = {.where = core::stream_target::kind::file,
                                   .path = path,
                                   .shown = true},
                           .err = {},
                           .error_file = path + ".json"});
    }
    return x;
  }

private:
  std::string path_;
};

struct fixture {
  folder here;
  folder temporary;
  system_config config;
  caf::actor_system system{config};
  job_options job;
  agent_options agent;
  launcher_hooks hooks;
  std::atomic<int> ended_count = 0;
  std::unique_ptr<launcher> uut;

  fixture() {
    ::setenv("TMPDIR", temporary.path().c_str(), 1);
    hooks.on_ended = [this](const core::ending&) { ++ended_count; };
  }

  ~fixture() {
    uut.reset();
    ::unsetenv("TMPDIR");
  }

  void start(const std::string& script, uint32_t count = 1) {
    agent.workers.command = {"/bin/sh", "-c", script};
    agent.workers.slot_count = count;
    auto started = launcher::start(system, job, agent, hooks);
    REQUIRE(started);
    uut = std::move(*started);
  }

  std::shared_ptr<fake_console> show_all(bool is_blocked = false) {
    agent.logs.tees.everywhere = core::std_streams::all;
    auto console = std::make_shared<fake_console>(is_blocked);
    hooks.console = console;
    return console;
  }

  core::outcome::verdict verdict() {
    const auto how = uut->wait();
    REQUIRE(how.result);
    return how.result->kind;
  }

  static bool is_empty(const folder& x) {
    return std::filesystem::is_empty(x.path());
  }
};

constexpr auto succeeded = core::outcome::verdict::succeeded;
constexpr auto failed = core::outcome::verdict::failed;

} // namespace

TEST_CASE_METHOD(fixture, "launcher logs: output of workers is shown and kept",
                 "[runtime]") {
  const auto console = show_all();
  agent.logs.folder = here / "logs";
  start("echo out; echo err >&2");
  CHECK(verdict() == succeeded);
  const auto text = console->text();
  CHECK((text == "[default0]:out\n[default0]:err\n"
         || text == "[default0]:err\n[default0]:out\n"));
  const auto worker = uut->log_folder() + "/attempt_0/0";
  CHECK(content_of(worker + "/stdout.log") == "out\n");
  CHECK(content_of(worker + "/stderr.log") == "err\n");
}

TEST_CASE_METHOD(fixture, "launcher logs: unused folders are removed",
                 "[runtime]") {
  start("test -n \"$TORCHELASTIC_ERROR_FILE\"", 3);
  CHECK(verdict() == succeeded);
  CHECK(!is_empty(temporary));
  CHECK(uut->log_folder().empty());
  uut.reset();
  CHECK(is_empty(temporary));
}

TEST_CASE_METHOD(fixture, "launcher logs: error files are kept", "[runtime]") {
  start("echo '{}' >$TORCHELASTIC_ERROR_FILE; exit 1");
  CHECK(verdict() == failed);
  const auto path = uut->log_folder();
  uut.reset();
  CHECK(content_of(path + "/attempt_0/error_0.json") == "{}\n");
}

TEST_CASE_METHOD(fixture,
                 "launcher logs: a folder that cannot be made is reported",
                 "[runtime]") {
  std::ofstream{here / "file"} << "x";
  agent.logs.folder = here / "file";
  agent.workers.command = {"/bin/true"};
  const auto started = launcher::start(system, job, agent, hooks);
  REQUIRE(!started);
  CHECK(started.error().code == errc::log_failed);
  CHECK(ended_count == 0);
}

TEST_CASE_METHOD(fixture, "launcher logs: without files no folder is needed",
                 "[runtime]") {
  ::setenv("TMPDIR", "/proc/none", 1);
  SECTION("the folder is possible") {
    start("test -n \"$TORCHELASTIC_ERROR_FILE\"");
    CHECK(verdict() == succeeded);
  }
  SECTION("files are turned off") {
    agent.logs.folder = "/dev/null";
    agent.logs.tees.everywhere = core::std_streams::all;
    start("test -z \"$TORCHELASTIC_ERROR_FILE\"");
    CHECK(verdict() == succeeded);
  }
}

TEST_CASE_METHOD(fixture, "launcher logs: the end waits for the console",
                 "[runtime]") {
  const auto console = show_all(true);
  start("echo last words");
  CHECK(soon([&] { return uut->awaits_console(); }));
  uut->leave(SIGTERM);
  CHECK(uut->awaits_console());
  SECTION("until the console takes the lines") {
    console->unblock();
    CHECK(verdict() == succeeded);
    CHECK(console->text() == "[default0]:last words\n");
  }
  SECTION("or until a second request to end") {
    uut->leave(SIGTERM);
    CHECK(verdict() == succeeded);
    CHECK(console->text().empty());
  }
  CHECK(!uut->awaits_console());
  CHECK(soon([&] { return ended_count == 1; }));
}

TEST_CASE_METHOD(fixture,
                 "launcher logs: it can be destroyed while a console blocks",
                 "[runtime]") {
  const auto console = show_all(true);
  start("echo last words");
  CHECK(soon([&] { return uut->awaits_console(); }));
  uut.reset();
  console->unblock();
  CHECK(ended_count == 0);
}

TEST_CASE_METHOD(fixture, "launcher logs: a console that blocks delays no end",
                 "[runtime]") {
  show_all(true);
  agent.workers.grace_period = std::chrono::seconds{10};
  start("echo words; test $RANK = 1 && exit 7; exec sleep 1000", 2);
  CHECK(soon([&] { return uut->awaits_console(); }));
  uut->leave(SIGTERM);
  uut->leave(SIGTERM);
  CHECK(verdict() == failed);
}

TEST_CASE_METHOD(fixture, "launcher logs: a host may bring its own layout",
                 "[runtime]") {
  const auto console = show_all();
  agent.logs = {};
  hooks.layout = std::make_shared<own_layout>(here.path());
  start("echo words; echo $TORCHELASTIC_ERROR_FILE");
  CHECK(verdict() == succeeded);
  const auto lines = "words\n" + (here / "0.json") + "\n";
  CHECK(content_of(here / "0") == lines);
  CHECK(console->text()
        == "[default0]:words\n[default0]:" + (here / "0.json") + "\n");
  CHECK(is_empty(temporary));
}

TEST_CASE_METHOD(fixture, "launcher logs: workers get notice signals",
                 "[runtime]") {
  const auto console = show_all();
  start("trap 'echo noted; exit 0' USR1; echo ready; while :; do sleep 0.01;"
        " done");
  REQUIRE(soon([&] { return !console->text().empty(); }));
  uut->notify(SIGUSR1);
  CHECK(verdict() == succeeded);
  CHECK(console->text() == "[default0]:ready\n[default0]:noted\n");
}

} // namespace actorrun::test::launcher_logs_test
