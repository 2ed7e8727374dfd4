#include "runtime/os/socket.hpp"
#include "runtime/store/entrance.hpp"
#include "runtime/store/master_port.hpp"
#include "tests/runtime/store/store_client.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/log_lines.hpp"

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <poll.h>

namespace actorrun::test::entrance_test {

using namespace actorrun::detail;

namespace {

/// A port that passes on all that comes, and a store.
struct fixture {
  fixture() {
    auto bound = bind_master_port(*numeric_address("127.0.0.1", 0));
    REQUIRE(bound);
    auto started = store_server::start(home, std::move(bound->socket), {});
    REQUIRE(started);
    store = std::move(*started);
  }

  /// Passes on the next connection.
  void pass_on() {
    auto entry = pollfd{listener.get(), POLLIN, 0};
    REQUIRE(::poll(&entry, 1, 20'000) == 1);
    auto fd = std::make_shared<unique_fd>(::accept4(
      listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    run_and_wait(home, [&] { uut->admit(std::move(*fd), "10.0.0.9:5"); });
  }

  socket_address where() const { return *local_address_of(listener.get()); }

  log_lines lines;
  reactor home;
  unique_fd listener
    = std::move(*open_listening(*numeric_address("127.0.0.1", 0)));
  std::unique_ptr<store_server> store;
  std::shared_ptr<store_entrance> uut
    = std::make_shared<store_entrance>(home, lines.writer());
};

core::generation_plan plan_elsewhere() {
  auto out = core::generation_plan{};
  out.generation = {2};
  out.master_address = "10.0.0.2";
  out.master_port = 31'234;
  return out;
}

} // namespace

TEST_CASE_METHOD(fixture, "store_entrance: clients of all versions are let in",
                 "[runtime]") {
  uut->open(*store);
  for (const auto version : {torch::v1_13, torch::v2_1, torch::v2_14}) {
    auto passing = std::thread{[this] { pass_on(); }};
    auto client = store_client{where(), version};
    passing.join();
    client.ask({.verb = core::store_verb::set, .keys = {"k"}, .values = {"v"}});
    client.ask({.verb = core::store_verb::count_keys});
    CHECK(client.number<uint64_t>() == 1);
  }
}

TEST_CASE_METHOD(fixture, "store_entrance: a client waits until a store opens",
                 "[runtime]") {
  auto client = store_client{where(), torch::v1_13};
  client.ask({.verb = core::store_verb::count_keys});
  pass_on();
  uut->open(*store);
  CHECK(client.number<uint64_t>() == 0);
}

TEST_CASE_METHOD(fixture,
                 "store_entrance: a client of a store elsewhere is closed, and"
                 " the first one has a warning with both addresses",
                 "[runtime]") {
  auto early = store_client{where(), torch::v1_13};
  pass_on();
  uut->point_to(plan_elsewhere());
  CHECK(early.read(1).empty());
  auto late = store_client{where(), torch::v1_13};
  pass_on();
  CHECK(late.read(1).empty());
  const auto text = lines.told();
  const auto warning = "warning 10.0.0.9:5 has come to " + to_string(where())
                       + " for torch's store, which is at 10.0.0.2:31234";
  const auto first = text.find(warning);
  CHECK(first != std::string::npos);
  CHECK(text.find(warning, first + 1) == std::string::npos);
}

TEST_CASE_METHOD(fixture,
                 "store_entrance: of those that wait the number is"
                 " bounded",
                 "[runtime]") {
  auto clients = std::vector<store_client>{};
  for (size_t i = 0; i <= entrance_waiting_max; ++i) {
    clients.emplace_back(where(), torch::v1_13);
    clients.back().ask({.verb = core::store_verb::count_keys});
    pass_on();
  }
  CHECK(clients.front().read(1).empty());
  uut->open(*store);
  CHECK(clients.back().number<uint64_t>() == 0);
  CHECK(clients[1].number<uint64_t>() == 0);
}

TEST_CASE_METHOD(fixture,
                 "store_entrance: a store that has ended lets nothing"
                 " in",
                 "[runtime]") {
  store->stop();
  store->await_stopped();
  auto client = store_client{where(), torch::v1_13};
  uut->open(*store);
  pass_on();
  CHECK(client.read(1).empty());
}

} // namespace actorrun::test::entrance_test
