// Golden frames of the live view.

#include "cli/top/text_lines.hpp"
#include "tests/cli/top/picture.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::view_test {

using namespace actorrun::cli::top;

namespace {

std::string frame(top_fixture& x, size_t width, size_t height) {
  auto out = std::string{"\n"};
  for (const auto& line : x.lines(width, height))
    out += line + "\n";
  return out;
}

} // namespace

TEST_CASE_METHOD(top_fixture, "top view: 80x24", "[cli]") {
  show(two_nodes());
  at += 1s;
  CHECK(frame(*this, 80, 24) == R"(
 job1  running  generation 3  nodes 2 of 2:4  workers 4  restarts 1 of 3
 running for 4m 13s; generation 2 ended: rank 1 exited with code 7
 regroups ▆█ last 120.0 ms, longest 120.0 ms
NODE        STATE         CPU     MEMORY   SILENT    SINCE  NOTE
▾ 0 n1      running     100 %    2.0 GiB    1m 2s   4m 13s  load 1.50, 48.0 GiB~
    rank 0  runs         50 %    1.0 GiB       3s   4m 11s
    rank 1  sleeps       50 %    1.0 GiB    1m 2s   4m 11s
▾ 1 n2      running     201 %    4.0 GiB    1m 2s   4m 13s  load 1.50, 48.0 GiB~
    rank 2  runs        100 %    2.0 GiB       3s   4m 11s
    rank 3  sleeps      101 %    2.0 GiB    1m 2s   4m 11s













 ? help  q quit  Enter details  l log  t stack  s sort  f filter  / search
)");
}

TEST_CASE_METHOD(top_fixture, "top view: 120x14, a node is away", "[cli]") {
  auto job = two_nodes();
  job.set_is_healthy(false);
  auto& node = *job.mutable_agents(1);
  node.set_connected(false);
  node.set_state("away");
  node.set_reason("its link is broken; its lease decides");
  show(job);
  CHECK(frame(*this, 120, 14) == R"(
 job1  running (degraded)  generation 3  nodes 2 of 2:4  workers 4  restarts 1 of 3
 degraded: n2 is away
 regroups ▆█ last 120.0 ms, longest 120.0 ms
NODE        STATE         CPU     MEMORY   SILENT    SINCE      PID  THREADS  NOTE
▾ 0 n1      running     100 %    2.0 GiB    1m 1s   4m 12s                    load 1.50, 48.0 GiB free of 64.0 GiB
    rank 0  runs         50 %    1.0 GiB       2s   4m 10s      100       12
    rank 1  sleeps       50 %    1.0 GiB    1m 1s   4m 10s      101       12
▾ 1 n2     !away        201 %    4.0 GiB    1m 1s   4m 12s                    its link is broken; its lease decides
    rank 2  runs        100 %    2.0 GiB       2s   4m 10s      200       12
    rank 3  sleeps      101 %    2.0 GiB    1m 1s   4m 10s      201       12



 ? help  q quit  Enter details  l log  t stack  s sort  f filter  / search
)");
}

