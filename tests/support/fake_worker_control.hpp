// A control socket without workers: a test says what they say.
#pragma once

#include "actors/ports/worker_control.hpp"
#include "tests/support/transcript.hpp"

#include <string>
#include <utility>
#include <vector>

namespace actorrun::test {

class fake_worker_control final : public ports::worker_control {
public:
  std::string address() const override { return "/run/control"; }

  void listen(listener on_word) override { on_word_ = std::move(on_word); }

  void admit(std::vector<ports::controlled_worker> workers) override {
    admitted_ = std::move(workers);
  }

  void tell(uint32_t local_rank, core::worker_order order) override {
    orders_.emplace_back(local_rank, std::move(order));
  }

  // -- what a test sees -------------------------------------------------------

  /// The orders since the last call: `0 generation 7 of 6; 1 regroup: n2 has left`.
  std::string told() {
    auto out = std::string{};
    for (const auto& [rank, order] : std::exchange(orders_, {}))
      out += (out.empty() ? "" : "; ") + std::to_string(rank) + " "
             + std::visit(writer{}, order);
    return out;
  }

  /// `0:100 1:101`
  std::string admitted() const {
    auto out = std::string{};
    for (const auto& x : admitted_)
      out += (out.empty() ? "" : " ") + std::to_string(x.local_rank) + ":"
             + std::to_string(x.pid);
    return out;
  }

  // -- what a test does -------------------------------------------------------

  void say(uint32_t local_rank, int64_t pid, core::worker_word word) {
    on_word_({local_rank, pid, std::move(word)});
  }

private:
  struct writer {
    std::string operator()(const core::tell_generation& x) const {
      auto out = "generation " + to_string(x.generation);
      for (const auto& line : x.environment)
        if (line.starts_with("RANK="))
          out += " " + line;
      for (const auto& [first, last] : x.survivors)
        out += " " + std::to_string(first) + "-" + std::to_string(last);
      return x.reason.empty() ? out : out + ", " + x.reason;
    }
    std::string operator()(const core::tell_regroup& x) const {
      return "regroup: " + x.reason;
    }
    std::string operator()(const core::tell_hold&) const { return "hold"; }
    std::string operator()(const core::tell_stop_at& x) const {
      return "stop_at " + std::to_string(x.step);
    }
    std::string operator()(const core::tell_go_on&) const { return "go_on"; }
    std::string operator()(const core::tell_stop&) const { return "stop"; }
  };

  listener on_word_;
  std::vector<ports::controlled_worker> admitted_;
  std::vector<std::pair<uint32_t, core::worker_order>> orders_;
};

} // namespace actorrun::test
