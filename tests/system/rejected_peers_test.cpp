// Programs that connect to the port of a running job without belonging to it.
#include "tests/support/catch.hpp"
#include "tests/system/healthy.hpp"
#include "tests/system/scene.hpp"

#include <array>
#include <random>

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace actorrun::test::rejected_peers_test {

namespace {

/// A TCP connection to loopback by a foreign program.
class foreign_client {
public:
  explicit foreign_client(uint16_t port)
    : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    auto address = sockaddr_in{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const auto connected
      = ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address);
    scene::require(connected == 0, "the port accepts a connection");
  }

  foreign_client(foreign_client&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)) {}

  ~foreign_client() {
    if (fd_ >= 0)
      ::close(fd_);
  }

  /// The other side may have closed already, which is fine.
  void say(const std::string& text) {
    static_cast<void>(::send(fd_, text.data(), text.size(), MSG_NOSIGNAL));
  }

  /// Closes with a reset.
  void reset() {
    const auto hard = linger{1, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
  }

  /// Whether the other side closes in time, whatever it sends before.
  bool is_closed() {
    return eventually([this] {
      auto bytes = std::array<char, 256>{};
      const auto n = ::recv(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT);
      return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
    });
  }

private:
  int fd_;
};

struct probed_job : scene {
  probed_job() {
    a = &agent({});
    b = &agent({});
    before = await_world(4);
  }

  /// The job goes on undisturbed and logs few lines about it.
  void check_undisturbed() {
    const auto now
      = await_status([](const json& x) { return x["phase"] == "running"; });
    CHECK(now["generation"] == before[0].number);
    CHECK(now["restarts"] == 0);
    CHECK(pids_of(workers_of(before[0].generation)) == pids_of(before));
    for (const auto& x : before)
      CHECK(alive(x.pid));
    order_end();
    CHECK(a->wait() == 0);
    CHECK(b->wait() == 0);
    CHECK(count_of(a->output(), "rejected") <= 2);
    CHECK(count_of(a->output(), "\n") <= 8);
    CHECK(count_of(b->output(), "rejected") == 0);
  }

  program* a = nullptr;
  program* b = nullptr;
  worker_records before;
};

/// A header of CAF's own protocol: 32 bytes, big-endian.
std::string basp_header(char operation, uint32_t payload_size) {
  auto out = std::string(32, '\0');
  out[0] = operation;
  for (auto i = 0; i < 4; ++i)
    out[4 + i] = static_cast<char>(payload_size >> (24 - 8 * i));
  out[15] = 3; // The version of the protocol.
  return out;
}

} // namespace

TEST_CASE_METHOD(probed_job, "rejected: random bytes", "[rejected]") {
  auto dice = std::mt19937{20'260'101};
  auto clients = std::vector<foreign_client>{};
  for (auto i = 0; i < 50; ++i) {
    auto bytes = std::string(1 + dice() % 4'000, '\0');
    for (auto& x : bytes)
      x = static_cast<char>(dice());
    clients.emplace_back(port()).say(bytes);
  }
  for (auto& x : clients)
    CHECK(x.is_closed());
  CHECK(a->says("coordinator rejected"));
  check_undisturbed();
}

TEST_CASE_METHOD(probed_job, "rejected: a port scan", "[rejected]") {
  for (auto i = 0; i < 300; ++i) {
    auto client = foreign_client{port()};
    if (i % 2 == 0)
      client.reset();
  }
  CHECK(a->says("coordinator rejected"));
  check_undisturbed();
}

TEST_CASE_METHOD(probed_job, "rejected: two hundred silent clients",
                 "[rejected]") {
  auto clients = std::vector<foreign_client>{};
  for (auto i = 0; i < 200; ++i)
    clients.emplace_back(port());
  // Agents of the job still get in.
  await_status(is_healthy);
  auto code = -1;
  read({ACTORCTL_PROGRAM, "status", "--rdzv-endpoint=" + endpoint(),
        "--rdzv-id=job"},
       &code);
  CHECK(code == 0);
  for (auto& x : clients)
    CHECK(x.is_closed());
  check_undisturbed();
}

TEST_CASE_METHOD(probed_job, "rejected: headers that end a bare CAF",
                 "[rejected]") {
  auto clients = std::vector<foreign_client>{};
  for (auto operation = char{0}; operation <= 7; ++operation)
    for (auto size : {0u, 1u, 0xFFFF'FFFFu})
      clients.emplace_back(port()).say(basp_header(operation, size));
  for (auto& x : clients)
    CHECK(x.is_closed());
  check_undisturbed();
}

TEST_CASE_METHOD(probed_job, "rejected: a browser", "[rejected]") {
  auto client = foreign_client{port()};
  client.say("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  CHECK(client.is_closed());
  check_undisturbed();
}

} // namespace actorrun::test::rejected_peers_test
