#include "tests/bench/agents.hpp"

#include "tests/bench/free_port.hpp"
#include "tests/bench/process_usage.hpp"

#include <algorithm>
#include <thread>

namespace actorrun::bench {

namespace {

/// Enough for every worker that a benchmark kills.
constexpr auto restarts = "--max-restarts=1000";

/// A replaced agent should not wait long for others, as that is not what is
/// measured.
constexpr auto rendezvous_conf
  = "--rdzv-conf=join_settle=50ms,rejoin_backoff=1ms,is_host=";

std::string nodes(const agents::shape& x) {
  return "--nnodes=" + std::to_string(x.agent_count_min) + ":"
         + std::to_string(x.agent_count);
}

} // namespace

result<agents> agents::start(setting& s, const shape& x) {
  auto tracker = s.new_tracker();
  if (!tracker)
    return tracker.error();
  const auto port = free_port();
  if (port == 0)
    return unmeasured("no port is free");
  auto job = agents{std::move(*tracker), x,
                    std::string{loopback} + ":" + std::to_string(port)};
  for (uint32_t i = 0; i < x.agent_count; ++i) {
    job.outputs_.emplace_back();
    auto agent = job.start_one(s, i);
    if (!agent)
      return agent.error();
    job.programs_.push_back(std::move(*agent));
  }
  return job;
}

result<agents> agents::meet(setting& s, const shape& x) {
  auto job = start(s, x);
  if (!job)
    return job;
  if (auto all = job->await_next(job->worker_count()); !all)
    return all.error();
  return job;
}

result<stamps> agents::await_next(size_t count) {
  auto found = tracker_.await(generation(), count);
  if (found) {
    newest_ = *found;
    return found;
  }
  return unmeasured(found.error().text + account());
}

std::string agents::account() {
  auto text = std::string{};
  for (size_t i = 0; i < programs_.size(); ++i) {
    const auto status
      = programs_[i].running() ? programs_[i].wait(clock::now()) : std::nullopt;
    text += "\nagent " + std::to_string(i) + " "
            + (status ? describe(*status) : "runs") + ": "
            + last_words(outputs_[i]);
  }
  return text;
}

stamps agents::workers_of(size_t index) const {
  const auto children = children_of(pid(index));
  auto result = stamps{};
  for (const auto& x : newest_)
    if (std::find(children.begin(), children.end(), x.pid) != children.end())
      result.push_back(x);
  return result;
}

result<void> agents::add_standby(setting& s) {
  outputs_.emplace_back();
  auto agent = start_one(s, programs_.size());
  if (!agent)
    return agent.error();
  programs_.push_back(std::move(*agent));
  return await_standby(programs_.size() - 1);
}

result<void> agents::replace_by_standby(setting& s, size_t index) {
  programs_[index].wait(deadline());
  auto agent = start_one(s, index);
  if (!agent)
    return agent.error();
  programs_[index] = std::move(*agent);
  return await_standby(index);
}

result<void> agents::replace_last(setting& s) {
  programs_.back().wait(deadline());
  auto agent = start_one(s, programs_.size() - 1);
  if (!agent)
    return agent.error();
  programs_.back() = std::move(*agent);
  return {};
}

// It logs that it stands by.
result<void> agents::await_standby(size_t index) const {
  const auto due = deadline();
  while (last_words(outputs_[index]).find("stands by") == std::string::npos) {
    if (clock::now() >= due)
      return unmeasured("an agent does not stand by: "
                        + last_words(outputs_[index]));
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
  return {};
}

bool agents::all_running() {
  return std::all_of(programs_.begin(), programs_.end(), [](auto& x) {
    return x.running() && !x.wait(clock::now());
  });
}

result<program> agents::start_one(setting& s, size_t index) {
  const auto what
    = s.command({s.tool("actorrun"), nodes(shape_),
                 "--rdzv-endpoint=" + endpoint_, "--rdzv-id=bench", restarts,
                 std::string{rendezvous_conf} + (index == 0 ? "1" : "0"),
                 "--nproc-per-node=" + std::to_string(shape_.worker_count),
                 "--no-python", s.tool(shape_.worker)},
                {tracker_.variable()});
  outputs_[index] = what.output;
  return program::start(what);
}

} // namespace actorrun::bench
