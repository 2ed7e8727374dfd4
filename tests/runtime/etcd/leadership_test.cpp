// Runs the leadership against a real etcd.
#include "runtime/etcd/leadership.hpp"
#include "runtime/system_config.hpp"
#include "tests/runtime/etcd/etcd_server.hpp"
#include "tests/support/catch.hpp"

#include <future>

namespace actorrun::test::leadership_test {

using namespace actorrun::detail;
using namespace actorrun::detail::test_deadline;
using namespace std::chrono_literals;

namespace {

/// A candidate whose coordinator is only a name.
struct candidate {
  candidate(uint16_t port, std::string where, bool always_campaigns = false,
            core::duration lease = 15s)
    : name(std::move(where)) {
    auto client = etcd_client::open({"127.0.0.1", port}, {}, {"job"});
    REQUIRE(client);
    auto config = etcd_leadership_config{};
    config.options = {.always_campaigns = always_campaigns, .lease = lease};
    config.registry = std::move(*client);
    config.open_coordinator = [this](const core::open_coordinator& order,
                                     const etcd_link&) -> result<std::string> {
      if (has_no_memory)
        throw std::bad_alloc{};
      if (cannot_open)
        return failure{errc::cannot_listen, "no port"};
      is_successor = order.successor;
      is_open = true;
      return name;
    };
    config.close_coordinator = [this](const auto&) { is_open = false; };
    config.on_died = [this](const std::string&) { is_dead = true; };
    config.asleep = [this] { return asleep.load(); };
    uut.emplace(system, std::move(config));
    uut->begin();
  }

  etcd_leadership::answer seek(bool was_member = false) {
    auto promise = std::promise<etcd_leadership::answer>{};
    uut->seek(was_member,
              [&](const etcd_leadership::answer& x) { promise.set_value(x); });
    auto future = promise.get_future();
    REQUIRE(future.wait_for(timeout) == std::future_status::ready);
    return future.get();
  }

  /// The endpoint it is sent to; `here`, or why there is none.
  std::string find(bool was_member = false) {
    const auto x = seek(was_member);
    if (const auto* where = std::get_if<std::string>(&x)) {
      uut->report(core::endpoint_reached{});
      return *where;
    }
    if (const auto* why = std::get_if<failure>(&x))
      return std::string{to_string(why->code)};
    return "here";
  }

  bool is_leader() const { return uut->leadership_check()(); }

  std::string name;
  std::atomic<bool> is_open = false;
  std::atomic<bool> is_successor = false;
  std::atomic<bool> cannot_open = false;
  std::atomic<bool> has_no_memory = false;
  std::atomic<bool> is_dead = false;
  std::atomic<core::duration> asleep = core::duration{0}; ///< Of its machine.
  system_config settings;
  caf::actor_system system{settings};
  std::optional<etcd_leadership> uut;
};

/// Two candidates for the same leadership.
struct rivals {
  explicit rivals(core::duration lease = 15s)
    : a{server.port(), "a:1", false, lease} {}

  etcd_server server;
  candidate a;
  candidate b{server.port(), "b:1"};
};

} // namespace

TEST_CASE("etcd leadership: the first that looks leads, the next follows",
          "[runtime]") {
  if (!etcd_server::is_here())
    return;
  auto x = rivals{};
  CHECK_FALSE(x.a.is_leader());
  CHECK(x.a.find() == "here");
  CHECK(x.a.is_leader());
  CHECK(x.a.is_open);
  CHECK_FALSE(x.a.is_successor);
  CHECK(x.b.find() == "a:1");
  CHECK_FALSE(x.b.is_leader());
  CHECK(x.a.find() == "here");
}

TEST_CASE(
  "etcd leadership: a leader whose machine was suspended for longer than "
  "its lease decides nothing more",
  "[runtime]") {
  if (!etcd_server::is_here())
    return;
  auto x = rivals{600s};
  CHECK(x.a.find() == "here");
  x.a.asleep = 500s;
  CHECK(x.a.is_leader());
  x.a.asleep = 600s;
  CHECK_FALSE(x.a.is_leader());
}

TEST_CASE("etcd leadership: a lease counts from its request also on a machine "
          "that was suspended before",
          "[runtime]") {
  if (!etcd_server::is_here())
    return;
  auto x = rivals{};
  x.a.asleep = 1'000s;
  CHECK(x.a.find() == "here");
  CHECK(x.a.is_leader());
  x.a.asleep = 1'015s;
  CHECK_FALSE(x.a.is_leader());
}

TEST_CASE("etcd leadership: a candidate that resigns has a successor at once",
          "[runtime]") {
  if (!etcd_server::is_here())
    return;
  auto x = rivals{};
  CHECK(x.a.find() == "here");
  x.a.uut->stop();
  CHECK_FALSE(x.a.is_open);
  CHECK_FALSE(x.a.is_leader());
  CHECK(x.b.find() == "here");
  CHECK(x.b.is_successor);
}

TEST_CASE("etcd leadership: who was away for the end of the job learns of it, "
          "and who was no member begins the next",
          "[runtime]") {
  if (!etcd_server::is_here())
    return;
  auto x = rivals{};
  CHECK(x.a.find() == "here");
  CHECK(x.b.find() == "a:1");
  x.a.uut->resign(true);
  x.a.uut->stop();
  CHECK(x.b.find(true) == "job_over");
  CHECK_FALSE(x.b.is_open);
  auto next = candidate{x.server.port(), "c:1"};
  CHECK(next.find() == "here");
  CHECK_FALSE(next.is_successor);
  CHECK(x.b.find(true) == "c:1");
}

TEST_CASE("etcd leadership: a candidate that finds its coordinator's process "
          "gone takes over at once",
          "[runtime]") {
  if (!etcd_server::is_here())
    return;
  auto x = rivals{600s};
  CHECK(x.a.find() == "here");
  CHECK(x.b.find() == "a:1");
  // A killed process leaves in etcd what `a` has there now.
  auto answers = std::vector<etcd_leadership::answer>{};
  auto promise = std::promise<void>{};
  x.b.uut->seek(false, [&](const etcd_leadership::answer& y) {
    answers.push_back(y);
    if (answers.size() == 2)
      promise.set_value();
    else
      x.b.uut->report(
        core::endpoint_gone{{errc::coordinator_gone, "it has ended"}});
  });
  REQUIRE(promise.get_future().wait_for(timeout) == std::future_status::ready);
  CHECK(std::holds_alternative<etcd_leadership::here>(answers[1]));
  CHECK(x.b.is_successor);
}

TEST_CASE("etcd leadership: a candidate that loses its lease gives up the "
          "leadership, and its agent finds the next leader",
          "[runtime]") {
  if (!etcd_server::is_here())
    return;
  auto x = rivals{2s};
  CHECK(x.a.find() == "here");
  auto http = etcd_http::open({"127.0.0.1", x.server.port()}, {});
  REQUIRE(http);
  const auto deadline = etcd_http::clock::now() + timeout;
  const auto leases = (*http)->post("/v3/lease/leases", "{}", deadline);
  REQUIRE(leases);
  const auto begin = leases->body.find(R"("ID":")") + 6;
  const auto lease
    = leases->body.substr(begin, leases->body.find('"', begin) - begin);
  REQUIRE(
    (*http)->post("/v3/lease/revoke", R"({"ID":")" + lease + "\"}", deadline));
  CHECK(soon([&] { return !x.a.is_open; }));
  CHECK_FALSE(x.a.is_leader());
  CHECK(x.a.find() == "here");
  CHECK(x.a.is_successor);
}

