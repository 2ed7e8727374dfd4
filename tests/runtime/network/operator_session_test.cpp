#include "actors/status_pages.hpp"
#include "runtime/network/operator_session.hpp"
#include "tests/runtime/memory.hpp"
#include "tests/runtime/network/operator_fixture.hpp"
#include "tests/support/sanitizer.hpp"

#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <poll.h>
#include <sys/socket.h>

namespace actorrun::test::operator_session_test {

using namespace actorrun::detail;
using namespace actorrun::detail::test;

namespace {

struct hasty_fixture : operator_fixture {
  hasty_fixture() : operator_fixture({.idle = 300ms, .answer = 50ms}) {}
};

/// Dials nothing: the connection is there, with this key.
operator_client::dialler dialler_of(int fd, const link_key& key) {
  return [fd, key](reactor& home, connect_callback on_done) {
    home.post([=] { on_done(connected{unique_fd{fd}, {}, {}, {}, key}); });
    return reactor_handle{};
  };
}

auto soon() {
  return std::chrono::steady_clock::now() + timeout;
}

link_key key_of(uint8_t x) {
  auto out = link_key{};
  out.fill(x);
  return out;
}

} // namespace

TEST_CASE_METHOD(operator_fixture,
                 "operator_session: who may not steer is refused at once",
                 "[runtime]") {
  auto x = connect();
  auto request = v1::OperatorRequest{};
  request.set_number(7);
  request.mutable_stop();
  x.send(request);
  const auto reply = x.receive();
  REQUIRE(reply);
  CHECK(reply->number() == 7);
  CHECK(reply->refusal().text().find("this job has no secret")
        != std::string::npos);
  x.send(status_request(8)); // The first question that an actor sees.
  const auto question = questions.take();
  REQUIRE(question);
  CHECK(question->what.number() == 8);
}

TEST_CASE_METHOD(operator_fixture,
                 "operator_session: who may steer is named to the actor",
                 "[runtime]") {
  auto pair = connected_sockets();
  run_and_wait(loop, [&] {
    sessions.add(std::move(pair.server), {}, {}, {"alice (pid 7)", true}, {});
  });
  auto x = raw_operator{std::move(pair.client)};
  auto request = v1::OperatorRequest{};
  request.set_number(1);
  request.mutable_restart();
  x.send(request);
  const auto question = questions.take();
  REQUIRE(question);
  CHECK(question->by == "alice (pid 7)");
  CHECK(question->may_steer);
}

TEST_CASE("operator_frames: cut out of a stream at any boundary", "[runtime]") {
  const auto stream
    = message_frame(status_request(1)) + message_frame(watch_request(2));
  for (size_t step = 1; step <= stream.size(); ++step) {
    auto uut = frame_splitter{request_size_max};
    auto numbers = std::vector<uint64_t>{};
    for (size_t i = 0; i < stream.size(); i += step) {
      uut.add(stream.substr(i, step));
      for (auto x = next_message<v1::OperatorRequest>(uut); *x;
           x = next_message<v1::OperatorRequest>(uut))
        numbers.push_back((*x)->number());
    }
    CHECK(numbers == std::vector<uint64_t>{1, 2});
  }
}

TEST_CASE("operator_frames: a size is believed up to its limit, and not 0",
          "[runtime]") {
  const auto [size, passes] = GENERATE(table<size_t, bool>({
    {0, false},
    {1, true},
    {request_size_max, true},
    {request_size_max + 1, false},
    {0xffff'ffff, false},
  }));
  auto uut = frame_splitter{request_size_max};
  uut.add(size_header(size));
  CHECK(bool{next_message<v1::OperatorRequest>(uut)} == passes);
}

TEST_CASE_METHOD(operator_fixture,
                 "operator_session: replies bear the number of their request",
                 "[runtime]") {
  auto uut = connect();
  uut.send(status_request(7));
  uut.send(status_request(9));
  auto first = questions.take();
  auto second = questions.take();
  REQUIRE(second);
  second->reply(status_reply("b"));
  first->reply(status_reply("a"));
  const auto got = uut.receive();
  REQUIRE(got);
  CHECK(got->number() == 9);
  CHECK(got->status().phase() == "b");
  CHECK(uut.receive()->number() == 7);
}

TEST_CASE_METHOD(operator_fixture,
                 "operator_session: the same through encryption", "[runtime]") {
  auto fd = add(key_of(1));
  auto uut
    = operator_client::open(dialler_of(fd.release(), key_of(1)), {}, soon());
  REQUIRE(uut);
  REQUIRE(uut->send(status_request(7)));
  questions.take()->reply(status_reply("a", std::string(60'000, 'j')));
  const auto got = uut->receive(soon());
  REQUIRE((got && *got));
  CHECK((*got)->number() == 7);
  CHECK((*got)->status().job_id().size() == 60'000);
  const auto late = uut->receive(std::chrono::steady_clock::now() + 20ms);
  REQUIRE_FALSE(late);
  CHECK(late.error().code == errc::connection_timed_out);
  run_and_wait(loop, [this] { sessions.clear(); });
  const auto end = uut->receive(soon());
  REQUIRE_FALSE(end);
  CHECK(end.error().code == errc::connection_failed);
}

TEST_CASE_METHOD(operator_fixture,
                 "operator_session: another key is noticed by both sides",
                 "[runtime]") {
  auto fd = add(key_of(1));
  const auto uut
    = operator_client::open(dialler_of(fd.release(), key_of(2)), {}, soon());
  REQUIRE_FALSE(uut);
  CHECK(uut.error().code == errc::connection_failed);
  CHECK(cuts.take()->starts_with("broke the encryption"));
}

TEST_CASE_METHOD(
  operator_fixture,
  "operator_session: who does not agree on the encryption is cut",
  "[runtime]") {
  const auto silent = add(key_of(1));
  CHECK(cuts.take() == "does not agree on the encryption in time");
  CHECK(is_closed(silent.get()));
}

TEST_CASE_METHOD(
  operator_fixture,
  "operator_session: an unknown request is refused, and the next "
  "one served",
  "[runtime]") {
  auto uut = connect();
  // As a later version may have it: field 99, a message.
  uut.send(frame_with("\x08\x05\x9a\x06\x01\x78"));
  const auto got = uut.receive();
  REQUIRE(got);
  CHECK(got->number() == 5);
  CHECK(got->refusal().code() == uint32_t(errc::protocol_mismatch));
  uut.send(status_request(6));
  CHECK(questions.take());
}

TEST_CASE_METHOD(operator_fixture,
                 "operator_session: what is no request ends the session, with "
                 "one reason",
                 "[runtime]") {
  const auto [bytes, reason] = GENERATE(table<std::string, std::string>({
    {std::string(4, '\0'), "announces a message of 0 bytes"},
    {size_header(request_size_max + 1), "announces a message of 65537 bytes"},
    {frame_with("\xff\xff"), "sends what is no message of ours"},
    // CAF's greeting.
    {size_header(1U << 24U), "announces a message of 16777216 bytes"},
  }));
  auto uut = connect();
  uut.send(bytes);
  CHECK(cuts.take() == reason);
  CHECK(uut.is_cut());
  CHECK(cuts.size() == 0);
  CHECK(questions.size() == 0);
}

TEST_CASE_METHOD(operator_fixture,
                 "operator_session: a few questions are open at a time, the "
                 "others wait for their turn",
                 "[runtime]") {
  auto uut = connect();
  auto all = std::string{};
  for (uint64_t i = 1; i <= 2 * open_question_count_max; ++i)
    all += message_frame(status_request(i));
  uut.send(all);
  auto open = std::vector<operator_question>{};
  while (open.size() < open_question_count_max)
    open.push_back(*questions.take());
  CHECK_FALSE(questions.take(50ms));
  for (auto& x : open)
    x.reply(status_reply("a"));
  for (size_t i = 0; i < open_question_count_max; ++i)
    CHECK(questions.take());
  for (size_t i = 0; i < open_question_count_max; ++i)
    CHECK(uut.receive());
}

TEST_CASE("operator_session: answers that come too late harm nothing",
          "[runtime]") {
  auto kept = std::vector<operator_question>{};
  {
    auto scene = operator_fixture{};
    auto uut = scene.connect();
    uut.send(status_request(1));
    kept.push_back(*scene.questions.take());
    uut.connection.reset();
    auto other = scene.connect();
    other.send(status_request(2));
    kept.push_back(*scene.questions.take());
    kept.front().reply(status_reply("no operator"));
    kept.back().reply(status_reply("a"));
    CHECK(other.receive());
    kept.back().reply(status_reply("again"));
    CHECK_FALSE(other.receive(20ms));
  }
  for (auto& x : kept)
    x.reply(status_reply("no reactor"));
}

TEST_CASE_METHOD(hasty_fixture,
                 "operator_session: who gets no answer is told so",
                 "[runtime]") {
  auto uut = connect();
  uut.send(status_request(3));
  const auto got = uut.receive();
  REQUIRE(got);
  CHECK(got->number() == 3);
  CHECK(got->refusal().code() == uint32_t(errc::connection_timed_out));
}

TEST_CASE_METHOD(
  hasty_fixture,
  "operator_session: one that asks nothing ends, one that watches "
  "does not",
  "[runtime]") {
  auto idle = connect();
  auto watches = connect();
  watches.send(watch_request(1, 60'000));
  questions.take()->reply(status_reply("a"));
  CHECK(watches.receive());
  CHECK(idle.is_cut());
  CHECK(cuts.size() == 0);
  CHECK_FALSE(
    is_ready(watches.connection.get(), POLLIN, limits.idle * 2 / 1ms * 1ms));
}

TEST_CASE_METHOD(
  operator_fixture,
  "operator_sessions: beyond the limit the one goes that has been "
  "idle for the longest time",
  "[runtime]") {
  auto all = std::vector<raw_operator>{};
  for (size_t i = 0; i < operator_count_max; ++i)
    all.push_back(connect());
  all[0].send(watch_request(1));
  REQUIRE(questions.take());
  all[1].send(status_request(1));
  questions.take()->reply(status_reply("a"));
  REQUIRE(all[1].receive());
  const auto one_more = connect();
  CHECK(all[2].is_cut());
  for (const auto i : {0, 1, 3})
    CHECK_FALSE(is_ready(all[size_t(i)].connection.get(), POLLRDHUP, 0ms));
}

// -- pages --------------------------------------------------------------------

namespace {

/// Of several pages.
shared_status large_picture(const std::string& phase) {
  auto x = v1::JobStatus{};
  x.set_phase(phase);
  for (auto i = 0; i < 2'000; ++i)
    x.add_agents()->set_agent_id(std::to_string(i) + std::string(100, 'x'));
  return picture_of(std::move(x));
}

/// Receives a whole status.
v1::JobStatus receive_pages(raw_operator& from, uint64_t number) {
  auto out = status_assembly{};
  for (;;) {
    const auto got = from.receive();
    REQUIRE(got);
    CHECK(got->number() == number);
    const auto is_whole = out.add(got->status());
    REQUIRE(is_whole);
    if (*is_whole)
      return out.take();
  }
}

} // namespace

TEST_CASE_METHOD(operator_fixture,
                 "operator_session: a large status comes in pages, one status "
                 "after the other",
                 "[runtime]") {
  auto uut = connect();
  uut.send(status_request(1));
  uut.send(status_request(2));
  const auto first = questions.take();
  const auto second = questions.take();
  REQUIRE(first);
  REQUIRE(second);
  second->show(large_picture("b"));
  first->show(large_picture("a"));
  const auto b = receive_pages(uut, 2);
  CHECK(b.phase() == "b");
  CHECK(b.agents_size() == 2'000);
  CHECK(receive_pages(uut, 1).phase() == "a");
}

TEST_CASE("operator_session: who does not read the pages of a status is cut",
          "[runtime]") {
  auto fixture = operator_fixture{{.pages = 100ms}};
  auto uut = fixture.connect();
  const auto size = 4'096;
  ::setsockopt(uut.connection.get(), SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
  auto many = v1::JobStatus{};
  for (auto i = 0; i < 100'000; ++i)
    many.add_agents()->set_agent_id(std::to_string(i) + std::string(100, 'x'));
  uut.send(status_request(1));
  const auto picture = picture_of(std::move(many));
  fixture.questions.take()->show(picture);
  CHECK(is_ready(uut.connection.get(), POLLRDHUP, timeout));
  auto count = size_t{0}; // What was under way arrives, and then the end.
  while (uut.receive())
    ++count;
  CHECK(count < picture->pages->size());
}

// -- the watch ----------------------------------------------------------------

TEST_CASE_METHOD(operator_fixture,
                 "operator_session: a watch tells what has changed, and only "
                 "that",
                 "[runtime]") {
  auto uut = connect();
  uut.send(watch_request(4));
  for (const auto* phase : {"a", "a", "a", "b", "b", "c"})
    questions.take()->reply(status_reply(phase));
  for (const auto* phase : {"a", "b", "c"}) {
    const auto got = uut.receive();
    REQUIRE(got);
    CHECK(got->number() == 4);
    CHECK(got->status().phase() == phase);
  }
}

TEST_CASE_METHOD(operator_fixture,
                 "operator_session: ages are no news, but a watch lives",
                 "[runtime]") {
  auto uut = connect();
  uut.send(watch_request(4));
  const auto begin = std::chrono::steady_clock::now();
  auto asked_count = uint64_t{0};
  const auto answer = [&](const char* phase) {
    auto x = status_reply(phase);
    x.mutable_status()->set_age_ms(++asked_count * 100);
    questions.take()->reply(std::move(x));
  };
  answer("a");
  REQUIRE(uut.receive());
  // The next that comes is as old as a watch may be silent.
  while (!is_ready(uut.connection.get(), POLLIN, 0ms))
    answer("a");
  CHECK(std::chrono::steady_clock::now() - begin >= watch_silence_max);
  CHECK(uut.receive()->status().age_ms() >= 900);
}

TEST_CASE_METHOD(
  operator_fixture,
  "operator_session: a watch asks no sooner than agreed, and not "
  "before it has an answer",
  "[runtime]") {
  using clock = std::chrono::steady_clock;
  auto uut = connect();
  const auto begin = clock::now();
  uut.send(watch_request(4, 1)); // As if it were 100.
  questions.take()->reply(status_reply("a"));
  const auto second = questions.take();
  CHECK(clock::now() - begin >= 99ms);
  CHECK_FALSE(questions.take(300ms));
  second->reply(status_reply("b"));
  CHECK(questions.take());
}

TEST_CASE_METHOD(
  operator_fixture,
  "operator_session: a watch takes the place of another, and does "
  "not get its answer",
  "[runtime]") {
  auto uut = connect();
  uut.send(watch_request(1));
  const auto first = questions.take();
  uut.send(watch_request(2));
  const auto second = questions.take();
  first->reply(status_reply("a"));
  second->reply(status_reply("b"));
  const auto got = uut.receive();
  REQUIRE(got);
  CHECK(got->number() == 2);
  CHECK(got->status().phase() == "b");
}

TEST_CASE_METHOD(operator_fixture,
                 "operator_session: a flood of watches asks few questions",
                 "[runtime]") {
  auto uut = connect();
  auto all = std::string{};
  for (uint64_t i = 1; i <= 1'000; ++i)
    all += message_frame(watch_request(i));
  uut.send(all);
  for (size_t i = 0; i < open_question_count_max; ++i)
    REQUIRE(questions.take());
  CHECK_FALSE(questions.take(50ms));
}

namespace {

/// Answers at once, with a status that changes all the time.
struct changing_fixture : operator_fixture {
  changing_fixture() {
    answering = std::thread{[this] {
      while (auto x = questions.take()) {
        if (x->what.number() == 0)
          return;
        ++asked_count;
        x->reply(status_reply(std::to_string(change.load()),
                              std::string(60'000, 'j')));
      }
    }};
  }

  ~changing_fixture() {
    questions.put({}); // Ends the thread.
    answering.join();
  }

  std::atomic<int> change = 0;
  std::atomic<int> asked_count = 0;
  std::thread answering;
};

} // namespace

TEST_CASE_METHOD(
  changing_fixture,
  "operator_session: a viewer that never reads costs nothing, and "
  "gets the newest status when it does",
  "[runtime]") {
  auto viewer = connect();
  viewer.send(watch_request(1));
  auto other = connect();
  const auto before = resident_size();
  auto slowest = std::chrono::steady_clock::duration{0};
  constexpr auto change_count = 10'000;
  for (auto i = 1; i <= change_count; ++i) {
    change = i;
    if (i % 10 != 0)
      continue;
    const auto begin = std::chrono::steady_clock::now();
    other.send(status_request(uint64_t(i)));
    const auto got = other.receive();
    slowest = std::max(slowest, std::chrono::steady_clock::now() - begin);
    REQUIRE(got);
    CHECK(got->status().phase() == std::to_string(i));
  }
  // The sockets' buffers are full after some replies; then none is asked for.
  REQUIRE(asked_count >= change_count / 10);
  const auto deadline = std::chrono::steady_clock::now() + 30s;
  auto asked_before = 0;
  do {
    asked_before = asked_count;
    CHECK_FALSE(other.receive(500ms));
  } while (asked_count != asked_before
           && std::chrono::steady_clock::now() < deadline);
  CHECK(asked_count == asked_before);
  CAPTURE(before, resident_size());
  CHECK(slowest < 2s);
  if (!actorrun::test::has_address_sanitizer)
    CHECK(resident_size() < before + 4);
  auto newest = std::string{};
  while (newest != std::to_string(change_count)) {
    const auto got = viewer.receive();
    REQUIRE(got);
    newest = got->status().phase();
  }
}

} // namespace actorrun::test::operator_session_test
