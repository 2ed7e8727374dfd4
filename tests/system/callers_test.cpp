// Programs that start actorrun and act for it: what they are told of its end and of
// events, and how they end it.
#include "tests/support/catch.hpp"
#include "tests/system/scene.hpp"

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <sstream>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace actorrun::test::callers_test {

namespace {

namespace fs = std::filesystem;

struct caller_scene : scene {
  std::string report_path(const std::string& name = "report.json") const {
    return folder() + "/" + name;
  }

  std::string report_option(const std::string& name = "report.json") const {
    return "--report-file=" + report_path(name);
  }

  json report(const std::string& name = "report.json") const {
    const auto text = content_of(report_path(name));
    INFO(text);
    auto out = json::parse(text, nullptr, false);
    REQUIRE(out.is_object());
    return out;
  }

  /// Runs a job of this node with a report, and checks how it ends.
  json report_of(const words& options, int expected_code) {
    auto line = words{report_option()};
    line.insert(line.end(), options.begin(), options.end());
    auto& x = run(line);
    INFO(x.output());
    CHECK(x.wait() == expected_code);
    auto out = report();
    CHECK(out["exit_code"] == expected_code);
    fs::remove(report_path());
    return out;
  }

  /// Starts actorrun below a shell, which opens descriptors for it first.
  program& run_with(const std::string& redirections, words arguments) {
    auto line
      = words{"sh", "-c", "exec " + redirections + "; exec \"$0\" \"$@\"",
              ACTORRUN_PROGRAM};
    line.insert(line.end(), arguments.begin(), arguments.end());
    return start(std::move(line));
  }

  std::string make_fifo(const std::string& name) const {
    const auto path = folder() + "/" + name;
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    return path;
  }
};

/// A descriptor of the test, which other programs do not get.
class held_descriptor {
public:
  held_descriptor(const std::string& path, int flags)
    : fd_(::open(path.c_str(), flags | O_CLOEXEC)) {
    REQUIRE(fd_ >= 0);
  }
  ~held_descriptor() { close(); }

  held_descriptor(const held_descriptor&) = delete;
  held_descriptor& operator=(const held_descriptor&) = delete;

  int get() const { return fd_; }

  void close() {
    if (fd_ >= 0)
      ::close(fd_);
    fd_ = -1;
  }

private:
  int fd_;
};

std::vector<json> lines_as_json(const std::string& text) {
  auto out = std::vector<json>{};
  auto lines = std::istringstream{text};
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    out.push_back(json::parse(line, nullptr, false));
    REQUIRE(out.back().is_object());
  }
  return out;
}

} // namespace

TEST_CASE_METHOD(caller_scene,
                 "report file: every node has the failures of all"
                 " nodes (R1)",
                 "[callers]") {
  auto& a = agent({.more = {report_option("a.json")}});
  auto& b = agent({.more = {report_option("b.json")}});
  const auto workers = await_world(4);
  const auto of_root = workers[3].node_rank;
  order_exit(workers[3].pid, 41);
  CHECK(a.wait() == 1);
  CHECK(b.wait() == 1);
  const auto first = report("a.json"), second = report("b.json");
  for (const auto& x : {first, second}) {
    CHECK(x["verdict"] == "failed");
    CHECK(x["exit_code"] == 1);
    CHECK(x["generation"] == 1);
    CHECK(x["restarts"] == 0);
    REQUIRE(x["failures"].size() == 1);
    const auto& root = x["failures"][0];
    CHECK(root["rank"] == 3);
    CHECK(root["local_rank"] == 1);
    CHECK(root["pid"] == workers[3].pid);
    CHECK(root["exit_code"] == 41);
  }
  CHECK(first["sentence"] == second["sentence"]);
  CHECK(first["failures"] == second["failures"]);
  CHECK(first["node_rank"] != second["node_rank"]);
  const auto& of_last = first["node_rank"] == of_root ? first : second;
  CHECK(of_last["ranks"] == json{2, 3});
}

TEST_CASE_METHOD(caller_scene, "report file: every end has one (R1)",
                 "[callers]") {
  const auto begun = report_of({"--no-python", "true"}, 0);
  CHECK(begun["verdict"] == "succeeded");
  CHECK(begun["ranks"] == json{0});
  CHECK(begun["node_rank"] == 0);
  CHECK(begun["failures"] == json::array());
  const auto wrong = report_of({"--nproc-per-node=x", "train.py"}, 2);
  CHECK(wrong["verdict"] == "error");
  CHECK(wrong["generation"] == 0);
  CHECK(wrong["node_rank"].is_null());
  CHECK(wrong["sentence"].get<std::string>().starts_with("--nproc-per-node: "));
  CHECK(report_of({"--no-such-option", "train.py"}, 2)["verdict"] == "error");
  const auto missing = report_of({"--no-python", "no-such-program"}, 127);
  CHECK(missing["verdict"] == "error");
  CHECK(missing["remedy"].get<std::string>().starts_with("check the path"));
  write("plain", "text");
  CHECK(report_of({"--no-python", folder() + "/plain"}, 126)["verdict"]
        == "error");
  const auto unmet = report_of({"--nnodes=2", "--rdzv-endpoint=" + endpoint(),
                                "--rdzv-conf=join_timeout=1", "--rdzv-id=j",
                                "--no-python", "true"},
                               3);
  CHECK(unmet["verdict"] == "unmet");
  CHECK(
    report_of({"--log-dir=/dev/null/x", "--redirects=3", "--no-python", "true"},
              6)["verdict"]
    == "error");
}

