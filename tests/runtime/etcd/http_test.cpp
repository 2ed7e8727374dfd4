// Runs the HTTP client against servers that are no etcd.
#include "runtime/etcd/http.hpp"
#include "tests/runtime/deadline.hpp"
#include "tests/runtime/etcd/http_parrot.hpp"
#include "tests/support/catch.hpp"

#include <string>

namespace actorrun::test::http_test {

using namespace actorrun::detail;
using namespace actorrun::detail::test_http;
using namespace std::chrono_literals;

namespace {

result<http_answer> ask(const parrot& server) {
  auto x = etcd_http::open({"127.0.0.1", server.port()}, {});
  REQUIRE(x);
  (*x)->set_token("token");
  return (*x)->post("/v3/x", R"({"a":"b"})",
                    etcd_http::clock::now() + test_deadline::timeout);
}

} // namespace

TEST_CASE("etcd http: a request has path, token and body", "[runtime]") {
  const auto server = parrot{http("200 OK", "{}")};
  const auto x = ask(server);
  REQUIRE(x);
  CHECK(x->status == 200);
  CHECK(x->body == "{}");
  const auto& heard = server.heard();
  CHECK(heard.starts_with("POST /v3/x HTTP/1.1\r\n"));
  CHECK(heard.ends_with("\r\n\r\n{\"a\":\"b\"}"));
  CHECK(heard.find("Authorization: token\r\n") != heard.npos);
  CHECK(heard.find("Content-Type: application/json\r\n") != heard.npos);
}

TEST_CASE("etcd http: the length of an answer is bounded", "[runtime]") {
  SECTION("an answer of the maximum length") {
    const auto server
      = parrot{http("200 OK", std::string(http_answer_size_max, 'x'))};
    const auto x = ask(server);
    REQUIRE(x);
    CHECK(x->body.size() == http_answer_size_max);
  }
  SECTION("a longer answer") {
    const auto server
      = parrot{http("200 OK", std::string(http_answer_size_max + 1, 'x'))};
    const auto x = ask(server);
    REQUIRE_FALSE(x);
    CHECK(x.error().code == errc::etcd_unreachable);
    CHECK(x.error().text.find("too long") != std::string::npos);
  }
}

TEST_CASE("etcd http: the length of an answer's head is bounded", "[runtime]") {
  const auto begin = std::string{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"};
  const auto end = std::string{"\r\n{}"};
  const auto line = "X: " + std::string(1'000, 'x') + "\r\n";
  const auto answer_with = [&](size_t size) {
    auto out = begin;
    while (out.size() + line.size() + 8 < size)
      out += line;
    // "X: \r\n" and the empty line.
    return out + "X: " + std::string(size - out.size() - 7, 'x') + "\r\n" + end;
  };
  SECTION("a head of the maximum length") {
    const auto server = parrot{answer_with(http_answer_size_max)};
    CHECK(ask(server));
  }
  SECTION("a longer head") {
    const auto server = parrot{answer_with(http_answer_size_max + 1)};
    const auto x = ask(server);
    REQUIRE_FALSE(x);
    CHECK(x.error().code == errc::etcd_unreachable);
    CHECK(x.error().text.find("too long") != std::string::npos);
  }
}

TEST_CASE("etcd http: redirects are not followed", "[runtime]") {
  const auto server
    = parrot{"HTTP/1.1 307 Temporary Redirect\r\nLocation: "
             "http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"};
  const auto x = ask(server);
  REQUIRE(x);
  CHECK(x->status == 307);
}

TEST_CASE("etcd http: invalid or truncated HTTP is no answer", "[runtime]") {
  for (const auto* answer :
       {"", "SSH-2.0-OpenSSH_9.2\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}"}) {
    INFO(answer);
    const auto server = parrot{answer};
    const auto x = ask(server);
    REQUIRE_FALSE(x);
    CHECK(x.error().code == errc::etcd_unreachable);
    CHECK(x.error().text.find("127.0.0.1") != std::string::npos);
  }
}

} // namespace actorrun::test::http_test
