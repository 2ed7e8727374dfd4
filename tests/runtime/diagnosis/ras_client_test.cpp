// Asks a stand-in for NCCL's RAS service.
#include "runtime/diagnosis/posix_stuck_probe.hpp"
#include "runtime/diagnosis/ras_client.hpp"
#include "runtime/os/unique_fd.hpp"
#include "tests/support/catch.hpp"

#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace actorrun::test::ras_client_test {

using namespace actorrun::detail;
using namespace std::chrono_literals;
using words = std::vector<std::string>;

namespace {

std::chrono::steady_clock::time_point soon() {
  return std::chrono::steady_clock::now() + 5s;
}

/// Listens on loopback, and answers one client.
class service {
public:
  /// @param hangs_up Whether it closes the connection after its answer.
  explicit service(std::string answer, bool hangs_up = true) {
    const auto port = free_ras_port();
    REQUIRE(port != 0);
    listener_ = unique_fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    auto to = sockaddr_in{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(
      ::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to)
      == 0);
    REQUIRE(::listen(listener_.get(), 1) == 0);
    port_ = port;
    thread_ = std::jthread{[this, answer = std::move(answer), hangs_up] {
      client_ = unique_fd{::accept(listener_.get(), nullptr, nullptr)};
      char place[64];
      while (question_.find("STATUS\n") == std::string::npos) {
        const auto n = ::read(client_.get(), place, sizeof place);
        if (n <= 0)
          return;
        question_.append(place, static_cast<size_t>(n));
      }
      for (size_t sent = 0; sent < answer.size();) {
        const auto n = ::send(client_.get(), answer.data() + sent,
                              answer.size() - sent, MSG_NOSIGNAL);
        if (n <= 0)
          return; // It has heard enough.
        sent += static_cast<size_t>(n);
      }
      if (hangs_up)
        client_.reset();
    }};
  }

  ~service() { ::shutdown(listener_.get(), SHUT_RDWR); }

  service(const service&) = delete;
  service& operator=(const service&) = delete;

  uint16_t port() const { return port_; }

  std::string question() {
    thread_.join();
    return question_;
  }

private:
  uint16_t port_ = 0;
  unique_fd listener_;
  unique_fd client_;
  std::string question_;
  std::jthread thread_;
};

} // namespace

TEST_CASE("ras_client: it asks for all that is known", "[runtime]") {
  auto x = service{"OK\nall is well\n"};
  CHECK(ask_ras(x.port(), soon()) == "OK\nall is well\n");
  CHECK(x.question() == "TIMEOUT 1\nVERBOSE STATUS\n");
}

TEST_CASE("ras_client: without a service there is no answer", "[runtime]") {
  CHECK(ask_ras(free_ras_port(), soon()).empty());
}

TEST_CASE("ras_client: a service that says no more is not waited for",
          "[runtime]") {
  auto x = service{"OK\n", false};
  CHECK(ask_ras(x.port(), std::chrono::steady_clock::now() + 200ms) == "OK\n");
}

TEST_CASE("ras_client: an answer is bounded", "[runtime]") {
  auto x = service{std::string(3 * ras_answer_max, 'x')};
  CHECK(ask_ras(x.port(), soon()).size() == ras_answer_max);
}

TEST_CASE("ras_client: where the workers' service is", "[runtime]") {
  CHECK(ras_port_of(words{}) == 28028);
  CHECK(ras_port_of(words{"NCCL_RAS_ADDR=localhost:7"}) == 7);
  CHECK(ras_port_of(words{"NCCL_RAS_ADDR=127.0.0.1:7"}) == 7);
  CHECK(ras_port_of(words{"NCCL_RAS_ADDR=[::1]:65535"}) == 65535);
  CHECK_FALSE(ras_port_of(words{"NCCL_RAS_ADDR=n1:7"}));
  for (const auto* text : {"localhost", "localhost:", "localhost:0",
                           "localhost:65536", "localhost:7x"})
    CHECK_FALSE(ras_port_of(words{"NCCL_RAS_ADDR=" + std::string{text}}));
  CHECK_FALSE(ras_port_of(words{"NCCL_RAS_ENABLE=0"}));
  CHECK(ras_port_of(words{"NCCL_RAS_ENABLE=1", "NCCL_RAS_ADDRESS=x"}) == 28028);
}

TEST_CASE("ras_client: only workers of this node are told of", "[runtime]") {
  auto seen = std::vector<core::worker_stack>(2);
  seen[0].pid = 11;
  seen[1].pid = 12;
  add_lagging(seen, "#0-0 (1) MISMATCH\n  Communicator ranks have different "
                    "AllReduce operation counts\n  6 ranks have launched up to "
                    "operation 2\n  2 ranks have launched up to operation 1\n"
                    "  Rank 1 -- GPU 0 managed by process 12 on node a\n"
                    "  Rank 5 -- GPU 0 managed by process 99 on node b\n");
  CHECK(seen[0].behind.empty());
  CHECK(seen[1].behind
        == "rank 1 of communicator #0-0 has not launched AllReduce 2, which 6 "
           "others have");
}

} // namespace actorrun::test::ras_client_test
