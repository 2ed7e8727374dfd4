// A job of two nodes for the live view, and its picture as text.
#pragma once

#include "cli/top/view.hpp"

#include <chrono>
#include <clocale>
#include <string>
#include <vector>

namespace actorrun::test {

using namespace std::chrono_literals;

/// Widths of characters depend on it.
inline void use_utf8() {
  std::setlocale(LC_CTYPE, "C.UTF-8");
}

inline v1::WorkerVitals vitals_of(uint32_t local_rank, int64_t pid,
                                  uint32_t cpu, uint64_t memory,
                                  uint64_t silence_ms) {
  auto out = v1::WorkerVitals{};
  out.set_local_rank(local_rank);
  out.set_pid(pid);
  out.set_age_ms(250'000);
  out.set_cpu_percent(cpu);
  out.set_memory(memory);
  out.set_thread_count(12);
  out.set_process_count(1);
  out.set_state(local_rank == 0 ? 'R' : 'S');
  out.set_output_size(2'048);
  out.set_output_age_ms(silence_ms);
  return out;
}

/// Two nodes with two workers each; generation 3 after two regroups.
inline v1::JobStatus two_nodes() {
  auto job = v1::JobStatus{};
  job.set_job_id("job1");
  job.set_phase("running");
  job.set_phase_age_ms(252'000);
  job.set_is_healthy(true);
  job.set_generation(3);
  job.set_world_size(4);
  job.set_restart_count(1);
  job.mutable_settings()->set_agent_count_min(2);
  job.mutable_settings()->set_agent_count_max(4);
  job.mutable_settings()->set_restart_count_max(3);
  job.set_coordinator_host("n1");
  job.set_coordinator_pid(99);
  for (uint64_t i = 1; i <= 3; ++i) {
    auto& generation = *job.add_generations();
    generation.set_generation(i);
    generation.set_node_count(2);
    generation.set_world_size(4);
    generation.set_age_ms(1'000'000 - i * 100'000);
    if (i > 1)
      generation.set_regroup_us(i * 40'000);
    if (i < 3)
      generation.set_end_reason(i == 1 ? "agent n3 joined"
                                       : "rank 1 exited with code 7");
    generation.set_cost_restart(i == 2);
  }
  for (uint32_t i = 0; i < 2; ++i) {
    auto& agent = *job.add_agents();
    agent.set_agent_id("n" + std::to_string(i + 1) + "-4711");
    agent.set_host("n" + std::to_string(i + 1));
    agent.set_address("10.0.0." + std::to_string(i + 1));
    agent.set_role("default");
    agent.set_slot_count(2);
    agent.set_connected(true);
    agent.set_generation(3);
    agent.set_node_rank(i);
    agent.set_first_global_rank(2 * i);
    agent.set_share(v1::SHARE_RUNNING);
    agent.set_state("running");
    agent.set_since_ms(252'000);
    agent.set_lease_age_ms(40);
    auto& vitals = *agent.mutable_vitals();
    vitals.set_load_1_percent(150);
    vitals.set_load_5_percent(100);
    vitals.set_load_15_percent(50);
    vitals.set_cpu_count(8);
    vitals.set_memory_total(uint64_t{64} << 30);
    vitals.set_memory_available(uint64_t{48} << 30);
    for (uint32_t j = 0; j < 2; ++j) {
      const auto pid = int64_t{100} * (i + 1) + j;
      agent.add_pids(pid);
      *vitals.add_workers()
        = vitals_of(j, pid, i == 1 ? 100 + j : 50, uint64_t{i + 1} << 30,
                    j == 1 ? 61'000 : 2'000);
    }
  }
  return job;
}

/// A model that a test steps through time.
struct top_fixture {
  top_fixture() { use_utf8(); }

  explicit top_fixture(std::vector<cli::top::action> actions)
    : uut("job job1", std::move(actions), core::time_point{}) {
    use_utf8();
  }

  std::vector<cli::top::effect> press(const std::string& letters) {
    auto out = std::vector<cli::top::effect>{};
    for (const auto c : letters)
      for (auto& x :
           uut.step(cli::top::key_pressed{cli::top::key::character, c}, at))
        out.push_back(std::move(x));
    return out;
  }

  void press(cli::top::key x) {
    uut.step(cli::top::key_pressed{x, 0, 4, 9}, at);
  }

  void show(const v1::JobStatus& x) {
    uut.step(cli::top::status_came{x.job_id(), x}, at);
  }

  cli::top::screen screen(size_t width = 80, size_t height = 24) {
    uut.step(cli::top::time_passed{was_covered}, at);
    auto out = view(uut, {width, height}, {});
    was_covered = out.is_covered;
    return out;
  }

  /// The lines without spaces at their ends.
  std::vector<std::string> lines(size_t width = 80, size_t height = 24) {
    auto out = std::vector<std::string>{};
    for (const auto& x : screen(width, height).lines) {
      CHECK(cli::top::width_of(text_of(x)) == width);
      out.push_back(plain_text(x));
    }
    CHECK(out.size() == height);
    return out;
  }

  static std::string text_of(const cli::top::line& x) {
    auto out = std::string{};
    for (const auto& y : x)
      out += y.text;
    return out;
  }

  /// What is on the line of the cursor.
  std::string selected(size_t width = 80, size_t height = 24) {
    for (const auto& x : screen(width, height).lines)
      if (x.front().look == cli::top::style::selected)
        return plain_text(x);
    return "";
  }

  bool was_covered = false; ///< The last screen.
  core::time_point at{};
  cli::top::model uut{"job job1", {}, core::time_point{}};
};

} // namespace actorrun::test
