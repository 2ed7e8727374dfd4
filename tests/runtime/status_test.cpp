// Asks jobs through the real sockets; what they answer is up to the test.

#include "runtime/network/operator_socket.hpp"
#include "runtime/network/remote_agent_links.hpp"
#include "runtime/status.hpp"
#include "runtime/steer.hpp"
#include "tests/runtime/memory.hpp"
#include "tests/runtime/network/remote_links_fixture.hpp"
#include "tests/runtime/run_dir.hpp"
#include "tests/support/sanitizer.hpp"

#include <mutex>
#include <string>
#include <vector>

namespace actorrun::test::status_test {

using namespace actorrun::detail;
using namespace actorrun::detail::test;

namespace {

/// Calls 2,000 times. For each call of a new system CAF kept some 400 bytes.
template <class Call>
void expect_flat_memory(Call ask) {
  using actorrun::test::has_address_sanitizer;
  constexpr auto count = 2'000;
  auto before = 0.0;
  for (auto i = 0; i < count; ++i) {
    if (i == count / 5)
      before = heap_size();
    REQUIRE(ask());
  }
  CAPTURE(before, heap_size());
  if (!has_address_sanitizer)
    CHECK(heap_size() < before + 64);
}

/// A job on this host whose phase the test sets.
struct local_fixture : run_dir {
  local_fixture() { open(); }

  void open() {
    auto opened = operator_socket::open(
      loop, {"job"}, [this](const operator_question& x) { answer(x); },
      socket_role::coordinator);
    REQUIRE(opened);
    socket = std::move(*opened);
    const auto found = find_local_jobs();
    REQUIRE(found);
    REQUIRE(found->size() == 1);
    job = found->front();
  }

  void answer(const operator_question& x) {
    if (is_silent)
      return;
    auto reply = v1::OperatorReply{};
    const auto lock = std::lock_guard{mutex};
    reply.mutable_status()->set_phase(phase);
    if (phase == "refused") {
      reply.mutable_refusal()->set_code(uint32_t(errc::job_over));
      reply.mutable_refusal()->set_text("the job is\x1b[31m over");
    }
    if (phase == "declined") {
      reply.mutable_refusal()->set_code(uint32_t(errc::bad_argument));
      reply.mutable_refusal()->set_text("there is no\x1b[31m such node");
    }
    x.reply(reply);
  }

  void set_phase(const std::string& x) {
    const auto lock = std::lock_guard{mutex};
    phase = x;
  }

  std::mutex mutex;
  std::string phase = "a";
  std::atomic<bool> is_silent = false;
  reactor loop;
  std::optional<operator_socket> socket;
  local_job job;
};

/// A coordinator that listens on TCP.
struct remote_fixture : remote_links_fixture {
  remote_fixture() {
    const auto listening
      = uut.listen(loopback(0), credentials_of({"job"}, "secret"),
                   [this](int, const nonce_bytes&) { return coordinator; });
    REQUIRE(listening);
    const auto port = std::stoi(listening->substr(listening->rfind(':') + 1));
    job.job = {"job"};
    job.secret = "secret";
    job.rendezvous = endpoint{"127.0.0.1", uint16_t(port)};
  }

  ~remote_fixture() { uut.close(); }

  remote_agent_links uut{server.system, loop, {}};
  job_options job;
};

} // namespace

TEST_CASE_METHOD(local_fixture, "status: of a process of this host",
                 "[runtime]") {
  const auto got = ask_status(job, timeout);
  REQUIRE(got);
  CHECK(got->phase() == "a");
}

TEST_CASE_METHOD(local_fixture, "status: texts of others are cleaned",
                 "[runtime]") {
  set_phase("a\x1b[31m\nb");
  CHECK(ask_status(job, timeout)->phase().find('\x1b') == std::string::npos);
  set_phase("refused");
  const auto got = ask_status(job, timeout);
  REQUIRE_FALSE(got);
  CHECK(got.error().code == errc::job_over);
  CHECK(got.error().text.find('\x1b') == std::string::npos);
}

TEST_CASE_METHOD(local_fixture, "steer: texts of others are cleaned",
                 "[runtime]") {
  set_phase("declined");
  auto request = v1::OperatorRequest{};
  request.mutable_drain()->set_node("n2");
  const auto got = steer(job, request, timeout);
  REQUIRE(got);
  CHECK_FALSE(got->is_done);
  CHECK(got->text.starts_with("there is no"));
  CHECK(got->text.find('\x1b') == std::string::npos);
}

TEST_CASE_METHOD(local_fixture,
                 "status: errc::connection_timed_out, connection_refused",
                 "[runtime]") {
  is_silent = true;
  CHECK(ask_status(job, 100ms).error().code == errc::connection_timed_out);
  socket.reset();
  CHECK(ask_status(job, timeout).error().code == errc::connection_refused);
}

TEST_CASE_METHOD(local_fixture,
                 "status: thousands of calls leave nothing behind",
                 "[runtime]") {
  expect_flat_memory([this] { return bool{ask_status(job, timeout)}; });
}

TEST_CASE_METHOD(local_fixture, "watch_status: each change, until told to end",
                 "[runtime]") {
  auto seen = std::vector<std::string>{};
  const auto done = watch_status(job, {.interval = 100ms, .limit = timeout},
                                 [&](const v1::JobStatus& x) {
                                   seen.push_back(x.phase());
                                   set_phase(x.phase() + "b");
                                   return seen.size() < 3;
                                 });
  CHECK(done);
  CHECK(seen == std::vector<std::string>{"a", "ab", "abb"});
}

TEST_CASE_METHOD(local_fixture,
                 "watch_status: ends with its descriptor, or with the job",
                 "[runtime]") {
  auto stop = connected_sockets();
  const auto is_first = [&](auto then) {
    return [then](const v1::JobStatus&) {
      then();
      return true;
    };
  };
  CHECK(watch_status(job, {.limit = timeout, .stop = stop.client.get()},
                     is_first([&] { stop.server.reset(); })));
  const auto end
    = watch_status(job, {.limit = timeout}, is_first([&] { socket.reset(); }));
  REQUIRE_FALSE(end);
  CHECK(end.error().code == errc::connection_failed);
}

TEST_CASE_METHOD(
  local_fixture,
  "watch_status: errc::connection_timed_out without a first status",
  "[runtime]") {
  is_silent = true;
  const auto end = watch_status(job, {.limit = 100ms},
                                [](const v1::JobStatus&) { return true; });
  REQUIRE_FALSE(end);
  CHECK(end.error().code == errc::connection_timed_out);
}

TEST_CASE_METHOD(remote_fixture, "status: of a coordinator on any host",
                 "[runtime]") {
  const auto got = ask_status(job, timeout);
  REQUIRE(got);
  CHECK(got->phase() == "gathering");
  auto other = job;
  other.secret = "another";
  CHECK(ask_status(other, timeout).error().code == errc::secret_mismatch);
  other = job;
  other.job = {"another"};
  CHECK(ask_status(other, timeout).error().code == errc::job_mismatch);
  uut.close();
  CHECK(ask_status(job, timeout).error().code == errc::connection_refused);
}

TEST_CASE_METHOD(remote_fixture,
                 "status: thousands of calls over the network leave nothing "
                 "behind at the coordinator",
                 "[runtime]") {
  expect_flat_memory([this] { return bool{ask_status(job, timeout)}; });
}

} // namespace actorrun::test::status_test
