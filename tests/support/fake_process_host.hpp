// A machine without processes: records its requests; a test decides what
// becomes of the processes.
#pragma once

#include "actors/ports/process_host.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/recorder.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace actorrun::test {

class fake_process_host final : public ports::process_host {
public:
  void start(generation_id generation, ports::fence_token decided,
             std::vector<ports::process_spec> processes,
             listener on_event) override {
    if (std::exchange(lacks_memory_, false))
      throw std::bad_alloc{};
    calls_.write("start " + to_string(generation));
    decided_ = decided;
    generations_[generation] = {std::move(processes), std::move(on_event)};
  }

  void signal(generation_id generation, int signal,
              std::vector<uint32_t> spared,
              ports::signal_scope scope) override {
    calls_.write("signal " + to_string(generation) + " "
                 + std::to_string(signal) + but_for(spared) + text_of(scope));
  }

  void signal_one(generation_id generation, uint32_t local_rank, int signal,
                  ports::signal_scope scope) override {
    calls_.write("signal " + to_string(generation) + "/"
                 + std::to_string(local_rank) + " " + std::to_string(signal)
                 + text_of(scope));
  }

  void notify(generation_id generation, int signal) override {
    calls_.write("notify " + to_string(generation) + " "
                 + std::to_string(signal));
  }

  void park(generation_id generation, uint32_t local_rank,
            std::function<void()> on_spared) override {
    calls_.write("park " + to_string(generation) + "/"
                 + std::to_string(local_rank));
    if (spares_)
      on_spared();
  }

  void resume(generation_id generation, ports::fence_token decided,
              std::vector<uint32_t> local_ranks,
              std::function<void(std::vector<uint32_t>)> on_resumed) override {
    for (const auto x : local_ranks)
      calls_.write("resume " + to_string(generation) + "/" + std::to_string(x));
    decided_ = decided;
    on_resumed(std::move(local_ranks));
  }

  void release(generation_id generation,
               std::vector<uint32_t> spared) override {
    calls_.write("release " + to_string(generation) + but_for(spared));
  }

  void check(std::function<void()> on_answer) override {
    if (is_hanging_)
      unanswered_.push_back(std::move(on_answer));
    else
      on_answer();
  }

  ports::fence_token set_fence(core::time_point due) override {
    fences_.push_back(due);
    return {fire_count_};
  }

  // -- what a test sees -------------------------------------------------------

  /// The calls since the last call, without those for the fence.
  std::string told() const { return calls_.told(); }

  /// The newest fence; `time_point::max()`: none.
  core::time_point fence() const {
    REQUIRE_FALSE(fences_.empty());
    return fences_.back();
  }

  /// When the last start was decided.
  uint64_t decided() const { return decided_.fire_count; }

  const ports::process_spec& process(uint64_t generation,
                                     uint32_t local_rank) const {
    return generations_.at({generation}).processes.at(local_rank);
  }

  size_t process_count(uint64_t generation) const {
    return generations_.at({generation}).processes.size();
  }

  /// Whether a process finds `line` in its environment.
  bool has(uint64_t generation, uint32_t local_rank,
           const std::string& line) const {
    const auto& lines = process(generation, local_rank).environment;
    return std::find(lines.begin(), lines.end(), line) != lines.end();
  }

  // -- what a test does -------------------------------------------------------

  void fire_fence() { ++fire_count_; }

  /// The fence has killed whoever is to park from now on.
  void spare_none() { spares_ = false; }

  /// Answers no check from now on.
  void hang() { is_hanging_ = true; }

  void recover() {
    is_hanging_ = false;
    for (const auto& answer : std::exchange(unanswered_, {}))
      answer();
  }

  /// The next start finds no memory.
  void lack_memory() { lacks_memory_ = true; }

  /// Reports all processes of the generation as running, at once; their pids count
  /// up.
  void start_all(uint64_t generation, pid_t first_pid) {
    auto events = std::vector<ports::process_event>{};
    for (const auto& x : generations_.at({generation}).processes)
      events.emplace_back(ports::process_started{
        {generation}, x.local_rank, first_pid + pid_t(x.local_rank)});
    report(generation, std::move(events));
  }

  void cannot_start(uint64_t generation, uint32_t local_rank, int error) {
    report(generation,
           {ports::process_not_started{{generation}, local_rank, error}});
  }

  void exit(uint64_t generation, uint32_t local_rank, int exit_code,
            int signal = 0) {
    report(generation, {exited(generation, local_rank, exit_code, signal)});
  }

  /// Reports the same end of all processes of the generation, at once.
  void exit_all(uint64_t generation, int exit_code, int signal = 0) {
    auto events = std::vector<ports::process_event>{};
    for (const auto& x : generations_.at({generation}).processes)
      events.push_back(exited(generation, x.local_rank, exit_code, signal));
    report(generation, std::move(events));
  }

  void report(uint64_t generation, std::vector<ports::process_event> events) {
    generations_.at({generation}).on_event(std::move(events));
  }

private:
  static std::string but_for(const std::vector<uint32_t>& spared) {
    auto out = std::string{};
    for (const auto x : spared)
      out += (out.empty() ? " but for " : ",") + std::to_string(x);
    return out;
  }

  static std::string text_of(ports::signal_scope x) {
    return x == ports::signal_scope::worker ? " alone" : "";
  }

  struct group {
    std::vector<ports::process_spec> processes;
    listener on_event;
  };

  static ports::process_event exited(uint64_t generation, uint32_t local_rank,
                                     int exit_code, int signal) {
    return ports::process_exited{{generation}, local_rank, 0,
                                 exit_code,    signal,     false};
  }

  recorder calls_;
  std::map<generation_id, group> generations_;
  bool lacks_memory_ = false;
  bool is_hanging_ = false;
  bool spares_ = true;
  std::vector<std::function<void()>> unanswered_;
  std::vector<core::time_point> fences_;
  uint64_t fire_count_ = 0;
  ports::fence_token decided_;
};

} // namespace actorrun::test
