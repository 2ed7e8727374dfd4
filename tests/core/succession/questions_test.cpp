#include "actors/core/succession/questions.hpp"
#include "tests/support/catch.hpp"

#include <set>
#include <string>
#include <vector>

namespace actorrun::test::questions_test {

using namespace actorrun::core;

namespace {

std::vector<size_t> asked(questions& uut, size_t known, int times,
                          bool answers = false) {
  auto out = std::vector<size_t>{};
  for (auto i = 0; i < times; ++i) {
    out.push_back(uut.next(known));
    if (answers)
      uut.note_answer();
  }
  return out;
}

std::set<size_t> set_of(const std::vector<size_t>& xs) {
  return {xs.begin(), xs.end()};
}

} // namespace

TEST_CASE("questions: one that is silent is left for the next one", "[core]") {
  auto uut = questions{{"a"}};
  const auto x = uut.next(5);
  const auto y = (x + 1) % 5;
  CHECK(asked(uut, 5, 5) == std::vector{x, x, y, y, y});
  CHECK(set_of(asked(uut, 5, 9)).size() == 3);
  CHECK(uut.next(5) == x); // All of them in turn.
}

TEST_CASE("questions: one that answers is asked again, for a while", "[core]") {
  auto uut = questions{{"a"}};
  const auto first = asked(uut, 5, unknowing_max, true);
  CHECK(set_of(first).size() == 1);
  const auto then = asked(uut, 5, unknowing_max, true);
  CHECK(set_of(then) == std::set{(first[0] + 1) % 5});
}

TEST_CASE("questions: the next search begins with the same one", "[core]") {
  auto uut = questions{{"a"}};
  const auto x = uut.next(5);
  asked(uut, 5, 10);
  uut.end();
  CHECK(asked(uut, 5, unanswered_max) == std::vector{x, x, x});
}

TEST_CASE("questions: one that is alone is asked each time", "[core]") {
  auto uut = questions{{"a"}};
  CHECK(set_of(asked(uut, 1, 100)) == std::set<size_t>{0});
}

TEST_CASE("questions: each question may go to another one", "[core]") {
  auto uut = questions{{"a"}};
  auto seen = std::set<size_t>{};
  for (auto i = 0; i < 7; ++i)
    seen.insert(uut.next(7, 1));
  CHECK(seen.size() == 7);
}

TEST_CASE("questions: agents begin with different ones", "[core]") {
  auto seen = std::set<size_t>{};
  for (auto i = 0; i < 100; ++i)
    seen.insert(questions{{"node-" + std::to_string(i)}}.next(5));
  CHECK(seen.size() == 5);
}

TEST_CASE("questions: so many as may know can change", "[core]") {
  auto uut = questions{{"a"}};
  CHECK(set_of(asked(uut, 9, 100)).size() == 9);
  CHECK(set_of(asked(uut, 2, 10)) == std::set<size_t>{0, 1});
}

TEST_CASE("questions: the leader is believed, another one where nothing better "
          "is known",
          "[core]") {
  const auto idle = search_state{};
  const auto trying = search_state{.trying = "n1:1"};
  const auto linked = search_state{.has_link = true};
  const auto bereft = search_state{.lost = "n2:2"};
  for (const auto& x : {idle, trying, linked, bereft}) {
    CHECK(weigh(x, true, "n2:2") == answer_worth::believed);
    CHECK(weigh(x, true, "") == answer_worth::ask_leader);
    CHECK(weigh(x, false, "") == answer_worth::ask_leader);
  }
  CHECK(weigh(idle, false, "n2:2") == answer_worth::believed);
  CHECK(weigh(trying, false, "n2:2") == answer_worth::ask_leader);
  CHECK(weigh(linked, false, "n2:2") == answer_worth::ask_leader);
  CHECK(weigh(bereft, false, "n2:2") == answer_worth::ask_leader);
  CHECK(weigh(bereft, false, "n3:3") == answer_worth::believed);
  CHECK(weigh(trying, false, "n1:1") == answer_worth::nothing_new);
  CHECK(weigh(trying, true, "n1:1") == answer_worth::nothing_new);
}

} // namespace actorrun::test::questions_test
