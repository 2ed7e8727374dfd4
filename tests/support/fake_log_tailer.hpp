// A log tailer without logs: records its requests; a test decides when a
// worker's last lines are shown.
#pragma once

#include "actors/interfaces.hpp"
#include "tests/support/recorder.hpp"

#include <caf/typed_response_promise.hpp>

#include <map>
#include <memory>
#include <utility>

namespace actorrun::test {

struct fake_log_tailer {
  log_tailer_actor handle;
  recorder inbox;
  /// Outputs of the latest generation that it follows.
  std::shared_ptr<core::generation_outputs> followed
    = std::make_shared<core::generation_outputs>();
  /// Whether it answers at once.
  std::shared_ptr<bool> answers = std::make_shared<bool>(true);

  std::string told() const { return inbox.told(); }

  /// From now on it answers only when `show` is called.
  void hold_back() const { *answers = false; }

  /// Reports the last lines of that worker as shown.
  void show(uint32_t local_rank) const {
    tell_anonymously(handle, log_file_grown{local_rank});
  }
};

inline fake_log_tailer make_fake_log_tailer(caf::actor_system& system) {
  using answer = caf::typed_response_promise<worker_drained>;
  struct question {
    drain_worker what;
    answer later;
  };
  auto out = fake_log_tailer{};
  auto held = std::make_shared<std::map<uint64_t, question>>();
  out.handle = system.spawn(
    [=](log_tailer_actor::pointer self) -> log_tailer_actor::behavior_type {
      return {
        [=](const follow_generation& x) {
          *out.followed = x.outputs;
          out.inbox.write("follow " + to_string(x.plan.generation));
        },
        [=](const drain_worker& x) -> caf::result<worker_drained> {
          out.inbox.write("drain " + to_string(x.generation) + "/"
                          + std::to_string(x.local_rank));
          if (*out.answers)
            return worker_drained{x.generation, x.local_rank};
          auto later = self->make_response_promise<worker_drained>();
          held->insert_or_assign(x.local_rank, question{x, later});
          return later;
        },
        [=](const close_generation& x) {
          out.inbox.write("close " + to_string(x.generation));
        },
        [](const flush_logs&) { return logs_flushed{}; },
        [=](const log_file_grown& x) {
          auto& [what, later] = held->at(x.stream);
          later.deliver(worker_drained{what.generation, what.local_rank});
        },
        [](const console_ready&) {},
        [](const tail_goes_on&) {},
        [](const tail_timer_fired&) {},
      };
    });
  return out;
}

} // namespace actorrun::test
