// Shows what workers write to files: runs core::tail_streams and
// core::tail_output over the log_files and console ports.
#pragma once

#include "actors/core/logs/tail_output.hpp"
#include "actors/core/logs/tail_streams.hpp"
#include "actors/core/workers/worker_outputs.hpp"
#include "actors/followed_files.hpp"
#include "actors/interfaces.hpp"
#include "actors/log.hpp"
#include "actors/ports/console.hpp"
#include "actors/ports/log_files.hpp"

#include <caf/result.hpp>
#include <caf/typed_response_promise.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace actorrun {

/// At most this many bytes in one turn; then other actors have theirs.
inline constexpr size_t tail_slice = 1024 * 1024;

/// Minimum cost of reading a stream, in bytes of a turn.
inline constexpr size_t tail_visit = 4 * 1024;

/// At most this many files that are neither shown nor rotated are followed, so
/// that bytes of them can be discarded when a disk is full. Each costs a
/// descriptor.
inline constexpr size_t space_watch_max = 256;

struct log_tailer_config {
  core::log_options options;
  std::string role; ///< For the prefix.
  std::string host; ///< For the prefix.
  /// Prefixes by local rank; the others get one from the template.
  std::vector<std::string> prefixes;
  std::shared_ptr<ports::console> console;
  std::shared_ptr<ports::log_files> files;
  log lines;
  /// File systems may hang. False: it runs with others, as tests want it.
  bool has_own_thread = true;
};

class log_tailer_state {
public:
  static constexpr const char* name = "log-tailer";

  log_tailer_state(log_tailer_actor::pointer self, log_tailer_config config);

  log_tailer_actor::behavior_type make_behavior();
  void on_exit();

private:
  using stream = core::tail_stream;
  using output = core::tail_output;

  struct drain {
    drain_worker what;
    caf::typed_response_promise<worker_drained> promise;
  };

  /// The result of reading a stream.
  struct finding {
    size_t byte_count = 0; ///< New ones.
    bool is_news = false;
    bool has_more = false; ///< More is known to be there.
  };

  // -- messages ---------------------------------------------------------------

  void follow(const follow_generation& x);
  caf::result<worker_drained> obey(const drain_worker& x);
  void obey(const close_generation& x);
  caf::result<logs_flushed> obey(const flush_logs& x);
  void on(const log_file_grown& what);
  void on(const console_ready& what);
  void on(const tail_goes_on& what);
  void on(const tail_timer_fired& what);

  // -- streams ----------------------------------------------------------------

  std::string add(const follow_generation& x, uint32_t local_rank,
                  core::output_stream to);
  std::string prefix_of(uint32_t local_rank, uint32_t global_rank) const;
  void finish_if_done(stream& x);
  void finish(stream& x);
  void release_held();
  bool is_drained(const drain_worker& x);
  bool is_flushed();
  void answer();

  // -- reading and showing ----------------------------------------------------

  void run_slice();
  size_t work(output& from, stream& x, core::time_point at);
  finding poll(output& from, stream& x, core::time_point at);
  void feed(output& from, stream& x, std::string_view bytes,
            core::time_point at);
  void offer(core::tail_kind kind, core::time_point at);
  bool is_unread(const stream& x) const;
  void check_space(size_t byte_count, core::time_point at);
  void plan_next();

  output& output_of(const stream& x) { return outputs_[size_t(x.kind)]; }
  core::time_point now() const { return self_->clock().now(); }
  template <class Message>
  std::function<void()> telling(Message what) const;

  log_tailer_actor::pointer self_;
  log_tailer_config config_;
  std::optional<followed_files> files_; ///< Until the end of the actor.
  core::tail_streams streams_;
  std::array<output, core::tail_kind_count> outputs_;
  std::vector<drain> drains_;
  std::vector<caf::typed_response_promise<logs_flushed>> flushes_;
  size_t held_count_ = 0;
  size_t watched_count_ = 0;
  bool goes_on_ = false;      ///< A message to go on is on its way.
  uint64_t timer_number_ = 0; ///< Of the only timer that counts.
  std::optional<core::time_point> timer_due_;
};

/// Starts the actor, on a thread of its own: while a file system hangs, only its
/// own end is delayed, and with it that of the system. It ends with `kill`, or when
/// it is no longer referenced and has nothing left to do. What was not flushed
/// before a `kill` is not shown.
log_tailer_actor spawn_log_tailer(caf::actor_system& system,
                                  log_tailer_config config);

} // namespace actorrun
