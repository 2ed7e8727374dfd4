// Reads log files of one node for the coordinator and for operators of its host.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/ports/log_reader.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

namespace actorrun {

/// Knows for whom the log reader reads. Its owner is an actor, which gets what was
/// read as `log_lines_read`.
class node_readings {
public:
  /// Whose reading it is: an operator's session, or 0 for the coordinator; and
  /// their own number for it.
  using key = std::pair<uint64_t, uint64_t>;

  /// Gets the lines, in order.
  using sink = std::function<void(v1::LogChunk)>;

  /// @param reader  May be null: there are no log files.
  /// @param deliver Brings lines to the owner; on any thread.
  node_readings(std::shared_ptr<ports::log_reader> reader,
                std::function<void(log_lines_read)> deliver)
    : reader_(std::move(reader)), deliver_(std::move(deliver)) {}

  /// Begins a reading; one that cannot be begun ends with a reason.
  /// @param credit In bytes; too little for one line is fitted, as is too much.
  void begin(const key& whose, core::log_selection what, uint32_t credit,
             sink to);

  /// @param size In bytes; 0: end the reading.
  void add_credit(const key& whose, uint32_t size);

  /// Ends all readings of the coordinator.
  void lose_coordinator();

  void on(const log_lines_read& x);

  bool empty() const { return all_.empty(); }

  /// See `ports::log_reader::drain`. @pre `!empty()`
  void drain(std::function<void()> on_done) {
    reader_->drain(std::move(on_done));
  }

  /// Ends all, and lets go of the reader.
  void clear();

private:
  struct reading {
    key whose;
    uint64_t id = 0; ///< The reader's.
    sink to;
  };

  using reading_map = std::map<uint64_t, reading>;

  reading_map::iterator find(const key& whose);

  std::shared_ptr<ports::log_reader> reader_;
  std::function<void(log_lines_read)> deliver_;
  reading_map all_{};
  uint64_t last_ = 0;
};

} // namespace actorrun
