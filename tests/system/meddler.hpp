// Stands in the middle between agents and a coordinator, and passes on what they
// say: unchanged, or with a fault in it.
#pragma once

#include "runtime/os/unique_fd.hpp"

#include <atomic>
#include <cstdint>
#include <list>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace actorrun::test {

class meddler {
public:
  /// What it does to a byte, or to some in a row.
  enum class deed { change, drop, repeat, reorder };

  /// Listens on a port of its own on loopback.
  /// @param target A port on loopback: each connection gets one to there.
  meddler(uint16_t target, uint32_t seed);

  /// Cuts all connections.
  ~meddler();

  meddler(const meddler&) = delete;
  meddler& operator=(const meddler&) = delete;

  uint16_t port() const { return port_; }

  /// Does this once to each of the next `count` connections, somewhere in the first
  /// bytes of either direction.
  void meddle_with_greetings(deed what, uint32_t count);

  /// Does this once to the bytes that come next, in either direction.
  void meddle_now(deed what);

  /// Cuts the connections that there are; the next ones are made as before.
  void cut();

  /// So often it has been done, on all connections together.
  uint32_t done_count() const { return done_count_; }

private:
  struct plan {
    deed what = deed::change;
    bool to_target = false;
    size_t offset = 0;       ///< In the bytes of this direction that come next.
    bool is_for_any = false; ///< If this connection ends first, the next one.
  };

  /// One direction of a connection at a time is read.
  struct connection {
    detail::unique_fd from_agent;
    detail::unique_fd to_target;
    std::thread thread;
  };

  void accept_all();
  void pass_on_all(connection& x);
  bool pass_on(int from, int to, bool to_target, std::vector<plan>& plans);
  void meddle(std::string& bytes, bool to_target, std::vector<plan>& plans);
  void apply(deed what, std::string& bytes, size_t offset);
  std::vector<plan> plans_for_greeting();
  uint32_t any(uint32_t below);

  const uint16_t target_;
  uint16_t port_ = 0;
  detail::unique_fd listening_;
  std::mutex mutex_; ///< For what follows.
  std::mt19937 random_;
  std::list<connection> connections_;
  deed greeting_deed_ = deed::change;
  uint32_t greeting_count_ = 0;
  std::vector<plan> next_; ///< For the connection that speaks next.
  std::atomic<uint32_t> done_count_{0};
  std::thread accepting_; ///< The last member: it uses all others.
};

} // namespace actorrun::test
