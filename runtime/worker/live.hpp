// PUBLIC, for worker programs: a worker that lives through changes of the group.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// When the group changes, because a node is lost, a worker fails or another joins,
// a program that says
//
//     for (auto& generation : actorrun::worker::generations())
//       generation.run([&] {
//         auto peers = connect(generation.rank(), generation.world_size());
//         if (!generation.survivors().empty())
//           peers.broadcast(model, generation.survivors()[0]);
//         for (; step < step_max; ++step) {
//           generation.safe_point(step, [&] { save(model); });
//           train(model, peers);
//         }
//       });
//
// is not ended: it goes on, with what it has in memory, in the next generation.
// Without an agent, as under torchrun, there is one generation.
//
// On a node that joins a group with safe points the program is started before there
// is a generation for it (ACTORRUN_AHEAD), and the group goes on until it waits in
// `generations()`. There is no RANK before.
//
// The variables of the environment (RANK, WORLD_SIZE, MASTER_PORT…) are changed
// with setenv(3) on the thread of the loop, between two generations: no other
// thread may use the environment then.
//
// The rest may be called from any thread. A `generation&` is of use until `++`,
// which destroys the generation: no other thread may use it then. One that waits in
// `wait_over` may: that returns. A forked child takes no part.
namespace actorrun::worker {

class control_link;
struct told_generation;

/// The generation is over; the program is to go on with the next one.
struct regroup : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The agent has closed the connection: it has ended, or refuses this worker.
struct agent_lost : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Ranks in ascending order; as small as the runs that they consist of.
class ranks {
public:
  /// The first and the last rank of each run.
  using run_list = std::vector<std::pair<uint32_t, uint32_t>>;

  ranks() = default;
  explicit ranks(run_list runs) : runs_(std::move(runs)) {}

  bool empty() const { return runs_.empty(); }
  uint64_t size() const;
  bool contains(uint32_t rank) const;

  /// @pre `index < size()`
  uint32_t operator[](uint64_t index) const;

  const run_list& runs() const { return runs_; }

private:
  run_list runs_;
};

/// One generation of the group, as this worker takes part in it.
class generation {
public:
  generation(std::shared_ptr<control_link> link,
             std::shared_ptr<told_generation> told);

  generation(const generation&) = delete;
  generation& operator=(const generation&) = delete;

  uint64_t number() const;
  uint32_t rank() const { return rank_; }
  uint32_t world_size() const { return world_size_; }
  uint32_t local_rank() const { return local_rank_; }

  /// The workers, by their ranks in this generation, that took part in the one
  /// before and have its state. Empty: there are none, or there is no agent that
  /// says so.
  const ranks& survivors() const { return survivors_; }

  /// How many restarts the job has spent.
  uint64_t restarts() const;

  /// Why there is a new generation; one line.
  const std::string& reason() const;

  /// Whether the generation has ended early. Cheap: reads an atomic variable.
  bool is_over() const;

  /// Waits until it is over, for at most `time`. Returns also when the program leaves
  /// the generation, with `++` or at the end of the loop. @returns whether it is
  /// over
  bool wait_over(std::chrono::nanoseconds time) const;

  /// @throws regroup     the generation is over
  /// @throws agent_lost  the agent is gone
  void throw_if_over() const;

  /// Says that the program could stop here, after so many steps.
  ///
  /// Before a change that can wait, such as a node that joins, all workers are
  /// stopped here at the same step: it waits until all are there, and throws then.
  /// If the change is called off, it returns. Without a change it takes about a
  /// microsecond.
  ///
  /// All workers must call it at the same steps, where nothing of a step is under
  /// way any more: a worker that waits here takes part in no collective. If one
  /// does not come, the change does not wait longer than --safe-point-timeout.
  /// @param step  Steps done, 0..2^64-2; grows from call to call in a generation.
  /// @throws as throw_if_over
  void safe_point(uint64_t step) const { pass(step, false); }

