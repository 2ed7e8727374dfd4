// Log folders that are never made, on a disk that may fail.
#pragma once

#include "actors/ports/log_layout.hpp"
#include "tests/support/recorder.hpp"

#include <optional>
#include <string>

namespace actorrun::test {

/// Every worker writes to two files, `/logs/<generation>/<local rank>/…`.
class fake_log_layout final : public ports::log_layout {
public:
  result<core::generation_outputs>
  prepare(const core::generation_plan& plan) override {
    calls.write("prepare " + to_string(plan.generation));
    if (why_not)
      return failure{errc::log_failed, *why_not};
    auto out = core::generation_outputs{};
    for (uint32_t i = 0; i < plan.own.slot_count; ++i) {
      const auto base
        = "/logs/" + to_string(plan.generation) + "/" + std::to_string(i);
      using kind = core::stream_target::kind;
      out.workers.push_back({.out = {kind::file, base + "/out", shows_out},
                             .err = {kind::file, base + "/err", shows_err},
                             .error_file = base + "/error.json"});
    }
    return out;
  }

  bool shows_out = false;
  bool shows_err = false;
  std::optional<std::string> why_not; ///< If set, no folder can be made.
  recorder calls;
};

} // namespace actorrun::test
