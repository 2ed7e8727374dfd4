// Jobs that one actorrun starts on many hosts, through a stand-in for ssh.
#include "tests/support/catch.hpp"
#include "tests/system/healthy.hpp"
#include "tests/system/log_scene.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>

#include <unistd.h>

namespace actorrun::test::hosts_test {

namespace {

/// Reaches every host but those with special names: all of them are this machine.
constexpr auto stand_in = R"(#!/bin/sh
# usage: rsh HOST COMMAND
case "$1" in
  refused*) echo "ssh: connect to host $1 port 22: Connection refused" >&2; exit 255 ;;
  silent*) exec tail -f /dev/null ;;
  chatty*) echo "Welcome to $1!"; echo "have a nice day" ;;
  bare*) exec env PATH=/nowhere /bin/sh -c "exec actorrun --agent-by-order" ;;
  other*) echo "actorrun-agent 99 9.9.9 1 -"; exec tail -f /dev/null ;;
esac
# As with sshd, the other side has a session of its own, and ends with its command.
export SSH_CONNECTION="127.0.0.1 1 127.0.0.1 22"
in="$TMPDIR/in.$1.$$"
mkfifo "$in"
echo $$ > "$TMPDIR/rsh.$1"
exec 3<&0
setsid -w sh -c "$2" < "$in" 3<&- &
agent=$!
cat <&3 > "$in" &
pump=$!
exec 3<&-
wait $agent
code=$?
kill $pump
exit $code
)";

struct hosts_scene : log_scene {
  hosts_scene() : rsh(write("rsh", stand_in, true)) {}

  /// actorrun, its options, and what workers run.
  program& job(const std::string& hosts, words options, const words& command) {
    auto line = words{"--hosts=" + hosts, "--rsh=" + rsh, "--rdzv-id=job",
                      "--rdzv-conf=quiet_period=300ms,join_settle=300ms"};
    line.insert(line.end(), options.begin(), options.end());
    line.emplace_back("--no-python");
    line.insert(line.end(), command.begin(), command.end());
    return run(std::move(line), {{"LOGLEVEL", "WARNING"}});
  }

  program& script(const std::string& hosts, const std::string& text,
                  const words& options = {}) {
    return job(hosts, options, {"sh", "-c", text});
  }

  program& stamping(const std::string& hosts, const words& options = {},
                    const words& worker = {}) {
    auto command = words{STAMPING_WORKER, "--folder=" + folder() + "/stamps"};
    command.insert(command.end(), worker.begin(), worker.end());
    return job(hosts, options, command);
  }

  pid_t shell_of(const std::string& host) const {
    return std::stoi("0" + content_of(folder() + "/tmp/rsh." + host));
  }

  std::string rsh;
};

TEST_CASE_METHOD(hosts_scene,
                 "hosts: one command runs a job with ranks by the list",
                 "[system][hosts]") {
  auto& x
    = script("c:2,a,b:1", R"(echo "$RANK/$WORLD_SIZE in $PWD"; echo e >&2)");
  CHECK(x.wait() == 0);
  const auto lines = sorted_lines(x.output());
  const auto in = "/4 in " + std::filesystem::canonical(folder()).string();
  CHECK(lines
        == sorted_lines("c: 0" + in + "\nc: 1" + in + "\na: 2" + in + "\nb: 3"
                        + in + "\nc: e\nc: e\na: e\nb: e\n"));
}

TEST_CASE_METHOD(hosts_scene,
                 "hosts: a file of hosts, and this host by its name",
                 "[system][hosts]") {
  const auto file = write("hosts", "localhost slots=2 # here\nb:1\n");
  auto& x = run({"--hostfile=" + file, "--rsh=" + rsh, "--no-python", "sh",
                 "-c", "echo $LOCAL_RANK of $LOCAL_WORLD_SIZE"},
                {{"LOGLEVEL", "WARNING"}});
  CHECK(x.wait() == 0);
  CHECK(sorted_lines(x.output())
        == words{"b: 0 of 1", "localhost: 0 of 2", "localhost: 1 of 2"});
}