  /// The same, and calls `save()` where this worker stops for a change: at most
  /// once per call, on this thread, before it says that it has stopped. What `save`
  /// throws goes through. A change that cannot wait saves nothing.
  template <class Save>
  void safe_point(uint64_t step, Save&& save) const {
    if (pass(step, true))
      return;
    std::forward<Save>(save)();
    pass(step, false);
  }

  /// Runs `body`. An exception that the end of the generation explains ends it: one
  /// that comes when the generation is over, or within 2 s before the agent says
  /// so. Any other one goes through.
  /// @returns whether `body` has come to its end
  template <class Body>
  bool run(Body&& body) {
    try {
      std::forward<Body>(body)();
      return true;
    } catch (const std::exception& x) {
      if (!is_explained(x.what()))
        throw;
    } catch (...) {
      if (!is_explained("an exception of an unknown type"))
        throw;
    }
    return false;
  }

  /// Reports trouble, unless the generation is over, and waits up to 2 s for the
  /// agent's word. What `run` asks. @returns whether the program is to go on all
  /// the same
  bool is_explained(std::string_view trouble) const;

private:
  friend class generation_loop;

  bool speaks() const;
  bool pass(uint64_t step, bool saves) const; ///< False: it is to save first.
  void leave();

  std::shared_ptr<control_link> link_; ///< Null: there is no agent.
  std::shared_ptr<told_generation> told_;
  ranks survivors_;
  uint32_t rank_;
  uint32_t world_size_;
  uint32_t local_rank_;
};

/// Gives a program its generations, one after the other. One at a time in a
/// process.
class generation_loop {
public:
  generation_loop();

  /// Hangs up.
  ~generation_loop();

  generation_loop(const generation_loop&) = delete;
  generation_loop& operator=(const generation_loop&) = delete;

  /// Leaves the last generation, waits for the next, and changes the environment.
  /// @returns null if the program is to end: it has done what it was to do in the
  ///          last generation, which is not over, or it is told to stop
  /// @throws agent_lost  the agent is gone
  generation* next();

  /// The generation of `next`, for threads that may outlast it; null: there is
  /// none.
  std::shared_ptr<const generation> current() const { return current_; }

private:
  bool open();

  std::shared_ptr<control_link> link_;
  std::shared_ptr<generation> current_;
  bool has_begun_ = false;
};

/// What `for` needs of a loop over generations.
class generation_range {
public:
  class iterator {
  public:
    using iterator_category = std::input_iterator_tag;
    using value_type = generation;
    using difference_type = std::ptrdiff_t;
    using pointer = generation*;
    using reference = generation&;

    iterator() = default;
    iterator(generation_loop& loop, generation* now)
      : loop_(&loop), now_(now) {}

    generation& operator*() const { return *now_; }
    generation* operator->() const { return now_; }

    iterator& operator++() {
      now_ = loop_->next();
      return *this;
    }

    void operator++(int) { ++*this; }

    friend bool operator==(const iterator& a, const iterator& b) {
      return a.now_ == b.now_;
    }

  private:
    generation_loop* loop_ = nullptr;
    generation* now_ = nullptr;
  };

  iterator begin() { return {loop_, loop_.next()}; }
  iterator end() { return {}; }

private:
  generation_loop loop_;
};

/// The generations that this worker takes part in. `begin` and `++` wait for the
/// next one; what a generation has left behind, connections for example, must be
/// gone by then. Leaving the loop early hangs up.
/// @throws agent_lost  in `begin` and `++`
inline generation_range generations() {
  return {};
}

/// Has `hook(reason)` called when a generation ends early: on a thread of the
/// library, at once and every 0.25 s until the program has gone on to the next
/// generation; so it may be called more than once, and not at all if the program
/// has seen the end by itself. It is to make whatever the program waits for fail.
/// The exception that this throws ends `run`.
void on_regroup(std::function<void(std::string_view reason)> hook);

} // namespace actorrun::worker
