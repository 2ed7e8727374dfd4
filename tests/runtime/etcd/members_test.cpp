// Runs the member list against servers of no cluster, and against a real
// cluster.
#include "runtime/etcd/client.hpp"
#include "runtime/network/frames.hpp"
#include "tests/runtime/etcd/etcd_server.hpp"
#include "tests/runtime/etcd/http_parrot.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::members_test {

using namespace actorrun::detail;
using namespace actorrun::detail::test_http;
using namespace std::chrono_literals;

namespace {

using clock = etcd_members::clock;

/// An endpoint without a listener.
uint16_t closed_port() {
  return mute_server{}.port();
}

std::unique_ptr<etcd_members> members_at(const std::vector<uint16_t>& ports) {
  auto where = std::vector<endpoint>{};
  for (const auto port : ports)
    where.push_back({"127.0.0.1", port});
  auto x = etcd_members::open(std::move(where), {}, {});
  REQUIRE(x);
  return std::move(*x);
}

result<http_answer> ask(etcd_members& whom, clock::duration limit = 20s) {
  return whom.post("/v3/x", "{}", clock::now() + limit);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("etcd members: the first that answers is asked first from then on",
          "[runtime]") {
  const auto good = parrot{http("200 OK", R"({"a":1})")};
  const auto uut = members_at({closed_port(), good.port()});
  CHECK(uut->link().member.port != good.port());
  const auto x = ask(*uut);
  REQUIRE(x);
  CHECK(x->body == R"({"a":1})");
  CHECK(uut->link().member.port == good.port());
  CHECK(uut->link().local_address == "127.0.0.1");
}

TEST_CASE("etcd members: a mute member costs its share of the time",
          "[runtime]") {
  const auto mute = mute_server{};
  const auto good = parrot{http("200 OK", "{}")};
  const auto uut = members_at({mute.port(), good.port()});
  const auto begin = clock::now();
  CHECK(ask(*uut, 1s));
  CHECK(clock::now() - begin >= 500ms);
  CHECK(clock::now() - begin < 1s);
}

TEST_CASE(
  "etcd members: a member that is cut off from its cluster does not count",
  "[runtime]") {
  const auto cut
    = parrot{http("503 Service Unavailable",
                  R"({"error":"etcdserver: request timed out","code":14})")};
  SECTION("while another member answers") {
    const auto good = parrot{http("200 OK", "{}")};
    const auto uut = members_at({cut.port(), good.port()});
    CHECK(ask(*uut)->status == 200);
  }
  SECTION("even if it is the only member") {
    const auto x = ask(*members_at({cut.port()}));
    REQUIRE_FALSE(x);
    CHECK(x.error().code == errc::etcd_unreachable);
    CHECK(has(x.error().text, "out of reach of its cluster"));
  }
}

TEST_CASE("etcd members: after a refusal no other member is asked",
          "[runtime]") {
  const auto other = closed_port();
  const auto no = parrot{http("403 Forbidden", R"({"error":"no","code":7})")};
  const auto uut = members_at({no.port(), other});
  const auto x = ask(*uut);
  REQUIRE(x);
  CHECK(x->status == 403);
}

TEST_CASE("etcd members: a coordinator of actorrun is no etcd", "[runtime]") {
  const auto ours = parrot{std::string{not_etcd}};
  auto ports = std::vector{ours.port()};
  auto expected = errc::settings_mismatch;
  SECTION("a single member") {}
  SECTION("another member may answer") {
    ports.push_back(closed_port());
    expected = errc::etcd_unreachable;
  }
  const auto x = ask(*members_at(ports));
  REQUIRE_FALSE(x);
  CHECK(x.error().code == expected);
  CHECK(has(x.error().text, "a coordinator of actorrun listens"));
}

TEST_CASE("etcd members: when none answers, all are named", "[runtime]") {
  const auto a = closed_port();
  const auto b = closed_port();
  const auto x = ask(*members_at({a, b}));
  REQUIRE_FALSE(x);
  CHECK(x.error().code == errc::etcd_unreachable);
  CHECK(has(x.error().text, ":" + std::to_string(a)));
  CHECK(has(x.error().text, ":" + std::to_string(b)));
}

TEST_CASE("etcd members: a hurried caller waits for none of them",
          "[runtime]") {
  const auto mute = mute_server{};
  const auto uut = members_at({mute.port(), mute.port()});
  uut->hurry(clock::now());
  const auto begin = clock::now();
  CHECK_FALSE(ask(*uut, 60s));
  CHECK(clock::now() - begin < 10s);
}

TEST_CASE("etcd members: a leadership outlives any one member", "[runtime]") {
  if (!etcd_server::is_here())
    return;
  auto cluster = etcd_cluster{};
  auto options = etcd_options{};
  for (auto i = 1; i < 3; ++i)
    options.more_members.push_back({"127.0.0.1", cluster.member(i).port()});
  const auto soon = [] { return clock::now() + 20s; };
  const auto uut = etcd_client::open({"127.0.0.1", cluster.member(0).port()},
                                     options, {"job"});
  REQUIRE(uut);
  const auto lease = (*uut)->open_lease(15s, soon());
  REQUIRE(lease);
  REQUIRE((*uut)->campaign({lease->lease, 0, 0}, soon()));
  cluster.member(0).kill();
  const auto renewed = (*uut)->renew(lease->lease, soon());
  REQUIRE(renewed);
  CHECK(*renewed == core::duration{15s});
  CHECK((*uut)->read(soon()));
  // One member of three cannot know the state.
  cluster.member(1).kill();
  const auto x = (*uut)->read(clock::now() + 2s);
  REQUIRE_FALSE(x);
  CHECK(x.error().code == errc::etcd_unreachable);
}

} // namespace actorrun::test::members_test
