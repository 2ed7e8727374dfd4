// Owns one client's connection to the store: its unread input and its unsent
// output.
#pragma once

#include "actors/core/store/table.hpp"
#include "runtime/os/unique_fd.hpp"

#include <cstddef>
#include <list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace actorrun::detail {

/// A client with so many bytes of output is not read until it has fetched them.
inline constexpr size_t store_output_max = size_t{64} * 1024;

/// At most this many bytes are sent to one client in a turn; then others have
/// their turn.
inline constexpr size_t store_turn_max = size_t{64} * 1024;

class store_link {
public:
  /// @param socket Non-blocking.
  /// @param charge For what is kept here; may have counted the link itself.
  store_link(unique_fd socket, core::store_charge charge)
    : socket_(std::move(socket)), charge_(std::move(charge)) {}

  int fd() const { return socket_.get(); }

  /// Reads input into `room`.
  /// @returns how much; 0: none now; none: the connection is over
  std::optional<size_t> read(std::span<char> room);

  /// Keeps input for later, when there is too much output.
  /// @returns false, and nothing is kept, if the store is full
  /// @pre nothing is kept
  bool keep(std::string_view input);

  /// @returns what has been kept, which goes from here
  std::string take_kept();

  bool has_kept() const { return !kept_.empty(); }

  /// @returns false if the store is full; the client cannot be answered
  bool add(core::send_reply reply);

  /// Sends what the system takes now, and one client gets in a turn.
  /// @returns false: the connection is over
  bool write();

  size_t output_size() const { return output_size_; }
  bool is_full() const { return output_size_ >= store_output_max; }

  /// The events of epoll, as last set.
  uint32_t watched = 0;

  /// There may be something to send, or to be read again.
  bool is_touched = false;

private:
  /// Bytes of our own, or shared ones.
  struct chunk {
    std::string text;
    std::optional<core::store_value> value;

    std::string_view bytes() const { return value ? value->bytes() : text; }
  };

  static size_t cost_of(const chunk& x);
  bool add_chunk();
  bool add_text(std::string_view text);
  bool add_value(core::store_value value);
  ssize_t send_some(size_t most);
  void sent(size_t size);

  unique_fd socket_;
  core::store_charge charge_; ///< For our own bytes; shared ones have theirs.
  std::string kept_;
  std::list<chunk> output_; ///< Most are empty, which costs nothing.
  size_t first_sent_ = 0;   ///< Of the first chunk.
  size_t output_size_ = 0;
};

} // namespace actorrun::detail
