#include "cli/top/text_lines.hpp"
#include "tests/cli/top/picture.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <random>

namespace actorrun::test::model_test {

using namespace actorrun::cli;
using namespace actorrun::cli::top;

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

/// With the keys of the program, and a job.
struct acting_fixture : top_fixture {
  acting_fixture() : top_fixture(bound_actions()) { show(two_nodes()); }

  using top_fixture::press;

  static effect only(std::vector<effect> x) {
    REQUIRE(x.size() == 1);
    return x.front();
  }

  void answer(const std::string& text) { uut.step(job_answered{text}, at); }

  void add_line(int number) {
    uut.step(text_came{1, {note_line("line " + std::to_string(number))}}, at);
  }

  /// On a terminal of six lines.
  void scroll(key which) {
    const auto now = screen(40, 6);
    uut.step(key_pressed{which, 0, now.page_size, now.scroll_max}, at);
  }
};

/// On a terminal of 20 columns and 5 rows.
struct low_fixture : acting_fixture {
  std::vector<effect> press_low(key which, char text = 0) {
    const auto now = screen(20, 5);
    return uut.step(
      key_pressed{which, text, now.page_size, now.scroll_max, now.is_covered},
      at);
  }

  std::vector<effect> press_low(char letter) {
    return press_low(key::character, letter);
  }

