#include "runtime/os/unique_fd.hpp"
#include "tests/bench/free_port.hpp"
#include "tests/bench/parts/parts.hpp"
#include "tests/bench/process_usage.hpp"
#include "tests/bench/viewer_group.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

namespace actorrun::bench::hollow_part {

namespace {

using namespace std::chrono_literals;

constexpr auto host = "127.0.0.1";
constexpr auto job = "hollow";

/// Agents that are lost without viewers, and again with them.
constexpr uint32_t loss_count = 10;

/// Agents that can die; also how many nodes the job can do without.
constexpr uint32_t mortal_count = 2 * loss_count;

constexpr size_t viewer_count = 5;

/// How often a coordinator is killed.
constexpr size_t restart_count = 5;

/// After all are back, for a generation that was lost to be followed by another
/// one.
constexpr auto lost_generation_wait = std::chrono::seconds{4};

/// For ten thousand agents to meet on a busy machine.
constexpr auto meeting_max = std::chrono::minutes{2};

constexpr std::chrono::milliseconds poll_interval{5};

/// Of one process of agents, besides their links.
constexpr uint32_t spare_descriptors = 64;

// Goals for ten thousand agents, and for two hundred.
constexpr double rest_percent_max = 20;
constexpr double rest_percent_small_max = 2;
constexpr double resident_mib_max = 190;
constexpr double joined_seconds_max = 10;
constexpr double regroup_ms_max = 1'000;
constexpr double regroup_ms_small_max = 100;
constexpr double status_seconds_max = 2;
constexpr double viewed_regroup_max = 1.1; ///< Of the time without viewers.
constexpr uint32_t small_count = 200;

/// What a process of hollow agents prints, line by line.
class hollow_output {
public:
  static result<hollow_output> open() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      return unmeasured("no pipe for hollow agents");
    auto out = hollow_output{};
    out.read_ = detail::unique_fd{ends[0]};
    out.write_ = detail::unique_fd{ends[1]};
    return out;
  }

  int console() const { return write_.get(); }

  /// Waits for a line that begins so, and drops others, of which it keeps what is
  /// no good news.
  /// @returns the numbers behind that
  result<std::vector<int64_t>> await(const std::string& begin,
                                     clock::time_point due) {
    for (;;) {
      const auto end = text_.find('\n');
      if (end == std::string::npos) {
        if (!fill(due))
          return unmeasured("hollow agents do not say: " + begin
                            + (trouble_.empty() ? "" : "; " + trouble_));
        continue;
      }
      const auto line = text_.substr(0, end);
      text_.erase(0, end + 1);
      if (line.starts_with("trouble") || line.starts_with("fenced"))
        trouble_ = line;
      if (!line.starts_with(begin))
        continue;
      auto out = std::vector<int64_t>{};
      auto words = std::istringstream{line.substr(begin.size())};
      for (int64_t x = 0; words >> x;)
        out.push_back(x);
      return out;
    }
  }

  /// The last bad news; empty: none.
  const std::string& trouble() const { return trouble_; }

private:
  bool fill(clock::time_point due) {
    const auto left
      = std::chrono::ceil<std::chrono::milliseconds>(due - clock::now());
    auto ready = pollfd{.fd = read_.get(), .events = POLLIN, .revents = 0};
    if (left.count() <= 0 || ::poll(&ready, 1, int(left.count())) <= 0)
      return false;
    char buffer[4096];
    const auto got = ::read(read_.get(), buffer, sizeof buffer);
    if (got > 0)
      text_.append(buffer, size_t(got));
    return got > 0;
  }

  detail::unique_fd read_;
  detail::unique_fd write_;
  std::string text_;
  std::string trouble_;
};

struct hollow_process {
  program agents;
  hollow_output output;
};

/// Where witnesses are that elect one of them.
constexpr auto witness_hosts = std::array{"127.0.0.2", "127.0.0.3"};

/// A coordinator and its hollow agents.
struct hollow_job {
  program coordinator;
  std::vector<std::string> command; ///< The coordinator's.
  std::string endpoint;
  std::string log;
  std::string folder; ///< The coordinator's, too.
  std::vector<hollow_process> processes{};
  double joined_seconds = 0;
  std::vector<program> witnesses{};