TEST_CASE_METHOD(
  hosts_scene, "hosts: arguments arrive as they were typed, whatever the shell",
  "[system][hosts]") {
  const auto odd = words{"it's", "a b", "$HOME", "*",          "",   "\"q\"",
                         "\\",   "`x`", "!",     "line\nfeed", "--", "-x"};
  auto command
    = words{"sh", "-c", R"(for x; do printf '<%s>' "$x"; done)", "sh"};
  command.insert(command.end(), odd.begin(), odd.end());
  auto& x = job("a", {"--redirects=1", "--log-dir=" + logs()}, command);
  CHECK(x.wait() == 0);
  auto expected = std::string{};
  for (const auto& word : odd)
    expected += "<" + word + ">";
  auto found = std::string{};
  for (const auto& [path, text] : read_logs(logs()))
    if (path.ends_with("stdout.log"))
      found = text;
  CHECK(found == expected);
}

TEST_CASE_METHOD(hosts_scene, "hosts: workers have no input and no secret",
                 "[system][hosts]") {
  auto& x = run({"--hosts=a,b", "--rsh=" + rsh, "--export=COLOUR=red,SHA*",
                 "--no-python", "sh", "-c",
                 R"(readlink /proc/self/fd/0; echo "$COLOUR $SHAPE";
                    env | grep -c 'g[e]heim'; cat /proc/[0-9]*/cmdline 2>/dev/null |
                      tr '\0' ' ' | grep -c 'g[e]heim'; true)"},
                {{"ACTORRUN_SECRET", "geheim"},
                 {"SHAPE", "round"},
                 {"LOGLEVEL", "WARNING"}});
  CHECK(x.wait() == 0);
  CHECK(sorted_lines(x.output())
        == words{"a: /dev/null", "a: 0", "a: 0", "a: red round", "b: /dev/null",
                 "b: 0", "b: 0", "b: red round"});
}

TEST_CASE_METHOD(hosts_scene,
                 "hosts: what a login says first is no part of the job",
                 "[system][hosts]") {
  auto& x = script("chatty1,b", "echo $RANK");
  CHECK(x.wait() == 0);
  CHECK(sorted_lines(x.output())
        == words{"b: 1", "chatty1: 0", "chatty1: Welcome to chatty1!",
                 "chatty1: have a nice day"});
}

TEST_CASE_METHOD(hosts_scene, "hosts: the exit code is that of a job by hand",
                 "[system][hosts]") {
  CHECK(script("a,b", "exit 3").wait() == 1);
  CHECK(count_of(programs().back().output(), "exitcode  : 3") > 0);
}

TEST_CASE_METHOD(hosts_scene,
                 "hosts: what is not there on the hosts ends the job soon",
                 "[system][hosts]") {
  CHECK(job("a,b", {}, {"no-such-program"}).wait() == 127);
  CHECK(count_of(programs().back().output(),
                 "there is no program \"no-such-program\"")
        == 2);
}

TEST_CASE_METHOD(hosts_scene,
                 "hosts: one that cannot be reached is named, and left out",
                 "[system][hosts]") {
  auto& x = script("refused1,b,c", "echo $RANK/$WORLD_SIZE", {"--nnodes=2:3"});
  CHECK(x.wait() == 0);
  CHECK(x.output().find("refused1: ssh: connect to host refused1 port 22")
        != std::string::npos);
  CHECK(x.output().find("refused1 cannot be reached: " + rsh
                        + " has ended with code 255; the job does without it")
        != std::string::npos);
  CHECK(x.output().find("b: 0/2\n") != std::string::npos);
  CHECK(x.output().find("c: 1/2\n") != std::string::npos);
}

TEST_CASE_METHOD(hosts_scene, "hosts: too few that can be reached end the job",
                 "[system][hosts]") {
  auto& x = stamping("a,refused1,silent1");
  CHECK(x.wait() == 3);
  CHECK(x.output().find("2 hosts are left, and the job needs 3")
        != std::string::npos);
  CHECK(records().empty());
}

TEST_CASE_METHOD(hosts_scene, "hosts: one without actorrun, one with another",
                 "[system][hosts]") {
  CHECK(script("bare1", "true").wait() == 3);
  CHECK(programs().back().output().find("bare1 cannot be reached")
        != std::string::npos);
  CHECK(programs().back().output().find("maybe there is no actorrun")
        != std::string::npos);
  CHECK(script("other1", "true").wait() == 3);
  CHECK(programs().back().output().find("other1 has actorrun 9.9.9")
        != std::string::npos);
}

TEST_CASE_METHOD(hosts_scene, "hosts: a command that is not there is named",
                 "[system][hosts]") {
  CHECK(run({"--hosts=a", "--rsh=/no/such/rsh", "--no-python", "true"}).wait()
        == 127);
  CHECK(programs().back().output().find("/no/such/rsh") != std::string::npos);
}

