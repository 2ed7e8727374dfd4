#include "tests/bench/agents.hpp"
#include "tests/bench/parts/parts.hpp"
#include "tests/bench/process_usage.hpp"
#include "tests/bench/restarted_group.hpp"

#include <thread>

namespace actorrun::bench::rest_part {

namespace {

constexpr uint32_t worker_count = 4;
constexpr auto workers = "4";

constexpr double resident_mib_max = 16;
constexpr double wake_up_rate_max = 2;

/// The cost of a launcher's processes, without its workers.
struct usage {
  double resident_mib = 0;     ///< Largest process.
  double proportional_mib = 0; ///< All processes.
  uint64_t sleep_count = 0;    ///< All processes, so far.
  uint32_t threads = 0;        ///< All processes.
};

std::vector<pid_t> pids_of(const stamps& xs) {
  auto result = std::vector<pid_t>{};
  for (const auto& x : xs)
    result.push_back(x.pid);
  return result;
}

usage usage_of(pid_t launcher, const std::vector<pid_t>& not_ours) {
  auto x = usage{};
  for (const auto pid : tree_of(launcher, not_ours)) {
    x.resident_mib = std::max(x.resident_mib, resident_mib(pid));
    x.proportional_mib += proportional_mib(pid);
    x.sleep_count += sleep_count(pid);
    x.threads += thread_count(pid);
  }
  return x;
}

/// A launcher whose workers sleep.
struct subject {
  pid_t launcher;
  std::vector<pid_t> workers;
  usage before;
  usage after;
};

// All in the same period, in which all of them are idle.
void watch(setting& s, std::vector<subject>& subjects) {
  for (auto& x : subjects)
    x.before = usage_of(x.launcher, x.workers);
  std::this_thread::sleep_for(s.rest_window());
  for (auto& x : subjects)
    x.after = usage_of(x.launcher, x.workers);
}

void tell(setting& s, const std::string& who, const subject& ours,
          const subject* peer, bool alone) {
  const auto line = [&](const char* what, const char* unit, auto value) {
    auto x = row{.what = who + ": " + what, .unit = unit};
    x.ours.add(value(ours));
    if (peer != nullptr)
      x.peer.add(value(*peer));
    return x;
  };
  const auto window = double(s.rest_window().count());
  auto resident = line("resident", "MiB",
                       [](const subject& x) { return x.after.resident_mib; });
  resident.goal = "≤ 16 MiB";
  resident.met = resident.ours.max() <= resident_mib_max;
  auto rate = line("wake-ups", "/s", [&](const subject& x) {
    return double(x.after.sleep_count - x.before.sleep_count) / window;
  });
  // A member of a group of agents sends and answers keep-alives.
  if (alone) {
    rate.goal = "≤ 2 /s";
    rate.met = rate.ours.max() <= wake_up_rate_max;
  } else {
    rate.goal = "(keep-alives: 17 /s)";
  }
  print(resident);
  print(line("Pss with warden", "MiB",
             [](const subject& x) { return x.after.proportional_mib; }));
  print(rate);
  print(line("threads", "",
             [](const subject& x) { return double(x.after.threads); }));
}

result<restarted_group> start_peer(setting& s) {
  auto tracker = s.new_tracker();
  if (!tracker)
    return tracker.error();
  auto launcher = program::start(s.command(
    {*s.hydra(), "-n", workers, s.tool("stamp")}, {tracker->variable()}));
  if (!launcher)
    return launcher.error();
  auto all = tracker->await_any(worker_count);
  if (!all)
    return all.error();
  return restarted_group{std::move(*launcher), std::move(*tracker),
                         std::move(*all)};
}

} // namespace

measured measure(setting& s) {
  auto alone = start_group(s,
                           {s.tool("actorrun"),
                            std::string{"--nproc-per-node="} + workers,
                            "--no-python", s.tool("stamp")},
                           worker_count);
  if (!alone)
    return alone.error();
  auto job = agents::meet(s, {2, 2, worker_count});
  if (!job)
    return job.error();
  auto subjects = std::vector<subject>{
    {alone->launcher.pid(), pids_of(alone->newest), {}, {}},
    {job->pid(0), pids_of(job->newest()), {}, {}},
    {job->pid(1), pids_of(job->newest()), {}, {}}};
  auto peer = std::optional<restarted_group>{};
  if (s.hydra()) {
    auto started = start_peer(s);
    if (!started)
      return started.error();
    peer.emplace(std::move(*started));
    subjects.push_back({peer->launcher.pid(), pids_of(peer->newest), {}, {}});
  }
  watch(s, subjects);
  tell(s, "at rest, 1 node × 4", subjects[0], peer ? &subjects.back() : nullptr,
       true);
  tell(s, "at rest, 2 agents, the host", subjects[1], nullptr, false);
  tell(s, "at rest, 2 agents, the other", subjects[2], nullptr, false);
  return {};
}

} // namespace actorrun::bench::rest_part
