// A terminal that takes as much as a test allows.
#pragma once

#include "actors/ports/console.hpp"

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace actorrun::test {

class fake_console final : public ports::console {
public:
  bool offer(core::output_stream stream, std::string_view lines) override {
    auto& x = at(stream);
    ++x.offer_count;
    if (x.is_closed)
      return true;
    if (x.room == 0)
      return false;
    --x.room;
    x.text += lines;
    x.largest = std::max(x.largest, lines.size());
    return true;
  }

  void call_when_ready(core::output_stream stream,
                       std::function<void()> fn) override {
    at(stream).on_ready = std::move(fn);
  }

  bool is_closed(core::output_stream stream) const override {
    return streams_[size_t(stream)].is_closed;
  }

  // -- what a test sees -------------------------------------------------------

  /// What was written since the last call.
  std::string out() { return std::exchange(at(stdout_).text, {}); }
  std::string err() { return std::exchange(at(stderr_).text, {}); }

  size_t offer_count() const {
    return streams_[0].offer_count + streams_[1].offer_count;
  }

  /// Bytes of the largest batch.
  size_t largest() const {
    return std::max(streams_[0].largest, streams_[1].largest);
  }

  // -- what a test decides ----------------------------------------------------

  /// Takes `count` more batches, then none.
  void take_only(core::output_stream stream, size_t batch_count) {
    at(stream).room = batch_count;
  }

  /// Has room again, for a number of batches.
  void resume(core::output_stream stream, size_t batch_count = SIZE_MAX) {
    at(stream).room = batch_count;
    call(stream);
  }

  /// Closes the console: its reader is gone.
  void close(core::output_stream stream) {
    at(stream).is_closed = true;
    call(stream);
  }

private:
  static constexpr auto stdout_ = core::output_stream::out;
  static constexpr auto stderr_ = core::output_stream::err;

  struct state {
    std::string text;
    size_t room = SIZE_MAX; ///< Batches.
    size_t offer_count = 0;
    size_t largest = 0;
    bool is_closed = false;
    std::function<void()> on_ready;
  };

  state& at(core::output_stream stream) { return streams_[size_t(stream)]; }

  void call(core::output_stream stream) {
    if (auto fn = std::exchange(at(stream).on_ready, nullptr))
      fn();
  }

  std::array<state, 2> streams_;
};

} // namespace actorrun::test
