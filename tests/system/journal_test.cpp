// Tests what actorctl says of a job from its journal, while it runs and afterwards.
#include "tests/support/catch.hpp"
#include "tests/support/skip.hpp"
#include "tests/system/scene.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>

namespace actorrun::test::journal_test {

namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

struct journal_scene : scene {
  std::string journals() const { return folder() + "/.local/state/actorrun"; }

  /// The output of actorctl.
  std::string ask(words arguments, int expected_code) {
    arguments.insert(arguments.begin(), ACTORCTL_PROGRAM);
    auto code = -1;
    auto out = read(std::move(arguments), &code);
    INFO(out);
    CHECK(code == expected_code);
    return out;
  }

  json why(int expected_code) {
    const auto text = ask({"why", "--json"}, expected_code);
    auto out = json::parse(text, nullptr, false);
    REQUIRE(out.is_object());
    return out;
  }

  /// A job of two agents with four workers, one of which has failed.
  worker_records end_job(const std::string& name = "job") {
    auto& a = agent({.job = name});
    auto& b = agent({.job = name});
    const auto workers = await_world(4);
    order_exit(workers[2].pid, 41);
    CHECK(a.wait() == 1);
    CHECK(b.wait() == 1);
    return workers;
  }

  /// A job of this node alone.
  program& small_job(const words& options, const std::string& script,
                     const std::map<std::string, std::string>& more = {}) {
    auto command = words{"--standalone"};
    command.insert(command.end(), options.begin(), options.end());
    command.insert(command.end(), {"--no-python", "sh", "-c", script});
    return run(std::move(command), more);
  }
};

} // namespace

TEST_CASE_METHOD(journal_scene, "journal: why explains a job that is gone",
                 "[journal]") {
  const auto workers = end_job();
  const auto text = ask({"why"}, 1);
  CHECK(contains(text, "The job failed. Generation "));
  CHECK(contains(text, "rank 2 on "));
  CHECK(contains(text, " exited with code 41; --max-restarts is 0"));
  CHECK(contains(text, "pid " + std::to_string(workers[2].pid)));
  const auto x = why(1);
  CHECK(x["version"] == 1);
  CHECK(x["state"] == "failed");
  CHECK(x["generation"] == workers[2].number);
  CHECK(x["cause"]["kind"] == "worker");
  CHECK(x["cause"]["rank"] == 2);
  CHECK(x["cause"]["local_rank"] == workers[2].local_rank);
  CHECK(x["cause"]["pid"] == workers[2].pid);
  CHECK(x["cause"]["how"] == "exited");
  CHECK(x["cause"]["exit_code"] == 41);
  CHECK(x["failed_after_it"].empty());
}

TEST_CASE_METHOD(journal_scene,
                 "journal: why explains a wait, a run, and what came before",
                 "[journal]") {
  auto& a = agent({.nodes = "2", .restart_count_max = 1});
  const auto waits = [&] {
    auto code = -1;
    const auto text = read({ACTORCTL_PROGRAM, "why"}, &code);
    return code == 1 && contains(text, "Waiting for 1 more node")
           && contains(text, "here: ") && contains(text, "gives up in ");
  };
  CHECK(eventually(waits));
  auto& b = agent({.nodes = "2", .restart_count_max = 1});
  const auto first = await_world(4);
  const auto runs = [&] {
    auto code = -1;
    read({ACTORCTL_PROGRAM, "why"}, &code);
    return code == 0;
  };
  CHECK(eventually(runs));
  order_exit(first[0].pid, 7);
  await_world(4, first[0].generation);
  CHECK(eventually(runs));
  const auto x = why(0);
  CHECK(x["state"] == "running");
  CHECK(x["cause"]["rank"] == 0);
  CHECK(contains(x["sentence"], "1 restart of 1 spent"));
  CHECK(contains(x["sentence"], "this cost restart 1 of 1; the next one ran"));
  order_end();
  CHECK(a.wait() == 0);
  CHECK(b.wait() == 0);
  CHECK(contains(ask({"why"}, 0), "The job succeeded"));
  const auto all = ask({"why", "--all"}, 0);
  CHECK(contains(all, "exited with code 7"));
  CHECK(contains(all, "ended: all its workers exited with 0."));
}

TEST_CASE_METHOD(journal_scene,
                 "journal: a coordinator that was killed is missed at once",
                 "[journal]") {
  auto& host = coordinator({.nodes = "2"});
  auto& a = agent({.nodes = "2"});
  auto& b = agent({.nodes = "2"});
  await_world(4);
  await_status([](const json& x) { return x["phase"] == "running"; });
  host.signal(SIGKILL);
  // It stays a zombie until this test waits for it.
  const auto is_missed = [&] {
    const auto text = read({ACTORCTL_PROGRAM, "why", "--json"});
    return contains(text, "has ended without an outcome")
           && contains(text, "\"state\":\"lost\"");
  };
  CHECK(eventually(is_missed));
  a.signal(SIGKILL);
  b.signal(SIGKILL);
}

