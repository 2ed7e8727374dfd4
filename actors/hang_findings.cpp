#include "actors/hang_findings.hpp"

#include "actors/core/failure.hpp"
#include "actors/core/text.hpp"

#include <algorithm>
#include <chrono>
#include <ranges>
#include <string_view>
#include <vector>

namespace actorrun {

namespace {

/// Longer ones say no more.
constexpr auto told_silence_max = core::duration{std::chrono::hours{24 * 24}};

constexpr auto kernel_mark = std::string_view{"in the kernel: "};

/// The innermost function of a Python program, and where the kernel has it.
core::worker_snapshot snapshot_of(const v1::WorkerStack& x) {
  auto out = core::worker_snapshot{.global_rank = x.rank()};
  const auto line = [](std::string_view frame) {
    return core::one_line(frame, core::place_name_max);
  };
  out.behind = core::one_line(x.behind(), core::stack_frame_size_max);
  if (x.frames().empty())
    return out;
  if (x.source() == "kernel") {
    out.place = line(x.frames(0));
    return out;
  }
  out.frame = line(x.frames(0));
  for (const auto& frame : x.frames())
    if (frame.starts_with(kernel_mark))
      out.place = line(std::string_view{frame}.substr(kernel_mark.size()));
  return out;
}

bool has_ended(const core::worker_snapshot& x) {
  return x.place == "ended";
}

} // namespace

core::duration silence_from_wire(uint64_t ns) {
  return std::min(ns, uint64_t{told_silence_max.count()}) * core::duration{1};
}

v1::WorkersSilent to_wire(const core::silence_report& x) {
  auto out = v1::WorkersSilent{};
  out.set_generation(x.generation.value);
  out.set_silent_ns(uint64_t(x.silent_for.count()));
  out.set_can_tell(x.can_tell);
  out.set_limit_ns(uint64_t(x.limits.timeout.count()));
  out.set_ends(x.limits.ends);
  return out;
}

core::silence_report from_wire(const v1::WorkersSilent& x) {
  return {.generation = {x.generation()},
          .silent_for = silence_from_wire(x.silent_ns()),
          .can_tell = x.can_tell(),
          .limits = {silence_from_wire(x.limit_ns()), x.ends()}};
}

std::string where_from_wire(const std::string& x) {
  return std::string{core::beginning_of(x, core::failure_where_max)};
}

std::optional<hang_finding> find_cause(const core::job_hang& what,
                                       const v1::Stacks& seen,
                                       const operator_stacks::node_map& nodes) {
  const auto has = [](const node_ranks& node, uint32_t rank) {
    return rank >= node.first_global_rank
           && rank - node.first_global_rank < node.slot_count;
  };
  const auto first = nodes.find(what.first);
  if (first == nodes.end())
    return {};
  auto workers = std::vector<core::worker_snapshot>{};
  for (const auto& x : seen.workers())
    if (x.frames_size() > 0 || !x.behind().empty())
      workers.push_back(snapshot_of(x));
  std::erase_if(workers, has_ended);
  auto fallback = first->second.first_global_rank;
  for (const auto& x : std::views::reverse(workers))
    if (has(first->second, x.global_rank))
      fallback = x.global_rank;
  auto who = core::find_hung_worker(std::move(workers), fallback);
  const auto i = std::ranges::find_if(
    nodes, [&](const auto& x) { return has(x.second, who.global_rank); });
  if (i == nodes.end())
    return {};
  const auto& [agent, node] = *i;
  const auto worker = std::ranges::find(seen.workers(), who.global_rank,
                                        &v1::WorkerStack::rank);
  const auto local_rank = worker != seen.workers().end()
                            ? worker->local_rank()
                            : who.global_rank - node.first_global_rank;
  return hang_finding{std::move(who), agent, node.host, local_rank};
}

v1::EndHungWorker end_of(const core::job_hang& what, const hang_finding& x,
                         core::time_point now) {
  auto out = v1::EndHungWorker{};
  out.set_generation(what.generation.value);
  out.set_local_rank(x.local_rank);
  out.set_silent_ns(uint64_t((now - what.since).count()));
  out.set_limit_ns(uint64_t(what.limit.count()));
  out.set_where(x.who.where);
  return out;
}

} // namespace actorrun