  std::vector<std::string> low_lines() { return lines(20, 5); }
};

constexpr auto long_refusal
  = "refused: one two three four five six seven eight nine ten eleven twelve"
    " thirteen fourteen";

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
  press("s");
  CHECK(uut.tree().by == order::compute);
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

TEST_CASE_METHOD(acting_fixture,
                 "top: keys are about the row, or what it is in", "[cli]") {
  const auto node_log = std::get<open_text>(only(press("l")));
  CHECK(node_log.what == verb::show_log);
  CHECK(node_log.of.agent == "n1-4711");
  CHECK(node_log.of.ranks == std::vector<uint32_t>{0, 1});
  CHECK(log_of(node_log.of).node == "n1-4711");
  CHECK(log_of(node_log.of).what.ranks.empty());
  CHECK(std::holds_alternative<close_text>(only(press("q"))));
  press("GL");
  press("Debug");
  press(key::enter);
  CHECK(has(lines().back(), "y/n  log level DEBUG for node 1 (n2)"));
  const auto level = std::get<steer_job>(only(press("y")));
  CHECK(level.request.log_level().level() == "DEBUG");
  CHECK(level.request.log_level().node() == "n2-4711");
  answer("done");
  const auto log = std::get<open_text>(only(press("l")));
  CHECK(log.of.ranks == std::vector<uint32_t>{3});
  CHECK(log_of(log.of).what.ranks == log.of.ranks);
  CHECK(log_of(log.of).what.follow);
  press(key::escape);
  const auto stacks = std::get<open_text>(only(press("T")));
  CHECK(stacks.what == verb::show_stack);
  CHECK(stacks.of.ranks.empty());
  CHECK(stacks.number == 3);
}

TEST_CASE_METHOD(acting_fixture, "top: a job is steered only after a y",
                 "[cli]") {
  press("jD");
  CHECK(uut.question()
        == "Drain node 0 (n1) of job1? Its workers get notice, and the others"
           " start again without it. Work that is not saved by then is lost.");
  CHECK(press("n").empty());
  CHECK(has(lines().back(), "nothing was done"));
  for (const auto x : {key::escape, key::enter, key::down, key::backspace}) {
    press("D");
    press(x);
    CHECK(uut.question().empty());
    CHECK(has(selected(), "rank 0"));
  }
  CHECK(press("Dq").empty()); // Neither done nor quit.
  const auto drain = std::get<steer_job>(only(press("Dy")));
  CHECK(drain.job == "job1");
  CHECK(drain.request.drain().node() == "n1-4711");
  CHECK(has(lines().back(), "asking job job1 ..."));
  at += 1min;
  CHECK(has(lines().back(), "asking job job1 ..."));
  CHECK(press("Ry").empty()); // One after the other.
  CHECK(has(lines().back(), "has not answered yet"));
  answer("refused: no\x07");
  CHECK(lines().back() == " refused: no\\x07");
  at += answer_shown;
  CHECK(has(lines().back(), "? help"));
  const auto restart = std::get<steer_job>(only(press("RY")));
  CHECK(restart.request.has_restart());
}

TEST_CASE_METHOD(acting_fixture, "top: a question is about what was shown then",
                 "[cli]") {
  press("GD");
  auto job = two_nodes();
  job.mutable_agents()->RemoveLast();
  show(job);
  uut.step(row_clicked{{"job1", "n1-4711", {}}}, at);
  CHECK(has(uut.question(), "Drain node 1 (n2)"));
  CHECK(std::get<steer_job>(only(press("y"))).request.drain().node()
        == "n2-4711");
}

TEST_CASE_METHOD(acting_fixture, "top: a level that is none changes nothing",
                 "[cli]") {
  press("Aloud");
  press(key::enter);
  CHECK(has(lines().back(), "\"loud\" is no level"));
  press("Ainfo");
  press(key::escape);
  CHECK(press("y").empty());
  press("Ainfo");
  press(key::enter);
  const auto level = std::get<steer_job>(only(press("y")));
  CHECK(level.request.log_level().node().empty());
}

TEST_CASE_METHOD(acting_fixture, "top: without a place there is no log",
                 "[cli]") {
  auto job = two_nodes();
  job.mutable_agents(0)->clear_node_rank();
  job.mutable_agents(0)->set_generation(0);
  show(job);
  press("G");
  CHECK(press("l").empty());
  CHECK(has(lines().back(), "worker 1 (n1) has no place in the job"));
}

TEST_CASE_METHOD(acting_fixture, "top: of a closed text nothing is shown",
                 "[cli]") {
  press("l");
  press("q");
  press("l");
  uut.step(text_came{1, {note_line("of the first")}}, at);
  CHECK(has(lines()[1], "nothing yet"));
  uut.step(text_came{2, {note_line("of the second")}}, at);
  CHECK(has(lines()[1], "of the second"));
  press("x"); // No key of this page.
  uut.step(row_clicked{{"job1", "n2-4711", {}}}, at);
  CHECK(uut.where() == page::text);
}

TEST_CASE_METHOD(acting_fixture, "top: what is read does not move", "[cli]") {
  press("l");
  for (auto i = 0; i < 20; ++i)
    add_line(i);
  const auto page = [this] { return lines(40, 6); };
  CHECK(page()[4] == " - line 19");
  scroll(key::up);
  CHECK(has(page()[5], "End: go on"));
  const auto before = page();
  add_line(20);
  CHECK(page() == before);
  CHECK(before[4] == " - line 18");
  scroll(key::home);
  CHECK(page()[1] == " - line 0");
  scroll(key::page_down);
  CHECK(page()[1] == " - line 4");
  scroll(key::end);
  CHECK(page()[4] == " - line 20");
  for (auto i = 0; i < 2'000; ++i)
    add_line(i);
  CHECK(uut.text().lines().size() == page_lines_max);
}

TEST_CASE("top: a job that is gone has ended as its journal tells", "[cli]") {
  auto x = top_fixture{};
  x.show(two_nodes());
  auto end = ended_job{};
  end.how = "failed";
  end.why = "rank 1 exited with code 7";
  end.ended_ms = 1'000;
  x.uut.step(answer_missing{"job1", "gone", end}, x.at);
  CHECK(has(x.lines()[0], "job1  ended"));
  CHECK(has(x.lines()[1], " the job has ended at "));
  CHECK(has(x.lines()[1], ": failed: rank 1 exited with code 7"));
  x.show(two_nodes()); // Another one of that name.
  CHECK(has(x.lines()[0], "job1  running"));
}

TEST_CASE("top: without actions the help has none", "[cli]") {
  auto x = top_fixture{};
  x.press("?");
  for (const auto& line : x.lines())
    CHECK_FALSE(has(line, "drain"));
}

TEST_CASE("top: no key, picture or size is too much", "[cli]") {
  auto x = top_fixture{bound_actions()};
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

TEST_CASE_METHOD(low_fixture,
                 "top: a message that covers rows is read with keys that move",
                 "[cli]") {
  answer(long_refusal);
  CHECK(low_lines()[0] == " refused: one two");
  const auto which = GENERATE(key::down, key::up, key::page_down, key::end);
  press_low(which);
  const auto first = low_lines()[0];
  if (which == key::down)
    CHECK(first == " three four five six");
  else if (which == key::up)
    CHECK(first == " refused: one two");
  else // There are six lines.
    CHECK(has(low_lines()[3], "fourteen"));
  press_low('g');
  press_low('j');
  CHECK(low_lines()[0] == " three four five six");
  press_low('k');
  press_low('k');
  CHECK(low_lines()[0] == " refused: one two");
  for (auto i = 0; i < 9; ++i)
    press_low('j');
  press_low('k');
  CHECK_FALSE(has(low_lines()[3], "fourteen")); // It stood at the end.
  answer(long_refusal);
  CHECK(low_lines()[0] == " refused: one two");
}

TEST_CASE_METHOD(low_fixture,
                 "top: a message that covers rows stays until another key",
                 "[cli]") {
  answer(long_refusal);
  CHECK(screen(20, 5).is_covered);
  at += 1h;
  CHECK(screen(20, 5).is_covered);
  const auto letter = GENERATE('q', 'R', 'y');
  CHECK(press_low(letter).empty()); // Neither quit nor asked.
  CHECK_FALSE(screen(20, 5).is_covered);
  CHECK(has(low_lines()[4], "? help"));
  CHECK(uut.where() == page::tree);
  CHECK(press_low('q').size() == 1);
}

TEST_CASE_METHOD(low_fixture,
                 "top: a message that covers all of its rows ends with any key",
                 "[cli]") {
  answer("refused: this is not for you");
  CHECK(low_lines()[1] == " running for 4m 12s~");
  CHECK(low_lines()[4] == " Esc: back");
  press_low(key::down);
  CHECK(has(low_lines()[4], "? help"));
  CHECK(has(selected(20, 5), "n1"));
}

TEST_CASE_METHOD(
  low_fixture, "top: a long question is read to its end before it is answered",
  "[cli]") {
  auto job = two_nodes();
  job.set_job_id("the job of a person who likes names that are long");
  uut = model{"any job", bound_actions(), at};
  show(job);
  press_low('R');
  CHECK(low_lines()[0] == " y/n  Restart all 4");
  CHECK(low_lines()[4] == " up down  y/n");
  CHECK(press_low(key::end).empty());
  CHECK(has(low_lines()[3], "lost"));
  const auto letter = GENERATE('y', 'n');
  CHECK(press_low(letter).size() == (letter == 'y' ? 1 : 0));
  CHECK(uut.typing() == entry::none);
}

} // namespace actorrun::test::model_test
