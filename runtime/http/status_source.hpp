// Asks an actor for a status, once for all that want to know it at about the same
// time.
#pragma once

#include "actors/core/time.hpp"
#include "actors/interfaces.hpp"
#include "runtime/network/reply_path.hpp"
#include "runtime/os/reactor.hpp"

#include "messages/job.pb.h"
#include "messages/operator.pb.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace actorrun::detail {

/// The newest that is known of a job.
struct status_answer {
  std::shared_ptr<const v1::JobStatus>
    what{};              ///< Null: there was no answer yet.
  core::time_point at{}; ///< When it came.
  uint64_t number = 0;   ///< Of the status; counts from 1.
  /// The actor has answered the last question in time.
  bool is_alive = false;
};

struct status_limits {
  /// Without an answer for so long, the actor does not answer. Longer than it waits
  /// for others itself.
  core::duration answer = std::chrono::seconds{4};
  /// A question is not asked again before: an actor that hangs gets no pile of
  /// them.
  core::duration lost = std::chrono::seconds{30};
};

/// Everything runs on the reactor's thread. Waits for the actor, and never holds it
/// up.
class status_source {
public:
  using callback = std::function<void(const status_answer&)>;

  /// @param ask Passes on a question; must not block.
  status_source(reactor& home, std::function<void(operator_question)> ask,
                v1::OperatorRequest question, const status_limits& limits = {});

  /// Nothing is called any more.
  ~status_source();

  /// Calls `fn` at once if the newest answer is younger than `age`, and otherwise
  /// when the next one has come, or is late.
  void get(core::duration age, callback fn);

  /// How many questions were asked.
  uint64_t question_count() const { return question_count_; }

private:
  void ask();
  void on_reply(uint64_t number, v1::OperatorReply x);
  void on_status(uint64_t number, std::shared_ptr<const v1::JobStatus> x);
  void end_question(uint64_t number);
  void on_late();
  void settle();

  reactor& home_;
  std::function<void(operator_question)> ask_;
  v1::OperatorRequest question_;
  const status_limits limits_;
  std::shared_ptr<reply_path> path_;
  status_answer newest_;
  uint64_t question_count_ = 0;
  bool is_open_ = false; ///< A question waits for its answer.
  core::time_point asked_{};
  reactor::timer deadline_ = 0;
  std::vector<callback> waiting_; ///< At most one per client.
};

} // namespace actorrun::detail