TEST_CASE_METHOD(caller_scene,
                 "report file: a node that is refused, and one that"
                 " a signal ends",
                 "[callers]") {
  auto& a = agent({.nodes = "1:2", .more = {report_option("a.json")}});
  await_world(2);
  auto& other = agent({.nodes = "1:2",
                       .restart_count_max = 1,
                       .more = {report_option("other.json")}});
  CHECK(other.wait() == 4);
  CHECK(report("other.json")["verdict"] == "error");
  a.signal(SIGTERM);
  CHECK(a.wait() == 128 + SIGTERM);
  const auto x = report("a.json");
  CHECK(x["verdict"] == "stopped");
  CHECK(x["signal"] == SIGTERM);
  CHECK(x["exit_code"] == 128 + SIGTERM);
}

TEST_CASE_METHOD(caller_scene,
                 "report file: error files, output and log folder",
                 "[callers]") {
  const auto x = report_of(
    {"--nproc-per-node=2", "--log-dir=" + folder() + "/logs", "-r3",
     "--no-python", "sh", "-c",
     "if [ $RANK = 0 ]; then echo oh no >&2; exit 3; fi; exec sleep 60"},
    1);
  REQUIRE(x["failures"].size() == 1);
  const auto& root = x["failures"][0];
  CHECK(root["exit_code"] == 3);
  CHECK(root["last_output"] == "oh no");
  CHECK(root["error_file"] == "");
  CHECK(root["error_file_is_here"] == false);
  CHECK(fs::is_directory(x["log_dir"].get<std::string>() + "/attempt_0/0"));
  const auto with_file
    = report_of({"--no-python", "sh", "-c",
                 R"(printf '{"message": {"message": "E: x", "extraInfo": )"
                 R"({"py_callstack": "stack\\nE: x", "timestamp": "12"}}}')"
                 R"( > $TORCHELASTIC_ERROR_FILE; exit 1)"},
                1);
  const auto& own = with_file["failures"][0];
  CHECK(own["message"] == "E: x");
  CHECK(own["traceback"] == "stack\nE: x");
  CHECK(own["error_file_is_here"] == true);
  CHECK(fs::exists(own["error_file"].get<std::string>()));
  // A time of 1970 is none, and the file is still that of its worker.
  CHECK(own["time_ms"] > int64_t{1'000'000'000'000});
}

TEST_CASE_METHOD(caller_scene,
                 "report: it is not printed, and has another name,"
                 " if that is asked for (R2, R3)",
                 "[callers]") {
  auto& quiet = run({"--no-report", "--no-python", "false"});
  CHECK(quiet.wait() == 1);
  CHECK(count_of(quiet.output(), "Root Cause") == 0);
  CHECK(count_of(quiet.output(), "job failed, no restart is left") == 1);
  auto& named = run({"--entry-name=trainer.main", "--event-log-handler=console",
                     "--no-python", "false"});
  CHECK(named.wait() == 1);
  CHECK(count_of(named.output(), "\ntrainer.main FAILED\n") == 1);
  CHECK(count_of(named.output(), R"(\"entry_point\": \"trainer.main\")") >= 4);
}

TEST_CASE_METHOD(caller_scene,
                 "variables of options are neither read nor passed"
                 " on (R8)",
                 "[callers]") {
  const auto set = std::map<std::string, std::string>{
    {"PET_NPROC_PER_NODE", "x"}, {"PET_OTHER", "1"}};
  auto& x = run({"--no-pet", "--no-python", "env"}, set);
  CHECK(x.wait() == 0);
  CHECK(count_of(x.output(), "PET_") == 0);
  CHECK(count_of(x.output(), "LOCAL_RANK=0") == 1);
  CHECK(run({"--no-python", "env"}, set).wait() == 2);
}

