// Programs that find the port of a running job and do not belong to it.
#include "tests/support/catch.hpp"
#include "tests/system/scene.hpp"

#include <array>
#include <random>

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace actorrun::test {

namespace {

/// A TCP connection to loopback that is not of our family.
class stranger {
public:
  explicit stranger(uint16_t port)
    : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    auto address = sockaddr_in{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const auto connected
      = ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address);
    scene::require(connected == 0, "the port accepts a connection");
  }

  stranger(stranger&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

  ~stranger() {
    if (fd_ >= 0)
      ::close(fd_);
  }

  /// Whoever has hung up on us does not read on; that is fine.
  void say(const std::string& text) {
    static_cast<void>(::send(fd_, text.data(), text.size(), MSG_NOSIGNAL));
  }

  /// Leaves with a reset instead of a farewell.
  void slam() {
    const auto hard = linger{1, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
  }

  /// Whether the other side hangs up in time, whatever it says before.
  bool is_sent_away() {
    return eventually([this] {
      auto bytes = std::array<char, 256>{};
      const auto n = ::recv(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT);
      return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
    });
  }

private:
  int fd_;
};

struct visited_job : scene {
  visited_job() {
    a = &agent({});
    b = &agent({});
    before = await_world(4);
  }

  /// The job goes on undisturbed and logs few lines about it.
  void check_undisturbed() {
    const auto now
      = await_status([](const json& x) { return x["phase"] == "running"; });
    CHECK(now["epoch"] == before[0].epoch);
    CHECK(now["restarts"] == 0);
    CHECK(pids_of(workers_of(before[0].epoch)) == pids_of(before));
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

TEST_CASE_METHOD(visited_job, "strangers: random bytes", "[strangers]") {
  auto dice = std::mt19937{20'260'101};
  auto guests = std::vector<stranger>{};
  for (auto i = 0; i < 50; ++i) {
    auto bytes = std::string(1 + dice() % 4'000, '\0');
    for (auto& x : bytes)
      x = static_cast<char>(dice());
    guests.emplace_back(port()).say(bytes);
  }
  for (auto& x : guests)
    CHECK(x.is_sent_away());
  CHECK(a->says("coordinator rejected"));
  check_undisturbed();
}

TEST_CASE_METHOD(visited_job, "strangers: a port scan", "[strangers]") {
  for (auto i = 0; i < 300; ++i) {
    auto guest = stranger{port()};
    if (i % 2 == 0)
      guest.slam();
  }
  CHECK(a->says("coordinator rejected"));
  check_undisturbed();
}

TEST_CASE_METHOD(visited_job, "strangers: two hundred that say nothing",
                 "[strangers]") {
  auto guests = std::vector<stranger>{};
  for (auto i = 0; i < 200; ++i)
    guests.emplace_back(port());
  // Those who belong to the job get in all the same.
  auto code = -1;
  read({ACTORCTL_PROGRAM, "status", "--rdzv-endpoint=" + endpoint(),
        "--rdzv-id=job"},
       &code);
  CHECK(code == 0);
  for (auto& x : guests)
    CHECK(x.is_sent_away());
  check_undisturbed();
}

TEST_CASE_METHOD(visited_job, "strangers: headers that kill a bare CAF",
                 "[strangers]") {
  auto guests = std::vector<stranger>{};
  for (auto operation = char{0}; operation <= 7; ++operation)
    for (auto size : {0u, 1u, 0xFFFF'FFFFu})
      guests.emplace_back(port()).say(basp_header(operation, size));
  for (auto& x : guests)
    CHECK(x.is_sent_away());
  check_undisturbed();
}

TEST_CASE_METHOD(visited_job, "strangers: a browser", "[strangers]") {
  auto guest = stranger{port()};
  guest.say("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  CHECK(guest.is_sent_away());
  check_undisturbed();
}

} // namespace actorrun::test
