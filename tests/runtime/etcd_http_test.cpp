// Against servers that are no etcd.
#include "actorrun/runtime/detail/etcd_http.hpp"
#include "patience.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <thread>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace actorrun;
using namespace actorrun::detail;
using namespace std::chrono_literals;

namespace {

/// Gives one answer to one request, whatever it is, and hangs up.
class parrot {
public:
  explicit parrot(std::string answer)
    : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    auto address = sockaddr_in{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto size = socklen_t{sizeof address};
    auto* x = reinterpret_cast<sockaddr*>(&address);
    REQUIRE(::bind(listener_, x, size) == 0);
    REQUIRE(::getsockname(listener_, x, &size) == 0);
    REQUIRE(::listen(listener_, 1) == 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread{[this, answer = std::move(answer)] { say(answer); }};
  }

  parrot(const parrot&) = delete;
  parrot& operator=(const parrot&) = delete;
  ~parrot() {
    thread_.join();
    ::close(listener_);
  }

  uint16_t port() const { return port_; }
  const std::string& heard() const { return heard_; }

private:
  void say(const std::string& answer) {
    auto news = pollfd{listener_, POLLIN, 0};
    if (::poll(&news, 1, 20'000) != 1)
      return;
    const auto fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    char buffer[4'096];
    // All of our requests end with the brace that closes the body.
    while (heard_.empty() || heard_.back() != '}') {
      const auto n = ::read(fd, buffer, sizeof buffer);
      if (n <= 0)
        break;
      heard_.append(buffer, size_t(n));
    }
    for (size_t sent = 0; sent < answer.size();) {
      const auto n
        = ::send(fd, answer.data() + sent, answer.size() - sent, MSG_NOSIGNAL);
      if (n <= 0)
        break;
      sent += size_t(n);
    }
    ::close(fd);
  }

  int listener_;
  uint16_t port_ = 0;
  std::string heard_; ///< Read it after the answer has come.
  std::thread thread_;
};

std::string http(const std::string& status, const std::string& body) {
  return "HTTP/1.1 " + status + "\r\nContent-Length: "
         + std::to_string(body.size()) + "\r\n\r\n" + body;
}

result<http_answer> ask(const parrot& server) {
  auto x = etcd_http::open({"127.0.0.1", server.port()}, {});
  REQUIRE(x);
  (*x)->set_token("token");
  return (*x)->post("/v3/x", R"({"a":"b"})",
                    etcd_http::clock::now() + test_patience::patience);
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

TEST_CASE("etcd http: an answer has a longest length", "[runtime]") {
  SECTION("which it may have") {
    const auto server
      = parrot{http("200 OK", std::string(http_answer_size_max, 'x'))};
    const auto x = ask(server);
    REQUIRE(x);
    CHECK(x->body.size() == http_answer_size_max);
  }
  SECTION("and not exceed") {
    const auto server
      = parrot{http("200 OK", std::string(http_answer_size_max + 1, 'x'))};
    const auto x = ask(server);
    REQUIRE_FALSE(x);
    CHECK(x.error().code == errc::etcd_unreachable);
    CHECK(x.error().text.find("too long") != std::string::npos);
  }
}

TEST_CASE("etcd http: nobody is sent elsewhere", "[runtime]") {
  const auto server
    = parrot{"HTTP/1.1 307 Temporary Redirect\r\nLocation: "
             "http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"};
  const auto x = ask(server);
  REQUIRE(x);
  CHECK(x->status == 307);
}

TEST_CASE("etcd http: what is not HTTP, or torn, is no answer", "[runtime]") {
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
