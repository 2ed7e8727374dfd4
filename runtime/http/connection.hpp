// Serves one HTTP client: reads its requests, and writes the answers as fast as it
// takes them.
#pragma once

#include "actors/core/time.hpp"
#include "runtime/http/reply.hpp"
#include "runtime/http/request.hpp"
#include "runtime/network/link_socket.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/os/unique_fd.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace actorrun::detail {

struct http_limits {
  /// At most this many clients are served; some more are told to come back, but for
  /// those that ask for the health.
  size_t client_count = 128;
  size_t refused_count = 32;
  size_t stream_count = 64; ///< Of the clients; ≥ 1.
  /// Timeout for a whole request.
  core::duration request = std::chrono::seconds{10};
  /// A client without a request for so long is cut.
  core::duration idle = std::chrono::seconds{75};
  /// Timeout for the client to take one answer, or one event.
  core::duration write = std::chrono::seconds{20};
  /// Timeout for the client to hang up after the last answer.
  core::duration linger = std::chrono::seconds{1};
};

/// How soon a client has to make room for another one.
enum class http_worth {
  idle,       ///< It waits for a request of which nothing has come.
  unfinished, ///< A request has not come in whole, or the last answer was taken.
  unread,     ///< It has not taken an answer for a while.
  served,     ///< It is not asked to.
};

using http_callback = std::function<void(http_reply)>;

/// Everything runs on the reactor's thread.
///
/// It holds at most one head of a request, one answer, which it shares with other
/// clients, and the newest event after that. So a client that reads nothing costs
/// a descriptor until its time is over.
class http_connection : public std::enable_shared_from_this<http_connection> {
public:
  struct owner {
    /// Calls the callback once, now or later.
    std::function<void(const http_request&, http_callback)> answer;
    /// Called once when the client has gone; may destroy the connection.
    std::function<void()> on_closed;
  };

  /// @param client Connected, non-blocking.
  http_connection(reactor& home, unique_fd client, const http_limits& limits,
                  owner whose);

  void start();

  /// Closes it without a word; `on_closed` is not called.
  void stop();

  http_worth worth(core::time_point now) const;

  bool is_stream() const { return is_stream_; }

  /// The beginning of its present step.
  core::time_point since() const { return since_; }

  /// Sends an event of a stream; one that waits is replaced.
  void push(const http_body& event);

private:
  enum class step { reading, waiting, writing, streaming, ending };

  void enter(step next, core::duration limit);
  void on_ready();
  void on_late();
  void read();
  void take_requests();
  void answer(const http_request& x);
  void write(http_reply x, bool keeps_alive, bool has_body);
  void flush();
  void on_written();
  void end();
  void close();
  bool receive(std::string* into);

  reactor& home_;
  unique_fd fd_;
  socket_watch watch_;
  const http_limits limits_;
  owner owner_;
  step now_ = step::reading;
  core::time_point since_{};
  reactor::timer deadline_ = 0;
  std::string input_;
  bool is_taking_ = false; ///< `take_requests` runs.
  uint64_t answer_count_ = 0;
  std::string head_;
  http_body body_;
  size_t written_ = 0; ///< Of both.
  bool keeps_alive_ = false;
  bool is_stream_ = false;
  http_body next_event_;
};

} // namespace actorrun::detail
