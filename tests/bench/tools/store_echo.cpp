// The limit of every store: sends answers as long as a store's, from one thread
// and one epoll, without keeping keys. Runs `store_load` and its arguments with
// MASTER_ADDR and MASTER_PORT set.
//
//     store_echo PROGRAM [ARGUMENTS…]

#include "tests/bench/tools/store_protocol.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace actorrun::bench::store_protocol;

constexpr auto backlog = 4'096;
constexpr auto events_max = 256;

/// Clients whose WAIT is not answered before that key is set.
std::vector<int> waiting;

void answer(int fd, size_t size) {
  static const auto bytes = [] {
    auto out = number(value_size);
    return out + std::string(value_size, 'v');
  }();
  ::send(fd, bytes.data(), size, MSG_NOSIGNAL);
}

void answer_waiting() {
  for (const auto fd : waiting)
    answer(fd, 1);
  waiting.clear();
}

// The load waits for the answer before each next request, except after SET, and
// sends SETs only with a single client; so a request begins the bytes.
void serve(int fd, std::string_view bytes) {
  switch (opcode{bytes.front()}) {
    case opcode::get:
      return answer(fd, number_size + value_size);
    case opcode::add:
      return answer(fd, number_size);
    case opcode::wait:
      if (bytes.find(late_key) == bytes.npos)
        return answer(fd, 1);
      return waiting.push_back(fd);
    default:
      // The values of many SETs, and the ADD after the last of them.
      if (bytes.find(count_key) != bytes.npos)
        answer(fd, number_size);
      if (bytes.find(late_key) != bytes.npos)
        answer_waiting();
  }
}

void accept_one(int epoll, int listener) {
  const auto fd = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK);
  auto event = epoll_event{.events = EPOLLIN, .data = {.fd = fd}};
  if (fd >= 0)
    ::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

// Runs until `end` can be read. On one thread: with several, the system takes
// milliseconds to enlarge the table of descriptors.
void serve_until(int end, int listener) {
  const auto epoll = ::epoll_create1(EPOLL_CLOEXEC);
  for (const auto fd : {end, listener}) {
    auto event = epoll_event{.events = EPOLLIN, .data = {.fd = fd}};
    ::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
  }
  auto events = std::array<epoll_event, events_max>{};
  auto room = std::array<char, 65'536>{};
  for (;;) {
    const auto count = ::epoll_wait(epoll, events.data(), events_max, -1);
    for (auto i = 0; i < count; ++i) {
      const auto fd = events[size_t(i)].data.fd;
      if (fd == end)
        return;
      if (fd == listener) {
        accept_one(epoll, listener);
        continue;
      }
      const auto got = ::recv(fd, room.data(), room.size(), 0);
      if (got > 0)
        serve(fd, {room.data(), size_t(got)});
      else if (got == 0 || errno != EAGAIN)
        ::close(fd);
    }
  }
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 2)
    return 2;
  const auto listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  auto where = sockaddr_in{};
  where.sin_family = AF_INET;
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto size = socklen_t{sizeof where};
  const auto on = 1;
  ::setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  auto* address = reinterpret_cast<sockaddr*>(&where);
  if (::bind(listener, address, size) != 0 || ::listen(listener, backlog) != 0
      || ::getsockname(listener, address, &size) != 0)
    return EXIT_FAILURE;
  ::setenv("MASTER_ADDR", "127.0.0.1", 1);
  ::setenv("MASTER_PORT", std::to_string(ntohs(where.sin_port)).c_str(), 1);
  const auto load = ::fork();
  if (load == 0) {
    ::execv(argv[1], argv + 1);
    ::_exit(EXIT_FAILURE);
  }
  serve_until(static_cast<int>(::syscall(SYS_pidfd_open, load, 0)), listener);
  auto status = 0;
  ::waitpid(load, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}
