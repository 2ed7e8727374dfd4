#include "actors/core/text.hpp"
#include "actors/translate.hpp"
#include "cli/report/status_view.hpp"
#include "cli/report/vitals_view.hpp"
#include "cli/top/cells.hpp"
#include "cli/top/view.hpp"
#include "messages/formatted.hpp"

#include <algorithm>
#include <chrono>

namespace actorrun::cli::top {

namespace {

using core::time_point;

constexpr size_t name_width = 12;

void add(std::vector<line>& out, const std::string& name, std::string value,
         style how = style::plain) {
  out.push_back({{" " + fitted(name, name_width) + " ", style::dim},
                 {value.empty() ? "-" : std::move(value), how}});
}

void add_heading(std::vector<line>& out, const std::string& text) {
  if (!out.empty())
    out.emplace_back();
  out.push_back({{" " + text, style::strong}});
}

template <class T>
std::string text_or_dash(bool is_known, T x) {
  return is_known ? std::to_string(x) : "-";
}

std::string us_text(uint64_t us) {
  return core::duration_text(std::chrono::microseconds{us});
}

void add_worker(std::vector<line>& out, const row& x, time_point now) {
  const auto& known
    = x.vitals != nullptr ? *x.vitals : v1::WorkerVitals::default_instance();
  const auto ago = [&](uint64_t ms) {
    return span_text(age_now(ms + x.node->vitals().age_ms(), *x.job, now));
  };
  add_heading(out, x.rank ? formatted("worker of rank {}", *x.rank)
                          : formatted("worker {}", *x.id.local_rank));
  add(out, "local rank", std::to_string(*x.id.local_rank));
  add(out, "pid", std::to_string(x.pid));
  add(out, "state", state_of(x));
  add(out, "since", known.has_age_ms() ? ago(known.age_ms()) : "-");
  add(out, "CPU",
      known.has_cpu_percent() ? formatted("{} %", known.cpu_percent()) : "-");
  add(out, "memory", known.has_memory() ? size_text(known.memory()) : "-");
  add(out, "threads",
      text_or_dash(known.has_thread_count(), known.thread_count()));
  add(out, "processes",
      text_or_dash(known.process_count() > 0, known.process_count()));
  add(out, "output",
      known.has_output_size() ? size_text(known.output_size()) : "-");
  add(out, "last line",
      known.has_output_age_ms() ? ago(known.output_age_ms()) + " ago" : "-");
  if (known.has_step_count())
    add(out, "steps", std::to_string(known.step_count()));
  if (known.has_compute_us() && known.has_step_us())
    add(out, "a step",
        formatted("computes for {} of {}", us_text(known.compute_us()),
                  us_text(known.step_us())));
  if (known.has_timer_age_ms())
    add(out, "timer",
        formatted("{}, {} ago", core::printable(known.timer_scope()),
                  ago(known.timer_age_ms())));
}

void add_gpu(std::vector<line>& out, const v1::GpuStatus& x) {
  auto text
    = formatted("{}, {} of {}", core::printable(x.name()),
                size_text(x.memory_used()), size_text(x.memory_total()));
  if (x.has_utilisation())
    text += formatted(", {} % used", x.utilisation());
  if (x.has_temperature())
    text += formatted(", {} C", x.temperature());
  if (!x.trouble().empty())
    text += ": " + core::printable(x.trouble());
  add(out, formatted("GPU {}", x.index()), std::move(text),
      x.trouble().empty() ? style::plain : style::bad);
}

void add_node(std::vector<line>& out, const row& x, time_point now) {
  const auto& node = *x.node;
  const auto& vitals = node.vitals();
  add_heading(out, formatted("node {}", core::printable(node.host())));
  add(out, "agent", node.agent_id());
  add(out, "address", node.address());
  add(out, "role", node.role());
  add(out, "state", node.state());
  add(out, "reason", node.reason());
  add(out, "since", span_text(age_now(node.since_ms(), *x.job, now)));
  if (in_generation(*x.job->status, node))
    add(out, "ranks",
        formatted("{}-{}, node rank {}", node.first_global_rank(),
                  node.first_global_rank() + node.slot_count() - 1,
                  node.node_rank()));
  add(out, "workers", std::to_string(node.slot_count()));
  add(out, "lease",
      node.has_lease_age_ms()
        ? formatted("renewed {} ms before the answer", node.lease_age_ms())
        : "none: it lives in the coordinator's process");
  if (node.has_drain_left_ms())
    add(out, "drain", formatted("leaves in {}", ms_text(node.drain_left_ms())),
        style::warning);
  if (node.has_drain_asked_age_ms())
    add(out, "drain",
        formatted("waits for a replacement, asked {} ago",
                  span_text(age_now(node.drain_asked_age_ms(), *x.job, now))),
        style::warning);
  if (vitals.has_load_1_percent())
    add(out, "load",
        formatted("{}.{:02} (1 min), {} CPUs", vitals.load_1_percent() / 100,
                  vitals.load_1_percent() % 100,
                  text_or_dash(vitals.has_cpu_count(), vitals.cpu_count())));
  if (vitals.has_memory_total() && vitals.has_memory_available())
    add(out, "memory",
        formatted("{} free of {}", size_text(vitals.memory_available()),
                  size_text(vitals.memory_total())));
  for (const auto& gpu : node.gpus())
    add_gpu(out, gpu);
  if (!node.gpu_trouble().empty())
    add(out, "GPUs", core::printable(node.gpu_trouble()), style::bad);
}

void add_generation(std::vector<line>& out, const v1::GenerationStatus& x,
                    const job_picture& job, time_point now) {
  auto text
    = formatted("nodes {}, workers {}, formed {} ago", x.node_count(),
                x.world_size(), span_text(age_now(x.age_ms(), job, now)));
  if (x.has_regroup_us())
    text += ", regrouped in " + regroup_text(x.regroup_us());
  if (x.cost_restart())
    text += ", cost a restart";
  add(out, to_string(generation_id{x.generation()}), std::move(text));
  if (!x.end_reason().empty())
    add(out, "", "ended: " + x.end_reason(), style::warning);
}

} // namespace

std::vector<line> details_of(const row& x, time_point now) {
  auto out = std::vector<line>{};
  if (x.is_worker())
    add_worker(out, x, now);
  add_node(out, x, now);
  return out;
}

std::vector<line> details_of(const job_picture& x, time_point now, look) {
  auto out = std::vector<line>{};
  if (!x.status)
    return {{{" " + x.trouble, style::warning}}};
  const auto& job = *x.status;
  add_heading(out, "job " + job.job_id());
  add(out, "phase",
      formatted("{} for {}", job.phase(),
                span_text(age_now(job.phase_age_ms(), x, now))));
  add(out, "waits for", job.waiting_for());
  if (!job.hang().empty())
    add(out, "hangs", job.hang(), style::bad);
  if (!job.loop().empty())
    add(out, "loops", job.loop(), style::bad);
  if (!job.slow().empty())
    add(out, "slow", job.slow(), style::warning);
  add(out, "coordinator",
      job.coordinator_pid() == 0
        ? "away"
        : formatted("pid {} on {}, for {}", job.coordinator_pid(),
                    job.coordinator_host(),
                    span_text(age_now(job.age_ms(), x, now))));
  if (job.has_leadership()) {
    const auto& led = job.leadership();
    add(out, "leader",
        formatted("{}, term {}, for {}: {}",
                  led.leader().empty() ? job.coordinator_host() : led.leader(),
                  led.term(), span_text(age_now(led.age_ms(), x, now)),
                  led.reason()));
    for (const auto& who : led.voters())
      add(out, "voter", who);
  }
  add(out, "nodes",
      formatted("{} here, {} to {} wanted", job.agents_size(),
                job.settings().agent_count_min(),
                job.settings().agent_count_max()));
  add(out, "restarts",
      formatted("{} of {} spent", job.restart_count(),
                job.settings().restart_count_max()));
  if (!job.master_address().empty())
    add(out, "MASTER_ADDR",
        formatted("{}:{}", job.master_address(), job.master_port()));
  if (job.has_last_failure())
    add(out, "last failure",
        core::printable(core::to_string(from_wire(job.last_failure()))),
        style::bad);
  for (const auto& y : job.quarantined_nodes())
    add(out, "quarantine",
        formatted("{}: SIGKILL has not ended {} there", y.host(),
                  y.unkillable_count()),
        style::bad);
  for (const auto& y : job.excluded_hosts())
    add(out, "excluded", formatted("{}: {}", y.host(), y.reason()),
        style::warning);
  for (const auto& y : job.departed_nodes())
    add(out, "gone",
        formatted("{}, {} ago: {}", y.host(),
                  span_text(age_now(y.age_ms(), x, now)), y.reason()),
        style::warning);
  if (job.generations_size() > 0)
    add_heading(out, "generations, the newest first");
  for (auto i = job.generations_size(); i-- > 0;)
    add_generation(out, job.generations(i), x, now);
  return out;
}

std::vector<line> help_of(const model& x) {
  auto out = std::vector<line>{};
  constexpr size_t keys_width = 26;
  const auto put = [&](const std::string& keys, const std::string& name) {
    out.push_back(
      {{" " + fitted(keys, keys_width) + " ", style::strong}, {name}});
  };
  for (const auto& y : own_keys())
    put(y.keys, y.name);
  for (const auto& y : x.actions())
    put(std::string(1, y.key), y.name);
  out.emplace_back();
  out.push_back(
    {{" STATE: ! failed or out of reach, * on its way; of workers as"
      " ps(1) has it"}});
  out.push_back(
    {{" SILENT: since the last line of output; LEASE: since the last"
      " keep-alive"}});
  return out;
}

} // namespace actorrun::cli::top