TEST_CASE(
  "etcd leadership: while etcd is away no leader ends before its lease, "
  "and none continues longer",
  "[runtime]") {
  if (!etcd_server::is_here())
    return;
  auto x = rivals{3s};
  const auto begin = clock_type::now();
  CHECK(x.a.find() == "here");
  x.server.kill();
  CHECK(x.a.is_leader());
  CHECK(soon([&] { return !x.a.is_leader(); }));
  // Renewed at most once before etcd went away.
  CHECK(clock_type::now() - begin >= 2s);
  CHECK(clock_type::now() - begin <= 6s);
  CHECK(soon([&] { return !x.a.is_open; }));
  CHECK(x.a.find() == "etcd_unreachable");
}

TEST_CASE("etcd leadership: a restart of etcd is harmless", "[runtime]") {
  if (!etcd_server::is_here())
    return;
  auto x = rivals{3s};
  CHECK(x.a.find() == "here");
  x.server.kill();
  x.server.start();
  const auto begin = clock_type::now();
  // Longer than its lease would have lasted.
  CHECK(soon([&] { return clock_type::now() - begin > 4s || !x.a.is_open; }));
  CHECK(x.a.is_leader());
  CHECK(x.b.find() == "a:1");
}

TEST_CASE("etcd leadership: a coordinator that cannot be opened frees the "
          "leadership",
          "[runtime]") {
  if (!etcd_server::is_here())
    return;
  auto x = rivals{};
  x.a.cannot_open = true;
  CHECK(x.a.find() == "cannot_listen");
  CHECK(x.b.find() == "here");
}

TEST_CASE("etcd leadership: a candidate that always campaigns needs no agent, "
          "and follows an earlier leader",
          "[runtime]") {
  if (!etcd_server::is_here())
    return;
  const auto server = etcd_server{};
  auto a = candidate{server.port(), "a:1"};
  CHECK(a.find() == "here");
  auto b = candidate{server.port(), "b:1", true};
  a.uut->stop();
  CHECK(soon([&] { return b.is_leader() && b.is_open; }));
  CHECK(b.is_successor);
}

TEST_CASE("etcd leadership: its death is noticed", "[runtime]") {
  if (!etcd_server::is_here())
    return;
  auto x = rivals{};
  x.a.has_no_memory = true;
  x.a.uut->seek(false, [](const etcd_leadership::answer&) {});
  CHECK(soon([&] { return x.a.is_dead.load(); }));
  x.a.uut->stop(); // Waits for nothing that is gone.
}

TEST_CASE("etcd leadership: it ends in time even if etcd is mute",
          "[runtime]") {
  if (!etcd_server::is_here())
    return;
  auto x = rivals{};
  CHECK(x.a.find() == "here");
  ::kill(x.server.pid(), SIGSTOP);
  auto is_answered = std::atomic<bool>{false};
  x.a.uut->seek(false,
                [&](const etcd_leadership::answer&) { is_answered = true; });
  const auto begin = clock_type::now();
  x.a.uut->stop();
  CHECK(clock_type::now() - begin < resign_limit + 4s);
  ::kill(x.server.pid(), SIGCONT);
}

} // namespace actorrun::test::leadership_test
