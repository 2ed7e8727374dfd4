// A log reader whose lines a test decides.
#pragma once

#include "actors/ports/log_reader.hpp"
#include "tests/support/recorder.hpp"

#include <map>
#include <string>
#include <utility>

namespace actorrun::test {

class fake_log_reader final : public ports::log_reader {
public:
  void follow(const core::generation_plan& plan,
              const core::generation_outputs&) override {
    calls_.write("follow " + std::to_string(plan.generation.value));
  }

  uint64_t begin(core::log_selection what, uint32_t credit,
                 listener on_lines) override {
    if (is_full)
      return 0;
    const auto id = ++last_;
    calls_.write("begin " + std::to_string(id) + ", credit "
                 + std::to_string(credit) + (what.follow ? ", follow" : ""));
    listeners_[id] = std::move(on_lines);
    return id;
  }

  void add_credit(uint64_t reading, uint32_t size) override {
    calls_.write("credit " + std::to_string(reading) + " "
                 + std::to_string(size));
  }

  void end(uint64_t reading) override {
    calls_.write("end " + std::to_string(reading));
  }

  void drain(std::function<void()> on_done) override {
    calls_.write("drain");
    on_drained = std::move(on_done);
  }

  /// One line was read.
  void read(uint64_t reading, std::string text, bool is_end = false) {
    auto chunk = core::log_chunk{.is_end = is_end};
    if (!text.empty())
      chunk.lines.push_back(
        {.rank = 1, .generation = {1}, .text = std::move(text)});
    listeners_.at(reading)(std::move(chunk));
  }

  /// The calls since the last call of `told`.
  std::string told() const { return calls_.told(); }

  bool is_full = false;
  std::function<void()> on_drained{};

private:
  recorder calls_;
  std::map<uint64_t, listener> listeners_{};
  uint64_t last_ = 0;
};

} // namespace actorrun::test
