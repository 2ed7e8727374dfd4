// Lists the followed streams by generation and worker, and what of each must still
// be shown.
#pragma once

#include "actors/core/logs/line_cursor.hpp"
#include "actors/core/logs/log_retention.hpp"
#include "actors/core/time.hpp"
#include "messages/ids.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace actorrun::core {

/// Why a stream is followed: its lines are shown on one of the two standard
/// streams, or its file is only rotated. Each kind is read by itself.
enum class tail_kind : uint8_t { out, err, watched };

inline constexpr size_t tail_kind_count = 3;

/// One stream of one worker.
struct tail_stream {
  uint64_t number = 0; ///< Never used again.
  generation_id generation{};
  uint32_t global_rank = 0;
  tail_kind kind = tail_kind::out;
  std::string path{};
  std::string prefix{};
  std::string filter_path{}; ///< For lines that contain a filter; empty: none.
  uint64_t file = 0; ///< Its id as a `ports::log_file_id`; 0: not open yet.
  line_cursor cursor{};
  uint64_t moved = 0;     ///< Offset in the stream - offset in the file.
  uint64_t base = 0;      ///< All before has left the file.
  uint64_t goal = 0;      ///< A request waits for all before …
  uint64_t mark = 0;      ///< … which has this place among folded lines.
  bool is_armed = false;  ///< Its growth will be noticed.
  bool is_ended = false;  ///< Its worker has ended.
  bool is_closed = false; ///< It gets no more.
  bool is_held = false;   ///< Not read until older generations are shown.
  bool is_rotation_refused = false;
  time_point rotate_from{};

  /// Whether all was read that a request waits for.
  bool is_at_goal() const {
    return cursor.reached() >= goal && !cursor.owes_flush();
  }

  log_extent extent(uint64_t end) const { return {base, cursor.begin(), end}; }
};

/// Numbers the streams by generation and worker.
class tail_streams {
public:
  /// Makes room for the streams of a generation.
  /// @returns false if it is or was followed: it is not followed again
  bool open(generation_id generation, uint32_t slot_count);

  /// @pre the generation is open, `local_rank` is one of its slots
  /// @returns valid until it is removed
  tail_stream& add(generation_id generation, uint32_t local_rank, bool is_err);

  /// Null if it is gone.
  tail_stream* find(uint64_t number);

  /// Those that are left of a worker; none for one that is not known.
  std::vector<tail_stream*> of_worker(generation_id generation,
                                      uint32_t local_rank);
  std::vector<tail_stream*> of_generation(generation_id generation);

  /// From now on the streams of the worker that had local rank `was` count as those of
  /// `local_rank` in the newest generation: it goes on in that, with the same files.
  /// @returns them
  std::vector<tail_stream*> carry(generation_id from, uint32_t was,
                                  uint32_t local_rank);
  /// All, oldest first.
  std::vector<tail_stream*> all();

  void remove(uint64_t number);
  bool is_empty() const { return streams_.empty(); }

  /// Whether an older generation has closed streams of this kind that are not shown
  /// yet: its lines come first.
  bool has_to_wait(const tail_stream& x) const;

private:
  struct numbers {
    uint64_t first = 0; ///< Of local rank 0, standard output; then error.
    uint32_t slot_count = 0;
    std::map<uint32_t, uint64_t> carried{}; ///< First numbers, by local rank.
  };

  std::vector<tail_stream*> between(uint64_t first, uint64_t count);

  std::map<uint64_t, tail_stream> streams_; ///< By number, so by generation.
  std::map<generation_id, numbers> generations_;
  uint64_t next_number_ = 0;
};

} // namespace actorrun::core
