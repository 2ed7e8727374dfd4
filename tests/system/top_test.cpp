// Tests `actorctl top` on real terminals: those of tmux.
#include "tests/support/catch.hpp"
#include "tests/system/healthy.hpp"
#include "tests/system/scene.hpp"

#include <csignal>
#include <string>

namespace actorrun::test::top_test {

namespace {

/// A terminal of a size, in a tmux server of its own.
class terminal_scene : public scene {
public:
  bool is_possible() {
    auto code = -1;
    read({"sh", "-c", "command -v tmux"}, &code);
    return code == 0;
  }

  void open(int columns, int rows, const std::string& more = "") {
    const auto command = std::string{ACTORCTL_PROGRAM} + " top " + more
                         + "; echo $? > " + code_file();
    tmux({"-f", "/dev/null", "new-session", "-d", "-x", std::to_string(columns),
          "-y", std::to_string(rows), command});
    tmux({"set-option", "-g", "remain-on-exit", "on"});
  }

  /// Gets the exit code.
  std::string code_file() const { return folder() + "/code"; }

  void press(const std::string& keys) { tmux({"send-keys", keys}); }

  std::string picture() { return tmux({"capture-pane", "-p"}); }

  /// Waits for a text on the terminal.
  void await_text(const std::string& text, bool is_there = true) {
    auto last = std::string{};
    require(eventually([&] {
              last = picture();
              return (last.find(text) != last.npos) == is_there;
            }),
            "the picture " + std::string{is_there ? "has" : "has not"} + " '"
              + text + "':\n" + last);
  }

