#include "runtime/http/worker_views.hpp"
#include "tests/runtime/deadline.hpp"
#include "tests/support/catch.hpp"

#include <nlohmann/json.hpp>

#include <mutex>
#include <optional>
#include <vector>

namespace actorrun::test::worker_views_test {

using namespace actorrun::detail;
using namespace std::chrono_literals;
using test_deadline::soon;

namespace {

struct views_fixture {
  explicit views_fixture(worker_view_limits limits
                         = {.question_count = 2, .size = 10}) {
    run_and_wait(home, [&] {
      uut.emplace(
        home,
        [this](operator_question x) {
          const auto lock = std::lock_guard{mutex};
          questions.push_back(std::move(x));
        },
        limits);
    });
  }

  ~views_fixture() {
    run_and_wait(home, [this] { uut.reset(); });
  }

  auto take() {
    return [this](const http_reply& x) {
      const auto lock = std::lock_guard{mutex};
      replies.push_back(x);
    };
  }

  void log(const std::string& query = "rank=3") {
    run_and_wait(home, [&] { uut->log(query, take()); });
  }

  void stacks(const std::string& query = "rank=3") {
    run_and_wait(home, [&] { uut->stacks(query, take()); });
  }

  bool has_replies(size_t count) {
    return soon([&] {
      const auto lock = std::lock_guard{mutex};
      return replies.size() == count;
    });
  }

  bool has_questions(size_t count) {
    return soon([&] {
      const auto lock = std::lock_guard{mutex};
      return questions.size() == count;
    });
  }

  void write(size_t i, const std::vector<std::string>& lines, bool is_end) {
    auto x = v1::OperatorReply{};
    for (const auto& text : lines)
      x.mutable_logs()->add_lines()->set_text(text);
    x.mutable_logs()->set_is_end(is_end);
    questions.at(i).reply(std::move(x));
  }

  nlohmann::json body(size_t i) {
    return nlohmann::json::parse(*replies.at(i).body);
  }

  reactor home;
  std::optional<worker_views> uut;
  std::mutex mutex;
  std::vector<operator_question> questions;
  std::vector<http_reply> replies;
};

struct hasty_views : views_fixture {
  hasty_views() : views_fixture({.answer = 20ms}) {}
};

} // namespace

TEST_CASE_METHOD(views_fixture, "worker_views: the newest lines are shown",
                 "[runtime]") {
  log();
  REQUIRE(has_questions(1));
  const auto asked = questions.at(0).what;
  CHECK(asked.logs().what().ranks(0) == 3);
  CHECK(asked.logs().what().tail() == 200);
  CHECK_FALSE(asked.logs().what().follow());
  CHECK(asked.logs().what().outputs() == v1::LOG_OUTPUTS_BOTH);
  CHECK_FALSE(questions.at(0).may_steer);
  write(0, {"first", "other"}, false);
  write(0, {"third"}, true);
  REQUIRE(has_replies(1));
  CHECK(replies.at(0).status == 200);
  const auto lines = body(0)["lines"];
  REQUIRE(lines.size() == 2); // Of ten bytes.
  CHECK(lines[0]["text"] == "other");
  CHECK(lines[1]["text"] == "third");
  REQUIRE(has_questions(2)); // What has come lets more come.
  CHECK(questions.at(1).what.log_credit().number() == asked.number());
  CHECK(questions.at(1).what.log_credit().size() > 10);
  CHECK(questions.at(1).session == questions.at(0).session);
  log("rank=0&output=err");
  REQUIRE(has_questions(3));
  CHECK(questions.at(2).what.logs().what().outputs() == v1::LOG_OUTPUTS_ERR);
}

TEST_CASE_METHOD(views_fixture, "worker_views: a worker's stack is shown",
                 "[runtime]") {
  stacks();
  REQUIRE(has_questions(1));
  CHECK(questions.at(0).what.stacks().ranks(0) == 3);
  auto x = v1::OperatorReply{};
  x.mutable_stacks()->add_workers()->add_frames("main");
  questions.at(0).reply(std::move(x));
  REQUIRE(has_replies(1));
  CHECK(body(0)["workers"][0]["frames"][0] == "main");
}

TEST_CASE_METHOD(views_fixture, "worker_views: nonsense is not passed on",
                 "[runtime]") {
  for (const auto* query :
       {"", "rank", "rank=", "rank=-1", "rank=1x", "x=1", "rank=4294967296",
        "rank=1&rank=2", "rank=1&output=both"}) {
    log(query);
    stacks(query);
  }
  REQUIRE(has_replies(18));
  for (const auto& x : replies)
    CHECK(x.status == 400);
  CHECK(questions.empty());
}

TEST_CASE_METHOD(views_fixture, "worker_views: a refusal says why",
                 "[runtime]") {
  log();
  stacks();
  log(); // One too many.
  REQUIRE(has_replies(1));
  CHECK(replies.at(0).status == 503);
  auto x = v1::OperatorReply{};
  x.mutable_refusal()->set_code(static_cast<uint32_t>(errc::bad_argument));
  x.mutable_refusal()->set_text("there is no rank 3\nat all");
  questions.at(0).reply(x);
  x.mutable_refusal()->set_code(
    static_cast<uint32_t>(errc::connection_timed_out));
  questions.at(1).reply(x);
  REQUIRE(has_replies(3));
  CHECK(replies.at(1).status == 404);
  CHECK(replies.at(1).body->find("there is no rank 3") == 0);
  CHECK(replies.at(2).status == 503);
  log();
  CHECK(has_questions(3));
}

TEST_CASE_METHOD(hasty_views,
                 "worker_views: a job that is silent is left alone",
                 "[runtime]") {
  log();
  REQUIRE(has_replies(1));
  CHECK(replies.at(0).status == 503);
  REQUIRE(has_questions(2));
  CHECK(questions.at(1).what.log_credit().size() == 0); // The reading ends.
  write(0, {"late"}, true);
  stacks();
  CHECK(has_replies(2));
}

} // namespace actorrun::test::worker_views_test
