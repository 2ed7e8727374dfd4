#include "runtime/http/server.hpp"
#include "runtime/os/socket.hpp"
#include "tests/runtime/deadline.hpp"
#include "tests/runtime/http/client.hpp"
#include "tests/support/catch.hpp"

#include <memory>
#include <mutex>
#include <vector>

namespace actorrun::test::server_test {

using namespace actorrun::detail;
using namespace actorrun::detail::test;
using namespace std::chrono_literals;
using test_deadline::soon;

namespace {

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// Echoes the path; `/large` has many bytes, `/events` is a stream, `/late` waits
/// for the test.
struct server_fixture {
  explicit server_fixture(const http_limits& limits = {}) {
    const auto where = numeric_address("127.0.0.1", 0);
    auto socket = open_listening(*where);
    REQUIRE(socket);
    port = port_of(*local_address_of(socket->get()));
    server = std::make_shared<http_server>(
      home, std::move(*socket),
      [this](const http_request& x, http_callback done) {
        answer(x, std::move(done));
      },
      limits);
    handle = reactor_handle{home, server};
  }

  void answer(const http_request& x, http_callback done) {
    if (x.path == "/late") {
      late.push_back(std::move(done));
      return;
    }
    auto reply = text_reply(200, "you asked for " + x.path);
    if (x.path == "/large")
      reply.body = large;
    reply.is_stream = x.path == "/events";
    done(std::move(reply));
  }

  size_t client_count() {
    auto out = size_t{0};
    run_and_wait(home, [&] { out = server->client_count(); });
    return out;
  }

  void publish(const std::string& text) {
    run_and_wait(home, [&] {
      server->publish(std::make_shared<const std::string>(text));
    });
  }