TEST_CASE_METHOD(hosts_scene,
                 "hosts: Ctrl-C ends all, and a second one at once",
                 "[system][hosts]") {
  auto& x = stamping("a,b,localhost");
  const auto workers = await_world(3);
  x.signal(SIGINT);
  CHECK(x.wait() == 130);
  CHECK(all_dead(workers));
}

TEST_CASE_METHOD(hosts_scene, "hosts: a second signal leaves workers no grace",
                 "[system][hosts]") {
  auto& x = script("a,b", "trap 'echo trapped' TERM; echo ready; "
                          "while :; do sleep 0.1; done");
  REQUIRE(eventually([&] { return count_of(x.output(), "ready") == 2; }));
  await_status(is_healthy); // A start that its agent does not know is given up.
  x.signal(SIGTERM);
  REQUIRE(eventually([&] { return count_of(x.output(), "trapped") == 2; }));
  x.signal(SIGTERM);
  CHECK(x.wait(25s) == 143);
}

TEST_CASE_METHOD(hosts_scene, "hosts: a signal while hosts are being reached",
                 "[system][hosts]") {
  auto& x = script("silent1,b", "true");
  REQUIRE(eventually([&] { return shell_of("b") > 0; }));
  x.signal(SIGTERM);
  CHECK(x.wait(20s) == 143);
}

TEST_CASE_METHOD(hosts_scene, "hosts: a forwarded signal reaches all workers",
                 "[system][hosts]") {
  auto& x = script("a,b",
                   "trap 'echo saved; exit 0' USR1; echo ready; "
                   "while :; do sleep 0.1; done",
                   {"--signals-to-forward=SIGUSR1"});
  REQUIRE(eventually([&] { return count_of(x.output(), "ready") == 2; }));
  x.signal(SIGUSR1);
  CHECK(x.wait() == 0);
  CHECK(count_of(x.output(), ": saved") == 2);
}

TEST_CASE_METHOD(
  hosts_scene,
  "hosts: an agent whose connection dies leaves, and the others go on",
  "[system][hosts]") {
  auto& x = stamping("a,b,c", {"--nnodes=2:3"});
  const auto before = await_world(3);
  ::kill(shell_of("c"), SIGKILL);
  const auto after = await_world(2, before.front().generation);
  REQUIRE(eventually(
    [&] { return x.output().find("c is lost: ") != std::string::npos; }));
  CHECK(x.output().find("the job does without it") != std::string::npos);
  order_end();
  CHECK(x.wait() == 0);
}

TEST_CASE_METHOD(hosts_scene,
                 "hosts: no worker outlives the actorrun with the list",
                 "[system][hosts]") {
  auto& x = stamping("a,localhost");
  const auto workers = await_world(2);
  x.signal(SIGKILL);
  CHECK(all_dead(workers));
}

TEST_CASE_METHOD(hosts_scene,
                 "hosts: the loss of the coordinator's host ends the job",
                 "[system][hosts]") {
  auto& x = stamping("a,b", {"--nnodes=1:2"});
  const auto workers = await_world(2);
  ::kill(shell_of("a"), SIGKILL);
  CHECK(x.wait() == 5);
  CHECK(x.output().find("a is lost: ") != std::string::npos);
  CHECK(all_dead(workers));
}

TEST_CASE_METHOD(hosts_scene,
                 "hosts: W5 so does that of a coordinator whose place is given",
                 "[system][hosts]") {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  auto& x = run(
    {"--hosts=a,b", "--rsh=" + rsh, "--rdzv-id=job", "--nnodes=1:2",
     std::string{"--rdzv-endpoint="} + name + ":" + std::to_string(port()),
     "--rdzv-conf=quiet_period=300ms,join_settle=300ms", "--no-python",
     STAMPING_WORKER, "--folder=" + folder() + "/stamps"},
    {{"LOGLEVEL", "INFO"}});
  const auto workers = await_world(2);
  auto host = std::string{};
  for (const auto& line : lines_of(x.output()))
    if (line.find("coordinator of job job listens on") != line.npos)
      host = line.substr(0, line.find(':'));
  REQUIRE_FALSE(host.empty());
  ::kill(shell_of(host), SIGKILL);
  CHECK(x.wait() == 5);
  CHECK(all_dead(workers));
}

