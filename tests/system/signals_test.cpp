// Signals to the agent: which end its part, which it forwards, and which
// signals the workers get.
#include "tests/support/catch.hpp"
#include "tests/system/log_scene.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>

namespace actorrun::test::signals_test {

namespace {

// The shell handles a signal after the command that it waits for.
constexpr auto wait_for_it = "touch ready.$RANK;"
                             "while [ ! -e end.$RANK ]; do sleep 0.02; done";

struct signal_scene : log_scene {
  /// Starts workers that record in `got.<rank>` each signal that they get;
  /// those in `ending` end them.
  program& noting(const words& options, const words& ending = {"TERM"},
                  uint32_t slots = 2) {
    auto script = std::string{};
    for (const auto* name : {"TERM", "INT", "HUP", "USR1", "USR2"}) {
      const auto ends = std::find(ending.begin(), ending.end(), name);
      script += "trap 'echo " + std::string{name} + " >> got.$RANK"
                + (ends == ending.end() ? "" : "; exit 0") + "' " + name + ";";
    }
    return job(options, script + wait_for_it, slots);
  }

  void await_ready(uint32_t slots = 2) {
    for (uint32_t rank = 0; rank < slots; ++rank)
      require(eventually([&] { return exists("ready", rank); }),
              "worker " + std::to_string(rank) + " is ready");
  }

  bool exists(const std::string& name, uint32_t rank) {
    return std::filesystem::exists(folder() + "/" + name + "."
                                   + std::to_string(rank));
  }

  std::string got(uint32_t rank) {
    return content_of(folder() + "/got." + std::to_string(rank));
  }