  double cpu_seconds_of_agents() const {
    auto sum = 0.0;
    for (const auto& x : processes)
      sum += cpu_seconds(x.agents.pid());
    return sum;
  }

  std::string trouble() const {
    auto out = std::string{};
    for (const auto& x : processes)
      if (!x.output.trouble().empty())
        out = x.output.trouble();
    return out;
  }
};

uint32_t descriptor_limit() {
  auto limit = rlimit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return uint32_t(std::min<rlim_t>(limit.rlim_max, 1'000'000));
}

/// The latest of the moments at the end of such lines, one from each process.
result<int64_t> await_all(hollow_job& x, const std::string& begin,
                          clock::time_point due) {
  auto latest = int64_t{0};
  for (auto& process : x.processes) {
    const auto found = process.output.await(begin, due);
    if (!found)
      return unmeasured(found.error().text + "\n" + last_words(x.log));
    latest = std::max(latest, found->back());
  }
  return latest;
}

/// Agents that look for a coordinator before it listens may get its port for their
/// own end of a connection.
measured await_text(const std::string& log, const std::string& what) {
  const auto due = deadline();
  for (;;) {
    auto text = std::ostringstream{};
    text << std::ifstream{log}.rdbuf();
    if (text.str().find(what) != std::string::npos)
      return {};
    if (clock::now() > due)
      return unmeasured("no coordinator says \"" + what + "\":\n"
                        + last_words(log));
    std::this_thread::sleep_for(poll_interval);
  }
}

/// As on a host of its own, with this folder.
program::command on_host(setting& s, const std::string& folder,
                         const std::vector<std::string>& command) {
  return s.command(command, {"ACTORRUN_RUN_DIR=" + folder});
}

/// They vote, and one of them leads when the coordinator is lost.
measured add_witnesses(setting& s, hollow_job& x) {
  if (!s.elects_hollow())
    return {};
  for (const auto* at : witness_hosts) {
    auto arguments = x.command;
    arguments.push_back(std::string{"--local-addr="} + at);
    arguments.emplace_back("--rdzv-conf=succession=on,is_host=no");
    auto started = program::start(on_host(s, s.new_folder(), arguments));
    if (!started)
      return started.error();
    x.witnesses.push_back(std::move(*started));
  }
  return await_text(x.log, "elect another coordinator");
}

result<hollow_job> meet(setting& s, uint32_t count) {
  const auto port = std::to_string(free_port());
  const auto min = std::to_string(count - std::min(mortal_count, count - 1));
  const auto max = std::to_string(count);
  const auto endpoint = std::string{host} + ":" + port;
  auto arguments = std::vector<std::string>{
    s.tool("actorctl"), "coordinator", "--rdzv-endpoint=" + endpoint,
    std::string{"--rdzv-id="} + job, "--nnodes=" + min + ":" + max};
  if (s.elects_hollow())
    arguments.emplace_back("--rdzv-conf=succession=on");
  const auto folder = s.new_folder();
  const auto what = on_host(s, folder, arguments);
  auto coordinator = program::start(what);
  if (!coordinator)
    return coordinator.error();
  auto out = hollow_job{std::move(*coordinator), arguments, endpoint,
                        what.output, folder};
  if (const auto listens = await_text(out.log, " listens on "); !listens)
    return listens.error();
  if (const auto there = add_witnesses(s, out); !there)
    return there.error();
  const auto begun = stamp_now();
  const auto per_process = descriptor_limit() - spare_descriptors;
  for (uint32_t first = 0; first < count; first += per_process) {
    auto output = hollow_output::open();
    if (!output)
      return output.error();
    auto command = s.command(
      {s.tool("hollow_agents"), host, port, job, min, max,
       std::to_string(first),
       std::to_string(std::min(per_process, count - first)),
       std::to_string(first == 0 ? std::min(mortal_count, count - 1) : 0)});
    if (s.elects_hollow())
      command.arguments.emplace_back("elect");
    command.output.clear();
    command.console = output->console();
    auto agents = program::start(command);
    if (!agents)
      return agents.error();
    out.processes.push_back({std::move(*agents), std::move(*output)});
  }
  const auto joined = await_all(out, "joined ", clock::now() + meeting_max);
  if (!joined)
    return joined.error();
  out.joined_seconds = milliseconds_between(begun, *joined) / 1e3;
  if (const auto formed = await_all(out, "formed ", clock::now() + meeting_max);
      !formed)
    return formed.error();
  return out;
}

/// Processor time of the coordinator in a window, in per cent of a core.
double percent(double seconds, std::chrono::seconds window) {
  return 100 * seconds / double(window.count());
}

void rest(setting& s, const hollow_job& x, uint32_t count) {
  const auto window = s.rest_window();
  const auto before = cpu_seconds(x.coordinator.pid());
  const auto agents_before = x.cpu_seconds_of_agents();
  std::this_thread::sleep_for(window);
  const auto used = cpu_seconds(x.coordinator.pid()) - before;
  const auto goal
    = count <= small_count ? rest_percent_small_max : rest_percent_max;
  auto line = row{.what = "  at rest: the coordinator (limit: all agents)",
                  .unit = "% of a core",
                  .goal = "≤ " + std::to_string(int(goal)) + " %"};
  line.ours.add(percent(used, window));
  line.limit.add(percent(x.cpu_seconds_of_agents() - agents_before, window));
  line.met = line.ours.median() <= goal;
  print(line);
  auto memory = row{
    .what = "  memory of the coordinator", .unit = "MiB", .goal = "≤ 190 MiB"};
  memory.ours.add(resident_mib(x.coordinator.pid()));
  memory.met = memory.ours.median() <= resident_mib_max;
  print(memory);
}

/// Losses of an agent: until the last plan arrives, and the processor time of the
/// coordinator, both in milliseconds.
struct losses {
  figures delay;
  figures cost;
};

result<losses> lose(hollow_job& x, size_t times) {
  auto out = losses{};
  for (size_t i = 0; i < times; ++i) {
    settle();
    const auto used = cpu_seconds(x.coordinator.pid());
    x.processes.front().agents.signal(SIGUSR1);
    const auto died = x.processes.front().output.await("died ", deadline());
    if (!died)
      return died.error();
    const auto formed = await_all(x, "formed ", deadline());
    if (!formed)
      return formed.error();
    out.delay.add(milliseconds_between(died->back(), *formed));
    out.cost.add((cpu_seconds(x.coordinator.pid()) - used) * 1e3);
  }
  return out;
}

measured lose_some(setting& s, hollow_job& x, uint32_t count) {
  const auto times
    = std::min<size_t>(s.quick() ? 1 : loss_count, (count - 1) / 2);
  const auto alone = lose(x, times);
  if (!alone)
    return alone.error();
  const auto goal
    = count <= small_count ? regroup_ms_small_max : regroup_ms_max;
  auto line = row{.what = "  one is lost, by proof: the last plan arrives",
                  .unit = "ms",
                  .goal = "≤ " + std::to_string(int(goal)) + " ms"};
  line.ours = alone->delay;
  line.met = line.ours.median() <= goal;
  print(line);
  auto cost = row{.what = "    processor time of the coordinator; limit: with"
                          " five viewers",
                  .unit = "ms"};
  cost.ours = alone->cost;
  const auto viewers = viewer_group::start(
    s, viewer_count,
    {"--rdzv-endpoint=" + x.endpoint, std::string{"--rdzv-id="} + job},
    "running");
  if (!viewers)
    return viewers.error();
  const auto seen = lose(x, times);
  if (!seen)
    return seen.error();
  cost.limit = seen->cost;
  print(cost);
  auto viewed = row{.what = "    with five viewers; limit: without",
                    .unit = "ms",
                    .goal = "≤ 1.1 × limit"};
  viewed.ours = seen->delay;
  viewed.limit = alone->delay;
  viewed.met = ratio(viewed.ours, viewed.limit) <= viewed_regroup_max;
  print(viewed);
  return {};
}

measured ask(setting& s, const hollow_job& x) {
  auto line = row{.what = "  actorctl status", .unit = "s", .goal = "≤ 2 s"};
  for (size_t i = 0; i < s.stream_repetitions(); ++i) {
    const auto took = time_of(
      s.command({s.tool("actorctl"), "status", "--rdzv-endpoint=" + x.endpoint,
                 std::string{"--rdzv-id="} + job, "--json"}));
    if (!took)
      return took.error();
    line.ours.add(*took / 1e3);
  }
  line.met = line.ours.median() <= status_seconds_max;
  print(line);
  return {};
}

/// Starts its coordinator once more on the same port.
measured begin_again(setting& s, hollow_job& x) {
  const auto what = on_host(s, x.folder, x.command);
  auto coordinator = program::start(what);
  if (!coordinator)
    return coordinator.error();
  x.coordinator = std::move(*coordinator);
  x.log = what.output;
  return {};
}

/// Kills the coordinator, and starts it again on the same port.
measured restart(setting& s, hollow_job& x) {
  auto line = row{.what = "  its coordinator is killed and started again: all"
                          " are back",
                  .unit = "ms",
                  .goal = "no generation lost"};
  line.met = true;
  for (size_t i = 0; i < (s.quick() ? 1 : restart_count); ++i) {
    settle();
    const auto begun = stamp_now();
    x.coordinator.signal(SIGKILL);
    x.coordinator.wait(deadline());
    if (const auto begins = begin_again(s, x); !begins)
      return begins.error();
    const auto joined = await_all(x, "joined ", clock::now() + meeting_max);
    if (!joined)
      return joined.error();
    line.ours.add(milliseconds_between(begun, *joined));
    // Had a fence fallen, there would be another generation.
    if (await_all(x, "formed ", clock::now() + lost_generation_wait))
      line.met = false;
  }
  print(line);
  return {};
}

/// Kills the coordinator, and starts it again when another one leads: the lead comes
/// back to it.
measured elect(setting& s, hollow_job& x) {
  auto line
    = row{.what = "  its coordinator is killed, and others elect another one:"
                  " all are back",
          .unit = "ms",
          .goal = "no generation lost"};
  line.met = true;
  for (size_t i = 0; i < (s.quick() ? 1 : restart_count); ++i) {
    settle();
    const auto begun = stamp_now();
    x.coordinator.signal(SIGKILL);
    x.coordinator.wait(deadline());
    const auto joined = await_all(x, "joined ", clock::now() + meeting_max);
    if (!joined)
      return joined.error();
    line.ours.add(milliseconds_between(begun, *joined));
    if (await_all(x, "formed ", clock::now() + lost_generation_wait)
        || x.trouble().starts_with("fenced"))
      line.met = false;
    if (const auto begins = begin_again(s, x); !begins)
      return begins.error();
    if (const auto home = await_all(x, "joined ", clock::now() + meeting_max);
        !home)
      return home.error();
  }
  print(line);
  return {};
}

measured measure(setting& s, uint32_t count) {
  auto x = meet(s, count);
  if (!x)
    return x.error();
  auto joined
    = row{.what = std::to_string(count) + " hollow agents: all joined",
          .unit = "s",
          .goal = "≤ 10 s"};
  joined.ours.add(x->joined_seconds);
  joined.met = x->joined_seconds <= joined_seconds_max;
  print(joined);
  if (s.restarts_hollow() || s.elects_hollow()) {
    const auto done = s.elects_hollow() ? elect(s, *x) : restart(s, *x);
    if (const auto what = x->trouble(); !what.empty())
      print_note("  troubles of the agents, the last", what);
    return done;
  }
  settle();
  rest(s, *x, count);
  if (const auto done = ask(s, *x); !done)
    return done;
  if (const auto done = lose_some(s, *x, count); !done)
    return done;
  if (const auto what = x->trouble(); !what.empty())
    print_note("  troubles of the agents, the last", what);
  return {};
}

} // namespace

measured measure(setting& s) {
  if (const auto there = s.need("hollow_agents"); !there)
    return there;
  for (const auto count : s.hollow_counts())
    if (const auto done = measure(s, count); !done)
      return done;
  return {};
}

} // namespace actorrun::bench::hollow_part
