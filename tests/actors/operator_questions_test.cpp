#include "actors/operator_questions.hpp"
#include "tests/actors/coordinator_fixture.hpp"

#include <memory>
#include <optional>

namespace actorrun::test::operator_questions_test {

namespace {

struct fixture : coordinator_fixture {
  using reply = std::shared_ptr<std::optional<v1::OperatorReply>>;

  template <class Handle>
  reply ask_as_operator(const Handle& whom, const v1::OperatorRequest& what) {
    auto out = std::make_shared<std::optional<v1::OperatorReply>>();
    tell_anonymously(whom, operator_question{what, [out](v1::OperatorReply x) {
                                               *out = std::move(x);
                                             }});
    run();
    return out;
  }
};

v1::OperatorRequest status_request() {
  auto out = v1::OperatorRequest{};
  out.mutable_status();
  return out;
}

} // namespace

TEST_CASE_METHOD(fixture, "operator questions: the status", "[actor]") {
  const auto got = ask_as_operator(uut, status_request());
  REQUIRE(*got);
  CHECK((*got)->status().job_id() == "job-1");
  CHECK((*got)->status().phase() == "gathering");
}

TEST_CASE_METHOD(fixture,
                 "operator questions: what an actor does not know is refused",
                 "[actor]") {
  const auto got = ask_as_operator(uut, v1::OperatorRequest{});
  REQUIRE(*got);
  CHECK((*got)->refusal().code() == uint32_t(errc::protocol_mismatch));
}

TEST_CASE_METHOD(
  fixture,
  "operator questions: a status that waits for a node that hangs "
  "comes in time",
  "[actor]") {
  auto agent = remote();
  join(agent, "1");
  const auto got = ask_as_operator(uut, status_request());
  advance(std::chrono::seconds{1});
  REQUIRE(*got);
  CHECK((*got)->status().agents_size() == 1);
}

} // namespace actorrun::test::operator_questions_test
