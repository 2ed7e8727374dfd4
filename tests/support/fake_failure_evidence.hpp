// Evidence that a test provides: the same for every death.
#pragma once

#include "actors/ports/failure_evidence.hpp"
#include "tests/support/recorder.hpp"

#include <string>

namespace actorrun::test {

class fake_failure_evidence final : public ports::failure_evidence {
public:
  void begin() override { calls.write("begin"); }

  core::death_details examine(const ports::process_exited& death,
                              const core::worker_outputs& outputs) override {
    calls.write("examine " + std::to_string(death.local_rank) + " "
                + outputs.error_file);
    return found;
  }

  core::death_details examine(const ports::process_not_started& death,
                              const ports::process_spec& spec) override {
    calls.write("examine start " + std::to_string(death.local_rank) + " "
                + spec.arguments.at(0));
    return found;
  }

  core::death_details recall(const ports::process_exited& death,
                             const core::worker_outputs& outputs) override {
    calls.write("recall " + std::to_string(death.local_rank) + " "
                + outputs.error_file);
    return found;
  }

  core::duration age_of(int64_t wall_ms) override {
    return std::chrono::milliseconds{now_ms - wall_ms};
  }

  int64_t now_ms = 0; ///< This host's clock.
  core::death_details found;
  recorder calls;
};

} // namespace actorrun::test
