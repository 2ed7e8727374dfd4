// Tests sessions of operators that read logs: many replies to one request.
#include "tests/runtime/network/operator_fixture.hpp"

#include <string>

namespace actorrun::test::operator_readings_test {

using namespace actorrun::detail;
using namespace actorrun::detail::test;

namespace {

struct hasty_fixture : operator_fixture {
  hasty_fixture() : operator_fixture({.idle = 100ms, .answer = 50ms}) {}
};

v1::OperatorRequest logs_request(uint64_t number) {
  auto out = v1::OperatorRequest{};
  out.set_number(number);
  out.mutable_logs()->set_window(1'000'000);
  return out;
}

v1::OperatorRequest credit_request(uint64_t number, uint32_t size) {
  auto out = v1::OperatorRequest{};
  out.mutable_log_credit()->set_number(number);
  out.mutable_log_credit()->set_size(size);
  return out;
}

v1::OperatorReply lines_reply(const std::string& text, bool is_end = false) {
  auto out = v1::OperatorReply{};
  out.mutable_logs()->add_lines()->set_text(text);
  out.mutable_logs()->set_is_end(is_end);
  return out;
}

} // namespace

TEST_CASE_METHOD(operator_fixture,
                 "operator_session: a reading has replies until its end",
                 "[runtime]") {
  auto uut = connect();
  uut.send(logs_request(7));
  const auto question = questions.take();
  REQUIRE(question);
  CHECK(question->session != 0);
  for (const auto* text : {"a", "b", "c"}) {
    question->reply(lines_reply(text));
    const auto got = uut.receive();
    REQUIRE(got);
    CHECK(got->number() == 7);
    CHECK(got->logs().lines(0).text() == text);
  }
  uut.send(credit_request(7, 65));
  const auto credit = questions.take();
  REQUIRE(credit);
  CHECK(credit->session == question->session);
  CHECK(credit->what.log_credit().size() == 65);
  question->reply(lines_reply("d", true));
  CHECK(uut.receive()->logs().is_end());
  question->reply(lines_reply("late"));
  uut.send(status_request(8));
  questions.take()->reply(status_reply("x"));
  CHECK(uut.receive()->number() == 8);
}

TEST_CASE_METHOD(operator_fixture,
                 "operator_session: who leaves ends his readings",
                 "[runtime]") {
  auto uut = connect();
  uut.send(logs_request(7));
  const auto question = questions.take();
  question->reply(lines_reply("a"));
  REQUIRE(uut.receive());
  uut.connection.reset();
  const auto end = questions.take();
  REQUIRE(end);
  CHECK(end->session == question->session);
  CHECK(end->what.log_credit().number() == 7);
  CHECK(end->what.log_credit().size() == 0);
}

TEST_CASE_METHOD(operator_fixture,
                 "operator_session: credit is read while replies wait",
                 "[runtime]") {
  auto uut = connect();
  uut.send(logs_request(7));
  const auto question = questions.take();
  // More than the socket takes; the session still reads.
  auto sent = size_t{0};
  for (; sent < 400'000; sent += 40'000)
    question->reply(lines_reply(std::string(40'000, 'x')));
  uut.send(credit_request(7, 1));
  auto read = size_t{0};
  for (; read < sent; read += 40'000)
    REQUIRE(uut.receive());
  CHECK(questions.take()->what.log_credit().size() == 1);
}

TEST_CASE_METHOD(
  operator_fixture,
  "operator_session: credit in small parts is passed on in large "
  "ones",
  "[runtime]") {
  auto uut = connect();
  uut.send(logs_request(7));
  REQUIRE(questions.take());
  auto frames = message_frame(credit_request(8, 1)); // Of no reading.
  constexpr uint32_t count = 1'000;
  for (uint32_t i = 0; i < count; ++i)
    frames += message_frame(credit_request(7, 2));
  frames += message_frame(status_request(9));
  REQUIRE(send_whole(uut.connection.get(), frames));
  auto sum = uint32_t{0};
  auto messages = uint32_t{0};
  while (sum < 2 * count) {
    const auto x = questions.take();
    REQUIRE(x);
    if (!x->what.has_log_credit())
      continue;
    CHECK(x->what.log_credit().number() == 7);
    sum += x->what.log_credit().size();
    ++messages;
  }
  CHECK(sum == 2 * count);
  CHECK(messages < count / 10);
}

TEST_CASE_METHOD(
  operator_fixture,
  "operator_session: credit and the end of a reading may come at "
  "once",
  "[runtime]") {
  auto uut = connect();
  uut.send(logs_request(7));
  REQUIRE(questions.take());
  REQUIRE(
    send_whole(uut.connection.get(), message_frame(credit_request(7, 5))
                                       + message_frame(credit_request(7, 0))));
  CHECK(questions.take()->what.log_credit().size() == 5);
  const auto end = questions.take();
  REQUIRE(end);
  CHECK(end->what.log_credit().size() == 0);
}

TEST_CASE_METHOD(operator_fixture,
                 "operator_session: a reply that is too long is refused",
                 "[runtime]") {
  auto uut = connect();
  uut.send(logs_request(7));
  const auto question = questions.take();
  REQUIRE(question);
  question->reply(lines_reply(std::string(reply_size_max, 'x')));
  const auto got = uut.receive();
  REQUIRE(got);
  CHECK(got->number() == 7);
  CHECK(got->refusal().text() == "the answer is too long to be sent");
}

TEST_CASE_METHOD(operator_fixture,
                 "operator_session: too many readings are refused",
                 "[runtime]") {
  auto uut = connect();
  for (uint64_t i = 1; i <= open_stream_count_max; ++i)
    uut.send(logs_request(i));
  uut.send(logs_request(1));
  auto got = uut.receive();
  REQUIRE(got);
  CHECK(got->refusal().text() == "a reading of this number is going on");
  uut.send(logs_request(99));
  got = uut.receive();
  REQUIRE(got);
  CHECK(got->number() == 99);
  CHECK(got->has_refusal());
}

TEST_CASE_METHOD(operator_fixture,
                 "operator_session: a reading that its operator has ended "
                 "makes room for another",
                 "[runtime]") {
  auto uut = connect();
  for (uint64_t i = 1; i <= open_stream_count_max; ++i)
    uut.send(logs_request(i));
  for (uint64_t i = 1; i <= open_stream_count_max; ++i)
    REQUIRE(questions.take()->what.has_logs());
  auto end = v1::OperatorRequest{};
  end.mutable_log_credit()->set_number(2);
  uut.send(end);
  CHECK(questions.take()->what.log_credit().number() == 2);
  uut.send(logs_request(2));
  const auto again = questions.take();
  REQUIRE(again);
  again->reply(lines_reply("a"));
  const auto got = uut.receive();
  REQUIRE(got);
  CHECK(got->number() == 2);
  CHECK(got->logs().lines().size() == 1);
}

TEST_CASE_METHOD(hasty_fixture,
                 "operator_session: only the first reply of a reading has a "
                 "deadline, and it is not idle",
                 "[runtime]") {
  auto uut = connect();
  uut.send(logs_request(7));
  const auto question = questions.take();
  question->reply(lines_reply("a"));
  REQUIRE(uut.receive());
  CHECK_FALSE(uut.receive(400ms));
  question->reply(lines_reply("b"));
  REQUIRE(uut.receive());
  uut.send(logs_request(8));
  questions.take(); // It is not answered.
  const auto refused = uut.receive();
  REQUIRE(refused);
  CHECK(refused->number() == 8);
  CHECK(refused->refusal().code() == uint32_t(errc::connection_timed_out));
  CHECK(questions.take()->what.log_credit().number() == 8); // It is ended.
}

} // namespace actorrun::test::operator_readings_test