TEST_CASE_METHOD(caller_scene,
                 "parent: the job stops when it has gone, and"
                 " workers have neither descriptor (R4)",
                 "[callers]") {
  const auto fifo = make_fifo("parent");
  auto& x = agent(
    {.nodes = "1",
     .more = {"--parent-fd=5", "--event-log-fd=6", report_option()},
     .prefix = {"sh", "-c", "exec 5<parent 6>events; exec \"$0\" \"$@\""}});
  auto parent = held_descriptor{fifo, O_WRONLY};
  const auto workers = await_world(2);
  for (const auto& worker : workers)
    CHECK(worker.descriptors == "0,1,2");
  CHECK(x.running());
  parent.close();
  CHECK(x.wait() == 128 + SIGTERM);
  CHECK(all_dead(workers));
  CHECK(count_of(x.output(), "the program that has started this one is gone")
        == 1);
  CHECK(report()["signal"] == SIGTERM);
}

TEST_CASE_METHOD(caller_scene,
                 "parent: its end does not hurry a stop that it has"
                 " asked for",
                 "[callers]") {
  const auto fifo = make_fifo("parent");
  auto& x = run_with("5<parent",
                     {"--parent-fd=5", "--signals-to-forward=SIGUSR1",
                      "--no-python", "sh", "-c",
                      "trap '' USR1; trap 'while [ ! -e go ]; do sleep 0.02;"
                      " done; touch saved; exit 0' TERM; touch ready;"
                      "while :; do sleep 0.02; done"});
  auto parent = held_descriptor{fifo, O_WRONLY};
  require(eventually([&] { return fs::exists(folder() + "/ready"); }),
          "the worker is ready");
  x.signal(SIGTERM);
  require(x.says("SIGTERM: stopping the workers"), "it stops");
  parent.close();
  // The same thread hears of both.
  x.signal(SIGUSR1);
  require(x.says("passes on SIGUSR1"), "it hears more");
  write("go", "");
  CHECK(x.wait() == 128 + SIGTERM);
  CHECK(fs::exists(folder() + "/saved"));
  CHECK(count_of(x.output(), "the program that has started this one is gone")
        == 0);
}

// A busy machine may send the second late, or let actorrun see it late. But one that
// counts each signal never saves.
TEST_CASE_METHOD(caller_scene,
                 "signals: one that comes on two ways counts once"
                 " (R5)",
                 "[callers]") {
  auto has_saved = false;
  for (auto tries = 0; tries < 10 && !has_saved; ++tries) {
    const auto name = "." + std::to_string(tries);
    auto& x = run({"--no-python", "sh", "-c",
                   "trap 'sleep 0.2; touch saved" + name
                     + "; exit 0' INT; touch ready" + name
                     + "; while :; do sleep 0.02; done"});
    require(eventually([&] { return fs::exists(folder() + "/ready" + name); }),
            "the worker is ready");
    x.signal(SIGINT);
    require(x.says("SIGINT: stopping the workers"), "it has counted one");
    auto& other = start({"sh", "-c", "kill -INT " + std::to_string(x.pid())});
    REQUIRE(other.wait() == 0);
    CHECK(x.wait() == 128 + SIGINT);
    has_saved = fs::exists(folder() + "/saved" + name);
    CHECK(has_saved == (count_of(x.output(), "killing the workers") == 0));
  }
  CHECK(has_saved);
}

TEST_CASE_METHOD(caller_scene, "events: another program gets them (R9)",
                 "[callers]") {
  auto& x = run_with("6>events", {"--event-log-fd=6", "--no-python", "true"});
  CHECK(x.wait() == 0);
  auto states = words{};
  for (const auto& event : lines_as_json(content_of(folder() + "/events")))
    states.push_back(event["metadata"]["state"]);
  CHECK(states
        == words{"RENDEZVOUS", "ASSIGN_WORKER_RANKS", "START", "SUCCEEDED",
                 "SUCCEEDED"});
  CHECK(count_of(x.output(), "torchelastic") == 0);
}

TEST_CASE_METHOD(caller_scene,
                 "events: a job does not wait for a reader that"
                 " does not read, or is gone (R9)",
                 "[callers]") {
  const auto fifo = make_fifo("events");
  auto reader = held_descriptor{fifo, O_RDWR | O_NONBLOCK};
  // As large as it becomes, and full.
  ::fcntl(reader.get(), F_SETPIPE_SZ, 1024 * 1024);
  const auto filler = std::string(4'096, '\n');
  while (::write(reader.get(), filler.data(), filler.size()) > 0) {
  }
  REQUIRE(errno == EAGAIN);
  auto& x = run_with("6>events", {"--event-log-fd=6", "--no-python", "true"});
  CHECK(x.wait() == 0);
  CHECK(count_of(x.output(), "the last events are lost") == 1);
  auto& gone = run_with(
    "6>events", {"--event-log-fd=6", "--no-python", "sh", "-c",
                 "touch ready; while [ ! -e go ]; do sleep 0.02; done"});
  require(eventually([&] { return fs::exists(folder() + "/ready"); }),
          "the worker is ready");
  reader.close();
  write("go", "");
  CHECK(gone.wait() == 0);
  CHECK(count_of(gone.output(), "events are lost") == 0);
}

} // namespace actorrun::test::callers_test