  reactor home;
  uint16_t port = 0;
  std::shared_ptr<http_server> server;
  std::vector<http_callback> late; ///< Of the reactor's thread.
  http_body large
    = std::make_shared<const std::string>(std::string(16'000'000, 'x'));
  reactor_handle handle;
};

struct hasty_server : server_fixture {
  hasty_server()
    : server_fixture(
      {.request = 100ms, .idle = 150ms, .write = 200ms, .linger = 100ms}) {}
};

struct small_server : server_fixture {
  small_server()
    : server_fixture(
      {.client_count = 4, .refused_count = 2, .stream_count = 2}) {}
};

} // namespace

TEST_CASE_METHOD(server_fixture,
                 "http server: one connection serves one request after another",
                 "[runtime]") {
  auto uut = http_client{port};
  for (auto i = 0; i < 3; ++i) {
    uut.get("/a");
    const auto reply = uut.read_reply();
    CHECK(reply.starts_with("HTTP/1.1 200 OK\r\n"));
    CHECK(reply.ends_with("\r\n\r\nyou asked for /a\n"));
    CHECK(has(reply, "Cache-Control: no-store\r\n"));
    CHECK(has(reply, "X-Content-Type-Options: nosniff\r\n"));
    CHECK(has(reply, "Cross-Origin-Resource-Policy: same-origin\r\n"));
    CHECK_FALSE(has(reply, "Access-Control"));
  }
}

TEST_CASE_METHOD(
  server_fixture,
  "http server: requests that come in one piece, or byte by byte,"
  " are answered in order",
  "[runtime]") {
  auto uut = http_client{port};
  auto all = std::string{};
  for (auto i = 0; i < 200; ++i)
    all += "GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: a\r\n\r\n";
  uut.send(all);
  for (auto i = 0; i < 200; ++i)
    CHECK(uut.read_reply().ends_with(" /" + std::to_string(i) + "\n"));
  for (const auto c : std::string{"GET /slow HTTP/1.1\r\nHost: a\r\n\r\n"})
    uut.send({&c, 1});
  CHECK(uut.read_reply().ends_with(" /slow\n"));
}

TEST_CASE_METHOD(
  server_fixture,
  "http server: requests that come in one piece are answered, too,"
  " when the client is slow to read",
  "[runtime]") {
  auto uut = http_client{port, 4'096};
  uut.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n"
           "GET /large HTTP/1.1\r\nHost: a\r\n\r\n"
           "GET /last HTTP/1.1\r\nHost: a\r\n\r\n");
  CHECK(uut.read_reply().size() > large->size());
  CHECK(uut.read_reply().size() > large->size());
  CHECK(uut.read_reply().ends_with(" /last\n"));
}

TEST_CASE("http server: a request that has begun with the one before has no"
          " more time than others",
          "[runtime]") {
  auto server = server_fixture{{.request = 100ms, .idle = 1h}};
  auto uut = http_client{server.port};
  uut.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\nGET /b");
  CHECK(uut.read_reply().ends_with(" /a\n"));
  CHECK(uut.read_reply().starts_with("HTTP/1.1 408 "));
  CHECK(uut.is_closed());
}

TEST_CASE_METHOD(server_fixture,
                 "http server: HEAD gets no body, other methods get nothing",
                 "[runtime]") {
  auto uut = http_client{port};
  uut.send("HEAD /a HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.1\r\nHost: "
           "a\r\n\r\n");
  const auto head = uut.read_to("\r\n\r\n");
  CHECK(has(head, "Content-Length: 17\r\n"));
  CHECK(uut.read_reply().ends_with(" /b\n"));
  for (const auto* method : {"POST", "PUT", "DELETE", "OPTIONS", "TRACE"}) {
    uut.send(std::string{method} + " /a HTTP/1.1\r\nHost: a\r\n\r\n");
    const auto reply = uut.read_reply();
    CHECK(reply.starts_with("HTTP/1.1 405 "));
    CHECK(has(reply, "Allow: GET, HEAD\r\n"));
  }
}

TEST_CASE_METHOD(server_fixture,
                 "http server: a client that asks something else is told, and"
                 " cut",
                 "[runtime]") {
  auto uut = http_client{port};
  uut.send("\x16\x03\x01\r\n\r\n"); // It begins TLS.
  CHECK(uut.read_reply().starts_with("HTTP/1.1 400 "));
  CHECK(uut.is_closed());
  auto other = http_client{port};
  other.send(
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n123456789");
  CHECK(other.read_reply().starts_with("HTTP/1.1 413 "));
  CHECK(other.is_closed());
}

TEST_CASE_METHOD(hasty_server,
                 "http server: a request that does not come, or not to its end,"
                 " is not waited for",
                 "[runtime]") {
  auto silent = http_client{port};
  CHECK(silent.is_closed());
  auto slow = http_client{port};
  slow.send("GET / HT");
  CHECK(slow.read_reply().starts_with("HTTP/1.1 408 "));
  CHECK(slow.is_closed());
  auto idle = http_client{port};
  idle.get("/a");
  CHECK(idle.read_reply().ends_with(" /a\n"));
  CHECK(idle.is_closed());
  CHECK(soon([this] { return client_count() == 0; }));
}

TEST_CASE_METHOD(hasty_server,
                 "http server: a client that reads nothing is cut, and others"
                 " are served meanwhile",
                 "[runtime]") {
  auto stuck = http_client{port, 4'096};
  stuck.get("/large");
  auto other = http_client{port};
  other.get("/a");
  CHECK(other.read_reply().ends_with(" /a\n"));
  CHECK(soon([this] { return client_count() == 0; }));
  // What it has not read was shared, not copied.
  run_and_wait(home, [] {});
  CHECK(large.use_count() == 1);
}

TEST_CASE_METHOD(server_fixture, "http server: an answer may come late",
                 "[runtime]") {
  auto uut = http_client{port};
  uut.get("/late");
  const auto count = [this] {
    auto out = size_t{0};
    run_and_wait(home, [&] { out = late.size(); });
    return out;
  };
  REQUIRE(soon([&] { return count() == 1; }));
  run_and_wait(home, [this] { late[0](text_reply(200, "at last")); });
  CHECK(uut.read_reply().ends_with("at last\n"));
  {
    auto gone = http_client{port};
    gone.get("/late");
    REQUIRE(soon([&] { return count() == 2; }));
  }
  run_and_wait(home, [this] {
    late[1](text_reply(200, "too late"));
    late[0](text_reply(200, "twice"));
  });
  uut.get("/a");
  CHECK(uut.read_reply().ends_with(" /a\n"));
}

TEST_CASE_METHOD(server_fixture,
                 "http server: streams get events, and a slow one the newest",
                 "[runtime]") {
  auto uut = http_client{port};
  uut.get("/events");
  CHECK(has(uut.read_to("/events\n"), "Connection: close\r\n"));
  publish("one");
  CHECK(uut.read_to("one") == "one");
  auto slow = http_client{port, 4'096};
  slow.get("/events");
  CHECK(has(slow.read_to("/events\n"), "200 OK"));
  for (auto i = 0; i < 200; ++i)
    publish(std::string(100'000, 'x') + std::to_string(i) + ";");
  publish("last!");
  const auto text = slow.read_to("last!");
  CHECK(has(text, "last!"));
  CHECK(text.size() < 200u * 100'000); // It has missed some.
}

TEST_CASE_METHOD(small_server,
                 "http server: beyond its limits clients are told to come back",
                 "[runtime]") {
  auto streams = std::vector<std::unique_ptr<http_client>>{};
  for (auto i = 0; i < 2; ++i) {
    streams.push_back(std::make_unique<http_client>(port));
    streams.back()->get("/events");
    CHECK(has(streams.back()->read_to("/events\n"), "200 OK"));
  }
  auto third = http_client{port};
  third.get("/events");
  const auto refused = third.read_reply();
  CHECK(refused.starts_with("HTTP/1.1 503 "));
  CHECK(has(refused, "Retry-After: "));
  // 2 streams, and clients that wait for their answers.
  auto busy = std::vector<std::unique_ptr<http_client>>{};
  for (auto i = 0; i < 2; ++i) {
    busy.push_back(std::make_unique<http_client>(port));
    busy.back()->get("/late");
  }
  REQUIRE(soon([this] {
    auto count = size_t{0};
    run_and_wait(home, [&] { count = late.size(); });
    return count == 2;
  }));
  auto more = http_client{port};
  more.get("/a");
  CHECK(more.read_reply().starts_with("HTTP/1.1 503 "));
}

TEST_CASE_METHOD(small_server,
                 "http server: a new client takes the place of a silent one",
                 "[runtime]") {
  auto silent = std::vector<std::unique_ptr<http_client>>{};
  for (auto i = 0; i < 20; ++i)
    silent.push_back(std::make_unique<http_client>(port));
  auto uut = http_client{port};
  uut.get("/a");
  CHECK(uut.read_reply().ends_with(" /a\n"));
  CHECK(client_count() <= 4);
}

TEST_CASE_METHOD(small_server,
                 "http server: S9 half requests keep no probe out",
                 "[runtime]") {
  auto half = std::vector<std::unique_ptr<http_client>>{};
  for (auto i = 0; i < 30; ++i) {
    half.push_back(std::make_unique<http_client>(port));
    half.back()->send("GET /a HT");
    auto probe = http_client{port};
    probe.get("/healthz");
    CHECK(probe.read_reply().starts_with("HTTP/1.1 200 "));
  }
  CHECK(client_count() <= 6);
}

TEST_CASE_METHOD(
  small_server,
  "http server: S9 the health is told even if all places are taken",
  "[runtime]") {
  auto busy = std::vector<std::unique_ptr<http_client>>{};
  for (auto i = 0; i < 4; ++i) {
    busy.push_back(std::make_unique<http_client>(port));
    busy.back()->get("/late");
  }
  REQUIRE(soon([this] {
    auto count = size_t{0};
    run_and_wait(home, [&] { count = late.size(); });
    return count == 4;
  }));
  for (const auto* path : {"/healthz", "/readyz"}) {
    auto probe = http_client{port};
    probe.get(path);
    CHECK(probe.read_reply().starts_with("HTTP/1.1 200 "));
  }
  auto other = http_client{port};
  other.get("/a");
  CHECK(other.read_reply().starts_with("HTTP/1.1 503 "));
}

} // namespace actorrun::test::server_test
