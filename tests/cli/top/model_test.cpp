#include "tests/cli/top/picture.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <random>

using namespace actorrun;
using namespace actorrun::cli::top;
using namespace actorrun::test;

namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// The first cells of the rows, without spaces around them.
std::vector<std::string> names_of(const model& x) {
  auto out = std::vector<std::string>{};
  for (const auto& y : x.rows())
    out.push_back(y.is_worker() ? "rank " + std::to_string(*y.rank)
                                : y.node->host());
  return out;
}

using names = std::vector<std::string>;

} // namespace

TEST_CASE_METHOD(top_fixture, "top: the cursor moves, and stays on its row",
                 "[cli]") {
  show(two_nodes());
  CHECK(has(selected(), "n1"));
  press(key::down);
  press("j");
  CHECK(has(selected(), "rank 1"));
  press(key::end);
  CHECK(has(selected(), "rank 3"));
  press(key::down);
  CHECK(has(selected(), "rank 3"));
  press(key::page_up);
  CHECK(has(selected(), "rank 0"));
  press("G");
  // The other node is gone: the last row is nearest.
  auto job = two_nodes();
  job.mutable_agents()->RemoveLast();
  show(job);
  CHECK(has(selected(), "rank 1"));
  press("g");
  CHECK(has(selected(), "n1"));
}

TEST_CASE_METHOD(top_fixture, "top: rows are sorted by what hurts", "[cli]") {
  show(two_nodes());
  CHECK(names_of(uut)
        == names{"n1", "rank 0", "rank 1", "n2", "rank 2", "rank 3"});
  press("s"); // CPU
  CHECK(names_of(uut)
        == names{"n2", "rank 3", "rank 2", "n1", "rank 0", "rank 1"});
  press("s"); // memory
  CHECK(names_of(uut).front() == "n2");
  press("s"); // silence
  CHECK(names_of(uut)
        == names{"n1", "rank 1", "rank 0", "n2", "rank 3", "rank 2"});
  press("ss");
  CHECK(uut.tree().by == order::rank);
  press("S");
  CHECK(uut.tree().by == order::age);
}

TEST_CASE_METHOD(top_fixture, "top: nodes are folded and unfolded", "[cli]") {
  show(two_nodes());
  press("j");
  press(key::left); // From a worker.
  CHECK(names_of(uut) == names{"n1", "n2", "rank 2", "rank 3"});
  CHECK(has(selected(), "n1"));
  press(" ");
  CHECK(names_of(uut).size() == 6);
  press("z");
  CHECK(names_of(uut) == names{"n1", "n2"});
  press("z");
  CHECK(names_of(uut).size() == 6);
}

TEST_CASE_METHOD(top_fixture, "top: a filter keeps what is above and below",
                 "[cli]") {
  show(two_nodes());
  press("fPID 201");
  CHECK(names_of(uut) == names{"n2", "rank 3"});
  press(key::enter);
  CHECK(has(lines()[0], "filter: PID 201"));
  press("f");
  press(key::escape);
  CHECK(names_of(uut).size() == 6);
  press("f10.0.0.2");
  CHECK(names_of(uut) == names{"n2", "rank 2", "rank 3"});
  press("x");
  CHECK(names_of(uut).empty());
  CHECK(has(lines()[4], "no row has that text"));
  press(key::backspace);
  CHECK(names_of(uut).size() == 3);
}

TEST_CASE_METHOD(top_fixture, "top: a search goes round", "[cli]") {
  show(two_nodes());
  press("/Sleeps");
  press(key::enter);
  CHECK(has(selected(), "rank 1"));
  press("n");
  CHECK(has(selected(), "rank 3"));
  press("n");
  CHECK(has(selected(), "rank 1"));
  press("N");
  CHECK(has(selected(), "rank 3"));
  press("/nowhere");
  press(key::enter);
  CHECK(has(lines().back(), "nothing here has 'nowhere'"));
  at += message_shown;
  CHECK(has(lines().back(), "? help"));
}

TEST_CASE_METHOD(top_fixture, "top: a paused picture does not change",
                 "[cli]") {
  show(two_nodes());
  press("p");
  const auto before = lines();
  CHECK(has(before[0], "PAUSED"));
  auto job = two_nodes();
  job.set_phase("stopping");
  at += 10s;
  show(job);
  CHECK(lines() == before);
  press("p");
  CHECK(has(lines()[0], "stopping"));
}

TEST_CASE_METHOD(top_fixture,
                 "top: silence and a lost link are noted, and forgotten",
                 "[cli]") {
  CHECK(has(lines()[0], "job job1"));
  CHECK(has(lines()[1], "looking for"));
  show(two_nodes());
  at += 2'999ms;
  CHECK_FALSE(has(lines()[1], "no answer"));
  at += 1ms;
  CHECK(has(lines()[1], "no answer since 3 s"));
  uut.step(answer_missing{"job1", "connection\x1b[31m refused"}, at);
  CHECK(lines()[1] == " ! no answer since 3 s: connection refused");
  CHECK(has(selected(), "n1")); // The last picture stays.
  show(two_nodes());
  CHECK_FALSE(has(lines()[1], "no answer"));
}