TEST_CASE_METHOD(top_fixture, "top view: a drain that waits is noted",
                 "[cli]") {
  auto job = two_nodes();
  auto& node = *job.mutable_agents(1);
  node.set_reason("drain waits for a replacement, asked by alice");
  node.set_drain_asked_age_ms(12'000);
  show(job);
  CHECK(frame(*this, 150, 14)
          .find("drain waits for a replacement, asked by alice, 12s ago")
        != std::string::npos);
}

TEST_CASE_METHOD(top_fixture, "top view: 20x5", "[cli]") {
  show(two_nodes());
  press("j");
  CHECK(frame(*this, 20, 5) == R"(
 job1  running  gen~
 running for 4m 12s~
▾ 0 n1      running
    rank 0  runs
 ? help  q quit  En~
)");
}

TEST_CASE_METHOD(top_fixture,
                 "top view: 20x5, a long id leaves room for the phase",
                 "[cli]") {
  auto job = two_nodes();
  job.set_job_id("3d723855-a1cf-6077-0b50-28c77386b38f");
  show(job);
  CHECK(lines(20, 5)[0] == " 3d723855~  running~");
  CHECK(lines(60, 5)[0]
        == " 3d723855-a1cf-6077-0b50-28c77386b38f  running  generation ~");
  job.set_phase("gathering");
  job.mutable_agents(0)->set_state("gathering");
  show(job);
  CHECK(lines(20, 5)[2] == "▾ 0 n1     *gatheri~");
}

TEST_CASE_METHOD(top_fixture, "top view: a job that waits stands out in a list",
                 "[cli]") {
  for (const auto* phase : {"gathering", "last_call"}) {
    for (const auto* id : {"job1", "job2"}) {
      auto job = two_nodes();
      job.set_job_id(id);
      job.set_phase(phase);
      show(job);
    }
    CHECK(frame(*this, 100, 12).find("*" + std::string{phase})
          != std::string::npos);
  }
}

TEST_CASE_METHOD(top_fixture, "top view: ranks are whole, however many",
                 "[cli]") {
  auto job = two_nodes();
  job.mutable_agents(1)->set_first_global_rank(4'094);
  show(job);
  press("G");
  CHECK(lines(80, 24)[9].find("    rank 4095  sleeps ") == 0);
  CHECK(lines(20, 5)[3] == "    rank 4095  slee~");
}

TEST_CASE_METHOD(top_fixture, "top view: a job that waits", "[cli]") {
  auto job = v1::JobStatus{};
  job.set_job_id("job1");
  job.set_phase("gathering");
  job.set_waiting_for("waiting for 1 more node: 1 of 2 nodes are here");
  job.set_waiting_age_ms(12'000);
  job.set_waiting_left_ms(48'000);
  job.mutable_settings()->set_agent_count_min(2);
  job.mutable_settings()->set_agent_count_max(2);
  show(job);
  at += 1s;
  CHECK(frame(*this, 100, 6) == R"(
 job1  gathering  nodes 0 of 2  workers 0  restarts 0 of 0
 waiting for 1 more node: 1 of 2 nodes are here, for 13.0 s, at most 47.0 s more
   there are no nodes


 ? help  q quit
)");
}

TEST_CASE_METHOD(top_fixture, "top view: the details of a job", "[cli]") {
  show(two_nodes());
  press("w");
  CHECK(frame(*this, 80, 20) == R"(
 job job1
 phase        running for 4m 12s
 waits for    -
 coordinator  pid 99 on n1, for 0s
 nodes        2 here, 2 to 4 wanted
 restarts     1 of 3 spent

 generations, the newest first
 3            nodes 2, workers 4, formed 11m 40s ago, regrouped in 120.0 ms
 2            nodes 2, workers 4, formed 13m 20s ago, regrouped in 80.0 ms, cost
              a restart
              ended: rank 1 exited with code 7
 1            nodes 2, workers 4, formed 15m 0s ago
              ended: agent n3 joined





 Enter, Esc: back
)");
}

TEST_CASE_METHOD(top_fixture, "top view: the details of a worker and its node",
                 "[cli]") {
  show(two_nodes());
  press("j");
  press(key::enter);
  CHECK(frame(*this, 80, 26) == R"(
 worker of rank 0
 local rank   0
 pid          100
 state        runs
 since        4m 10s
 CPU          50 %
 memory       1.0 GiB
 threads      12
 processes    1
 output       2.0 KiB
 last line    2s ago

 node n1
 agent        n1-4711
 address      10.0.0.1
 role         default
 state        running
 reason       -
 since        4m 12s
 ranks        0-1, node rank 0
 workers      2
 lease        renewed 40 ms before the answer
 load         1.50 (1 min), 8 CPUs
 memory       48.0 GiB free of 64.0 GiB

 Enter, Esc: back
)");
}

TEST_CASE("top view: a question is there on any terminal", "[cli]") {
  auto x = top_fixture{bound_actions()};
  x.show(two_nodes());
  x.press("jD");
  CHECK(frame(x, 80, 12) == R"(
 job1  running  generation 3  nodes 2 of 2:4  workers 4  restarts 1 of 3
 running for 4m 12s; generation 2 ended: rank 1 exited with code 7
 regroups ▆█ last 120.0 ms, longest 120.0 ms
NODE        STATE         CPU     MEMORY   SILENT    SINCE  NOTE
▾ 0 n1      running     100 %    2.0 GiB    1m 1s   4m 12s  load 1.50, 48.0 GiB~
    rank 0  runs         50 %    1.0 GiB       2s   4m 10s
    rank 1  sleeps       50 %    1.0 GiB    1m 1s   4m 10s
▾ 1 n2      running     201 %    4.0 GiB    1m 1s   4m 12s  load 1.50, 48.0 GiB~
    rank 2  runs        100 %    2.0 GiB       2s   4m 10s
    rank 3  sleeps      101 %    2.0 GiB    1m 1s   4m 10s
 y/n  Drain node 0 (n1) of job1? Its workers get notice, and the others start
 again without it. Work that is not saved by then is lost.
)");
  CHECK(frame(x, 20, 5) == R"(
 y/n  Drain node 0
 (n1) of job1? Its
 workers get notice,
 and the others
 up down  y/n
)");
  CHECK(frame(x, 20, 3).find("\n up down  y/n\n") != std::string::npos);
  CHECK(frame(x, 20, 2) == "\n job1  running  gen~\n y/n  Drain node 0 ~\n");
  CHECK(frame(x, 20, 1) == "\n y/n  Drain node 0 ~\n");
}

TEST_CASE("top view: an answer takes the lines that it needs", "[cli]") {
  auto x = top_fixture{bound_actions()};
  x.show(two_nodes());
  x.uut.step(job_answered{"refused: node n1 hosts the coordinator, and the job"
                          " would end with it; to end the job: actorctl stop"},
             x.at);
  const auto lines = x.lines(80, 12);
  CHECK(lines[10]
        == " refused: node n1 hosts the coordinator, and the job would end with"
           " it; to end");
  CHECK(lines[11] == " the job: actorctl stop");
  CHECK_FALSE(x.screen(80, 12).is_covered);
}

TEST_CASE("top view: an answer that has no room covers rows", "[cli]") {
  auto x = top_fixture{bound_actions()};
  x.show(two_nodes());
  x.uut.step(job_answered{"refused: node n1 hosts the coordinator, and the job"
                          " would end with it; to end the job: actorctl stop"},
             x.at);
  CHECK(frame(x, 40, 5) == R"(
 job1  running  generation 3  nodes 2 o~
 refused: node n1 hosts the coordinator,
 and the job would end with it; to end
 the job: actorctl stop
 Esc: back
)");
  CHECK(frame(x, 20, 5) == R"(
 refused: node n1
 hosts the
 coordinator, and
 the job would end
 up down  Esc: back
)");
  const auto low = x.screen(20, 5);
  CHECK(low.is_covered);
  CHECK(low.page_size == 4);
  CHECK(low.scroll_max == 2);
  x.uut.step(
    key_pressed{key::end, 0, low.page_size, low.scroll_max, low.is_covered},
    x.at);
  CHECK(frame(x, 20, 5) == R"(
 coordinator, and
 the job would end
 with it; to end the
 job: actorctl stop
 up down  Esc: back
)");
  CHECK(x.lines(20, 4)[3] == " up down  Esc: back");
  CHECK(x.lines(20, 3)[2].find("rank") != std::string::npos); // As usual.
}

TEST_CASE("top view: an answer covers other pages, too", "[cli]") {
  auto x = top_fixture{bound_actions()};
  x.show(two_nodes());
  x.press("w");
  x.uut.step(job_answered{"refused: the job ends"}, x.at);
  CHECK(frame(x, 20, 5) == R"(
 job job1
 phase
 refused: the job
 ends
 Esc: back
)");
  CHECK(x.lines(80, 24)[23] == " refused: the job ends");
}

TEST_CASE("top view: what is typed shows its end", "[cli]") {
  auto x = top_fixture{bound_actions()};
  x.show(two_nodes());
  x.press("jL");
  CHECK(x.lines(80, 24)[23]
        == " log level: _  (debug, info, warning, error, critical)");
  CHECK(x.lines(20, 5)[4] == " log level: _");
  x.press("critical");
  CHECK(x.lines(20, 5)[4] == "~og level: critical_");
  CHECK_FALSE(x.screen(20, 5).is_covered);
  x.press(key::escape);
  x.press("fa text that is longer than this terminal");
  CHECK(x.lines(20, 5)[4] == "~than this terminal_");
}

TEST_CASE_METHOD(top_fixture,
                 "top view: details of a narrow terminal are whole", "[cli]") {
  show(two_nodes());
  press("w");
  CHECK(frame(*this, 20, 12) == R"(
 job job1
 phase
  running for 4m 12s
 waits for    -
 coordinator
  pid 99 on n1, for
  0s
 nodes
  2 here, 2 to 4
  wanted
 restarts
 Enter, Esc: back
)");
}

TEST_CASE("top view: a log follows its end", "[cli]") {
  auto x = top_fixture{bound_actions()};
  x.show(two_nodes());
  x.press("jl");
  CHECK(frame(x, 40, 5) == R"(
 log of rank 0 (n1)
 nothing yet ...


 q, Esc: back
)");
  auto chunk = v1::LogLines{};
  for (const auto* text :
       {"one", "two\tx\x1b[31m red\x1b[0m", "three \x07 \xff",
        "a line that is longer than this terminal"}) {
    auto& line = *chunk.add_lines();
    line.set_rank(12);
    line.set_text(text);
  }
  chunk.set_trouble("node n3 does not answer");
  x.uut.step(text_came{1, lines_of(chunk)}, x.at);
  CHECK(frame(x, 40, 9) == R"(
 log of rank 0 (n1)
[rank12]:one
[rank12]:two     x red
[rank12]:three \x07 �
[rank12]:a line that is longer than this
         terminal
 - node n3 does not answer

 q, Esc: back
)");
  CHECK(x.lines(40, 5)[3] == " - node n3 does not answer");
  CHECK(x.lines(40, 5)[2] == "         terminal");
  CHECK(frame(x, 20, 2).find("answer") != std::string::npos);
}

TEST_CASE("top view: the help has all keys", "[cli]") {
  auto x = top_fixture{bound_actions()};
  x.show(two_nodes());
  x.press("?");
  CHECK(frame(x, 80, 24) == R"(
 up down PgUp PgDn Home End move (also j, k, g, G, the mouse)
 Enter                      show the details of this row, and go back
 Space left right           fold and unfold this node; z: all nodes
 s S                        sort: rank, CPU, memory, silence, compute, age
 f                          filter: show only rows with a text; Esc ends it
 / n N                      search for a text; the next one, the one before
 p                          pause: keep this picture
 w                          the details of the job: its generations, who is gone
 h ?                        this help
 q                          quit (also Ctrl-C)
 l                          the log of this worker or node as it grows
 t                          the stack of this worker, or of all of this node
 T                          the stacks of all workers: who is the odd one out
 D                          drain this node: it leaves gently
 R                          restart all workers
 L                          change the log level of this node
 A                          change the log level of all nodes

 STATE: ! failed or out of reach, * on its way; of workers as ps(1) has it
 SILENT: since the last line of output; LEASE: since the last keep-alive



 Enter, Esc: back
)");
}

TEST_CASE_METHOD(top_fixture, "top view: ASCII only, where that is all",
                 "[cli]") {
  show(two_nodes());
  for (const auto& line : view(uut, {80, 24}, {.unicode = false}).lines)
    for (const unsigned char c : text_of(line))
      CHECK(c < 0x80);
}

TEST_CASE_METHOD(top_fixture, "top view: several jobs have a row each",
                 "[cli]") {
  auto other = two_nodes();
  other.set_job_id("job2");
  show(two_nodes());
  show(other);
  press("z");
  CHECK(frame(*this, 60, 10) == R"(
 job1  running  generation 3  nodes 2 of 2:4  workers 4  re~
 running for 4m 12s; generation 2 ended: rank 1 exited with~
NODE        STATE         CPU     MEMORY   SILENT    SINCE
▾ job1      running         -          -        -   4m 12s
  ▸ 0 n1    running     100 %    2.0 GiB    1m 1s   4m 12s
  ▸ 1 n2    running     201 %    4.0 GiB    1m 1s   4m 12s
▾ job2      running         -          -        -   4m 12s
  ▸ 0 n1    running     100 %    2.0 GiB    1m 1s   4m 12s
  ▸ 1 n2    running     201 %    4.0 GiB    1m 1s   4m 12s
 ? help  q quit  Enter details  l log  t stack  s sort  f f~
)");
}

TEST_CASE_METHOD(top_fixture, "top view: texts of peers keep their place",
                 "[cli]") {
  auto job = two_nodes();
  auto& node = *job.mutable_agents(0);
  node.set_host("h\x1b[2Jost\n日本日本日本日本日本日本日本日本日本");
  node.set_reason(std::string(300, 'x') + "\r\x07");
  job.set_job_id("j\tob");
  show(job);
  for (const auto& line : screen(90, 20).lines) {
    CHECK(width_of(text_of(line)) == 90);
    for (const unsigned char c : text_of(line))
      CHECK(c >= 0x20);
  }
}

TEST_CASE("top view: a sparkline shows shares of the largest", "[cli]") {
  CHECK(sparkline({1, 4, 8}, 10, {}) == "▂▅█");
  CHECK(sparkline({1, 4, 8}, 2, {}) == "▅█");
  CHECK(sparkline({0, 0}, 2, {.unicode = false}) == "__");
  CHECK(sparkline({}, 2, {}).empty());
}

} // namespace actorrun::test::view_test
