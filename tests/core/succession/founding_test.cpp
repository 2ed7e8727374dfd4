// Tests which of several seeds begins a job, step by step.
#include "actors/core/succession/founding.hpp"
#include "tests/support/catch.hpp"

#include <string>

namespace actorrun::test::founding_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

const auto a = agent_id{"a-1"};
const auto b = agent_id{"b-1"};
const auto c = agent_id{"c-1"};
const auto old = agent_id{"old-1"};

const auto seeds = std::vector<std::string>{"a:29400", "b:29400", "c:29400"};

founding_options options_of(uint32_t own, endpoint_list remembered = {}) {
  const auto self = std::vector{a, b, c}[own];
  return {.self = self,
          .endpoint = std::string{self.value} + ":1",
          .seeds = seeds,
          .own = own,
          .remembered = std::move(remembered)};
}

struct fixture {
  using millis = std::chrono::milliseconds;

  founding uut{options_of(0)};
  arm_timer armed{};
  std::vector<founding_effect> last;

  std::string at(millis t, const founding_event& event) {
    auto trace = std::string{};
    last = uut.step(event, time_point{t});
    for (const auto& x : last) {
      if (const auto* timer = std::get_if<arm_timer>(&x))
        armed = *timer;
      else
        trace += (trace.empty() ? "" : "; ") + to_string(x);
    }
    return trace;
  }

  std::string hear(millis t, const agent_id& from, founding_message what) {
    return at(t, founding_heard{from, std::move(what)});
  }

  std::string ask(millis t, const agent_id& from, ballot by,
                  uint32_t seed = 0) {
    return hear(t, from, found_ask{by, seed, "e", seeds});
  }

  std::string fire(millis t) { return at(t, timer_fired{armed.timer}); }

  /// It has asked for the first time. @returns when
  millis stand() {
    at(0ms, founding_started{});
    CHECK(fire(360ms)
          == "ask_seed 1: found_ask 1.0; ask_seed 2: found_ask 1.0");
    return 360ms;
  }
};

} // namespace

TEST_CASE_METHOD(fixture,
                 "founding: a seed asks whether there is a job, and promises "
                 "nothing for as long as a promise binds",
                 "[core]") {
  CHECK(at(0ms, founding_started{})
        == "ask_seed 1: found_ask 0.0; ask_seed 2: found_ask 0.0");
  CHECK(armed.due == time_point{360ms});
  CHECK(uut.current_phase() == founding::phase::abstaining);
  CHECK(ask(1ms, b, {7, 1}) == "");
  CHECK(hear(1ms, b, found_claim{{7, 1}, 0, "e"}) == "");
  CHECK(at(2ms, timer_fired{timer_id{99}}) == ""); // It is none of its own.
  CHECK(fire(360ms) == "ask_seed 1: found_ask 8.0; ask_seed 2: found_ask 8.0");
  CHECK(armed.due == time_point{560ms});
}

TEST_CASE("founding: each seed asks a little later than those before it",
          "[core]") {
  auto uut = founding{options_of(2)};
  const auto out = uut.step(founding_started{}, time_point{0ms});
  CHECK(std::get<arm_timer>(out.back()).due == time_point{390ms});
}

TEST_CASE_METHOD(fixture, "founding: a majority promises, and then grants",
                 "[core]") {
  stand();
  CHECK(hear(361ms, b, found_promise{{1, 0}, 1})
        == "ask_seed 1: found_claim 1.0; ask_seed 2: found_claim 1.0");
  CHECK(uut.current_phase() == founding::phase::claiming);
  CHECK(hear(362ms, c, found_promise{{1, 0}, 2}) == "");
  CHECK(hear(363ms, b, found_granted{{1, 0}, 1}) == "begin_job");
  CHECK(uut.current_phase() == founding::phase::begun);
  CHECK(ask(364ms, c, {9, 2}) == "");
}

TEST_CASE_METHOD(fixture,
                 "founding: answers to earlier attempts, and late ones, count "
                 "for nothing",
                 "[core]") {
  stand();
  CHECK(hear(361ms, b, found_granted{{1, 0}, 1}) == "");
  CHECK(fire(560ms) == "ask_seed 1: found_ask 2.0; ask_seed 2: found_ask 2.0");
  CHECK(hear(561ms, b, found_promise{{1, 0}, 1}) == "");
  hear(562ms, b, found_promise{{2, 0}, 1});
  CHECK(hear(563ms, b, found_granted{{1, 0}, 1}) == "");
  // Whoever has granted this may have ended and come again since.
  CHECK(hear(900ms, b, found_granted{{2, 0}, 1}) == "");
  CHECK(hear(899ms, b, found_granted{{2, 0}, 1}) == "begin_job");
}

