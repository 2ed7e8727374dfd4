#include "runtime/os/socket.hpp"
#include "runtime/store/ports.hpp"
#include "tests/runtime/store/store_client.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/skip.hpp"

#include <memory>
#include <optional>
#include <thread>

#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/resource.h>

namespace actorrun::test::ports_test {

using namespace actorrun::detail;

namespace {

core::generation_plan plan_at(uint64_t generation, uint16_t port) {
  auto out = core::generation_plan{};
  out.generation = {generation};
  out.master_address = "127.0.0.1";
  out.master_port = port;
  return out;
}

socket_address loopback(uint16_t port) {
  return *numeric_address("127.0.0.1", port);
}

bool is_refused(uint16_t port) {
  const auto where = loopback(port);
  const auto fd
    = unique_fd{::socket(where.family(), SOCK_STREAM | SOCK_CLOEXEC, 0)};
  return ::connect(fd.get(), where.get(), where.size) != 0
         && errno == ECONNREFUSED;
}

// Any other process may bind the port in any way.
bool can_be_taken(uint16_t port) {
  const auto where = loopback(port);
  const auto fd
    = unique_fd{::socket(where.family(), SOCK_STREAM | SOCK_CLOEXEC, 0)};
  const auto on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  return ::bind(fd.get(), where.get(), where.size) == 0;
}

size_t keys_at(uint16_t port) {
  auto client = store_client{loopback(port)};
  client.ask({.verb = core::store_verb::count_keys});
  return client.number<uint64_t>();
}

void set_key_at(uint16_t port) {
  auto client = store_client{loopback(port)};
  client.ask({.verb = core::store_verb::set, .keys = {"k"}, .values = {""}});
  CHECK(client.is_silent());
}

struct fixture {
  fixture() { uut.announce("127.0.0.1"); }

