#include "actors/core/store/cost.hpp"
#include "runtime/store/link.hpp"
#include "tests/support/catch.hpp"

#include <array>
#include <memory>
#include <string>
#include <thread>

#include <fcntl.h>
#include <sys/socket.h>

namespace actorrun::test::link_test {

using namespace actorrun::detail;

namespace {

/// A link, and the other end of its connection.
struct fixture {
  explicit fixture(size_t memory_max = size_t{1} << 30)
    : budget(std::make_shared<core::store_budget>(memory_max)) {
    auto ends = std::array<int, 2>{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data())
            == 0);
    far = unique_fd{ends[0]};
    REQUIRE(::fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0);
    uut = std::make_unique<store_link>(unique_fd{ends[1]},
                                       core::store_charge{budget});
  }

  static core::send_reply reply(std::string head) {
    return {.client = {2}, .head = std::move(head)};
  }

  /// The size of a value that is not copied.
  core::send_reply large_reply(size_t size) const {
    auto value = core::store_value::make(budget, std::string(size, 'v'));
    REQUIRE(value);
    auto out = reply({});
    out.values.push_back(std::move(*value));
    return out;
  }

  std::string fetch(size_t size) const {
    auto out = std::string(size, '\0');
    const auto got = ::recv(far.get(), out.data(), size, MSG_WAITALL);
    REQUIRE(got == static_cast<ssize_t>(size));
    return out;
  }

  std::shared_ptr<core::store_budget> budget;
  unique_fd far;
  std::unique_ptr<store_link> uut;
};

} // namespace

TEST_CASE_METHOD(fixture, "store_link: replies go out in their order",
                 "[runtime]") {
  auto value = core::store_value::make(budget, "value");
  auto x = reply("head");
  x.values.push_back(*value);
  x.tail = *value;
  CHECK(uut->add(std::move(x)));
  CHECK(uut->add(reply("next")));
  CHECK(uut->write());
  CHECK(uut->output_size() == 0);
  CHECK(fetch(26) == std::string{"head\5\0\0\0\0\0\0\0valuevaluenext", 26});
}

TEST_CASE("store_link: unread replies count, up to the limit", "[runtime]") {
  constexpr auto text = core::block_cost(401);
  constexpr auto kept = core::block_cost(601);
  constexpr auto max = size_t{1'200};
  auto x = fixture{max};
  CHECK(x.budget->used() == 0);
  CHECK(x.uut->add(fixture::reply(std::string(400, 'r'))));
  const auto added = x.budget->used();
  CHECK(added > text); // What refers to it counts.
  CHECK(added < text + 128);
  CHECK(x.uut->keep(std::string(600, 'k')));
  CHECK(x.budget->used() == added + kept);
  CHECK(!x.uut->add(fixture::reply(std::string(100, 'r'))));
  CHECK(x.uut->take_kept().size() == 600);
  CHECK(x.budget->used() == added);
  CHECK(!x.uut->keep(std::string(max - added, 'k')));
  CHECK(!x.uut->has_kept());
  CHECK(x.uut->write());
  CHECK(x.budget->used() == 0);
}

TEST_CASE("store_link: a reply that refers to a value counts", "[runtime]") {
  auto x = fixture{};
  CHECK(x.uut->add(fixture::reply(std::string(store_output_max, 'r'))));
  const auto first = x.budget->used();
  const auto value = core::store_value::make(x.budget, std::string(50, 'v'));
  const auto shared = x.budget->used() - first;
  auto many = fixture::reply({});
  many.values.assign(100, *value);
  CHECK(x.uut->add(std::move(many)));
  // Twice a place in a list, for the length and for the value.
  CHECK(x.budget->used() - first - shared >= 100 * 2 * 64);
  auto little = fixture{x.budget->used() - 1};
  CHECK(little.uut->add(fixture::reply(std::string(store_output_max, 'r'))));
  const auto same
    = core::store_value::make(little.budget, std::string(50, 'v'));
  auto too_many = fixture::reply({});
  too_many.values.assign(100, *same);
  CHECK(!little.uut->add(std::move(too_many)));
}

TEST_CASE_METHOD(fixture,
                 "store_link: replies to a closed connection do not count",
                 "[runtime]") {
  CHECK(uut->add(reply("r")));
  CHECK(uut->add(large_reply(100'000)));
  CHECK(uut->keep("k"));
  CHECK(budget->used() > 100'000);
  uut.reset();
  CHECK(budget->used() == 0);
}

TEST_CASE_METHOD(fixture, "store_link: is full at the maximum size, not before",
                 "[runtime]") {
  CHECK(uut->add(reply(std::string(store_output_max - 1, 'r'))));
  CHECK(!uut->is_full());
  CHECK(uut->add(reply("r")));
  CHECK(uut->is_full());
}

// However fast the client reads.
TEST_CASE_METHOD(fixture, "store_link: gives a client at most one turn at once",
                 "[runtime]") {
  constexpr auto size = 8 * store_turn_max;
  CHECK(uut->add(large_reply(size)));
  const auto total = uut->output_size();
  auto reader = std::thread{[&] {
    auto room = std::string(total, '\0');
    ::recv(far.get(), room.data(), total, MSG_WAITALL);
  }};
  auto most = size_t{0};
  auto is_alive = true;
  while (is_alive && uut->output_size() > 0) {
    const auto before = uut->output_size();
    is_alive = uut->write();
    most = std::max(most, before - uut->output_size());
  }
  reader.join();
  CHECK(is_alive);
  CHECK(most > 0);
  CHECK(most <= store_turn_max);
  CHECK(budget->used() == 0);
}

TEST_CASE_METHOD(fixture, "store_link: reports the end of the connection",
                 "[runtime]") {
  auto room = std::array<char, 4>{};
  CHECK(uut->read(room) == size_t{0});
  REQUIRE(::send(far.get(), "abc", 3, 0) == 3);
  CHECK(uut->read(room) == size_t{3});
  far.reset();
  CHECK(uut->read(room) == std::nullopt);
  CHECK(uut->add(reply("r")));
  CHECK(!uut->write());
}

} // namespace actorrun::test::link_test