TEST_CASE_METHOD(
  journal_scene,
  "journal: why --all begins with the coordinator that was first",
  "[journal]") {
  end_job(); // The same name, but another job.
  const auto options = agent_options{.nodes = "2"};
  auto& host = coordinator(options);
  auto& a = agent(options);
  auto& b = agent(options);
  await_world(4);
  const auto pid = std::to_string(host.pid());
  host.signal(SIGKILL);
  host.wait();
  coordinator(options);
  await_status([](const json& x) { return x["phase"] == "running"; });
  order_end();
  CHECK(a.wait() == 0);
  CHECK(b.wait() == 0);
  const auto text = ask({"why", "--all"}, 0);
  const auto lost = text.find("has ended without an outcome");
  CHECK(contains(text, "pid " + pid));
  CHECK(lost < text.find("The job succeeded"));
  CHECK_FALSE(contains(text, "exited with code 41"));
  CHECK_FALSE(contains(ask({"why"}, 0), "without an outcome"));
}

TEST_CASE_METHOD(journal_scene, "journal: it is shown, followed and replayed",
                 "[journal]") {
  end_job();
  const auto text = ask({"journal"}, 0);
  for (const auto* part : {"coordinator of job job begins", " joins (",
                           " is formed: 2 nodes, 4 "
                           "workers",
                           " runs\n", "exited with code 41",
                           " is being stopped", "the job ends: failed"})
    CHECK(contains(text, part));
  auto last = uint64_t{0};
  const auto lines = ask({"journal", "--json"}, 0);
  for (size_t i = 0; i < lines.size();) {
    const auto end = lines.find('\n', i);
    const auto x = json::parse(lines.substr(i, end - i), nullptr, false);
    REQUIRE(x.is_object());
    CHECK(x["n"] == ++last);
    i = end + 1;
  }
  CHECK(contains(ask({"replay", "--at=+0.001s"}, 0), "job job: gathering"));
  CHECK(contains(ask({"replay"}, 0), "The job failed."));
  CHECK(ask({"journal", "--follow"}, 0) == text); // It has ended.
}

TEST_CASE_METHOD(journal_scene,
                 "journal: it is read from any host while the job runs",
                 "[journal]") {
  // Each host has folders of its own.
  const auto elsewhere = std::map<std::string, std::string>{
    {"ACTORRUN_RUN_DIR", folder() + "/elsewhere"},
    {"HOME", folder() + "/elsewhere"}};
  std::filesystem::create_directory(folder() + "/elsewhere");
  std::filesystem::permissions(folder() + "/elsewhere",
                               std::filesystem::perms::owner_all);
  const auto begin_there = [&](words arguments) -> program& {
    arguments.insert(arguments.begin(), ACTORCTL_PROGRAM);
    return start(std::move(arguments), elsewhere);
  };
  const auto ask_there = [&](words arguments) {
    auto& x = begin_there(std::move(arguments));
    CHECK(x.wait() == 0);
    return x.output();
  };
  auto& a = agent({.restart_count_max = 1});
  auto& b = agent({.restart_count_max = 1, .environment = elsewhere});
  const auto before = await_world(4);
  CHECK(contains(ask_there({"journal"}), "coordinator of job job begins"));
  CHECK(contains(
    ask_there({"journal", "--rdzv-endpoint=" + endpoint(), "--rdzv-id=job"}),
    " is formed: 2 nodes, 4 workers"));
  CHECK(contains(ask_there({"replay", "job"}), "job job: running"));
  CHECK(json::parse(ask_there({"time", "--json", "job"}))["job"] == "job");
  auto& follower = begin_there({"journal", "-f", "job"});
  require(eventually([&] { return contains(follower.output(), " runs\n"); }),
          "the journal is shown");
  order_exit(before[2].pid, 41);
  await_world(4, before[0].generation);
  CHECK(eventually(
    [&] { return contains(follower.output(), "exited with code 41"); }));
  order_end();
  CHECK(a.wait() == 0);
  CHECK(b.wait() == 0);
  const auto code = follower.wait();
  const auto has_end = contains(follower.output(), "the job ends: succeeded");
  CHECK((code == 0) == has_end);
  auto& late = begin_there({"journal", "job"});
  CHECK(late.wait() == 3);
  CHECK(contains(late.output(), "there is no journal of job \"job\""));
}

TEST_CASE_METHOD(journal_scene, "journal: workers cannot colour a terminal",
                 "[journal]") {
  CHECK(
    small_job({"--redirects=3"}, "printf 'a\\033[31mb\\n' >&2; exit 3").wait()
    == 1);
  for (const auto& x : {words{"why"}, words{"why", "--all"}, words{"journal"},
                        words{"replay", "--at=+0.5s"}, words{"replay"}}) {
    auto command = words{ACTORCTL_PROGRAM};
    command.insert(command.end(), x.begin(), x.end());
    const auto text = read(command);
    CHECK(text.size() > 20);
    CHECK_FALSE(contains(text, "\x1b"));
  }
}

