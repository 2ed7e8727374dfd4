// Steps of workers that a test decides.
#pragma once

#include "actors/ports/step_counters.hpp"

namespace actorrun::test {

class fake_step_counters final : public ports::step_counters {
public:
  const std::string& prefix() const override { return path; }

  std::map<int64_t, core::step_reading>
  read(const std::vector<int64_t>& pids) override {
    auto out = std::map<int64_t, core::step_reading>{};
    for (const auto pid : pids)
      if (const auto x = known.find(pid); x != known.end())
        out.insert(*x);
    ++read_count;
    return out;
  }

  std::string path = "/run/7.";
  std::map<int64_t, core::step_reading> known{};
  int read_count = 0;
};

} // namespace actorrun::test
