// Reads and writes one end of a link: encrypts, where there is a key, and keeps
// what the other side has not taken yet.
#pragma once

#include "messages/result.hpp"
#include "runtime/network/keys.hpp"
#include "runtime/network/link_side.hpp"
#include "runtime/network/tls_session.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/os/unique_fd.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace actorrun::detail {

/// Timeout for both sides to agree on the encryption, which takes one round trip.
inline constexpr auto encryption_limit = std::chrono::seconds{2};

/// What is wrong with the other side after that time, as a verb and its object.
failure late_encryption();

/// A non-blocking socket. Knows no clock and waits for nothing.
class link_socket {
public:
  /// What a read has brought.
  enum class progress { some, none, ended };

  /// In clear text.
  explicit link_socket(unique_fd fd) : fd_(std::move(fd)) {}

  /// @param key None: in clear text.
  link_socket(unique_fd fd, link_side mine, const std::optional<link_key>& key,
              const tls_trust& trust);

  bool is_closed() const { return !fd_; }
  int fd() const { return fd_.get(); }

  /// Whether `send` can be called: both sides agree on the encryption.
  bool is_open() const { return !session_ || session_->is_open(); }

  /// Reads once, a bounded piece, and appends the plain text to `plain`.
  /// @returns `ended`: nothing follows what has been appended; a failure: see
  ///          `tls_session::receive`, and nothing more can be sent
  result<progress> receive(std::string& plain);

  /// Appends to what waits for `flush`. @pre `is_open()`
  result<void> send(std::string_view plain);

  /// Writes what the other side takes at once.
  /// @returns whether there is another side
  bool flush();

  /// The bytes that wait.
  size_t unsent() const { return waiting_.size(); }

  /// Tells the other side that nothing more comes, as far as it takes that at
  /// once.
  void say_end();

  /// The caller closes it.
  unique_fd take_fd() { return std::exchange(fd_, {}); }

  /// None: in clear text.
  const std::optional<tls_session>& session() const { return session_; }

private:
  void take_records();

  unique_fd fd_;
  std::string waiting_;
  std::optional<tls_session> session_;
};

/// Waits for events at a descriptor, and not at all while there is none to wait
/// for: one whose other end is closed would wake up the reactor all the time.
class socket_watch {
public:
  /// @pre `home` outlives this, and `fd` stays open until `end`
  socket_watch(reactor& home, int fd, reactor::handler on_ready)
    : home_(home), fd_(fd), on_ready_(std::move(on_ready)) {}

  /// On the reactor's thread, as the next one.
  void expect(bool input, bool output);
  void end() { expect(false, false); }

private:
  reactor& home_;
  int fd_;
  reactor::handler on_ready_;
  uint32_t events_ = 0; ///< 0: it is not watched.
};

} // namespace actorrun::detail