  std::string tmux(words arguments) {
    auto command = words{"env", "TERM=xterm-256color", "LC_ALL=C.UTF-8", "tmux",
                         "-S",  folder() + "/tmux"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return read(std::move(command));
  }

  ~terminal_scene() { tmux({"kill-server"}); }
};

} // namespace

TEST_CASE_METHOD(terminal_scene,
                 "top: it shows a job as it changes, and outlives it",
                 "[top]") {
  if (!is_possible())
    return;
  auto& a = agent({.restart_count_max = 1});
  auto& b = agent({.restart_count_max = 1});
  const auto before = await_world(4);
  open(80, 24);
  await_text("job  running  generation 1");
  await_text("rank 3");
  order_exit(before[1].pid, 8);
  await_text("generation 2");
  await_text("generation 1 ended: rank 1");
  await_text("regroups");
  press("?");
  await_text("this help");
  press("q");
  await_text("rank 0");
  press("z");
  await_text("rank 0", false);
  tmux({"resize-window", "-x", "20", "-y", "5"});
  await_text(" job  running");
  tmux({"resize-window", "-x", "100", "-y", "30"});
  await_text("SILENT");
  order_end();
  CHECK(a.wait() == 0);
  CHECK(b.wait() == 0);
  await_text(": succeeded");
  await_text("job  ended");
  press("q");
  const auto has_ended = [this] { return content_of(code_file()) == "0\n"; };
  require(eventually(has_ended), "it ends with 0");
}

TEST_CASE_METHOD(terminal_scene,
                 "top: it goes on over a change of the leader, on a node that "
                 "does not lead",
                 "[top][voters]") {
  if (!is_possible())
    return;
  const auto voter = [this](int number) -> program& {
    return agent({.nodes = "1:3",
                  .slots = 1,
                  .host = number == 1,
                  .conf = ",succession=on",
                  .more = {"--local-addr=127.0.0." + std::to_string(number)}});
  };
  auto& a = voter(1);
  auto& b = voter(2);
  auto& c = voter(3);
  await_world(3);
  REQUIRE(eventually([&] {
    return a.output().find("3 agents elect another") != std::string::npos;
  }));
  open(80, 24, std::to_string(b.pid()));
  await_text("running  generation 1");
  a.signal(SIGKILL);
  REQUIRE(a.wait() == -SIGKILL);
  await_text("running  generation 2");
  press("q");
  CHECK(eventually([&] { return content_of(code_file()) == "0\n"; }));
  order_end();
  CHECK(b.wait() == 0);
  CHECK(c.wait() == 0);
}

TEST_CASE_METHOD(terminal_scene,
                 "top: it shows the job that is named, and waits for it",
                 "[top]") {
  if (!is_possible())
    return;
  open(80, 24, "--job=wanted");
  await_text("looking for a job");
  for (const auto* id : {"--rdzv-id=other", "--rdzv-id=wanted"})
    run({id, "--nproc-per-node=2", "--no-python", "sleep", "1000"});
  await_text("wanted  running  generation 1");
  await_text("rank 1");
  CHECK(picture().find("other") == std::string::npos);
}

TEST_CASE_METHOD(terminal_scene,
                 "top: it finds a coordinator that is started again", "[top]") {
  if (!is_possible())
    return;
  const auto options = agent_options{.nodes = "1"};
  auto& first = coordinator(options);
  REQUIRE(first.says("listens on"));
  agent(options);
  await_world(2);
  open(80, 24, "--rdzv-endpoint=" + endpoint() + " --rdzv-id=job");
  await_text("job  running");
  first.signal(SIGKILL);
  first.wait();
  await_text("no answer since");
  await_text("rank 1"); // The last picture.
  coordinator(options);
  await_text("no answer since", false);
  await_text("job  running");
  order_end();
}

TEST_CASE_METHOD(terminal_scene,
                 "top: it shows a worker's log as it grows, and its stack",
                 "[top]") {
  if (!is_possible())
    return;
  const auto more = folder() + "/more";
  auto& job = run({"--standalone", "--nproc-per-node=2", "--redirects=3",
                   "--log-dir=" + folder() + "/logs", "--no-python", "sh", "-c",
                   "echo first of $RANK; until [ -e " + more
                     + " ]; do sleep 0.05; done; echo second of $RANK;"
                       " exec sleep 1000"});
  await_status(is_healthy);
  open(80, 24);
  await_text("rank 1");
  press("G");
  press("l");
  await_text("log of rank 1");
  await_text("[rank1]:first of 1");
  write("more", "");
  await_text("[rank1]:second of 1");
  CHECK(picture().find("rank0") == std::string::npos);
  tmux({"resize-window", "-x", "20", "-y", "5"});
  await_text("q, Esc: back");
  tmux({"resize-window", "-x", "80", "-y", "24"});
  press("q");
  await_text("? help");
  press("t");
  await_text("stack of rank 1");
  await_text("rank 1 (local rank 1");
  press("Escape");
  await_text("? help");
  press("q");
  require(eventually([this] { return content_of(code_file()) == "0\n"; }),
          "it ends with 0");
  job.signal(SIGTERM);
  CHECK(job.wait() == 128 + SIGTERM);
}

TEST_CASE_METHOD(terminal_scene, "top: it steers a job when that is confirmed",
                 "[top]") {
  if (!is_possible())
    return;
  agent({});
  agent({});
  const auto before = await_world(4);
  open(80, 24);
  await_text("job  running  generation 1");
  press("D");
  await_text("y/n  Drain node 0");
  press("n");
  await_text("nothing was done");
  press("D");
  await_text("y/n  Drain node 0");
  press("Escape");
  await_text("nothing was done");
  CHECK(await_world(4)[0].generation == before[0].generation);
  press("G"); // The other node: not the coordinator's.
  press("D");
  await_text("y/n  Drain node 1");
  press("y");
  await_text("refused: without agent");
  await_text("needs, which is 2");
  tmux({"resize-window", "-x", "20", "-y", "5"});
  await_text("up down  Esc: back");
  await_text("refused:");
  press("End");
  await_text("refused:", false);
  press("q"); // Ends the message, and nothing else.
  await_text("? help");
  tmux({"resize-window", "-x", "80", "-y", "24"});
  await_text("SILENT");
  press("R");
  await_text("Work since the last checkpoint is lost"); // P5
  press("y");
  await_text("job  running  generation 2");
  CHECK(await_world(4, before[0].generation)[0].restart_count == 0);
  await_text("--max-restarts");
  press("L");
  await_text("log level: _");
  press("debug");
  await_text("log level: debug_");
  press("Enter");
  await_text("y/n  log level DEBUG for node 1");
  press("y");
  await_text("logs DEBUG from now on");
  CHECK(programs()[1].says("the log level is DEBUG now"));
  order_end();
}

TEST_CASE_METHOD(
  terminal_scene,
  "top: from afar it reads logs, and steers with the secret only", "[top]") {
  if (!is_possible())
    return;
  const auto remote = "--rdzv-endpoint=" + endpoint() + " --rdzv-id=job";
  agent({.nodes = "1:2",
         .more = {"--redirects=3", "--log-dir=" + folder() + "/logs"}});
  const auto before = await_world(2);
  open(80, 24, remote);
  await_text("job  running");
  press("G");
  press("l");
  await_text("log of rank 1");
  press("q");
  await_text("? help");
  press("R");
  await_text("y/n  Restart all");
  press("y");
  await_text("refused: this job has no secret");
  CHECK(await_world(2)[0].generation == before[0].generation);
  order_end();
}

TEST_CASE_METHOD(scene, "top: without a terminal it says so", "[top]") {
  auto code = -1;
  const auto text = read({ACTORCTL_PROGRAM, "top"}, &code);
  CHECK(code == 2);
  CHECK(count_of(text, "needs a terminal") == 1);
  read({ACTORCTL_PROGRAM, "top", "--once"}, &code);
  CHECK(code == 3);
  auto& job = run({"--standalone", "--no-python", "sleep", "1000"});
  await_status(is_healthy);
  const auto picture = read({ACTORCTL_PROGRAM, "top", "--once"}, &code);
  CHECK(code == 0);
  CHECK(count_of(picture, "rank 0") == 1);
  CHECK(count_of(picture, "\x1b") == 0);
  job.signal(SIGTERM);
  CHECK(job.wait() == 128 + SIGTERM);
}

} // namespace actorrun::test::top_test
