#include "runtime/http/request.hpp"
#include "tests/support/catch.hpp"

#include <string>

namespace actorrun::test::request_test {

using namespace actorrun::detail;

namespace {

http_request read(const std::string& bytes) {
  const auto x = read_request(bytes);
  REQUIRE(std::holds_alternative<http_request>(x));
  return std::get<http_request>(x);
}

int fault_of(const std::string& bytes) {
  const auto x = read_request(bytes);
  REQUIRE(std::holds_alternative<http_fault>(x));
  return std::get<http_fault>(x).status;
}

bool is_unfinished(const std::string& bytes) {
  return std::holds_alternative<http_unfinished>(read_request(bytes));
}

std::string with_field(const std::string& line) {
  return "GET / HTTP/1.1\r\nHost: a\r\n" + line + "\r\n\r\n";
}

} // namespace

TEST_CASE("http request: a head is read to its end, and no further",
          "[runtime]") {
  const auto text = std::string{"GET /metrics?x=1 HTTP/1.1\r\nHost: node1:80"
                                "\r\nAccept:  */* \r\n\r\n"};
  const auto x = read(text + "GET /next");
  CHECK(x.method == "GET");
  CHECK(x.path == "/metrics");
  CHECK(x.query == "x=1");
  CHECK(x.host == "node1:80");
  CHECK(x.keeps_alive);
  CHECK(x.size == text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    INFO(i);
    CHECK(is_unfinished(text.substr(0, i)));
  }
}

TEST_CASE("http request: a client can ask for the end of the connection",
          "[runtime]") {
  CHECK(!read(with_field("Connection: Close")).keeps_alive);
  CHECK(read(with_field("Connection: keep-alive")).keeps_alive);
  CHECK(!read("GET / HTTP/1.0\r\n\r\n").keeps_alive);
}

TEST_CASE("http request: what has another form is refused", "[runtime]") {
  CHECK(fault_of("GET /\r\n\r\n") == 505);
  CHECK(fault_of("GET / HTTP/2.0\r\nHost: a\r\n\r\n") == 505);
  CHECK(fault_of("\r\n\r\n\r\n") == 400);
  CHECK(fault_of("G@T / HTTP/1.1\r\nHost: a\r\n\r\n") == 400);
  CHECK(fault_of("GET http:///x HTTP/1.1\r\nHost: a\r\n\r\n") == 400);
  CHECK(fault_of("GET http: HTTP/1.1\r\nHost: a\r\n\r\n") == 400);
  CHECK(fault_of("GET https://a/ HTTP/1.1\r\nHost: a\r\n\r\n") == 400);
  CHECK(fault_of("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n") == 400);
  CHECK(fault_of("GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n") == 400);
  CHECK(fault_of("GET / HTTP/1.1\r\n\r\n") == 400); // No host.
  CHECK(fault_of(with_field("Host: b")) == 400);    // Two of them.
  CHECK(fault_of(with_field(" folded")) == 400);
  CHECK(fault_of(with_field("No colon")) == 400);
  CHECK(fault_of(with_field("Space : x")) == 400);
  CHECK(fault_of(with_field(std::string{"X: a\0b", 6})) == 400);
}

TEST_CASE("http request: a target may be that of a proxy; its host counts",
          "[runtime]") {
  const auto of = [](const std::string& target) {
    return read("GET " + target + " HTTP/1.1\r\nHost: a\r\n\r\n");
  };
  CHECK(of("/x?y").host == "a");
  const auto x = of("http://b:80/x/http://c?y=/");
  CHECK(x.host == "b:80");
  CHECK(x.path == "/x/http://c");
  CHECK(x.query == "y=/");
  CHECK(of("HTTP://b").host == "b");
  CHECK(of("HTTP://b").path == "/");
  CHECK(of("http://b?y").path == "/");
  CHECK(of("http://b?y").query == "y");
  CHECK(of("http://b#/x").path == "/");
  CHECK(fault_of("GET http://b/ HTTP/1.1\r\n\r\n") == 400); // It needs both.
  CHECK(read("GET http://b/ HTTP/1.0\r\n\r\n").host == "b");
}

TEST_CASE("http request: one empty line may come before it", "[runtime]") {
  const auto text = std::string{"\r\nGET /x HTTP/1.1\r\nHost: a\r\n\r\n"};
  const auto x = read(text);
  CHECK(x.path == "/x");
  CHECK(x.size == text.size());
  for (size_t i = 0; i < text.size(); ++i)
    CHECK(is_unfinished(text.substr(0, i)));
  CHECK(is_unfinished("\r\n\r\n"));
  CHECK(fault_of("\r\n" + text) == 400);
}

TEST_CASE("http request: content is refused", "[runtime]") {
  CHECK(fault_of(with_field("Content-Length: 1")) == 413);
  CHECK(fault_of(with_field("Transfer-Encoding: chunked")) == 413);
  CHECK(read(with_field("Content-Length: 0")).path == "/");
}

TEST_CASE("http request: a head has limits", "[runtime]") {
  const auto padded = [](size_t size) {
    auto text = with_field("X: ");
    text.insert(text.size() - 4, size - text.size(), 'x');
    return text;
  };
  CHECK(read(padded(http_head_size_max)).size == http_head_size_max);
  CHECK(fault_of(padded(http_head_size_max + 1)) == 431);
  CHECK(fault_of(std::string(http_head_size_max, 'x')) == 431);
  CHECK(is_unfinished(std::string(http_head_size_max - 1, 'x')));
  auto lines = std::string{};
  for (size_t i = 1; i < http_line_count_max; ++i)
    lines += (i == 1 ? "X: y" : "\r\nX: y");
  CHECK(read(with_field(lines)).path == "/");
  CHECK(fault_of(with_field(lines + "\r\nX: y")) == 431);
}

TEST_CASE("http request: any bytes are read without harm", "[runtime]") {
  auto state = uint32_t{7};
  const auto next = [&] { return state = state * 1'664'525 + 1'013'904'223; };
  const auto base = with_field("Connection: close");
  for (auto i = 0; i < 20'000; ++i) {
    auto text = base;
    for (auto n = next() % 4; n <= 4; ++n)
      text[(next() >> 8) % text.size()] = static_cast<char>(next() >> 16);
    const auto x = read_request(text);
    if (const auto* whole = std::get_if<http_request>(&x))
      CHECK(whole->size <= text.size());
  }
}

} // namespace actorrun::test::request_test