TEST_CASE("founding: of two seeds both are needed, and of four three",
          "[core]") {
  CHECK(majority_of_seeds(1) == 1);
  CHECK(majority_of_seeds(2) == 2);
  CHECK(majority_of_seeds(3) == 2);
  CHECK(majority_of_seeds(4) == 3);
}

TEST_CASE("founding: one seed alone begins after it has abstained", "[core]") {
  auto uut = founding{{.self = a, .endpoint = "e", .seeds = {"a:29400"}}};
  auto out = uut.step(founding_started{}, time_point{0ms});
  const auto timer = std::get<arm_timer>(out.back());
  out = uut.step(timer_fired{timer.timer}, timer.due);
  CHECK(to_string(out.back()) == "begin_job");
}

TEST_CASE_METHOD(fixture,
                 "founding: two that ask at once: the higher ballot wins, in "
                 "both orders",
                 "[core]") {
  stand();
  SECTION("before the promises have come") {
    CHECK(ask(361ms, b, {1, 1}) == "answer b-1: found_promise 1.1");
    CHECK(hear(362ms, c, found_promise{{1, 0}, 2}) == "");
  }
  SECTION("after it has claimed") {
    hear(361ms, c, found_promise{{1, 0}, 2});
    CHECK(ask(362ms, b, {1, 1}) == "answer b-1: found_promise 1.1");
    CHECK(uut.current_phase() == founding::phase::asking);
    CHECK(hear(363ms, c, found_granted{{1, 0}, 2}) == "");
  }
  CHECK(armed.due > time_point{560ms});
  CHECK(hear(364ms, b, found_claim{{1, 1}, 0, "b-1:1"})
        == "follow b-1; answer b-1: found_granted 1.1");
  CHECK(armed.due == time_point{1'364ms});
  // A lower one is refused, and the same one twice as well.
  CHECK(ask(365ms, c, {1, 0}) == "answer c-1: found_refused 1.0");
  CHECK(ask(366ms, b, {1, 1}) == "answer b-1: found_refused 1.1");
  CHECK(hear(367ms, c, found_claim{{1, 0}, 0, "e"})
        == "answer c-1: found_refused 1.0");
  // And so is one that it has not promised.
  CHECK(hear(368ms, c, found_claim{{3, 2}, 0, "e"})
        == "answer c-1: found_refused 3.2");
}

TEST_CASE_METHOD(fixture, "founding: a refusal says how high to go", "[core]") {
  stand();
  hear(361ms, b, found_refused{.by = {1, 0}, .seed = 1, .promised = {6, 2}});
  CHECK(fire(560ms) == "ask_seed 1: found_ask 7.0; ask_seed 2: found_ask 7.0");
}

TEST_CASE_METHOD(
  fixture,
  "founding: questions to another seed, and those that only look "
  "for a job, get no promise",
  "[core]") {
  stand();
  CHECK(ask(361ms, b, {5, 1}, 2) == "");
  CHECK(ask(361ms, b, {0, 1}) == "");
  CHECK(hear(361ms, b, found_claim{{5, 1}, 2, "e"}) == "");
}

TEST_CASE_METHOD(fixture,
                 "founding: whoever was granted the job is named, and counts "
                 "until it has ended",
                 "[core]") {
  stand();
  ask(361ms, b, {2, 1});
  hear(362ms, b, found_claim{{2, 1}, 0, "b-1:1"});
  CHECK(ask(363ms, c, {3, 2}) == "answer c-1: found_promise 3.2 b-1");
  const auto told
    = std::get<found_promise>(std::get<answer_seed>(last.back()).what);
  CHECK(told.may_know == endpoint_list{{b, "b-1:1"}});
  // Nor does this seed begin it itself.
  fire(2'000ms);
  CHECK(hear(2'001ms, c, found_promise{{4, 0}, 2}) == "await b-1");
  CHECK(armed.due == time_point{2'501ms});
  CHECK(at(2'002ms, awaited_ended{{old}}) == "await b-1");
  CHECK(at(2'003ms, awaited_ended{{b}})
        == "ask_seed 1: found_claim 4.0; ask_seed 2: found_claim 4.0");
  CHECK(ask(2'004ms, c, {5, 2}) == "answer c-1: found_promise 5.2");
}

TEST_CASE_METHOD(fixture,
                 "founding: a founder that promises itself has begun nothing",
                 "[core]") {
  stand();
  CHECK(hear(361ms, c, found_promise{{1, 0}, 2, {{b, "b-1:1"}}})
        == "await b-1");
  CHECK(hear(362ms, b, found_promise{{1, 0}, 1, {{a, "a-1:1"}}})
        == "ask_seed 1: found_claim 1.0; ask_seed 2: found_claim 1.0");
}

TEST_CASE("founding: agents of a memo must have ended, and are named to others",
          "[core]") {
  auto uut = founding{options_of(0, {{old, "x:1"}, {a, "a-1:1"}})};
  auto out = uut.step(founding_started{}, time_point{});
  const auto timer = std::get<arm_timer>(out.back()).timer;
  uut.step(timer_fired{timer}, time_point{400ms});
  out
    = uut.step(founding_heard{b, found_promise{{1, 0}, 1}}, time_point{401ms});
  CHECK(to_string(out.back()) == "await old-1");
  out = uut.step(founding_heard{c, found_ask{{2, 2}, 0, "e", seeds}},
                 time_point{402ms});
  CHECK(to_string(out.back()) == "answer c-1: found_promise 2.2 old-1");
}

TEST_CASE_METHOD(
  fixture,
  "founding: whoever is in a job stops an attempt, and is waited "
  "for",
  "[core]") {
  stand();
  hear(361ms, b, found_promise{{1, 0}, 1});
  CHECK(hear(362ms, c,
             found_refused{.by = {1, 0},
                           .seed = 2,
                           .may_know = {{old, "x:1"}, {a, "a-1:1"}}})
        == "await old-1");
  CHECK(uut.current_phase() == founding::phase::asking);
  CHECK(hear(363ms, b, found_granted{{1, 0}, 1}) == "");
  at(364ms, awaited_ended{{old}});
  CHECK(hear(365ms, c,
             found_refused{.by = {1, 0}, .seed = 2, .may_know = {{old, "x:1"}}})
        == "");
}

TEST_CASE_METHOD(fixture, "founding: who has found the job begins none",
                 "[core]") {
  stand();
  CHECK(at(361ms, job_found{}) == "");
  CHECK(uut.current_phase() == founding::phase::over);
  CHECK(hear(362ms, b, found_promise{{1, 0}, 1}) == "");
  CHECK(fire(560ms) == "");
}

TEST_CASE_METHOD(fixture,
                 "founding: whoever was told other seeds gets no promise, and "
                 "both learn of it",
                 "[core]") {
  stand();
  const auto others = std::vector<std::string>{"a:29400", "d:29400"};
  CHECK(hear(361ms, b, found_ask{{5, 1}, 0, "e", others})
        == "other seeds of b-1; answer b-1: found_refused 5.1 for its seeds");
  auto why = found_refused{.by = {1, 0}, .seed = 1};
  why.seeds = others;
  CHECK(hear(362ms, b, why) == "other seeds of b-1");
  CHECK(std::get<report_other_seeds>(last.back()).seeds == others);
}

TEST_CASE_METHOD(fixture,
                 "founding: it says which seeds are needed and missing",
                 "[core]") {
  stand();
  CHECK(uut.waits_for()
        == "the job begins as soon as 2 of the 3 hosts of --rdzv-endpoint are "
           "there; this one is a:29400, and not heard of yet: b:29400, "
           "c:29400");
  ask(361ms, b, {1, 1});
  CHECK(uut.waits_for().ends_with("not heard of yet: c:29400"));
  ask(362ms, c, {2, 2});
  CHECK(uut.waits_for().ends_with("this one is a:29400"));
  ask(3'361ms, c, {3, 2});
  CHECK(uut.waits_for().ends_with("not heard of yet: b:29400"));
}

TEST_CASE("founding: phases and timers have words", "[core]") {
  using enum founding::phase;
  auto text = std::string{};
  for (const auto x : {abstaining, asking, claiming, begun, over})
    text += to_string(x) + " ";
  CHECK(text == "abstaining asking claiming begun over ");
  CHECK(to_string(founding::phase(9)) == "unknown");
  CHECK(to_string(founding_effect{arm_timer{}}) == "arm_timer");
}

} // namespace actorrun::test::founding_test
