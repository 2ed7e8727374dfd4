// Shared by the tests of listeners: an inbox with a deadline, and plain
// blocking sockets for unauthenticated peers.
#pragma once

#include "runtime/network/connector.hpp"
#include "runtime/network/listener.hpp"
#include "runtime/network/liveness.hpp"
#include "runtime/os/socket.hpp"
#include "tests/support/catch.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace actorrun::detail::test {

using namespace std::chrono_literals;

/// No event of these tests takes longer than this, on any machine.
inline constexpr auto timeout = std::chrono::seconds{20};

/// Takes items on one thread and returns them on another.
template <class T>
class inbox {
public:
  void put(T x) {
    const auto lock = std::lock_guard{mutex_};
    items_.push_back(std::move(x));
    arrived_.notify_one();
  }

  /// The oldest item; none if `wait` passes without one.
  std::optional<T> take(std::chrono::milliseconds wait = timeout) {
    auto lock = std::unique_lock{mutex_};
    if (!arrived_.wait_for(lock, wait, [this] { return !items_.empty(); }))
      return std::nullopt;
    auto out = std::optional<T>{std::move(items_.front())};
    items_.pop_front();
    return out;
  }

  size_t size() {
    const auto lock = std::lock_guard{mutex_};
    return items_.size();
  }

private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<T> items_;
};

struct pending_peer {
  unique_fd connection;
  peer who;
};

inline bool is_ready(int fd, short events,
                     std::chrono::milliseconds wait = timeout) {
  auto entry = pollfd{fd, events, 0};
  return ::poll(&entry, 1, static_cast<int>(wait.count())) == 1;
}

/// Connects and waits for the result; empty if it is refused.
inline unique_fd connect_to(const socket_address& where) {
  auto fd = unique_fd{::socket(where.family(), SOCK_STREAM | SOCK_CLOEXEC, 0)};
  if (::connect(fd.get(), where.get(), where.size) != 0)
    fd.reset();
  return fd;
}

/// Reads until `size` bytes have arrived or the other side closes.
inline std::string read_up_to(int fd, size_t size) {
  auto out = std::string{};
  auto buffer = std::array<char, 512>{};
  while (out.size() < size && is_ready(fd, POLLIN)) {
    const auto got
      = ::recv(fd, buffer.data(), std::min(buffer.size(), size - out.size()),
               MSG_DONTWAIT);
    if (got <= 0)
      break;
    out.append(buffer.data(), static_cast<size_t>(got));
  }
  return out;
}

/// Whether the other side closes before the timeout; bytes before that are
/// dropped.
inline bool is_closed(int fd) {
  auto buffer = std::array<char, 512>{};
  while (is_ready(fd, POLLIN)) {
    const auto got = ::recv(fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN))
      return true;
  }
  return false;
}

inline socket_address loopback(uint16_t port) {
  return *numeric_address("127.0.0.1", port);
}

inline client_identity an_agent(const std::string& job = "job",
                                const std::string& secret = "secret") {
  return {credentials_of(job_id{job}, secret), purpose::join, "n1-7-0badcafe"};
}

/// A foreign server: takes one connection, reads a hello, sends a given answer,
/// and closes or keeps the connection.
class other_server {
public:
  other_server(std::string answer, bool hold, bool reads = true)
    : socket_(std::move(*open_listening(loopback(0)))),
      thread_([this, answer = std::move(answer), hold, reads] {
        if (!is_ready(socket_.get(), POLLIN))
          return;
        line_.reset(::accept(socket_.get(), nullptr, nullptr));
        if (reads)
          read_up_to(line_.get(), client_hello_size);
        send_whole(line_.get(), answer);
        if (!hold)
          line_.reset();
      }) {}

  ~other_server() { thread_.join(); }

  uint16_t port() const { return port_of(*local_address_of(socket_.get())); }

private:
  unique_fd socket_;
  unique_fd line_;
  std::thread thread_;
};

/// Its queue is full, so the system drops further connects, like a host that is
/// gone or a firewall.
class deaf_server {
public:
  deaf_server() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const auto anywhere = loopback(0);
    REQUIRE(::bind(socket_.get(), anywhere.get(), anywhere.size) == 0);
    REQUIRE(::listen(socket_.get(), 0) == 0);
    for (auto full = false; !full;) {
      REQUIRE(queue_.size() < 100);
      auto& fd = queue_.emplace_back(
        ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      ::connect(fd.get(), address().get(), address().size);
      full = !is_ready(fd.get(), POLLOUT, 50ms);
    }
  }

  socket_address address() const { return *local_address_of(socket_.get()); }

private:
  unique_fd socket_;
  std::vector<unique_fd> queue_;
};

/// A reactor, and the peers and failures of one listener.
struct listener_fixture {
  // Outlive the reactor, whose last tasks still use them.
  inbox<pending_peer> peers;
  inbox<rejection_report> reports;
  inbox<std::shared_ptr<result<connected>>> outcomes;
  reactor loop;

  listener_callbacks callbacks() {
    return {[this](unique_fd fd, peer who) {
              peers.put({std::move(fd), std::move(who)});
            },
            [this](const rejection_report& x) { reports.put(x); }};
  }

  listener listen(const listener_limits& limits = {}) {
    auto out = listener::listen(loop, loopback(0), an_agent().mine, callbacks(),
                                limits);
    return std::move(*out);
  }

  connect_callback on_outcome() {
    return [this](result<connected> x) {
      outcomes.put(std::make_shared<result<connected>>(std::move(x)));
    };
  }

  /// The result of an attempt to connect; null if there is none.
  std::shared_ptr<result<connected>>
  try_to_enter(uint16_t port, const client_identity& who = an_agent(),
               const std::string& host = "127.0.0.1",
               core::duration deadline = timeout) {
    const auto attempt
      = connect(loop, endpoint{host, port}, who, deadline, on_outcome());
    return outcomes.take().value_or(nullptr);
  }

  /// The code of a failed attempt; `none` if it succeeds.
  errc refusal(uint16_t port, const client_identity& who = an_agent()) {
    const auto outcome = try_to_enter(port, who);
    return outcome && !*outcome ? outcome->error().code : errc::none;
  }
};

} // namespace actorrun::detail::test
