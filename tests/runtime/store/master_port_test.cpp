#include "runtime/os/unique_fd.hpp"
#include "runtime/store/master_port.hpp"
#include "tests/support/catch.hpp"

#include <optional>
#include <vector>

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace actorrun::test::master_port_test {

using namespace actorrun::detail;

namespace {

using ranges = std::vector<port_range>;

// A listener as a worker makes it: wildcard address, no SO_REUSEADDR.
unique_fd listen_at(uint16_t port, uint32_t host = INADDR_ANY) {
  auto fd = unique_fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  auto address = sockaddr_in{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(host);
  const auto* plain = reinterpret_cast<const sockaddr*>(&address);
  if (::bind(fd.get(), plain, sizeof address) != 0
      || ::listen(fd.get(), 1) != 0)
    fd.reset();
  return fd;
}

// A port that is free, like the next one. Never the same twice.
uint16_t free_pair() {
  static auto port = uint16_t{20'000};
  while (port < 30'000) {
    const auto result = port;
    port = static_cast<uint16_t>(port + 2);
    const auto first = listen_at(result);
    const auto second = listen_at(static_cast<uint16_t>(result + 1));
    if (first && second)
      return result;
  }
  FAIL("no free ports on this machine");
  return 0;
}

uint16_t next(uint16_t port) {
  return static_cast<uint16_t>(port + 1);
}

} // namespace

TEST_CASE("master port: candidates avoid the ephemeral range", "[runtime]") {
  CHECK(master_port_candidates({32768, 60999})
        == ranges{{10000, 32767}, {61000, 65535}});
  CHECK(master_port_candidates({15000, 64000})
        == ranges{{10000, 14999}, {64001, 65535}});
  CHECK(master_port_candidates({9000, 65535}) == ranges{{1024, 65535}});
  CHECK(master_port_candidates({20000, 20000})
        == ranges{{10000, 19999}, {20001, 32767}, {61000, 65535}});
}

TEST_CASE("master port: two reservations differ", "[runtime]") {
  const auto first = reserve_master_port();
  const auto second = reserve_master_port();
  REQUIRE(first);
  REQUIRE(second);
  CHECK(first->port() != second->port());
  CHECK(first->port() >= 1024);
}

TEST_CASE("master port: a worker can listen on a reserved port", "[runtime]") {
  const auto uut = reserve_master_port();
  REQUIRE(uut);
  CHECK(listen_at(uut->port()));
}

TEST_CASE("master port: a port in use is skipped", "[runtime]") {
  const auto port = free_pair();
  const auto taken = listen_at(port, INADDR_LOOPBACK);
  REQUIRE(taken);
  const auto both = ranges{{port, next(port)}};
  const auto uut = reserve_port(both);
  REQUIRE(uut);
  CHECK(uut->port() == next(port));
  const auto none = reserve_port(ranges{{port, port}});
  REQUIRE(!none);
  CHECK(none.error().code == errc::address_in_use);
}

TEST_CASE("master port: a reservation locks out other processes", "[runtime]") {
  const auto port = free_pair();
  const auto candidates = ranges{{port, port}};
  const auto free_for_others = [&] {
    const auto child = ::fork();
    if (child == 0) {
      // Another process was not given this port last time.
      const auto other = reserve_master_port();
      ::_exit(other && reserve_port(candidates) ? 1 : 0);
    }
    auto status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    return WEXITSTATUS(status) == 1;
  };
  CHECK(free_for_others());
  auto uut = std::optional{reserve_port(candidates)};
  REQUIRE(*uut);
  CHECK(!free_for_others());
  uut.reset();
  CHECK(free_for_others());
}

TEST_CASE("master port: a lock ends with its reservation", "[runtime]") {
  const auto port = free_pair();
  const auto first = ranges{{port, port}};
  const auto second = ranges{{next(port), next(port)}};
  auto uut = std::optional{reserve_port(first)};
  REQUIRE(*uut);
  REQUIRE(reserve_port(second));
  CHECK(!reserve_port(first));
  uut.reset();
  CHECK(reserve_port(first));
}

TEST_CASE("master port: the last port is not given again", "[runtime]") {
  const auto port = free_pair();
  const auto both = ranges{{port, next(port)}};
  auto previous = uint16_t{0};
  for (auto i = 0; i < 50; ++i) {
    const auto uut = reserve_port(both);
    REQUIRE(uut);
    CHECK(uut->port() != previous);
    previous = uut->port();
  }
}

TEST_CASE("master port: a port that workers are to have must be free",
          "[runtime]") {
  const auto port = free_pair();
  auto taken = listen_at(port);
  REQUIRE(taken);
  auto uut = reserved_ports{port};
  const auto held = uut.hold();
  REQUIRE(!held);
  CHECK(held.error().code == errc::address_in_use);
  CHECK(held.error().text.find(std::to_string(port)) != std::string::npos);
  auto second = reserved_ports{std::nullopt};
  second.prefer(port);
  REQUIRE(second.hold());
  CHECK(second.next() != port);
  taken.reset();
  REQUIRE(uut.hold());
  CHECK(uut.next() == port);
  auto third = reserved_ports{port};
  CHECK(third.hold().error().code == errc::address_in_use);
  CHECK(listen_at(port)); // For the worker.
}

} // namespace actorrun::test::master_port_test
