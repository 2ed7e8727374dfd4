#include "messages/version.hpp"
#include "runtime/network/connector.hpp"
#include "runtime/network/handshake.hpp"
#include "runtime/network/listener.hpp"
#include "runtime/network/liveness.hpp"
#include "tests/runtime/network/listener_fixture.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/skip.hpp"

#include <algorithm>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <netinet/in.h>
#include <netinet/tcp.h>

namespace actorrun::test::listener_test {

using namespace actorrun::detail;
using namespace actorrun::detail::test;

namespace {

int option_of(int fd, int level, int name) {
  auto value = -1;
  auto size = socklen_t{sizeof(value)};
  ::getsockopt(fd, level, name, &value, &size);
  return value;
}

std::vector<unique_fd> connect_often(uint16_t port, size_t count) {
  auto out = std::vector<unique_fd>{};
  for (size_t i = 0; i < count; ++i)
    out.push_back(connect_to(loopback(port)));
  return out;
}

// Closes with a reset, as scanners do.
void hang_up(unique_fd fd) {
  const auto now = linger{1, 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

std::string client_hello_bytes(uint16_t version) {
  return encode(client_hello{version, purpose::join,
                             fingerprint_of(job_id{"job"}), random_nonce(),
                             "n1-7-0badcafe"});
}

} // namespace

TEST_CASE_METHOD(listener_fixture,
                 "listener: clients of torch's store are passed on with all"
                 " their bytes",
                 "[runtime]") {
  auto passed = inbox<std::shared_ptr<unique_fd>>{};
  auto calls = callbacks();
  auto refusal = std::string{};
  calls.on_store_client
    = [&](unique_fd fd, const std::string& address, const std::string& host) {
        CHECK(address.starts_with("127.0.0.1:"));
        CHECK(host == "127.0.0.1");
        if (refusal.empty())
          passed.put(std::make_shared<unique_fd>(std::move(fd)));
        return refusal;
      };
  auto uut = listener::listen(loop, loopback(0), an_agent().mine, calls, {});
  REQUIRE(uut);
  const auto hello_of_2_2 = std::string{"\0\xce\xf7\x85\x3c\x0d", 6};
  const auto add_of_1_13 = std::string{"\3\5\0\0\0\0\0\0\0init/", 14};
  for (const auto& bytes : {hello_of_2_2, add_of_1_13}) {
    const auto client = connect_to(loopback(uut->port()));
    REQUIRE(send_whole(client.get(), bytes));
    const auto got = passed.take();
    REQUIRE(got);
    CHECK(read_up_to((*got)->get(), bytes.size()) == bytes);
  }
  // Torch 1.13 opens a second connection from there and says nothing.
  const auto silent = connect_to(loopback(uut->port()));
  CHECK(passed.take());
  // It sends each part of a request by itself.
  const auto slow = connect_to(loopback(uut->port()));
  for (const auto x : add_of_1_13) {
    run_and_wait(loop, [] {});
    REQUIRE(send_whole(slow.get(), std::string{x}));
  }
  const auto whole = passed.take();
  REQUIRE(whole);
  CHECK(read_up_to((*whole)->get(), add_of_1_13.size()) == add_of_1_13);
  // Members and other peers are treated as usual.
  CHECK(*try_to_enter(uut->port()));
  const auto other = connect_to(loopback(uut->port()));
  REQUIRE(send_whole(other.get(), "GET / HTTP/1.1\r\n"));
  CHECK(is_closed(other.get()));
  run_and_wait(loop, [&] { refusal = "is of no use"; });
  const auto client = connect_to(loopback(uut->port()));
  REQUIRE(send_whole(client.get(), add_of_1_13));
  CHECK(is_closed(client.get()));
  CHECK(passed.size() == 0);
}

TEST_CASE_METHOD(listener_fixture,
                 "listener: what only resembles a client of torch's store is"
                 " refused as others are",
                 "[runtime]") {
  auto calls = callbacks();
  calls.on_store_client
    = [&](unique_fd, const std::string&, const std::string&) {
        FAIL_CHECK("was passed on");
        return std::string{};
      };
  const auto reason_for = [&](const std::string& bytes, auto&& go_on) {
    auto report = inbox<rejection_report>{};
    calls.on_rejections = [&](const rejection_report& x) { report.put(x); };
    auto uut = listener::listen(loop, loopback(0), an_agent().mine, calls,
                                {.handshake = 200ms});
    REQUIRE(uut);
    const auto client = connect_to(loopback(uut->port()));
    REQUIRE(send_whole(client.get(), bytes));
    go_on(client.get());
    CHECK(is_closed(client.get()));
    const auto got = report.take();
    return got ? got->last_reason : std::string{};
  };
  const auto nothing = [](int) {};
  const auto usual = reason_for("GET / HTTP/1.1\r\n", nothing);
  CHECK_FALSE(usual.empty());
  const auto others = std::vector<std::string>{
    {"\6", 1},
    {"\0\xce\xf7\x85\x3d\0\0\0\0", 9},
    {"\3\0\0\0\0\0\0\0\0", 9},
    {"\3\0\0\x13\x0e\xe0\0\0\0", 9}, // RDP.
    {"\7\xff\xff\xff\xff\xff\xff\xff\xff", 9},
  };
  for (const auto& bytes : others)
    CHECK(reason_for(bytes, nothing) == usual);
  // Half an opening, of a client that says no more, or has gone.
  const auto half = std::string{"\3\5\0\0", 4};
  CHECK(reason_for(half, nothing) == usual);
  CHECK(reason_for(half, [](int fd) { ::shutdown(fd, SHUT_WR); }) == usual);
}

TEST_CASE_METHOD(listener_fixture,
                 "listener: many clients of the store at once are no flood",
                 "[runtime]") {
  auto passed = inbox<std::shared_ptr<unique_fd>>{};
  auto calls = callbacks();
  calls.on_store_client
    = [&](unique_fd fd, const std::string&, const std::string&) {
        passed.put(std::make_shared<unique_fd>(std::move(fd)));
        return std::string{};
      };
  auto uut = listener::listen(loop, loopback(0), an_agent().mine, calls,
                              {.half_open_max = 2});
  REQUIRE(uut);
  auto clients = std::vector<unique_fd>{};
  run_and_wait(loop, [&] { // Meanwhile none is accepted.
    for (auto i = 0; i < 32; ++i) {
      clients.push_back(connect_to(loopback(uut->port())));
      send_whole(clients.back().get(), {"\3\5\0\0\0\0\0\0\0", 9});
    }
  });
  for (auto i = 0; i < 32; ++i)
    CHECK(passed.take());
}

TEST_CASE_METHOD(listener_fixture,
                 "listener: a member is accepted together with its first bytes",
                 "[runtime]") {
  const auto uut = listen();
  CHECK(uut.port() != 0);
  CHECK(uut.address() == "127.0.0.1:" + std::to_string(uut.port()));
  const auto outcome = try_to_enter(uut.port());
  REQUIRE(outcome);
  REQUIRE(*outcome);
  const auto mine = (*outcome)->connection.get();
  // Sent before the server asks to read it.
  CHECK(send_whole(mine, "BASP"));
  const auto pending_peer = peers.take();
  REQUIRE(pending_peer);
  CHECK(pending_peer->who.id == "n1-7-0badcafe");
  CHECK(pending_peer->who.intent == purpose::join);
  CHECK(pending_peer->who.address == to_string(*local_address_of(mine)));
  CHECK((*outcome)->local_address == "127.0.0.1");
  CHECK(read_up_to(pending_peer->connection.get(), 4) == "BASP");
  CHECK(send_whole(pending_peer->connection.get(), "and back"));
  CHECK(read_up_to(mine, 8) == "and back");
}

TEST_CASE_METHOD(listener_fixture,
                 "listener: connections have no delay and are kept alive",
                 "[runtime]") {
  const auto uut = listen();
  const auto outcome = try_to_enter(uut.port());
  REQUIRE(outcome);
  REQUIRE(*outcome);
  const auto pending_peer = peers.take();
  REQUIRE(pending_peer);
  for (const auto fd :
       {(*outcome)->connection.get(), pending_peer->connection.get()}) {
    CHECK(option_of(fd, IPPROTO_TCP, TCP_NODELAY) != 0);
    CHECK(option_of(fd, SOL_SOCKET, SO_KEEPALIVE) != 0);
    CHECK(option_of(fd, IPPROTO_TCP, TCP_KEEPIDLE) == 10);
    CHECK(option_of(fd, IPPROTO_TCP, TCP_KEEPINTVL) == 5);
    CHECK(option_of(fd, IPPROTO_TCP, TCP_KEEPCNT) == 3);
    CHECK(option_of(fd, IPPROTO_TCP, TCP_USER_TIMEOUT) == 10'000);
  }
}

TEST_CASE_METHOD(listener_fixture, "listener: it opens on IPv6 too",
                 "[runtime]") {
  auto uut = listener::listen(loop, *numeric_address("::1", 0), an_agent().mine,
                              callbacks());
  if (!uut) {
    actorrun::test::skip("ipv6",
                         "this machine has no IPv6: " + uut.error().text);
    return;
  }
  const auto outcome = try_to_enter(uut->port(), an_agent(), "::1");
  REQUIRE(outcome);
  REQUIRE(*outcome);
  CHECK((*outcome)->local_address == "::1");
}

TEST_CASE_METHOD(listener_fixture,
                 "listener: mute connections exclude no agent", "[runtime]") {
  const auto uut = listen({.handshake = 1h});
  const auto mute = connect_often(uut.port(), 200);
  const auto outcome = try_to_enter(uut.port());
  REQUIRE(outcome);
  CHECK(*outcome);
  // All but the last 64 had to go, and the agent had a place among them.
  for (size_t i = 0; i < 200 - 64; ++i)
    CHECK(is_closed(mute[i].get()));
  CHECK_FALSE(is_ready(mute.back().get(), POLLIN, 0ms));
}

TEST_CASE_METHOD(
  listener_fixture,
  "listener: a peer that has sent bytes stays longer than silent ones",
  "[runtime]") {
  const auto uut = listen({.half_open_max = 2, .handshake = 1h});
  const auto speaker = connect_to(loopback(uut.port()));
  const auto hello = client_hello_bytes(protocol_version);
  REQUIRE(send_whole(speaker.get(), hello));
  REQUIRE(read_up_to(speaker.get(), server_hello_size).size()
          == server_hello_size);
  const auto mute = connect_often(uut.port(), 2);
  CHECK(is_closed(mute[0].get()));
  CHECK_FALSE(is_ready(speaker.get(), POLLIN, 0ms));
  CHECK_FALSE(is_ready(mute[1].get(), POLLIN, 0ms));
}

TEST_CASE_METHOD(listener_fixture,
                 "listener: silent and slow peers are rejected", "[runtime]") {
  const auto uut = listen({.handshake = 50ms});
  const auto mute = connect_to(loopback(uut.port()));
  const auto slow = connect_to(loopback(uut.port()));
  REQUIRE(send_whole(slow.get(), "ARUN"));
  CHECK(is_closed(mute.get()));
  CHECK(is_closed(slow.get()));
  CHECK(peers.size() == 0);
}

TEST_CASE_METHOD(listener_fixture,
                 "listener: foreign peers never reach the job", "[runtime]") {
  const auto uut = listen({.handshake = 1h, .report_interval = 1ms});
  auto random = std::mt19937{4711};
  constexpr auto count = 60;
  for (auto i = 0; i < count; ++i) {
    auto fd = connect_to(loopback(uut.port()));
    auto noise = std::string(1 + random() % 600, '\0');
    // A third each: noise, the header that ends CAF, a scan.
    if (i % 3 == 0)
      std::generate(noise.begin(), noise.end(),
                    [&] { return static_cast<char>(random() & 0x7f); });
    else if (i % 3 == 1)
      noise = std::string{"\x01", 1} + std::string(31, '\0');
    if (i % 3 < 2) {
      send_whole(fd.get(), noise);
      CHECK(is_closed(fd.get()));
    } else if (i % 2 == 0) {
      hang_up(std::move(fd));
    }
  }
  auto counted = uint64_t{0};
  while (counted < count) {
    const auto report = reports.take();
    REQUIRE(report);
    counted += report->count;
  }
  CHECK(counted == count);
  CHECK(peers.size() == 0);
  CHECK(refusal(uut.port()) == errc::none);
}

TEST_CASE_METHOD(
  listener_fixture,
  "listener: a report summarises rejected peers once per interval",
  "[runtime]") {
  const auto uut = listen({.report_interval = 1h});
  for (auto i = 0; i < 20; ++i) {
    const auto fd = connect_to(loopback(uut.port()));
    send_whole(fd.get(), "GET / HTTP/1.1\r\n\r\n");
    CHECK(is_closed(fd.get()));
  }
  const auto first = reports.take();
  REQUIRE(first);
  CHECK(first->count >= 1);
  CHECK(first->last_address.starts_with("127.0.0.1:"));
  CHECK(first->last_reason == "does not speak actorrun's protocol");
  // All twenty have been rejected; the next report is due in an hour.
  CHECK(reports.size() == 0);
}

TEST_CASE_METHOD(
  listener_fixture,
  "listener: a peer of a version from before learns the server's version",
  "[runtime]") {
  const auto uut = listen();
  const auto fd = connect_to(loopback(uut.port()));
  // More than a hello of this version, and more of it follows.
  REQUIRE(send_whole(fd.get(), client_hello_bytes(protocol_version_min - 1)
                                 + std::string(400, 'x')));
  const auto told
    = decode_server_hello(read_up_to(fd.get(), server_hello_size));
  REQUIRE(told);
  CHECK(told->status == verdict::version_differs);
  CHECK(told->version == protocol_version);
  // An orderly end: a reset could have overtaken the answer.
  auto rest = char{};
  REQUIRE(is_ready(fd.get(), POLLIN));
  CHECK(::recv(fd.get(), &rest, 1, MSG_DONTWAIT) == 0);
}

TEST_CASE_METHOD(listener_fixture,
                 "listener: a peer of another job or secret learns so",
                 "[runtime]") {
  const auto uut = listen({.report_interval = 1ms});
  CHECK(refusal(uut.port(), an_agent("other")) == errc::job_mismatch);
  CHECK(reports.take()->last_reason == "wants another job (n1-7-0badcafe)");
  CHECK(refusal(uut.port(), an_agent("job", "x")) == errc::secret_mismatch);
  CHECK(reports.take()->last_reason == "has another secret (n1-7-0badcafe)");
  CHECK(peers.size() == 0);
}

TEST_CASE_METHOD(listener_fixture,
                 "listener: an address in use or of another host is named",
                 "[runtime]") {
  const auto first = listen();
  const auto again = listener::listen(loop, loopback(first.port()),
                                      an_agent().mine, callbacks());
  REQUIRE_FALSE(again);
  CHECK(again.error().code == errc::address_in_use);
  CHECK(again.error().text.find(first.address()) != std::string::npos);
  const auto foreign = listener::listen(
    loop, *numeric_address("192.0.2.1", 29'400), an_agent().mine, callbacks());
  REQUIRE_FALSE(foreign);
  CHECK(foreign.error().code == errc::cannot_listen);
  CHECK(foreign.error().text.find("192.0.2.1:29400") != std::string::npos);
}

TEST_CASE_METHOD(listener_fixture,
                 "listener: it may be closed by a peer's callback",
                 "[runtime]") {
  auto uut = std::optional<listener>{};
  auto closed = inbox<bool>{};
  auto ends = callbacks();
  ends.on_peer = [&](unique_fd, const peer&) {
    uut.reset();
    closed.put(true);
  };
  auto opened = listener::listen(loop, loopback(0), an_agent().mine, ends);
  REQUIRE(opened);
  const auto port = opened->port();
  run_and_wait(loop, [&] { uut.emplace(std::move(*opened)); });
  const auto outcome = try_to_enter(port);
  REQUIRE(closed.take());
  CHECK_FALSE(connect_to(loopback(port)));
}

// Were the queue full, the next one would be seen a second later, and too late.
TEST_CASE("listener: N4 all nodes of a large job may come at once",
          "[runtime]") {
  const auto fd = open_listening(loopback(0));
  REQUIRE(fd);
  auto most = 0U; // What the system allows.
  std::ifstream{"/proc/sys/net/core/somaxconn"} >> most;
  auto info = tcp_info{};
  auto size = socklen_t{sizeof info};
  REQUIRE(::getsockopt(fd->get(), IPPROTO_TCP, TCP_INFO, &info, &size) == 0);
  // Of a socket that listens this is how many it lets wait.
  CHECK(info.tcpi_sacked == std::min(most, 4'096U));
}

TEST_CASE_METHOD(listener_fixture,
                 "listener: it leaves nothing behind when it is closed",
                 "[runtime]") {
  auto uut = std::optional{listen({.handshake = 1h})};
  const auto port = uut->port();
  const auto mute = connect_often(port, 3);
  uut.reset();
  for (const auto& fd : mute)
    CHECK(is_closed(fd.get()));
  CHECK_FALSE(connect_to(loopback(port)));
  // The port is free at once.
  const auto again
    = listener::listen(loop, loopback(port), an_agent().mine, callbacks());
  CHECK(again);
}

} // namespace actorrun::test::listener_test
