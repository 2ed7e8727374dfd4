// Samples of a node that a test decides.
#pragma once

#include "actors/ports/node_vitals.hpp"

#include <utility>
#include <vector>

namespace actorrun::test {

class fake_node_vitals final : public ports::node_vitals {
public:
  struct question {
    generation_id generation;
    std::vector<int64_t> pids;
    listener on_answer;
  };

  void follow(generation_id generation,
              const core::generation_outputs& outputs) override {
    followed.emplace_back(generation, outputs);
  }

  void sample(generation_id generation, const std::vector<int64_t>& pids,
              listener on_answer) override {
    asked.push_back({generation, pids, std::move(on_answer)});
  }

  /// Answers all pending requests.
  void answer(const core::node_vitals& now) {
    for (const auto& x : std::exchange(asked, {}))
      x.on_answer(now);
  }

  std::vector<std::pair<generation_id, core::generation_outputs>> followed{};
  std::vector<question> asked{};
};

/// A node with these workers, by local rank, of which each uses as much memory.
inline core::node_vitals vitals_of(const std::vector<int64_t>& pids,
                                   uint64_t memory) {
  auto out = core::node_vitals{};
  out.load = core::node_load{52, 40, 30};
  out.cpu_count = 64;
  out.memory = core::node_memory{8'192, 4'096};
  for (const auto pid : pids) {
    auto& worker = out.workers.emplace_back();
    worker.local_rank = uint32_t(out.workers.size() - 1);
    worker.pid = pid;
    worker.memory = memory;
    worker.process_count = 1;
  }
  return out;
}

} // namespace actorrun::test
