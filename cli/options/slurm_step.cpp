#include "cli/options/slurm_step.hpp"

#include "actors/core/protocol/rank_assignment.hpp"
#include "actors/core/text.hpp"
#include "cli/options/values.hpp"
#include "messages/formatted.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <limits>

namespace actorrun::cli {

namespace {

/// Below what kernels use for connections. Jobs that follow each other have ports
/// that follow each other, so that those of one host differ.
constexpr uint32_t first_port = 20'000;
constexpr uint32_t port_count = 10'000;

/// Options that say where the nodes meet, or that there is one only.
constexpr auto meeting_options = std::array{
  "--rdzv-endpoint", "--rdzv-backend", "--standalone",
  "--node-rank",     "--master-addr",  "--master-port",
};

/// Nothing if it is no number of this type.
template <class T>
std::optional<T> number_of(std::string_view text) {
  auto out = T{0};
  const auto* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, out);
  if (text.empty() || error != std::errc{} || at != end)
    return std::nullopt;
  return out;
}

failure unusable(const char* name, const std::optional<std::string>& value) {
  return bad_argument(formatted(
    "{} of Slurm's step {}; give --nnodes and --rdzv-endpoint, or --standalone",
    name, value ? "is " + in_quotes(*value) : std::string{"is not set"}));
}

/// A number of a variable in a range.
result<uint32_t> read_number(const host_facts& world, const char* name,
                             uint32_t min, uint32_t max) {
  const auto text = world.variable(name);
  const auto x = number_of<uint32_t>(text.value_or(""));
  if (!x || *x < min || *x > max)
    return unusable(name, text);
  return *x;
}

/// The first port that Slurm has reserved for the step (`MpiParams=ports=…`), or
/// else one that its ids choose.
uint16_t port_of(const host_facts& world, uint64_t job, uint64_t step) {
  const auto reserved = world.variable("SLURM_STEP_RESV_PORTS").value_or("");
  const auto first
    = number_of<uint16_t>(reserved.substr(0, reserved.find_first_of("-,")));
  if (first.value_or(0) != 0)
    return *first;
  return static_cast<uint16_t>(first_port + (job + step * 101) % port_count);
}

} // namespace

std::string slurm_step::id() const {
  return formatted("slurm-{}.{}{}", job, step,
                   restart_count.empty() ? std::string{}
                                         : "-requeue" + restart_count);
}

std::string first_of_host_list(std::string_view list) {
  auto out = std::string{};
  for (size_t i = 0; i < list.size() && list[i] != ','; ++i) {
    if (list[i] != '[') {
      out += list[i];
      continue;
    }
    const auto end = list.find(']', i);
    if (end == std::string_view::npos)
      return {};
    const auto range = list.substr(i + 1, end - i - 1);
    out += range.substr(0, range.find_first_of("-,"));
    i = end;
  }
  return is_host(out) ? out : std::string{};
}

result<std::optional<slurm_step>> read_slurm_step(const host_facts& world) {
  const auto step = world.variable("SLURM_STEP_ID").value_or("");
  if (step.empty() || world.variable("TORCHELASTIC_RUN_ID"))
    return std::optional<slurm_step>{};
  auto out = slurm_step{};
  out.step = step;
  const auto step_number = number_of<uint64_t>(step);
  if (!step_number)
    return unusable("SLURM_STEP_ID", step);
  const auto job = world.variable("SLURM_JOB_ID");
  out.job = job.value_or("");
  const auto job_number = number_of<uint64_t>(out.job);
  if (!job_number)
    return unusable("SLURM_JOB_ID", job);
  const auto array = world.variable("SLURM_ARRAY_JOB_ID").value_or("");
  const auto task = world.variable("SLURM_ARRAY_TASK_ID").value_or("");
  out.queued = number_of<uint64_t>(array) && number_of<uint64_t>(task)
                 ? formatted("{}_{}", array, task)
                 : out.job;
  constexpr auto max = std::numeric_limits<uint32_t>::max();
  const auto nodes = read_number(world, "SLURM_STEP_NUM_NODES", 1,
                                 core::agents_per_generation_max);
  if (!nodes)
    return nodes.error();
  out.node_count = *nodes;
  const auto rank = read_number(world, "SLURM_NODEID", 0, *nodes - 1);
  if (!rank)
    return rank.error();
  out.node_rank = *rank;
  const auto tasks = read_number(world, "SLURM_STEP_NUM_TASKS", 1, max);
  if (!tasks)
    return tasks.error();
  out.task_count = *tasks;
  const auto list = world.variable("SLURM_STEP_NODELIST");
  out.first_host = first_of_host_list(list.value_or(""));
  if (out.first_host.empty())
    return unusable("SLURM_STEP_NODELIST", list);
  const auto restarts = world.variable("SLURM_RESTART_COUNT").value_or("");
  if (number_of<uint32_t>(restarts).value_or(0) != 0)
    out.restart_count = restarts;
  const auto gpus
    = number_of<uint32_t>(world.variable("SLURM_GPUS_ON_NODE").value_or(""));
  if (gpus.value_or(0) != 0)
    out.gpu_count = gpus;
  out.port = port_of(world, *job_number, *step_number);
  return std::optional{std::move(out)};
}