  void end_worker(uint32_t rank) { write("end." + std::to_string(rank), ""); }
};

} // namespace

TEST_CASE_METHOD(signal_scene, "forwarded: workers get it and the job goes on",
                 "[signals]") {
  auto& x = noting({"--signals-to-forward=SIGUSR1,SIGUSR2"});
  await_ready();
  x.signal(SIGUSR1);
  REQUIRE(eventually([&] { return got(0) == "USR1\n" && got(1) == "USR1\n"; }));
  x.signal(SIGUSR2);
  REQUIRE(eventually([&] { return got(0) == "USR1\nUSR2\n"; }));
  REQUIRE(eventually([&] { return got(1) == "USR1\nUSR2\n"; }));
  CHECK(x.running());
  end_worker(0);
  end_worker(1);
  CHECK(x.wait() == 0);
  CHECK(count_of(x.output(), "passes on SIGUSR1 to the workers") == 1);
  CHECK(count_of(x.output(), "passes on SIGUSR2 to the workers") == 1);
}

TEST_CASE_METHOD(signal_scene,
                 "forwarded: child processes of workers do not get it",
                 "[signals]") {
  // The default action of SIGUSR1 would end the child.
  auto& x = job({"--signals-to-forward=SIGUSR1"},
                "sleep 613 & child=$!; trap 'touch noticed' USR1;"
                "touch ready.$RANK;"
                "while [ ! -e noticed ]; do sleep 0.02; done;"
                "kill -0 $child && touch spared; kill $child",
                1);
  await_ready(1);
  x.signal(SIGUSR1);
  CHECK(x.wait() == 0);
  CHECK(std::filesystem::exists(folder() + "/spared"));
}

TEST_CASE_METHOD(signal_scene,
                 "forwarded: a node of many forwards to its own workers",
                 "[signals]") {
  const auto options = agent_options{
    .more = {"--signals-to-forward=SIGUSR1", "--max-restarts=0"}};
  auto& a = agent(options);
  auto& b = agent(options);
  const auto before = await_world(4);
  // SIGUSR1 ends the stamping worker, which shows who gets it.
  b.signal(SIGUSR1);
  CHECK(a.wait() == 1);
  CHECK(b.wait() == 1);
  CHECK(count_of(a.output(), "killed by SIGUSR1") >= 1);
  CHECK(count_of(a.output(), "passes on") == 0);
  CHECK(count_of(b.output(), "passes on SIGUSR1") == 1);
  CHECK(all_dead(before));
}

TEST_CASE_METHOD(signal_scene, "handled: workers get the same signal",
                 "[signals]") {
  auto& x = noting({}, {"INT"});
  await_ready();
  x.signal(SIGINT);
  CHECK(x.wait() == 128 + SIGINT);
  CHECK(got(0) == "INT\n");
  CHECK(got(1) == "INT\n");
  CHECK(count_of(x.output(), "job stopped: the job was asked to end") == 1);
  CHECK(count_of(x.output(), "stops generation") == 0);
}

TEST_CASE_METHOD(signal_scene, "handled: a signal that is added ends the job",
                 "[signals]") {
  auto& x = noting({"--signals-to-handle=SIGTERM,SIGUSR2"}, {"USR2"});
  await_ready();
  x.signal(SIGUSR2);
  CHECK(x.wait() == 128 + SIGUSR2);
  CHECK(got(0) == "USR2\n");
  CHECK(got(1) == "USR2\n");
}

TEST_CASE_METHOD(signal_scene, "handled: workers know the handled signals",
                 "[signals]") {
  auto& x = job({"--signals-to-handle=usr2,TERM"},
                "echo $TORCHELASTIC_SIGNALS_TO_HANDLE", 1);
  CHECK(x.wait() == 0);
  CHECK(x.output() == "SIGUSR2,SIGTERM\n");
}

TEST_CASE_METHOD(signal_scene, "unlisted: the agent dies, and so do workers",
                 "[signals]") {
  auto& a = agent({.nodes = "1", .more = {"--signals-to-handle=SIGUSR2"}});
  const auto workers = await_world(2);
  a.signal(SIGTERM);
  CHECK(a.wait() == -SIGTERM);
  CHECK(all_dead(workers));
}

TEST_CASE_METHOD(signal_scene,
                 "stop signal: it ends the peers of a failed worker",
                 "[signals]") {
  auto& x = job({"--stop-signal=SIGINT"},
                "for s in TERM INT; do trap \"echo $s >> got.$RANK; exit\" $s;"
                "done; touch ready.$RANK;"
                "while [ ! -e end.$RANK ]; do sleep 0.02; done; exit 5",
                2);
  await_ready();
  end_worker(1);
  CHECK(x.wait() == 1);
  CHECK(got(0) == "INT\n");
  CHECK(got(1).empty());
}

TEST_CASE_METHOD(signal_scene, "stop signal: it replaces a handled signal, too",
                 "[signals]") {
  auto& x = noting({"--stop-signal=SIGUSR2"}, {"USR2"});
  await_ready();
  x.signal(SIGTERM);
  CHECK(x.wait() == 128 + SIGTERM);
  CHECK(got(0) == "USR2\n");
  CHECK(got(1) == "USR2\n");
}

TEST_CASE_METHOD(signal_scene, "nohup: SIGHUP does not end the job",
                 "[signals]") {
  auto& x
    = start({"nohup", ACTORRUN_PROGRAM, "--standalone", "--no-python", "sh",
             "-c", "touch ready.0; while [ ! -e end.0 ]; do sleep 0.02; done"});
  await_ready(1);
  x.signal(SIGHUP);
  x.signal(SIGHUP);
  CHECK_FALSE(x.wait(300ms) == 128 + SIGHUP);
  CHECK(x.running());
  end_worker(0);
  CHECK(x.wait() == 0);
}

TEST_CASE_METHOD(signal_scene,
                 "background: a SIGINT that was ignored at the start does not"
                 " end the job (U15)",
                 "[signals]") {
  // As a script's shell starts what stands before a `&`.
  auto& x = start({"sh", "-c", "trap '' INT; exec \"$@\"", "sh",
                   ACTORRUN_PROGRAM, "--standalone", "--no-python", "sh", "-c",
                   "touch ready.0; while [ ! -e end.0 ]; do sleep 0.02; done"});
  await_ready(1);
  x.signal(SIGINT);
  x.signal(SIGINT);
  CHECK_FALSE(x.wait(300ms) == 128 + SIGINT);
  CHECK(x.running());
  end_worker(0);
  CHECK(x.wait() == 0);
}

} // namespace actorrun::test::signals_test
