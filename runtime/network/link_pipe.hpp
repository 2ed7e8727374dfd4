// Carries bytes between the two threads of a link, without a descriptor.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace actorrun::detail {

/// One end of a pipe that takes bytes in both directions. The other end may be used
/// by another thread at the same time. Its destructor closes it; what was written
/// before that can still be taken.
class pipe_end {
public:
  /// Two ends that belong together.
  static std::pair<pipe_end, pipe_end> open();

  pipe_end() = default;
  pipe_end(pipe_end&&) noexcept = default;
  pipe_end& operator=(pipe_end&& other) noexcept;
  ~pipe_end() { close(); }

  /// Calls `fn` when there are bytes to take, when the other end was closed, or when
  /// there is the room that `has_room` has missed. Then not again before `take`.
  /// @param fn Called by any thread and under a lock: it may wake up another thread,
  /// and no more.
  void on_change(std::function<void()> fn);

  /// There is no limit: who writes asks `has_room`. Lost if the other end is closed.
  void write(std::string_view bytes);

  /// @returns all bytes that are there
  std::string take();

  /// Whether fewer than `limit` bytes wait for the other end. If not, `on_change`
  /// tells when it has taken them.
  bool has_room(size_t limit);

  /// The other end is closed, and nothing is left to take.
  bool is_over() const;

  void close();

private:
  struct state;

  pipe_end(std::shared_ptr<state> x, size_t mine)
    : state_(std::move(x)), mine_(mine) {}

  std::shared_ptr<state> state_{}; ///< Null: it is closed.
  size_t mine_ = 0;
};

} // namespace actorrun::detail
