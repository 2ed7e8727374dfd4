#include "runtime/diagnosis/vitals_sampler.hpp"

#include "actors/core/vitals/kernel_text.hpp"
#include "runtime/os/file.hpp"
#include "runtime/os/process_lookup.hpp"

#include <algorithm>
#include <ctime>
#include <limits>
#include <string>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

/// In bytes; each of these files is smaller.
constexpr auto node_text_max = size_t{16} * 1'024;

uint64_t setting(int name, uint64_t otherwise) {
  const auto x = ::sysconf(name);
  return x > 0 ? static_cast<uint64_t>(x) : otherwise;
}

/// Since the system was started, with the time that it was suspended: the clock
/// of births.
core::duration uptime() {
  auto x = timespec{};
  ::clock_gettime(CLOCK_BOOTTIME, &x);
  return std::chrono::seconds{x.tv_sec} + std::chrono::nanoseconds{x.tv_nsec};
}

core::duration since_boot(uint64_t ticks, uint64_t per_second) {
  constexpr auto second = core::duration{std::chrono::seconds{1}};
  const auto whole = static_cast<int64_t>(ticks / per_second);
  const auto rest = static_cast<int64_t>(ticks % per_second);
  return second * whole + second * rest / static_cast<int64_t>(per_second);
}

core::node_vitals read_node() {
  auto out = core::node_vitals{};
  out.load = core::parse_load(read_kernel_file("/proc/loadavg", node_text_max));
  out.memory
    = core::parse_memory(read_kernel_file("/proc/meminfo", node_text_max));
  if (const auto count = ::sysconf(_SC_NPROCESSORS_ONLN); count > 0)
    out.cpu_count = static_cast<uint32_t>(count);
  return out;
}

/// What processes have used together.
struct usage {
  uint64_t ticks = 0;
  uint64_t pages = 0;
  uint32_t process_count = 0;

  void add(const core::process_stat& x) {
    ticks += x.cpu_ticks.value_or(0);
    pages += x.resident_pages.value_or(0);
    ++process_count;
  }
};

/// Adds the processes below `pid`, level by level. One that ends
/// meanwhile is left out, and so is a later one of its number.
void add_descendants(usage& sum, int64_t pid) {
  auto parents = std::vector<int64_t>{pid};
  for (size_t i = 0; i < worker_levels_max && !parents.empty(); ++i) {
    auto next = std::vector<int64_t>{};
    for (const auto parent : parents)
      for (const auto child : children_of(parent, worker_processes_max)) {
        if (sum.process_count == worker_processes_max)
          return;
        const auto stat = read_stat(child);
        if (!stat || stat->parent != parent)
          continue;
        sum.add(*stat);
        next.push_back(child);
      }
    parents = std::move(next);
  }
}

/// As for people: a stopped one is stopped, whoever has done that, and what is
/// dead has not been waited for.
std::optional<char> letter_of(char state) {
  if (state == 't')
    return 'T';
  if (state == 'X' || state == 'x')
    return 'Z';
  return state >= 'A' && state <= 'Z' ? std::optional{state} : std::nullopt;
}

void add_file(output_facts& out, const std::string& path) {
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode))
    return;
  const auto size = static_cast<uint64_t>(facts.st_size);
  out.size = out.size.value_or(0) + size;
  if (size == 0)
    return;
  auto now = timespec{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const auto age = std::chrono::milliseconds{
    (now.tv_sec - facts.st_mtim.tv_sec) * 1'000
    + (now.tv_nsec - facts.st_mtim.tv_nsec) / 1'000'000};
  // The clock of a file server may be ahead.
  const auto passed = std::max(age, std::chrono::milliseconds{0});
  out.age = out.age ? std::min(*out.age, passed) : passed;
}

} // namespace

vitals_sampler::vitals_sampler()
  : meter_(setting(_SC_CLK_TCK, 100)),
    ticks_per_second_(setting(_SC_CLK_TCK, 100)),
    page_size_(setting(_SC_PAGESIZE, 4'096)) {}

bool vitals_sampler::has_base() const {
  return meter_.has_base(core::time_point::clock::now());
}

core::node_vitals vitals_sampler::take(const std::vector<int64_t>& pids) {
  auto out = read_node();
  uptime_ = uptime();
  meter_.begin(core::time_point::clock::now());
  const auto count = std::min(pids.size(), core::sampled_workers_max);
  out.truncated = count < pids.size();
  for (size_t i = 0; i < count; ++i)
    if (auto worker = read_worker(pids[i])) {
      worker->local_rank = static_cast<uint32_t>(i);
      out.workers.push_back(*worker);
    }
  return out;
}

std::optional<core::worker_vitals> vitals_sampler::read_worker(int64_t pid) {
  const auto stat = read_stat(pid);
  if (!stat || stat->session != pid || stat->parent != ::getpid())
    return std::nullopt;
  auto out = core::worker_vitals{.pid = pid};
  out.state = letter_of(stat->state);
  out.thread_count = stat->thread_count;
  auto sum = usage{};
  sum.add(*stat);
  add_descendants(sum, pid);
  out.process_count = sum.process_count;
  if (stat->resident_pages)
    out.memory = sum.pages * page_size_;
  if (!stat->birth || !stat->cpu_ticks)
    return out;
  const auto age = std::max(
    uptime_ - since_boot(*stat->birth, ticks_per_second_), core::duration{0});
  out.age = std::chrono::duration_cast<std::chrono::milliseconds>(age);
  out.cpu_percent = meter_.note({pid, *stat->birth, sum.ticks, age});
  return out;
}

std::vector<output_facts>
inspect_outputs(const core::generation_outputs& outputs) {
  auto out = std::vector<output_facts>{};
  for (const auto& worker : outputs.workers) {
    auto& facts = out.emplace_back();
    using kind = core::stream_target::kind;
    if (worker.out.where == kind::file)
      add_file(facts, worker.out.path);
    if (worker.err.where == kind::file && worker.err.path != worker.out.path)
      add_file(facts, worker.err.path);
  }
  return out;
}

} // namespace actorrun::detail
