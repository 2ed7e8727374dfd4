// Tracks the processes of a group: written by its actors and its process host,
// read by the thread that waits for it.
#pragma once

#include "actors/core/generation.hpp"
#include "actors/ports/process_host.hpp"
#include "actors/process_owner.hpp"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace actorrun::detail {

/// Thread-safe. All functions return at once but `wait`.
class process_tracker {
public:
  /// The state of one process.
  struct record {
    pid_t pid = 0; ///< 0: it was not started.
    int error = 0; ///< errno; ECANCELED: it was stopped before.
    std::string subject{};
    bool has_succeeded = false; ///< It has exited with 0.
  };

  void note(const ports::process_event& event);
  void note(group_ending ending);

  /// Waits for `holds()`, which is called with the tracker locked.
  /// @param until none: for ever
  /// @returns whether it holds
  template <class Predicate>
  bool wait(std::optional<core::time_point> until, Predicate holds) {
    auto lock = std::unique_lock{mutex_};
    if (until)
      return changed_.wait_until(lock, *until, holds);
    changed_.wait(lock, holds);
    return true;
  }

  /// @pre locked by `wait`
  size_t start_count() const { return records_.size(); }
  bool has_ended() const { return ending_.has_value(); }

  /// By local rank, of those whose start has been decided.
  std::map<uint32_t, record> records() const;
  std::optional<group_ending> ending() const;

private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::map<uint32_t, record> records_;
  std::optional<group_ending> ending_;
};

/// Passes everything on, and notes what happens in a tracker.
class noting_process_host final : public ports::process_host {
public:
  noting_process_host(std::shared_ptr<ports::process_host> host,
                      std::shared_ptr<process_tracker> tracker)
    : host_(std::move(host)), tracker_(std::move(tracker)) {}

  void start(generation_id generation, ports::fence_token decided,
             std::vector<ports::process_spec> processes,
             listener on_event) override;
  void signal(generation_id generation, int signal,
              std::vector<uint32_t> spared,
              ports::signal_scope scope) override {
    host_->signal(generation, signal, std::move(spared), scope);
  }
  void signal_one(generation_id generation, uint32_t local_rank, int signal,
                  ports::signal_scope scope) override {
    host_->signal_one(generation, local_rank, signal, scope);
  }
  void notify(generation_id generation, int signal) override {
    host_->notify(generation, signal);
  }
  void park(generation_id generation, uint32_t local_rank,
            std::function<void()> on_spared) override {
    host_->park(generation, local_rank, std::move(on_spared));
  }
  void resume(generation_id generation, ports::fence_token decided,
              std::vector<uint32_t> local_ranks,
              std::function<void(std::vector<uint32_t>)> on_resumed) override {
    host_->resume(generation, decided, std::move(local_ranks),
                  std::move(on_resumed));
  }
  void release(generation_id generation,
               std::vector<uint32_t> spared) override {
    host_->release(generation, std::move(spared));
  }
  void check(std::function<void()> on_answer) override {
    host_->check(std::move(on_answer));
  }
  ports::fence_token set_fence(core::time_point due) override {
    return host_->set_fence(due);
  }

private:
  std::shared_ptr<ports::process_host> host_;
  std::shared_ptr<process_tracker> tracker_;
};

} // namespace actorrun::detail