TEST_CASE_METHOD(
  hosts_scene, "hosts: N3 started again, no second group runs beside the first",
  "[system][hosts]") {
  const auto nodes = GENERATE(as<std::string>{}, "a", "a,b");
  const auto count = nodes == "a" ? 1u : 2u;
  // They have their grace when their launcher is killed.
  const auto options = words{"--shutdown-timeout=3", "--stop-signal=SIGTERM"};
  auto& first = stamping(nodes, options, {"--ignore-term"});
  const auto before = await_world(count);
  first.signal(SIGKILL);
  auto& second = stamping(nodes, options);
  CHECK(second.says("job job is still on this host, as an actorrun has started"
                    " it before: waits until its workers are gone"));
  // Of a node alone the numbers of generations begin again.
  REQUIRE(eventually([&] { return records().size() == 2 * count; }));
  const auto end = last_of(records_of(before));
  CHECK(std::ranges::count_if(records(),
                              [&](const auto& x) { return x.start_ns > end; })
        == count);
  order_end();
  CHECK(second.wait() == 0);
}

/// The agent behind a shell of the stand-in, and the program that brings it
/// notices.
struct remote_side {
  pid_t agent = 0;
  pid_t pump = 0;
};

remote_side behind(pid_t shell) {
  auto out = remote_side{};
  for (const auto pid : descendants(shell)) {
    const auto line = content_of("/proc/" + std::to_string(pid) + "/cmdline");
    if (line == std::string{"cat\0", 4})
      out.pump = pid;
    if (line.starts_with(ACTORRUN_PROGRAM) && !is_warden(pid) && out.agent == 0)
      out.agent = pid;
  }
  return out;
}

TEST_CASE_METHOD(hosts_scene,
                 "hosts: N3 an agent that hears nothing ends in 15 s",
                 "[system][hosts]") {
  auto& x = stamping("a,b", {"--nnodes=1:2"});
  const auto before = await_world(2);
  const auto side = behind(shell_of("b"));
  REQUIRE(side.pump > 0);
  ::kill(side.pump, SIGSTOP);
  const auto after = await_world(1, before.front().generation, 40s);
  CHECK(x.says("b: [actorrun"));
  CHECK(x.output().find("connection to it: stops the workers")
        != std::string::npos);
  ::kill(side.pump, SIGCONT);
  order_end();
  CHECK(x.wait() == 0);
}

TEST_CASE_METHOD(hosts_scene,
                 "hosts: N3 an agent that is not heard is lost in 15 s",
                 "[system][hosts]") {
  auto& x = stamping("a,b", {"--nnodes=1:2"});
  await_world(2);
  const auto side = behind(shell_of("b"));
  REQUIRE(side.agent > 0);
  ::kill(side.agent, SIGSTOP);
  CHECK(x.says("b has given no sign of life for 15 s", 40s));
  CHECK(x.says("b is lost"));
  ::kill(side.agent, SIGCONT);
  CHECK(eventually([&] { return !alive(side.agent); }));
  order_end();
  CHECK(x.wait() == 0);
}

TEST_CASE_METHOD(hosts_scene, "hosts: no line is lost or torn",
                 "[system][hosts]") {
  constexpr auto count = 20'000;
  auto& x
    = script("a,b", "i=0; while [ $i -lt " + std::to_string(count)
                      + " ]; do echo line $i of $RANK end; i=$((i+1)); done");
  CHECK(x.wait(60s) == 0);
  const auto lines = lines_of(x.output());
  CHECK(lines.size() == 2 * count);
  int next[] = {0, 0};
  for (const auto& line : lines) {
    const auto rank = line.front() == 'a' ? 0 : 1;
    if (line
        != std::string{rank == 0 ? "a" : "b"} + ": line "
             + std::to_string(next[rank]) + " of " + std::to_string(rank)
             + " end") {
      CHECK(line == "the next one of its host");
      break;
    }
    ++next[rank];
  }
}

TEST_CASE_METHOD(hosts_scene,
                 "hosts: a working directory that is gone is named",
                 "[system][hosts]") {
  std::filesystem::create_directory(folder() + "/gone");
  auto& x = start({"sh", "-c",
                   "cd gone && rmdir ../gone && exec \"$0\" --hosts=a --rsh="
                     + rsh + " --no-python true",
                   ACTORRUN_PROGRAM});
  CHECK(x.wait() != 0);
  CHECK(x.output().find("working directory") != std::string::npos);
}

} // namespace

} // namespace actorrun::test::hosts_test
