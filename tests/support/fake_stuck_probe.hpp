// A probe that answers what a test decides, when it decides so.
#pragma once

#include "actors/ports/stuck_probe.hpp"
#include "tests/support/recorder.hpp"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace actorrun::test {

class fake_stuck_probe final : public ports::stuck_probe {
public:
  void look(std::vector<ports::probed_worker> workers, uint32_t overdue,
            std::chrono::milliseconds limit,
            std::function<void(std::string)> on_done) override {
    auto text = "look for " + std::to_string(overdue) + " "
                + std::to_string(limit.count()) + " ms:";
    for (const auto& x : workers)
      text += " " + std::to_string(x.local_rank) + "/"
              + std::to_string(x.global_rank) + "/" + std::to_string(x.pid)
              + x.error_file;
    calls_.write(text);
    answers_.push_back(std::move(on_done));
  }

  void
  see(std::vector<ports::probed_worker> workers, std::chrono::milliseconds,
      std::function<void(std::vector<core::worker_stack>)> on_done) override {
    auto text = std::string{"see"};
    for (const auto& x : workers)
      text += " " + std::to_string(x.local_rank) + "/"
              + std::to_string(x.global_rank) + "/" + std::to_string(x.pid);
    calls_.write(text);
    seen_.push_back(std::move(on_done));
  }

  std::string summarize(int64_t pid) override {
    calls_.write("summarize " + std::to_string(pid));
    return "uninterruptible in nfs_wait";
  }

  /// The calls since the last call of `told`.
  std::string told() const { return calls_.told(); }

  /// Answers request `number`, counted from 0.
  void answer(size_t question, std::string summary) {
    answers_.at(question)(std::move(summary));
  }

  /// The same for `see`.
  void answer(size_t question, std::vector<core::worker_stack> seen) {
    seen_.at(question)(std::move(seen));
  }

private:
  recorder calls_;
  std::vector<std::function<void(std::string)>> answers_;
  std::vector<std::function<void(std::vector<core::worker_stack>)>> seen_;
};

} // namespace actorrun::test