  reactor home;
  store_ports uut{home, {}, {}};
};

} // namespace

TEST_CASE("store_ports: without an address there is no port", "[runtime]") {
  auto home = reactor{};
  auto uut = store_ports{home, {}, {}};
  CHECK(uut.next() == 0);
  const auto opened = uut.open(plan_at(1, 0));
  REQUIRE(!opened);
  CHECK(opened.error().code == errc::cannot_listen);
  CHECK(opened.error().text.find("store of generation 1") != std::string::npos);
}

TEST_CASE("store_ports: an address of another host stands for all",
          "[runtime]") {
  for (const auto* address : {"no such host.", "192.0.2.1"}) {
    auto home = reactor{};
    auto uut = store_ports{home, {}, {}};
    uut.announce(address);
    const auto port = uut.next();
    REQUIRE(port != 0);
    REQUIRE(uut.open(plan_at(1, port)));
    CHECK(keys_at(port) == 0);
  }
}

TEST_CASE("store_ports: with all workers here no address stands for all",
          "[runtime]") {
  for (const auto* address : {"no such host.", "192.0.2.1"}) {
    auto home = reactor{};
    auto uut = store_ports{home, {.is_alone = true}, {}};
    uut.announce(address);
    CHECK(uut.next() == 0);
    const auto opened = uut.open(plan_at(1, 0));
    REQUIRE(!opened);
    CHECK(opened.error().code == errc::cannot_listen);
    CHECK(opened.error().text.find(address) != std::string::npos);
    CHECK(opened.error().text.find("address of this host")
          != std::string::npos);
  }
}

TEST_CASE("store_ports: without a descriptor no other address is tried, and no"
          " other job is blamed (U18)",
          "[runtime]") {
  const auto wish = GENERATE(as<std::optional<uint16_t>>{}, std::nullopt,
                             bind_master_port(loopback(0))->port);
  auto home = reactor{};
  auto uut = store_ports{home, {.port = wish, .is_alone = true}, {}};
  uut.announce("127.0.0.1");
  auto before = rlimit{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  auto none = before;
  none.rlim_cur = 0;
  ::setrlimit(RLIMIT_NOFILE, &none);
  const auto held = uut.hold();
  ::setrlimit(RLIMIT_NOFILE, &before);
  REQUIRE_FALSE(held);
  const auto& text = held.error().text;
  CHECK(
    text.ends_with(": Too many open files (RLIMIT_NOFILE: ulimit -Hn is 0)"));
  CHECK(text.find("another job") == text.npos);
  CHECK(uut.hold());
}

// A thread of its own has a network namespace of its own, where ::1 is no
// address: its interface is down.
TEST_CASE("store_ports: no loopback address stands for all", "[runtime]") {
  auto home = reactor{};
  auto uut = store_ports{home, {}, {}};
  auto is_alone = false;
  auto port = uint16_t{0};
  std::thread{[&] {
    is_alone = ::unshare(CLONE_NEWNET) == 0;
    uut.announce("::1");
    port = uut.next();
  }}.join();
  if (!is_alone) {
    actorrun::test::skip("netns", "no network namespace may be made here");
    return;
  }
  CHECK(port == 0);
  const auto opened = uut.open(plan_at(1, 0));
  REQUIRE(!opened);
  CHECK(opened.error().text.find("only this host leads to ::1")
        != std::string::npos);
}

TEST_CASE_METHOD(fixture, "store_ports: a port is held before it is served",
                 "[runtime]") {
  const auto port = uut.next();
  REQUIRE(port != 0);
  CHECK(!can_be_taken(port));
  CHECK(is_refused(port));
  REQUIRE(uut.open(plan_at(1, port)));
  CHECK(keys_at(port) == 0);
  uut.close();
}

TEST_CASE_METHOD(fixture,
                 "store_ports: each generation has another port and store",
                 "[runtime]") {
  const auto first = uut.next();
  REQUIRE(uut.open(plan_at(1, first)));
  set_key_at(first);
  CHECK(keys_at(first) == 1);
  uut.close();
  const auto second = uut.next();
  CHECK(second != first);
  CHECK(!can_be_taken(first)); // Its workers may still run.
  REQUIRE(uut.open(plan_at(2, second)));
  CHECK(is_refused(first));
  CHECK(keys_at(second) == 0);
}

TEST_CASE_METHOD(fixture, "store_ports: the same port has a new store, too",
                 "[runtime]") {
  const auto port = uut.next();
  REQUIRE(uut.open(plan_at(1, port)));
  set_key_at(port);
  REQUIRE(uut.open(plan_at(2, port)));
  CHECK(keys_at(port) == 0);
}

TEST_CASE_METHOD(fixture, "store_ports: an offer that came late is kept",
                 "[runtime]") {
  const auto first = uut.next();
  const auto second = uut.next();
  REQUIRE(uut.open(plan_at(1, first)));
  CHECK(keys_at(first) == 0);
  const auto third = uut.next();
  CHECK(!can_be_taken(second));
  CHECK(!can_be_taken(third));
  const auto opened = uut.open(plan_at(2, first));
  REQUIRE(!opened);
  CHECK(opened.error().text.find("not held") != std::string::npos);
}

TEST_CASE("store_ports: a fixed port is given again and again", "[runtime]") {
  const auto free = bind_master_port(loopback(0));
  REQUIRE(free);
  const auto port = free->port;
  auto home = reactor{};
  auto uut = store_ports{home, {.port = port}, {}};
  uut.announce("127.0.0.1");
  CHECK(uut.next() == 0); // In use.
  CHECK(uut.open(plan_at(1, port)).error().text.find("use")
        != std::string::npos);
  const_cast<bound_port&>(*free).socket.reset();
  for (auto generation = 1U; generation < 4; ++generation) {
    CHECK(uut.next() == port);
    REQUIRE(uut.open(plan_at(generation, port)));
    set_key_at(port);
    CHECK(keys_at(port) == 1);
    uut.close();
  }
}

TEST_CASE("store_ports: a port that is in use is reported before all else",
          "[runtime]") {
  const auto taken = bind_master_port(loopback(0));
  REQUIRE(taken);
  auto home = reactor{};
  auto uut = store_ports{home, {.port = taken->port, .is_alone = true}, {}};
  uut.announce("127.0.0.1");
  const auto held = uut.hold();
  REQUIRE(!held);
  CHECK(held.error().code == errc::address_in_use);
  CHECK(held.error().text.find(std::to_string(taken->port))
        != std::string::npos);
  auto free = store_ports{home, {.is_alone = true}, {}};
  free.announce("127.0.0.1");
  CHECK(free.hold());
  CHECK(free.next() != 0);
}

TEST_CASE("store_ports: a port is preferred if it is free, and then kept",
          "[runtime]") {
  auto taken = bind_master_port(loopback(0));
  REQUIRE(taken);
  const auto port = taken->port;
  auto home = reactor{};
  {
    auto uut = store_ports{home, {.is_alone = true}, {}};
    uut.prefer(port);
    uut.announce("127.0.0.1");
    REQUIRE(uut.hold());
    const auto other = uut.next();
    CHECK(other != port);
    CHECK(other != 0);
  }
  taken->socket.reset();
  auto uut = store_ports{home, {.is_alone = true}, {}};
  uut.prefer(port);
  uut.announce("127.0.0.1");
  for (auto generation = 1U; generation < 3; ++generation) {
    CHECK(uut.next() == port);
    REQUIRE(uut.open(plan_at(generation, port)));
    uut.close();
  }
  // Two that do not listen yet could both have it.
  auto second = store_ports{home, {.is_alone = true}, {}};
  second.prefer(port);
  second.announce("127.0.0.1");
  REQUIRE(second.hold());
  CHECK(second.next() != port);
}

TEST_CASE_METHOD(fixture,
                 "store_ports: T1 what is shown is the coordinator's port, and "
                 "each generation has a store of its own",
                 "[runtime]") {
  const auto entrance = std::make_shared<store_entrance>(home, actorrun::log{});
  uut.share(entrance);
  const auto listener = open_listening(loopback(0));
  REQUIRE(listener);
  const auto shown = port_of(*local_address_of(listener->get()));
  uut.show(shown);
  CHECK(uut.next() == shown);
  for (uint64_t generation = 1; generation <= 2; ++generation) {
    REQUIRE(uut.open(plan_at(generation, shown)));
    auto client = store_client{loopback(shown), torch::v1_13};
    auto entry = pollfd{listener->get(), POLLIN, 0};
    REQUIRE(::poll(&entry, 1, 20'000) == 1);
    auto fd = unique_fd{::accept4(listener->get(), nullptr, nullptr,
                                  SOCK_NONBLOCK | SOCK_CLOEXEC)};
    run_and_wait(home, [&] { entrance->admit(std::move(fd), "10.0.0.9:5"); });
    client.ask({.verb = core::store_verb::set, .keys = {"k"}, .values = {""}});
    client.ask({.verb = core::store_verb::count_keys});
    CHECK(client.number<uint64_t>() == 1);
    uut.close();
    CHECK(uut.next() == shown);
  }
  CHECK_FALSE(uut.open(plan_at(3, uint16_t(shown + 1))));
}

TEST_CASE_METHOD(fixture, "store_ports: serves only at its address",
                 "[runtime]") {
  const auto port = uut.next();
  REQUIRE(uut.open(plan_at(1, port)));
  const auto other = *numeric_address("127.0.0.2", port);
  const auto fd
    = unique_fd{::socket(other.family(), SOCK_STREAM | SOCK_CLOEXEC, 0)};
  CHECK(::connect(fd.get(), other.get(), other.size) != 0);
}

TEST_CASE("store_memory_max: leaves three quarters to the workers",
          "[runtime]") {
  constexpr auto gigabyte = size_t{1} << 30;
  CHECK(store_memory_max(std::nullopt) == gigabyte);
  CHECK(store_memory_max(uint64_t{1} << 63) == gigabyte);
  CHECK(store_memory_max(4 * gigabyte) == gigabyte);
  CHECK(store_memory_max(4 * gigabyte - 4) == gigabyte - 1);
  CHECK(store_memory_max(gigabyte / 2) == gigabyte / 8);
}

} // namespace actorrun::test::ports_test
