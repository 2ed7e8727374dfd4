#include "runtime/etcd/locator.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::locator_test {

using namespace actorrun::detail;

namespace {

const auto elsewhere = endpoint{"192.0.2.1", 2'379};
const auto here = endpoint{"localhost", 2'379};

std::string place(const std::string& announced, const std::string& seen,
                  const endpoint& registry) {
  const auto x = coordinator_location_of(announced, seen, registry);
  return x ? x->host + " " + to_string(x->where)
           : std::string{to_string(x.error().code)};
}

} // namespace

TEST_CASE("etcd locator: a coordinator listens where etcd sees its host",
          "[runtime]") {
  CHECK(place("", "10.0.0.1", elsewhere) == "10.0.0.1 10.0.0.1:0");
  CHECK(place("", "::1", here) == "::1 [::1]:0");
}

TEST_CASE("etcd locator: an address given by the user comes first",
          "[runtime]") {
  CHECK(place("127.0.0.2", "10.0.0.1", elsewhere) == "127.0.0.2 127.0.0.2:0");
  CHECK(place("no.such.host.invalid", "10.0.0.1", elsewhere) == "unresolvable");
}

TEST_CASE("etcd locator: next to etcd, loopback is for jobs of this host",
          "[runtime]") {
  CHECK(place("", "127.0.0.1", here) == "127.0.0.1 127.0.0.1:0");
  CHECK(place("", "127.0.0.1", {"127.0.0.1", 1}) == "127.0.0.1 127.0.0.1:0");
  // Other hosts know this host by the name that they use for etcd.
  const auto name = local_host_name();
  CHECK(place("", "127.0.0.1", {name, 1}).starts_with(name + " "));
}

TEST_CASE("etcd locator: without any address it cannot listen", "[runtime]") {
  CHECK(place("", "", elsewhere) == "cannot_listen");
}

TEST_CASE("etcd locator: endpoints are read as they are written", "[runtime]") {
  for (const auto& x :
       {endpoint{"10.0.0.1", 1}, endpoint{"fe80::1%eth0", 65'535},
        endpoint{"node-1.example", 4'000}}) {
    const auto y = endpoint_of(to_string(x));
    REQUIRE(y);
    CHECK(*y == x);
  }
}

TEST_CASE("etcd locator: other texts than endpoints are refused", "[runtime]") {
  for (const auto* text : {"", ":", "host", "host:", "host:0", "host:65536",
                           "host:1x", ":1", "ho st:1", "[]:1", "host:-1"}) {
    INFO(text);
    const auto x = endpoint_of(text);
    REQUIRE_FALSE(x);
    CHECK(x.error().code == errc::not_actorrun);
  }
  const auto rude = endpoint_of("\x1b[2J" + std::string(9'000, 'x'));
  CHECK(rude.error().text.size() < 200);
  CHECK(rude.error().text.find('\x1b') == std::string::npos);
}

} // namespace actorrun::test::locator_test