namespace {

/// What the command line or a variable says.
struct given_options {
  const std::vector<given_option>& typed;
  const host_facts& world;

  bool has(const std::string& name) const {
    return contains(typed, name) || world.variable(variable_of(name));
  }

  bool says_where() const {
    return std::ranges::any_of(meeting_options,
                               [this](const char* x) { return has(x); });
  }
};

/// What is not given, filled from a step.
class taker {
public:
  taker(const slurm_step& step, const given_options& given,
        run_settings& settings)
    : step_(step), given_(given), settings_(settings) {}

  result<void> run() {
    const auto is_alone = given_.has("--nnodes") && settings_.nodes.max == 1;
    if (!is_alone && !given_.says_where()) {
      if (step_.task_count > step_.node_count)
        return several_tasks();
      if (step_.node_count > 1)
        take_place();
    }
    if (!given_.has("--nproc-per-node") && step_.gpu_count) {
      settings_.devices.slots
        = {.what = slot_wish::kind::number, .count = *step_.gpu_count};
      taken_.push_back(formatted("{} (SLURM_GPUS_ON_NODE)",
                                 core::counted(*step_.gpu_count, "worker")));
    }
    return {};
  }

  std::string notice() const {
    if (taken_.empty())
      return {};
    auto text = formatted("step {}.{} of Slurm gives: ", step_.job, step_.step);
    for (size_t i = 0; i < taken_.size(); ++i)
      text += (i == 0 ? "" : ", ") + taken_[i];
    return text;
  }

private:
  failure several_tasks() const {
    return bad_argument(formatted(
      "Slurm has started {} tasks on {}, and one actorrun on each node starts"
      " the workers of that node: srun --ntasks-per-node=1 actorrun"
      " --nproc-per-node={} …",
      step_.task_count, core::counted(step_.node_count, "node"),
      std::max(1u, step_.task_count / step_.node_count)));
  }

  // Where all nodes take part, their ranks are Slurm's.
  void take_place() {
    if (!given_.has("--nnodes")) {
      settings_.nodes = {step_.node_count, step_.node_count};
      // Whoever has typed this in a shell of the step waits for the others.
      taken_.push_back(core::counted(step_.node_count, "node")
                       + " (srun starts this on each; --standalone is for one"
                         " alone)");
    }
    if (settings_.nodes.min == settings_.nodes.max
        && settings_.nodes.max == step_.node_count) {
      settings_.backend = rendezvous_backend::fixed;
      settings_.node_rank = step_.node_rank;
      settings_.master_address = step_.first_host;
      settings_.master_port = step_.port;
      taken_.push_back(formatted("node rank {}", step_.node_rank));
    } else {
      settings_.rendezvous = formatted("{}:{}", step_.first_host, step_.port);
      if (settings_.conf.place == coordinator_place::automatic)
        settings_.conf.place = step_.node_rank == 0
                                 ? coordinator_place::here
                                 : coordinator_place::elsewhere;
    }
    taken_.push_back(
      formatted("the coordinator at {}:{}", step_.first_host, step_.port));
    if (!given_.has("--rdzv-id")) {
      settings_.job = step_.id();
      taken_.push_back("the job id " + step_.id());
    }
  }

  const slurm_step& step_;
  const given_options& given_;
  run_settings& settings_;
  std::vector<std::string> taken_;
};

} // namespace

result<void> take_slurm_step(const std::vector<given_option>& typed,
                             const host_facts& world, run_settings& settings,
                             std::vector<std::string>& notices) {
  const auto given = given_options{typed, world};
  const auto step = read_slurm_step(world);
  if (!step)
    return given.has("--nnodes") || given.says_where() ? result<void>{}
                                                       : step.error();
  if (!*step)
    return {};
  auto work = taker{**step, given, settings};
  if (auto ok = work.run(); !ok)
    return ok;
  if (auto text = work.notice(); !text.empty())
    notices.push_back(std::move(text));
  return {};
}

result<void> settle_time_limit(const std::vector<given_option>& typed,
                               const run_settings& settings,
                               const host_facts& world, run_arguments& out) {
  constexpr auto name = "--notice-before";
  if (!settings.notice_before)
    return {};
  const auto step = read_slurm_step(world);
  if (!step)
    return step.error();
  if (*step) {
    out.time_limit
      = {(*step)->queued, (*step)->step, (*step)->node_rank,
         std::chrono::ceil<std::chrono::seconds>(*settings.notice_before)};
    return {};
  }
  const auto text
    = formatted("{}: no step of Slurm has started this, whose time"
                " limit could be known; something else may send a"
                " signal (--signals-to-forward)",
                name);
  if (contains(typed, name))
    return bad_argument(text);
  out.details.push_back(text);
  return {};
}

} // namespace actorrun::cli
