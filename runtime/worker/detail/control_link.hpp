// Owns the process's connection to its agent, and the thread that reads it.
#pragma once

#include "runtime/worker/detail/live_orders.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace actorrun::worker {

/// How a generation has ended early.
enum class over : uint8_t {
  no,
  regroup,
  stop,
  lost, ///< The agent has hung up.
};

/// A generation as the agent has told it, and what has become of it.
struct told_generation {
  explicit told_generation(generation_order x) : order(std::move(x)) {}

  const generation_order order;
  std::atomic<over> how{over::no};
  std::atomic<bool> is_left{false};

  // Guarded by the link's mutex:
  std::string over_reason{};
  uint64_t next_step = 0; ///< The first that it can still stop at.
  /// No safe point from this step on is gone past …
  std::optional<uint64_t> limit{};
  bool stops = false;       ///< … as that is where the worker is to stop …
  bool has_reached = false; ///< … and it has said that it waits there.
};

/// Where the program is with a step.
enum class at_step : uint8_t {
  past,
  to_save, ///< It is to stop here, and saves before.
  over,    ///< The generation is over, or the connection is closed.
};

/// One connection. Another process that inherits it, by a fork, has none.
class control_link {
public:
  using clock = std::chrono::steady_clock;
  using told = std::shared_ptr<told_generation>;

  /// Connects and says hello. The thread keeps the link alive until its end.
  /// @returns null if there is no agent
  static std::shared_ptr<control_link> open(const std::string& path);

  /// What is called on the thread when a generation ends early, again and again
  /// until the program has left it. For all links of the process.
  static void add_hook(std::function<void(std::string_view reason)> hook);

  ~control_link();

  control_link(const control_link&) = delete;
  control_link& operator=(const control_link&) = delete;

  /// Whether this is the process that has connected, and it has not hung up.
  bool speaks() const { return state_.load() == state::open; }

  // -- words ------------------------------------------------------------------

  /// Sends a word that must arrive; waits for room. Does nothing if the connection
  /// is closed.
  void say(const std::string& packet);

  /// Sends a word that another one will replace: without room it is lost.
  void say_soon(const std::string& packet);

  /// Hangs up: for the agent this is a worker as any other from now on.
  void close();

  // -- orders -----------------------------------------------------------------

  /// Waits until a generation has been told, or there will be none.
  /// @returns false if there is none in time
  bool await_first(clock::duration time);

  /// Waits for a generation later than the one that was entered last, and enters
  /// it. Parks those that are over before they have begun.
  /// @returns null if the worker is to end, or the agent has hung up (`is_lost`)
  told next();

  /// Waits until a generation is over, or the program has left it or hung up.
  /// @returns whether it is over
  bool wait_over(const told_generation& x, clock::duration time);

  /// Goes past a step, or waits at it as long as the agent wants.
  /// @param saves  whether it returns before it says that it has stopped
  at_step pass(told_generation& x, uint64_t step, bool saves);

  /// No hook runs for the generation any more when this returns, but for one that
  /// calls this itself, as the end of the program can.
  void leave(told_generation& x);

  /// Whether it has hung up, and has not told the worker to end before.
  bool is_lost() const;
  std::string refusal() const; ///< The agent's last words.
  std::string reason_of(const told_generation& x) const;

private:
  enum class state : uint8_t { open, closed, forgotten };

  explicit control_link(int fd);
  void start(const std::shared_ptr<control_link>& self);
  bool send(const std::string& packet);
  void run();
  bool await_packet();
  bool take(std::string_view packet);
  void on(generation_order& x);
  void on(regroup_order& x);
  void on(hold_order& x);
  void on(stop_at_order& x);
  void on(go_on_order& x);
  void on(stop_order& x);
  void on(refusal_order& x);
  void on(unknown_order&) {}
  void limit_locked(std::optional<uint64_t> step, bool stops);
  void end_locked(over how, const std::string& reason);
  bool has_to_unblock() const;
  void run_hooks();
  static void before_fork();
  static void after_fork();
  static void in_child();

  std::atomic<int> fd_;
  std::atomic<state> state_{state::open};

  mutable std::mutex mutex_; ///< For what follows.
  std::condition_variable changed_;
  told latest_;  ///< The last generation told …
  told entered_; ///< … and begun by the program.
  bool is_stopped_ = false;
  bool is_lost_ = false;
  std::thread::id hooks_run_on_; ///< None: they do not run.
  bool has_thread_ = false;
  std::string refusal_;
  std::string answer_; ///< To the order that is being taken; empty: none.
};

} // namespace actorrun::worker
