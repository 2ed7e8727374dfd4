// Records the state of one node's workers and spares.
#pragma once

#include "actors/core/generation.hpp"
#include "messages/ids.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace actorrun::core {

/// The visible state of one worker.
struct worker_record {
  /// `absent`: a spare that is not to be started yet.
  /// `delayed`: its start has failed for lack of something, and is tried again.
  /// `parked`: it belongs to no generation. `given_up`: SIGKILL has not ended it,
  /// and it is no longer waited for.
  enum class state : uint8_t {
    absent,
    waiting,
    delayed,
    running,
    parked,
    ended,
    given_up
  };
  state now = state::waiting;
  int64_t pid = 0;      ///< 0 until it has been started.
  bool is_live = false; ///< It can live through a change: it has said so.
  /// It has gone past a safe point, in this generation or in an earlier one.
  bool has_stepped = false;
};

/// What a group has left that the next one goes on with.
struct parked_workers {
  generation_id generation;           ///< The last that they took part in.
  std::map<uint32_t, int64_t> pids{}; ///< By local rank; spares come last.
  std::set<uint32_t> stepped{}; ///< Those that have gone past safe points.
};

/// The workers, by local rank, and behind them the spares, which take part in
/// nothing: unless it is said, what is counted and listed is workers alone.
class worker_table {
public:
  using state = worker_record::state;
  using numbers = std::vector<uint32_t>; ///< In order.

  worker_table(uint32_t slot_count, uint32_t spare_count,
               const parked_workers& parked);

  const std::vector<worker_record>& records() const { return records_; }
  bool is_spare(uint32_t number) const { return number >= slot_count_; }

  /// @pre `number` is one of a worker or of a spare
  worker_record& operator[](uint32_t number);

  /// Of all from the first on, those that fit.
  template <class Predicate>
  numbers select(Predicate fits, uint32_t first = 0) const {
    auto out = numbers{};
    for (auto i = first; i < records_.size(); ++i)
      if (fits(i, records_[i]))
        out.push_back(i);
    return out;
  }

  numbers workers_in(state x) const;
  numbers all_in(state x, uint32_t first = 0) const;
  numbers parked_spares() const { return all_in(state::parked, slot_count_); }

  /// Those that run or are being started: of all, …
  numbers under_way(uint32_t first = 0) const;
  /// … and of the spares.
  numbers spares_under_way() const { return under_way(slot_count_); }

  /// Those that run and have a connection.
  numbers live_workers() const;

  uint32_t count(state x) const { return uint32_t(workers_in(x).size()); }

  /// All have ended, are parked or were given up.
  bool none_runs() const;

  bool have_stepped() const;

  /// What is parked, with spares: for the next group …
  parked_workers parked() const;
  /// … and for the coordinator.
  parked_share share() const;

  /// @returns who
  numbers move(numbers who, state to);

  /// Those that are parked run in this generation.
  numbers resume(generation_id generation);

  /// Parked spares take the places of workers that wait, but for survivors'.
  /// @returns the number that each of them had, by its local rank
  std::map<uint32_t, uint32_t> seat_spares(const generation_plan& plan);

  /// The spares are to be started, if all workers are live: before, the program
  /// would take a spare for a worker.
  numbers call_spares();

private:
  uint32_t slot_count_;
  std::vector<worker_record> records_;
  generation_id parked_generation_; ///< The last that those took part in.
};

} // namespace actorrun::core
