#include "runtime/os/socket.hpp"
#include "runtime/os/socket_address.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/skip.hpp"

#include <algorithm>
#include <cctype>
#include <memory>

#include <ifaddrs.h>
#include <netinet/in.h>

namespace actorrun::test::socket_address_test {

using namespace actorrun::detail;

namespace {

std::string printed(const std::string& host, uint16_t port) {
  const auto x = numeric_address(host, port);
  return x ? to_string(*x) : "";
}

// The addresses at which others can reach this machine, as text.
std::vector<std::string> outward_addresses() {
  auto out = std::vector<std::string>{};
  ifaddrs* found = nullptr;
  if (::getifaddrs(&found) != 0)
    return out;
  for (auto* i = found; i; i = i->ifa_next) {
    if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET)
      continue;
    auto x = socket_address{};
    reinterpret_cast<sockaddr_in&>(x.storage)
      = reinterpret_cast<const sockaddr_in&>(*i->ifa_addr);
    x.size = sizeof(sockaddr_in);
    if (!is_loopback(x))
      out.push_back(host_of(x));
  }
  ::freeifaddrs(found);
  return out;
}

} // namespace

TEST_CASE("socket address: numbers are read and printed", "[runtime]") {
  CHECK(printed("10.0.0.1", 29'400) == "10.0.0.1:29400");
  CHECK(printed("::1", 1) == "[::1]:1");
  CHECK(printed("0:0:0:0:0:0:0:1", 65'535) == "[::1]:65535");
  CHECK(host_of(*numeric_address("10.0.0.1", 7)) == "10.0.0.1");
  CHECK(port_of(*numeric_address("::1", 7)) == 7);
  for (const auto* name : {"", "localhost", "10.0.0.256", "a b", "::g"})
    CHECK_FALSE(numeric_address(name, 1));
}

TEST_CASE("socket address: loopback is recognised in every spelling",
          "[runtime]") {
  for (const auto* host :
       {"127.0.0.1", "127.0.1.1", "127.255.0.9", "::1", "::ffff:127.0.0.1"})
    CHECK(is_loopback(*numeric_address(host, 0)));
  for (const auto* host :
       {"126.0.0.1", "128.0.0.1", "0.0.0.0", "::", "::2", "::ffff:10.0.0.1"})
    CHECK_FALSE(is_loopback(*numeric_address(host, 0)));
}

TEST_CASE("socket address: equal host and port make addresses equal",
          "[runtime]") {
  const auto x = *numeric_address("10.0.0.1", 1);
  CHECK(same_address(x, *numeric_address("10.0.0.1", 1)));
  CHECK_FALSE(same_address(x, *numeric_address("10.0.0.1", 2)));
  CHECK_FALSE(same_address(x, *numeric_address("10.0.0.2", 1)));
  CHECK_FALSE(same_address(x, *numeric_address("::ffff:10.0.0.1", 1)));
}

TEST_CASE("socket address: a Unix path has 1 to 107 characters", "[runtime]") {
  CHECK(to_string(*unix_address("/run/x.sock")) == "/run/x.sock");
  CHECK(unix_address(std::string(107, 'x')));
  CHECK(unix_address(std::string(108, 'x')).error().code
        == errc::cannot_listen);
  CHECK_FALSE(unix_address(""));
  CHECK(host_of(*unix_address("x")).empty());
  CHECK(port_of(*unix_address("x")) == 0);
}

TEST_CASE("socket address: names are resolved without duplicates",
          "[runtime]") {
  const auto found = resolve("localhost", 80);
  REQUIRE(found);
  CHECK(std::all_of(found->begin(), found->end(), is_loopback));
  for (size_t i = 0; i < found->size(); ++i)
    for (size_t k = 0; k < i; ++k)
      CHECK_FALSE(same_address((*found)[i], (*found)[k]));
  CHECK(port_of(found->front()) == 80);
}

TEST_CASE("socket address: a name without an address is reported",
          "[runtime]") {
  for (const std::string name : {"no-such-host.invalid", ""}) {
    const auto found = resolve(name, 80);
    REQUIRE_FALSE(found);
    CHECK(found.error().code == errc::unresolvable);
    CHECK(found.error().text.find("\"" + name + "\"") != std::string::npos);
    CHECK(listen_address(name, 80).error().code == errc::unresolvable);
  }
}

TEST_CASE("socket address: this host is recognised by its names and addresses",
          "[runtime]") {
  CHECK(names_this_host("localhost"));
  CHECK(names_this_host("LocalHost"));
  CHECK(names_this_host("127.0.0.1"));
  CHECK(names_this_host("127.0.1.1"));
  CHECK(names_this_host("::1"));
  CHECK(names_this_host(local_host_name()));
  for (const auto& host : outward_addresses())
    CHECK(names_this_host(host));
  CHECK(names_this_host("0.0.0.0"));
  CHECK(names_this_host("::"));
  CHECK_FALSE(names_this_host("192.0.2.1"));
  CHECK_FALSE(names_this_host("no-such-host.invalid"));
  CHECK_FALSE(names_this_host(""));
}

TEST_CASE("socket address: listening uses the given address", "[runtime]") {
  CHECK(to_string(*listen_address("127.0.0.1", 5)) == "127.0.0.1:5");
  CHECK(to_string(*listen_address("127.0.1.1", 5)) == "127.0.1.1:5");
  CHECK(to_string(*listen_address("::1", 5)) == "[::1]:5");
  CHECK(to_string(*listen_address("0.0.0.0", 5)) == "0.0.0.0:5");
  CHECK(is_loopback(*listen_address("localhost", 5)));
  // An address of another host; the listener reports it.
  CHECK(to_string(*listen_address("192.0.2.1", 5)) == "192.0.2.1:5");
}

TEST_CASE("socket address: a host name of loopback stands for all of loopback",
          "[runtime]") {
  const auto found = resolve(local_host_name(), 0);
  if (!found || local_host_name() == "localhost") {
    actorrun::test::skip("hostname", "this machine's own name has no address");
    return;
  }
  const auto where = listen_address(local_host_name(), 0);
  REQUIRE(where);
  if (std::all_of(found->begin(), found->end(), is_loopback)) {
    CHECK((host_of(*where) == "::" || host_of(*where) == "0.0.0.0"));
    // Of both families, where both exist.
    const auto fd = open_listening(*where);
    REQUIRE(fd);
    const auto port = port_of(*local_address_of(fd->get()));
    const auto client
      = unique_fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    const auto here = *numeric_address("127.0.0.1", port);
    CHECK(::connect(client.get(), here.get(), here.size) == 0);
  } else {
    CHECK_FALSE(is_loopback(*where));
  }
}

} // namespace actorrun::test::socket_address_test
