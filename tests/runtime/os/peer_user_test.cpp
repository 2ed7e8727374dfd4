#include "runtime/os/peer_user.hpp"
#include "tests/runtime/network/listener_fixture.hpp"
#include "tests/support/catch.hpp"

#include <sys/wait.h>
#include <unistd.h>

namespace actorrun::test::peer_user_test {

using namespace actorrun::detail;
using namespace actorrun::detail::test;

namespace {

unique_fd accept_from(int listening) {
  REQUIRE(is_ready(listening, POLLIN));
  return unique_fd{::accept(listening, nullptr, nullptr)};
}

} // namespace

TEST_CASE(
  "peer_user: a connection within this machine has an owner at its other "
  "end",
  "[runtime]") {
  const auto* const host = GENERATE("127.0.0.1", "::1");
  auto socket = open_listening(*numeric_address(host, 0));
  if (!socket) {
    WARN("not checked: this machine has no " << host);
    return;
  }
  const auto mine = connect_to(*local_address_of(socket->get()));
  const auto theirs = accept_from(socket->get());
  CHECK(user_of_peer(theirs.get()) == ::geteuid());
  CHECK(user_of_peer(mine.get()) == ::geteuid());
}

TEST_CASE("peer_user: the owner of an IPv4 connection to a socket of both "
          "families is found",
          "[runtime]") {
  auto socket = open_listening(*numeric_address("::", 0));
  if (!socket) {
    WARN("not checked: this machine has no IPv6");
    return;
  }
  const auto mine
    = connect_to(loopback(port_of(*local_address_of(socket->get()))));
  const auto theirs = accept_from(socket->get());
  CHECK(user_of_peer(theirs.get()) == ::geteuid());
  CHECK(user_of_peer(mine.get()) == ::geteuid());
}

TEST_CASE("peer_user: an end that no process has belongs to no user",
          "[runtime]") {
  auto socket = open_listening(loopback(0));
  REQUIRE(socket);
  auto mine = connect_to(*local_address_of(socket->get()));
  CHECK(user_of_peer(mine.get()) == no_user); // It is not accepted yet.
  const auto theirs = accept_from(socket->get());
  CHECK(user_of_peer(mine.get()) == ::geteuid());
  mine.reset();
  CHECK(user_of_peer(theirs.get()) == no_user);
  CHECK_FALSE(is_trusted(no_user));
}

// The question needs the names of two ends only: a UDP socket has those of a
// connection that this host does not know, without a packet.
TEST_CASE("peer_user: a socket that listens on the peer's port is not the peer",
          "[runtime]") {
  const auto [wildcard, host, elsewhere]
    = GENERATE(table<const char*, const char*, const char*>(
      {{"0.0.0.0", "127.0.0.1", "127.0.0.2"},
       {"::", "127.0.0.1", "127.0.0.2"},
       {"::", "::1", "::1"}}));
  const auto socket = open_listening(*numeric_address(wildcard, 0));
  if (!socket) {
    WARN("not checked: this machine has no " << wildcard);
    return;
  }
  const auto here = *numeric_address(host, 0);
  const auto there
    = *numeric_address(elsewhere, port_of(*local_address_of(socket->get())));
  const auto fd = unique_fd{::socket(here.family(), SOCK_DGRAM, 0)};
  REQUIRE(::bind(fd.get(), here.get(), here.size) == 0);
  REQUIRE(::connect(fd.get(), there.get(), there.size) == 0);
  CHECK_FALSE(user_of_peer(fd.get()));
}

TEST_CASE("peer_user: a process of another user is one", "[runtime]") {
  if (::geteuid() != 0) {
    WARN("not checked: only root can start a process of another user");
    return;
  }
  constexpr auto another = uid_t{65'533};
  auto socket = open_listening(loopback(0));
  REQUIRE(socket);
  const auto where = *local_address_of(socket->get());
  int pipe_ends[2];
  REQUIRE(::pipe(pipe_ends) == 0);
  const auto child = ::fork();
  if (child == 0) {
    if (::setuid(another) != 0)
      ::_exit(1);
    const auto fd = ::socket(AF_INET, SOCK_STREAM, 0);
    ::connect(fd, where.get(), where.size);
    ::close(pipe_ends[1]);
    char byte = 0;
    ::_exit(::read(pipe_ends[0], &byte, 1) == 1 ? 0 : 2);
  }
  ::close(pipe_ends[0]);
  const auto held = unique_fd{pipe_ends[1]};
  const auto theirs = accept_from(socket->get());
  CHECK(user_of_peer(theirs.get()) == another);
  CHECK_FALSE(is_trusted(another));
  CHECK(is_trusted(0));
  CHECK(is_trusted(::geteuid()));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST_CASE("peer_user: what is no connection has none", "[runtime]") {
  int fds[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
  CHECK_FALSE(user_of_peer(fds[0]));
  ::close(fds[0]);
  ::close(fds[1]);
  CHECK_FALSE(user_of_peer(-1));
}

} // namespace actorrun::test::peer_user_test
