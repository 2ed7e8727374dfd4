// Workers that overrun their timers: who is ended, how, and the reports.
#include "tests/support/catch.hpp"
#include "tests/support/skip.hpp"
#include "tests/system/timers_scene.hpp"

#include <csignal>
#include <set>

namespace actorrun::test::timers_test {

namespace {

/// Maximum lateness of a kill on a busy machine, in ms.
constexpr auto lateness_max = 2'000.0;

const auto in_first_generation
  = std::string{"test $GENERATION = 1 || exec sleep 0.2; "};
const auto other_rank = std::string{"test $RANK = 0 && exec sleep 60; "};

std::string exit_code_line(int signal, const std::string& name) {
  return "  exitcode  : -" + std::to_string(signal) + R"( \(pid: [0-9]+\)  \()"
         + name + R"(\).*)";
}

} // namespace

// -- the FIFO -----------------------------------------------------------------

TEST_CASE_METHOD(timers_scene,
                 "timers: workers have a FIFO that is private to the user",
                 "[timers]") {
  const auto output
    = output_of("stat -c 'is %F %a %u' $TORCHELASTIC_TIMER_FILE", 0);
  CHECK(count_of(output, "is fifo 600 " + std::to_string(::geteuid()) + "\n")
        == 2);
  CHECK(has_tidied_up());
}

TEST_CASE_METHOD(timers_scene, "timers: restarted workers have the same FIFO",
                 "[timers]") {
  const auto output
    = output_of("echo at=$TORCHELASTIC_TIMER_FILE; test $GENERATION = 2", 0,
                {"--nproc-per-node=1", "--max-restarts=1"});
  auto paths = std::set<std::string>{};
  for (const auto& x : lines_of(output))
    if (x.starts_with("at="))
      paths.insert(x);
  CHECK(count_of(output, "at=") == 2);
  CHECK(paths.size() == 1);
  CHECK(has_tidied_up());
}

TEST_CASE_METHOD(timers_scene, "timers: without timers there is no variable",
                 "[timers]") {
  const auto script = std::string{"echo file=$TORCHELASTIC_TIMER_FILE."};
  const auto none = std::string{"file=.\n"};
  CHECK(count_of(output_of(script, 0, {"--no-timer"}), none) == 2);
  CHECK(
    count_of(
      output_of(script, 0, {}, {{"TORCHELASTIC_ENABLE_FILE_TIMER", "0"}}), none)
    == 2);
  CHECK(
    count_of(
      output_of(script, 0, {}, {{"TORCHELASTIC_ENABLE_FILE_TIMER", "1"}}), none)
    == 0);
}

TEST_CASE_METHOD(timers_scene,
                 "timers: the FIFO has the path in torchrun's "
                 "variable",
                 "[timers]") {
  const auto path = folder() + "/here";
  const auto output = output_of("echo at=$TORCHELASTIC_TIMER_FILE.; "
                                "test -p $TORCHELASTIC_TIMER_FILE",
                                0, {}, {{"TORCHELASTIC_TIMER_FILE", "here"}});
  CHECK(count_of(output, "at=" + path + ".\n") == 2);
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE_METHOD(timers_scene, "timers: other kinds of files are left alone",
                 "[timers]") {
  const auto path = write("mine", "text");
  const auto output = output_of("test -p $TORCHELASTIC_TIMER_FILE", 0, {},
                                {{"TORCHELASTIC_TIMER_FILE", path}});
  CHECK(count_of(output, path + " exists and is not a FIFO") == 1);
  CHECK(content_of(path) == "text");
}

TEST_CASE_METHOD(timers_scene,
                 "timers: U9 a FIFO that cannot be where it was wanted is"
                 " elsewhere",
                 "[timers]") {
  const auto path = folder() + "/gone/timers";
  const auto output = output_of("test -p $TORCHELASTIC_TIMER_FILE", 0, {},
                                {{"TORCHELASTIC_TIMER_FILE", path}});
  CHECK(count_of(output, path + " cannot be made") == 1);
  CHECK(count_of(output, "workers get another one") == 1);
}

TEST_CASE_METHOD(timers_scene,
                 "timers: a FIFO that another job reads is not "
                 "taken from it",
                 "[timers]") {
  const auto path = folder() + "/here";
  const auto at
    = std::map<std::string, std::string>{{"TORCHELASTIC_TIMER_FILE", path}};
  auto& first = timed_job("echo ready; exec sleep 60", {}, at);
  REQUIRE(first.says("ready"));
  const auto output = output_of("echo at=$TORCHELASTIC_TIMER_FILE", 0, {}, at);
  CHECK(count_of(output, "another program reads from the timer FIFO " + path)
        == 1);
  CHECK(count_of(output, "at=" + path + "\n") == 0);
  CHECK(std::filesystem::is_fifo(path));
  first.signal(SIGTERM);
  CHECK(first.wait() == 128 + SIGTERM);
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE_METHOD(timers_scene, "timers: files of a killed agent are removed",
                 "[timers]") {
  auto& first = timed_job("echo ready; exec sleep 60");
  REQUIRE(first.says("ready"));
  first.signal(SIGKILL);
  CHECK(first.wait() == -SIGKILL);
  const auto fifo_count = [this] {
    return count_of(read({"ls", folder() + "/run"}), ".timers");
  };
  CHECK(fifo_count() == 1);
  output_of("exit 0", 0);
  CHECK(fifo_count() == 0);
}

// -- overruns -----------------------------------------------------------------

TEST_CASE_METHOD(timers_scene,
                 "timers: an overdue worker gets the signal that "
                 "it asked for",
                 "[timers]") {
  const auto [signal, name] = GENERATE(table<int, std::string>(
    {{SIGKILL, "SIGKILL"}, {SIGTERM, "SIGTERM"}, {SIGINT, "SIGINT"}}));
  const auto output = output_of(other_rank + "timing acquire train.py#42 200 "
                                  + std::to_string(signal) + " hang pause",
                                1);
  CHECK(count_of(output, "was killed by its timer: scope \"train.py#42\"")
        >= 1);
  CHECK(has_line(output, exit_code_line(signal, name)));
  CHECK(has_line(output, "  rank      : 1 .*"));
  // The limit is derived from the deadline when the line is read, which may be late
  // on a busy machine.
  CHECK(has_line(output, R"(  cause     : .*scope "train\.py#42" was not left )"
                         R"((within [0-9]+ ms|by its deadline).*)"));
  CHECK(worst_lateness(output) >= 0);
  CHECK(worst_lateness(output) < lateness_max);
  CHECK(has_tidied_up());
}

TEST_CASE_METHOD(timers_scene,
                 "timers: an overrun costs a restart, and the "
                 "next generation has timers, too",
                 "[timers]") {
  const auto output
    = output_of(other_rank + "timing acquire e$GENERATION 100 9 hang pause", 1,
                {"--max-restarts=1"});
  CHECK(count_of(output, "worker 1 of generation 1 (pid ") == 1);
  CHECK(count_of(output, "worker 1 of generation 2 (pid ") == 1);
  CHECK(count_of(output, "coordinator forms generation 2") == 1);
  CHECK(has_line(output, R"(  cause     : .*scope "e2" was not left .*)"));
}

TEST_CASE_METHOD(timers_scene, "timers: status shows the last failure",
                 "[timers]") {
  auto& x = timed_job(
    in_first_generation.substr(0, in_first_generation.find("0.2")) + "60; "
      + other_rank + "timing acquire step 100 9 hang pause",
    {"--max-restarts=1"});
  const auto now = await_status([](const json& y) {
    return y["phase"] == "running" && y["restarts"] == 1;
  });
  CHECK(now["last_failure"]["kind"] == "timer_expired");
  CHECK(now["last_failure"].dump().find("step") != std::string::npos);
  x.signal(SIGTERM);
  CHECK(x.wait() == 128 + SIGTERM);
}

TEST_CASE_METHOD(timers_scene, "timers: every node learns of an overrun on one",
                 "[timers]") {
  const auto node = [this](const std::string& conf) -> program& {
    return run({"--nnodes=2", "--rdzv-endpoint=" + endpoint(), "--rdzv-id=job",
                "--rdzv-conf=quiet_period=300ms," + conf, "--no-python", "sh",
                "-c",
                "test $GROUP_RANK = 0 && exec sleep 60; exec '" TIMING_WORKER
                "' acquire far 200 9 hang pause"});
  };
  auto& a = node("is_host=1");
  auto& b = node("is_host=0");
  for (auto* x : {&a, &b}) {
    CHECK(x->wait() == 1);
    CHECK(has_line(x->output(), "  rank      : 1 .*"));
    CHECK(has_line(x->output(), "  cause     : .*\"far\" was not left .*"));
  }
}

TEST_CASE_METHOD(timers_scene, "timers: without a signal an overrun is logged",
                 "[timers]") {
  const auto signal = GENERATE(0, -1);
  const auto output = output_of(
    "timing acquire slow_step 50 " + std::to_string(signal) + " sleep 300", 0);
  CHECK(count_of(output, "timer server records worker ") == 2);
  CHECK(count_of(output, "timer \"slow_step\" is overdue by ") == 2);
}

TEST_CASE_METHOD(timers_scene,
                 "timers: a worker that releases or renews in time goes on",
                 "[timers]") {
  const auto output
    = output_of("timing acquire a 300 9 acquire b 60000 9 release a "
                "acquire c 300 9 acquire c 60000 9 sleep 600",
                0);
  CHECK(worst_lateness(output) == -1);
}

TEST_CASE_METHOD(timers_scene,
                 "timers: a stuck worker is ended on time however "
                 "it is stuck",
                 "[timers]") {
  const auto how = GENERATE(as<std::string>{}, "lock", "read", "spin", "stop");
  const auto signal = GENERATE(SIGKILL, SIGTERM);
  INFO(how << " " << signal);
  const auto begin = clock::now();
  const auto output
    = output_of(in_first_generation + other_rank + "timing acquire stuck 200 "
                  + std::to_string(signal) + " hang " + how,
                0, {"--max-restarts=1", "--shutdown-timeout=1"});
  CHECK(count_of(output, "timer \"stuck\" is overdue") == 1);
  CHECK(worst_lateness(output) < lateness_max);
  CHECK(count_of(output, "coordinator forms generation 2") == 1);
  CHECK(clock::now() - begin < timeout / 2);
}

// -- workers and their timers -------------------------------------------------

TEST_CASE_METHOD(timers_scene, "timers: they vanish with their worker",
                 "[timers]") {
  const auto output
    = output_of("test $RANK = 0 && exec sleep 0.8; timing acquire x 300 9", 0);
  CHECK(worst_lateness(output) == -1);
}

TEST_CASE_METHOD(timers_scene, "timers: they never affect the next generation",
                 "[timers]") {
  const auto output = output_of("test $GENERATION = 2 && exec sleep 1; "
                                "test $RANK = 1 && { sleep 0.1; exit 7; }; "
                                "timing acquire x 400 9 hang pause",
                                0, {"--max-restarts=1"});
  CHECK(count_of(output, "exited with code 7") >= 1);
  CHECK(worst_lateness(output) == -1);
}

TEST_CASE_METHOD(timers_scene,
                 "timers: a child process of a worker has its own",
                 "[timers]") {
  const auto stuck = output_of(
    other_rank + "\"$T\" acquire child 200 9 hang pause; exit 0", 1);
  CHECK(count_of(stuck, "timer \"child\" is overdue by ") == 1);
  CHECK(has_line(stuck, "  cause     : .*\"child\" was not left .*"));
  // A child's timers end with it.
  const auto gone = output_of("\"$T\" acquire child 200 9; sleep 0.5", 0);
  CHECK(worst_lateness(gone) == -1);
}

TEST_CASE_METHOD(timers_scene, "timers: other processes cannot be named",
                 "[timers]") {
  auto& other = start({"sleep", "60"});
  const auto output = output_of(
    "timing as " + std::to_string(other.pid())
      + " acquire x 50 9 as 1 acquire x 50 9 as $PPID acquire x 50 9 "
        "as 999999 acquire x 50 9 sleep 300",
    0);
  CHECK(worst_lateness(output) == -1);
  CHECK(count_of(output, "belongs to no worker of this agent") == 1);
  CHECK(other.running());
}

// -- hostile writers ----------------------------------------------------------

TEST_CASE_METHOD(timers_scene, "timers: garbage harms no other line",
                 "[timers]") {
  const auto output = output_of(
    in_first_generation
      + "test $RANK = 0 && { timing write garbage\\\\n write '{}\\n' "
        "write '{\"pid\": 1e9, \"scope_id\": 3}\\n' blob 4000 write '\\n' "
        "blob 1048576 write '\\n' flood 2000 write '{\"pid\": ' hang pause; }; "
        "timing acquire a 60000 9 sleep 200 acquire victim 300 9 hang pause",
    0, {"--max-restarts=1"});
  CHECK(count_of(output, "lines that are no requests") >= 1);
  CHECK(count_of(output, "timer \"victim\" is overdue by ") == 1);
  CHECK(worst_lateness(output) < lateness_max);
  CHECK(count_of(output, "coordinator forms generation 2") == 1);
}

TEST_CASE_METHOD(timers_scene, "timers: a flood delays no kill", "[timers]") {
  const auto output
    = output_of(in_first_generation
                  + "test $RANK = 0 && { timing flood 100000000; }; "
                    "timing acquire victim 500 9 hang pause",
                0, {"--max-restarts=1"});
  CHECK(count_of(output, "timer \"victim\" is overdue by ") == 1);
  CHECK(worst_lateness(output) < lateness_max);
}

// -- watchdogs ----------------------------------------------------------------

TEST_CASE_METHOD(timers_scene,
                 "timers: a watchdog ends a worker that falls silent",
                 "[timers]") {
  const auto output = output_of(
    in_first_generation + other_rank
      + "timing notify READY=1\\\\nWATCHDOG=1 sleep 200 notify WATCHDOG=1 "
        "hang pause",
    0, {"--max-restarts=1", "--watchdog=400ms"});
  CHECK(count_of(output, "timer \"watchdog\" is overdue by ") == 1);
  CHECK(count_of(output,
                 "its timer: scope \"watchdog\" was not left within 400 "
                 "ms") // P9
        >= 1);
  CHECK(worst_lateness(output) < lateness_max);
  CHECK(has_tidied_up());
}

TEST_CASE_METHOD(timers_scene,
                 "timers: a worker without signs of life is left "
                 "alone by the watchdog",
                 "[timers]") {
  const auto output
    = output_of("timing notify READY=1 sleep 400", 0, {"--watchdog=100ms"});
  CHECK(worst_lateness(output) == -1);
}

TEST_CASE_METHOD(timers_scene,
                 "timers: messages of Python's sd_notify are read",
                 "[timers]") {
  auto code = -1;
  read({"python3", "-c", "pass"}, &code);
  if (code != 0) {
    actorrun::test::skip("python3", "there is no python3");
    return;
  }
  const auto script = write(
    "notify.py", "import os, socket, time\n"
                 "assert os.environ['WATCHDOG_USEC'] == '300000'\n"
                 "to = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
                 "to.connect(os.environ['NOTIFY_SOCKET'])\n"
                 "for _ in range(6):\n"
                 "    to.send(b'WATCHDOG=1\\n')\n"
                 "    time.sleep(0.1)\n"
                 "if os.environ['ACTORRUN_GENERATION'] == '1':\n"
                 "    time.sleep(60)\n"
                 "to.send(b'STOPPING=1')\n"
                 "time.sleep(0.5)\n");
  auto& x
    = run({"--standalone", "--max-restarts=1", "--watchdog=300ms", script});
  CHECK(x.wait() == 0);
  CHECK(count_of(x.output(), "timer \"watchdog\" is overdue by ") == 1);
}

} // namespace actorrun::test::timers_test
