#include "runtime/http/status_source.hpp"
#include "tests/runtime/deadline.hpp"
#include "tests/support/catch.hpp"

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

namespace actorrun::test::status_source_test {

using namespace actorrun::detail;
using namespace std::chrono_literals;
using test_deadline::soon;

namespace {

struct source_fixture {
  explicit source_fixture(status_limits limits = {.answer = 10s, .lost = 20s}) {
    run_and_wait(home, [&] {
      uut.emplace(
        home,
        [this](operator_question x) {
          const auto lock = std::lock_guard{mutex};
          questions.push_back(std::move(x));
        },
        v1::OperatorRequest{}, limits);
    });
  }

  ~source_fixture() {
    run_and_wait(home, [this] { uut.reset(); });
  }

  void get(core::duration age = 10s) {
    run_and_wait(home, [&] {
      uut->get(age, [this](const status_answer& x) {
        const auto lock = std::lock_guard{mutex};
        answers.push_back(x);
      });
    });
  }

  size_t question_count() {
    const auto lock = std::lock_guard{mutex};
    return questions.size();
  }

  size_t answer_count() {
    const auto lock = std::lock_guard{mutex};
    return answers.size();
  }

  void reply(size_t i, const char* phase) {
    auto x = v1::OperatorReply{};
    x.mutable_status()->set_phase(phase);
    questions.at(i).reply(std::move(x));
  }

  reactor home;
  std::optional<status_source> uut;
  std::mutex mutex;
  std::vector<operator_question> questions;
  std::vector<status_answer> answers;
};

struct hasty_source : source_fixture {
  hasty_source() : source_fixture({.answer = 20ms, .lost = 10s}) {}
};

struct forgetful_source : source_fixture {
  forgetful_source() : source_fixture({.answer = 10ms, .lost = 20ms}) {}
};

} // namespace

TEST_CASE_METHOD(source_fixture,
                 "status_source: a hundred that ask at once cost one question",
                 "[runtime]") {
  for (auto i = 0; i < 100; ++i)
    get();
  CHECK(question_count() == 1);
  reply(0, "running");
  REQUIRE(soon([this] { return answer_count() == 100; }));
  for (const auto& x : answers)
    CHECK((x.is_alive && x.what && x.what->phase() == "running"));
  get(); // It is fresh.
  CHECK(answer_count() == 101);
  CHECK(question_count() == 1);
  get(0s);
  CHECK(question_count() == 2);
}

TEST_CASE_METHOD(hasty_source,
                 "status_source: an actor that hangs gets no pile of questions",
                 "[runtime]") {
  get();
  REQUIRE(soon([this] { return answer_count() == 1; }));
  CHECK_FALSE(answers.at(0).is_alive);
  for (auto i = 0; i < 10; ++i)
    get(); // Answered at once.
  CHECK(answer_count() == 11);
  CHECK(question_count() == 1);
  reply(0, "running"); // It was only slow.
  REQUIRE(soon([this] {
    get();
    const auto lock = std::lock_guard{mutex};
    return answers.back().is_alive;
  }));
  CHECK(question_count() == 1);
}

TEST_CASE_METHOD(forgetful_source,
                 "status_source: a question that was lost is asked again",
                 "[runtime]") {
  REQUIRE(soon([this] {
    get();
    return question_count() >= 2;
  }));
}

TEST_CASE_METHOD(source_fixture,
                 "status_source: an answer that comes after the end is dropped",
                 "[runtime]") {
  get();
  run_and_wait(home, [this] { uut.reset(); });
  reply(0, "running");
  run_and_wait(home, [] {});
  CHECK(answer_count() == 0);
}

} // namespace actorrun::test::status_source_test