TEST_CASE_METHOD(journal_scene, "journal: none is written where none is wanted",
                 "[journal]") {
  CHECK(small_job({"--journal=none"}, "exit 3").wait() == 1);
  CHECK_FALSE(std::filesystem::exists(journals()));
  CHECK(contains(ask({"why"}, 3), "there is no journal in "));
  CHECK(small_job({"--journal=" + folder() + "/mine"}, "exit 3").wait() == 1);
  CHECK(contains(ask({"why", "--journal=" + folder() + "/mine"}, 1),
                 "exited with code 3"));
}

TEST_CASE_METHOD(journal_scene, "journal: of another version, it says so",
                 "[journal]") {
  const auto path = write("new.jsonl", "{\"v\": 1, \"n\": 1}\n");
  for (const auto* command : {"why", "journal", "replay"}) {
    INFO(command);
    CHECK(contains(ask({command, path}, 2),
                   "written by another version (1; this program reads version"
                   " 2)"));
    CHECK(contains(ask({command, write("none.jsonl", "")}, 2), "no record"));
    CHECK(contains(ask({command, write("no.jsonl", "what\n")}, 2), "not JSON"));
    CHECK(
      contains(ask({command, folder() + "/missing.jsonl"}, 2), "cannot read"));
  }
}

TEST_CASE_METHOD(
  journal_scene,
  "journal: of a coordinator on another host no more is told than "
  "it says",
  "[journal]") {
  auto& x = small_job({}, "exec sleep 1000");
  const auto runs = [&] {
    auto code = -1;
    read({ACTORCTL_PROGRAM, "why"}, &code);
    return code == 0;
  };
  CHECK(eventually(runs));
  auto text = ask({"journal", "--json"}, 0);
  auto name = read({"uname", "-n"});
  name.pop_back();
  const auto host = "\"" + name + "\"";
  for (auto i = text.find(host); i != text.npos; i = text.find(host, i))
    text.replace(i, host.size(), "\"elsewhere\"");
  const auto copy = write("copy.jsonl", text);
  const auto told = ask({"why", copy}, 1);
  CHECK(told.starts_with("At "));
  CHECK(
    contains(told, "its coordinator was on elsewhere, which is not this host"));
  x.signal(SIGTERM);
  x.wait();
}

TEST_CASE_METHOD(journal_scene, "journal: of a job that is unknown it says so",
                 "[journal]") {
  small_job({}, "exit 0").wait();
  auto& x = start({ACTORCTL_PROGRAM, "why", "other"});
  CHECK(x.wait() == 3);
  CHECK(count_of(x.output(), "there is no journal of job \"other\"") == 1);
  CHECK(count_of(x.output(), "rdzv-conf") == 0);
}

TEST_CASE_METHOD(journal_scene,
                 "journal: a file system that hangs holds up no job",
                 "[journal]") {
  const auto state = folder() + "/state";
  std::filesystem::create_directory(state);
  const auto hangs = write("hangs", "");
  auto& x = small_job({"--max-restarts=1"},
                      "test $TORCHELASTIC_RESTART_COUNT = 1 || exit 3",
                      {{"LD_PRELOAD", HANGING_FILES},
                       {"HANGING_FOLDER", state},
                       {"HANGING_WHILE", hangs},
                       {"XDG_STATE_HOME", state}});
  CHECK(x.wait() == 0);
  CHECK(count_of(x.output(), "journal") == 0);
}

TEST_CASE_METHOD(journal_scene, "journal: a full disk costs one warning",
                 "[journal]") {
  auto code = -1;
  read({"unshare", "--mount", "sh", "-c", "mount -t tmpfs none ."}, &code);
  if (code != 0)
    return actorrun::test::skip("root",
                                "no disk can be made, which only root may");
  auto& x = start(
    {"unshare", "--mount", "sh", "-c",
     "mkdir disk && mount -t tmpfs -o size=16k none disk &&"
     "head -c 16384 /dev/zero > disk/ballast;"
     "\"$0\" --standalone --max-restarts=3 --journal=disk/journal --no-python"
     " sh -c 'case $TORCHELASTIC_RESTART_COUNT in 3) exit 0;;"
     " 2) rm -f disk/ballast;; esac; exit 4';"
     "code=$?; cp -r disk/journal copy; exit $code",
     ACTORRUN_PROGRAM});
  CHECK(x.wait() == 0);
  CHECK(count_of(x.output(), "cannot be ") == 1);
  CHECK(count_of(x.output(), "No space left on device") == 1);
  const auto text = ask({"why", "--all", "--journal=" + folder() + "/copy"}, 0);
  CHECK(contains(text, "exited with code 4"));
  CHECK(contains(text, "The job succeeded"));
}

} // namespace actorrun::test::journal_test