TEST_CASE_METHOD(top_fixture, "top: a job that has ended needs no answer",
                 "[cli]") {
  auto job = two_nodes();
  job.set_phase("ended");
  job.mutable_outcome()->set_verdict(v1::VERDICT_FAILED);
  job.mutable_outcome()->set_reason("rank 1 exited with code 7");
  job.set_is_healthy(false);
  show(job);
  uut.step(answer_missing{"job1", "refused"}, at);
  at += 10s;
  CHECK(lines()[1] == " the job has ended: failed: rank 1 exited with code 7");
}

TEST_CASE_METHOD(top_fixture, "top: a click moves the cursor, another folds",
                 "[cli]") {
  show(two_nodes());
  const auto picture = screen();
  auto line = size_t{0};
  while (!picture.rows[line] || picture.rows[line]->agent != "n2-4711")
    ++line;
  uut.step(row_clicked{*picture.rows[line]}, at);
  CHECK(has(selected(), "n2"));
  CHECK(names_of(uut).size() == 6);
  uut.step(row_clicked{*picture.rows[line]}, at);
  CHECK(names_of(uut).size() == 4);
}

TEST_CASE_METHOD(top_fixture, "top: pages open, scroll and close", "[cli]") {
  show(two_nodes());
  press("?");
  CHECK(has(lines()[1], "Enter"));
  press("q"); // Back, not out.
  press(key::down);
  press(key::enter);
  CHECK(has(lines()[0], "worker of rank 0"));
  press(key::escape);
  press("w");
  CHECK(has(lines()[0], "job job1"));
  CHECK(screen(80, 6).scroll_max == 9);
  for (auto i = 0; i < 5; ++i)
    press(key::page_down); // No further than that.
  CHECK(has(lines(80, 6)[4], "ended: agent n3 joined"));
  press(key::up);
  CHECK_FALSE(has(lines(80, 6)[4], "ended: agent n3 joined"));
  press(key::end);
  press(key::escape);
  CHECK(has(selected(), "rank 0"));
  CHECK(press("q").size() == 1);
}

TEST_CASE("top: keys of actions work where they make sense", "[cli]") {
  auto x = top_fixture{{
    {.key = 'l', .name = "show its log", .on = {.workers = true}, .run = {}},
    {.key = 'D', .name = "drain this node", .on = {.nodes = true}, .run = {}},
    {.key = 'R', .name = "restart", .on = {.jobs = true}, .run = {}},
  }};
  x.show(two_nodes());
  CHECK(x.press("l").empty()); // This is a node.
  CHECK(has(x.lines().back(), "move to one"));
  x.press("j");
  const auto log = x.press("l");
  REQUIRE(log.size() == 1);
  const auto& first = std::get<run_action>(log.front());
  CHECK(first.index == 0);
  CHECK(first.what.job == "job1");
  CHECK(first.what.agent == "n1-4711");
  CHECK(first.what.rank == 0);
  const auto drain = std::get<run_action>(x.press("D").front());
  CHECK(drain.what.host == "n1");
  CHECK_FALSE(drain.what.local_rank);
  const auto restart = std::get<run_action>(x.press("R").front());
  CHECK_FALSE(restart.what.agent);
  x.uut.step(action_done{"done\x07"}, x.at);
  CHECK(x.lines().back() == " done\\x07");
  x.press("?");
  const auto lines = x.lines();
  CHECK(std::ranges::any_of(
    lines, [](const auto& y) { return has(y, "drain this node"); }));
}

TEST_CASE("top: without actions the help has none", "[cli]") {
  auto x = top_fixture{};
  x.press("?");
  for (const auto& line : x.lines())
    CHECK_FALSE(has(line, "drain"));
}

TEST_CASE("top: no key, picture or size is too much", "[cli]") {
  auto x = top_fixture{};
  auto random = std::mt19937{7};
  const auto any = [&](size_t n) { return size_t(random() % n); };
  for (auto i = 0; i < 3'000; ++i) {
    auto job = two_nodes();
    job.set_job_id(any(5) == 0 ? "other" : "job1");
    if (any(3) == 0)
      job.mutable_agents()->RemoveLast();
    if (any(7) == 0)
      job.mutable_agents()->Clear();
    x.at += 100ms;
    if (any(4) == 0)
      x.show(job);
    if (any(20) == 0)
      x.uut.step(answer_missing{job.job_id(), "gone"}, x.at);
    x.press(std::string(1, char(' ' + any(95))));
    x.press(static_cast<key>(1 + any(11)));
    const auto width = 1 + any(120);
    const auto height = 1 + any(40);
    const auto got = x.screen(width, height);
    REQUIRE(got.lines.size() == height);
    REQUIRE(got.rows.size() == height);
    for (const auto& line : got.lines)
      REQUIRE(width_of(top_fixture::text_of(line)) == width);
  }
}
