#include "actors/translate.hpp"

#include "actors/core/text.hpp"
#include "actors/core/timers/table.hpp"
#include "messages/type_ids.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace actorrun {

namespace {

// In bytes. Ids have a host name in them.
constexpr auto host_size_max = size_t{255};
constexpr auto agent_id_size_max = size_t{320};
constexpr auto reason_size_max = size_t{512};
/// 64 of them, with their hosts, fit into every message.
constexpr auto exclusion_text_size_max = size_t{160};
constexpr auto revision_max = uint64_t{1} << 53U;
constexpr auto role_size_max = size_t{255};
constexpr auto gpu_name_size_max = size_t{96};
constexpr auto gpu_trouble_size_max = size_t{256};

/// No failure is older, or came later; twice as much still fits.
constexpr auto duration_max
  = std::chrono::duration_cast<core::duration>(std::chrono::hours{24 * 365});

std::string cut(std::string_view text, size_t size_max) {
  return std::string{core::beginning_of(text, size_max)};
}

/// In bytes: tag and length of a worker's entry, which is short.
constexpr auto worker_overhead = size_t{2};

/// At most this many bytes by which the lengths around such entries grow, and flags.
constexpr auto vitals_overhead = size_t{16};

std::chrono::microseconds from_us(uint64_t x) {
  constexpr auto max
    = std::chrono::duration_cast<std::chrono::microseconds>(duration_max);
  return std::chrono::microseconds{
    std::min(x, static_cast<uint64_t>(max.count()))};
}

std::chrono::milliseconds from_ms(uint64_t x) {
  constexpr auto max
    = std::chrono::duration_cast<std::chrono::milliseconds>(duration_max * 100);
  return std::chrono::milliseconds{
    std::min(x, static_cast<uint64_t>(max.count()))};
}

/// 0 is none.
uint16_t port_of(uint32_t x) {
  return x > UINT16_MAX ? uint16_t{0} : static_cast<uint16_t>(x);
}

v1::DeathDetails details_to_wire(const core::death_details& x) {
  auto out = v1::DeathDetails{};
  out.set_wall_ms(x.wall_ms);
  out.set_out_of_memory(x.out_of_memory);
  out.set_subject(x.subject);
  out.set_error_file(x.error_file);
  out.set_message(x.message);
  out.set_traceback(x.traceback);
  out.set_is_from_stderr(x.is_from_stderr);
  out.set_scope(x.scope);
  out.set_lateness_ns(x.lateness.count());
  if (x.limit)
    out.set_limit_ns(x.limit->count());
  out.set_where(x.where);
  return out;
}

/// What is no limit is not known.
std::optional<core::duration> limit_of(const v1::DeathDetails& x) {
  if (x.limit_ns() <= 0)
    return std::nullopt;
  return std::min(core::duration{x.limit_ns()}, duration_max);
}

core::death_details details_from_wire(const v1::DeathDetails& x) {
  return {.wall_ms = x.wall_ms(),
          .out_of_memory = x.out_of_memory(),
          .subject = x.subject(),
          .error_file = x.error_file(),
          .message = x.message(),
          .traceback = x.traceback(),
          .is_from_stderr = x.is_from_stderr(),
          .scope = x.scope(),
          .lateness = std::clamp(core::duration{x.lateness_ns()},
                                 core::duration{0}, duration_max),
          .limit = limit_of(x),
          .where = x.where()};
}

v1::GpuStatus gpu_to_wire(const core::gpu_status& x) {
  auto out = v1::GpuStatus{};
  out.set_index(x.index);
  out.set_name(core::one_line(x.name, gpu_name_size_max));
  out.set_uuid(core::one_line(x.uuid, gpu_name_size_max));
  out.set_memory_used(x.memory_used);
  out.set_memory_total(x.memory_total);
  if (x.utilisation)
    out.set_utilisation(*x.utilisation);
  if (x.temperature)
    out.set_temperature(*x.temperature);
  out.set_trouble(core::one_line(x.trouble, gpu_trouble_size_max));
  return out;
}

core::gpu_status gpu_from_wire(const v1::GpuStatus& x) {
  auto out = core::gpu_status{
    .index = x.index(),
    .name = core::one_line(x.name(), gpu_name_size_max),
    .uuid = core::one_line(x.uuid(), gpu_name_size_max),
    .memory_used = x.memory_used(),
    .memory_total = x.memory_total(),
    .trouble = core::one_line(x.trouble(), gpu_trouble_size_max)};
  if (x.has_utilisation())
    out.utilisation = x.utilisation();
  if (x.has_temperature())
    out.temperature = x.temperature();
  return out;
}

core::worker_vitals worker_from_wire(const v1::WorkerVitals& x) {
  auto out = core::worker_vitals{.local_rank = x.local_rank(),
                                 .pid = x.pid(),
                                 .process_count = x.process_count()};
  if (x.has_age_ms())
    out.age = from_ms(x.age_ms());
  if (x.has_cpu_percent())
    out.cpu_percent = x.cpu_percent();
  if (x.has_memory())
    out.memory = x.memory();
  if (x.has_thread_count())
    out.thread_count = x.thread_count();
  if (x.has_state() && x.state() >= 'A' && x.state() <= 'Z')
    out.state = static_cast<char>(x.state());
  if (x.has_output_size())
    out.output_size = x.output_size();
  if (x.has_output_age_ms())
    out.output_age = from_ms(x.output_age_ms());
  out.timer_scope = core::one_line(x.timer_scope(), core::last_scope_size_max);
  if (x.has_timer_age_ms())
    out.timer_age = from_ms(x.timer_age_ms());
  if (x.has_step_count())
    out.step_count = x.step_count();
  if (x.has_compute_us())
    out.compute = from_us(x.compute_us());
  if (x.has_step_us())
    out.step_time = from_us(x.step_us());
  return out;
}

} // namespace

// -- to the wire --------------------------------------------------------------

v1::Offer to_wire(const core::offer& x) {
  auto out = v1::Offer{};
  out.set_agent_id(x.agent.value);
  out.set_host(x.host);
  out.set_address(x.address);
  out.set_role(x.role);
  out.set_slot_count(x.slot_count);
  out.set_master_port(x.master_port);
  if (x.node_rank)
    out.set_node_rank(*x.node_rank);
  out.set_unfit(x.unfit);
  out.set_is_checked_after_failure(x.is_checked_after_failure);
  out.set_is_checked_after_end(x.is_checked_after_end);
  out.set_has_checks(x.has_checks);
  return out;
}

v1::Settings to_wire(const core::job_settings& x) {
  auto out = v1::Settings{};
  out.set_agent_count_min(x.agent_count_min);
  out.set_agent_count_max(x.agent_count_max);
  out.set_restart_count_max(x.restart_count_max);
  out.set_ranked(x.ranked);
  out.set_lease_ms(static_cast<uint64_t>(x.lease.count()));
  return out;
}

v1::Charter to_wire(const core::charter& x) {
  auto out = v1::Charter{};
  out.set_revision(x.revision);
  *out.mutable_settings() = to_wire(x.settings);
  out.set_resized(x.is_resized);
  out.set_restart_count(x.restart_count);
  out.set_charged_generation(x.charged.value);
  for (const auto& from : x.excluded) {
    auto& host = *out.add_excluded();
    host.set_host(cut(from.host, host_size_max));
    host.set_reason(core::one_line(from.reason, exclusion_text_size_max));
    host.set_by(core::one_line(from.by, exclusion_text_size_max));
  }
  out.set_lease_ms(static_cast<uint64_t>(x.lease.count()));
  out.set_newest_generation(x.newest.value);
  for (const auto& from : x.failing) {
    auto& host = *out.add_failing();
    host.set_host(cut(from.host, host_size_max));
    host.set_failure_count(from.failure_count);
  }
  for (const auto& from : x.drains) {
    auto& drain = *out.add_drains();
    drain.set_agent_id(cut(from.agent.value, agent_id_size_max));
    drain.set_by(core::one_line(from.by, exclusion_text_size_max));
    drain.set_time_ms(static_cast<uint64_t>(from.time.count()));
  }
  return out;
}

v1::GenerationPlan to_wire(const core::generation_plan& x) {
  auto out = v1::GenerationPlan{};
  out.set_generation(x.generation.value);
  out.set_agent_id(x.own.agent.value);
  out.set_node_rank(x.own.node_rank);
  out.set_slot_count(x.own.slot_count);
  out.set_first_global_rank(x.own.first_global_rank);
  out.set_first_role_rank(x.own.first_role_rank);
  out.set_role_world_size(x.own.role_world_size);
  out.set_node_count(x.node_count);
  out.set_world_size(x.world_size);
  out.set_master_address(x.master_address);
  out.set_master_port(x.master_port);
  out.set_restart_count(x.restart_count);
  out.set_lead_slot(x.own.lead_slot);
  for (const auto& [first, last] : x.survivors) {
    auto& run = *out.add_survivors();
    run.set_first(first);
    run.set_last(last);
  }
  return out;
}

v1::ParkedWorkers to_wire(const core::parked_share& x) {
  auto out = v1::ParkedWorkers{};
  out.set_generation(x.generation.value);
  out.mutable_local_ranks()->Assign(x.local_ranks.begin(), x.local_ranks.end());
  return out;
}

v1::WorkerFailure to_wire(const core::worker_failure& x) {
  auto out = v1::WorkerFailure{};
  out.set_agent_id(cut(x.agent.value, agent_id_size_max));
  out.set_host(cut(x.host, host_size_max));
  out.set_global_rank(x.global_rank);
  out.set_local_rank(x.local_rank);
  out.set_pid(x.pid);
  out.set_kind(static_cast<v1::FailureKind>(x.kind));
  out.set_code(x.code);
  out.set_dumped(x.dumped);
  out.set_age_ns(x.age.count());
  out.set_teardown_ns(x.teardown.count());
  out.set_while_stopped(x.while_stopped);
  if (x.details != core::death_details{})
    *out.mutable_details() = details_to_wire(core::bounded(x).details);
  return out;
}

v1::Collateral to_wire(const core::collateral& xs) {
  auto out = v1::Collateral{};
  for (const auto& x : xs.listed)
    *out.add_listed() = to_wire(out.listed_size() == 0 ? x : core::brief(x));
  out.set_unlisted_count(xs.unlisted_count);
  return out;
}

v1::Claim to_wire(const core::claim& x) {
  auto out = v1::Claim{};
  *out.mutable_plan() = to_wire(x.plan);
  out.set_state(to_wire(x.state));
  if (x.failure)
    *out.mutable_failure() = to_wire(*x.failure);
  if (!x.parked.local_ranks.empty())
    *out.mutable_parked() = to_wire(x.parked);
  if (x.drain_left)
    out.set_drain_left_ms(uint64_t(
      std::chrono::ceil<std::chrono::milliseconds>(*x.drain_left).count()));
  if (x.notice)
    out.set_notice(*x.notice);
  return out;
}

v1::Outcome to_wire(const core::outcome& x) {
  auto out = v1::Outcome{};
  out.set_verdict(static_cast<v1::Verdict>(x.kind));
  if (x.first_failure)
    *out.mutable_first_failure() = to_wire(*x.first_failure);
  out.set_signal(x.signal);
  out.set_reason(core::one_line(x.reason, reason_size_max));
  out.set_end_class(static_cast<v1::EndClass>(x.what));
  out.set_given_up(core::one_line(x.given_up, reason_size_max));
  out.set_is_without_progress(x.is_without_progress);
  if (x.other_failures.empty() && x.unlisted_failure_count == 0)
    return out;
  auto& others = *out.mutable_others();
  for (const auto& failure : x.other_failures)
    *others.add_listed() = to_wire(core::brief(failure));
  others.set_unlisted_count(x.unlisted_failure_count);
  return out;
}

v1::ShareState to_wire(core::share_state x) {
  return static_cast<v1::ShareState>(x);
}

v1::SafePointOrder to_wire(const core::safe_point_order& x) {
  auto out = v1::SafePointOrder{};
  out.set_action(static_cast<v1::SafePointAction>(x.what));
  out.set_step(x.step);
  out.set_round(x.round);
  return out;
}

v1::SafePointReport to_wire(const core::safe_point_report& x) {
  auto out = v1::SafePointReport{};
  out.set_state(static_cast<v1::SafePointState>(x.what));
  out.set_step(x.step);
  out.set_round(x.round);
  out.set_left_ms(uint64_t(x.left.count()));
  return out;
}

v1::NodeStatus to_wire(const core::devices_status& x) {
  auto out = v1::NodeStatus{};
  const auto count = std::min(x.gpus.size(), core::gpus_per_node_max);
  for (size_t i = 0; i < count; ++i)
    *out.add_gpus() = gpu_to_wire(x.gpus[i]);
  out.set_gpu_trouble(core::one_line(x.trouble, gpu_trouble_size_max));
  return out;
}

v1::WorkerVitals to_wire(const core::worker_vitals& x) {
  auto out = v1::WorkerVitals{};
  out.set_local_rank(x.local_rank);
  out.set_pid(x.pid);
  if (x.age)
    out.set_age_ms(to_ms(*x.age));
  if (x.cpu_percent)
    out.set_cpu_percent(*x.cpu_percent);
  if (x.memory)
    out.set_memory(*x.memory);
  if (x.thread_count)
    out.set_thread_count(*x.thread_count);
  out.set_process_count(x.process_count);
  if (x.state)
    out.set_state(static_cast<unsigned char>(*x.state));
  if (x.output_size)
    out.set_output_size(*x.output_size);
  if (x.output_age)
    out.set_output_age_ms(to_ms(*x.output_age));
  if (x.timer_age) {
    out.set_timer_scope(
      core::one_line(x.timer_scope, core::last_scope_size_max));
    out.set_timer_age_ms(to_ms(*x.timer_age));
  }
  if (x.step_count)
    out.set_step_count(*x.step_count);
  if (x.compute)
    out.set_compute_us(static_cast<uint64_t>(x.compute->count()));
  if (x.step_time)
    out.set_step_us(static_cast<uint64_t>(x.step_time->count()));
  return out;
}

v1::NodeVitals to_wire(const core::node_vitals& x) {
  auto out = v1::NodeVitals{};
  if (x.load) {
    out.set_load_1_percent(x.load->of_1_minute);
    out.set_load_5_percent(x.load->of_5_minutes);
    out.set_load_15_percent(x.load->of_15_minutes);
  }
  if (x.cpu_count)
    out.set_cpu_count(*x.cpu_count);
  if (x.memory) {
    out.set_memory_total(x.memory->total);
    out.set_memory_available(x.memory->available);
  }
  out.set_truncated(x.truncated);
  return out;
}

void add_vitals(v1::NodeStatus& out, const core::node_vitals& x) {
  auto& vitals = *out.mutable_vitals();
  vitals = to_wire(x);
  auto size = out.ByteSizeLong() + vitals_overhead;
  for (const auto& worker : x.workers) {
    auto entry = to_wire(worker);
    size += entry.ByteSizeLong() + worker_overhead;
    if (size > v1::message_size_max) {
      vitals.set_truncated(true);
      return;
    }
    *vitals.add_workers() = std::move(entry);
  }
}

v1::LeaseGranted grant(const v1::KeepAlive& x, core::duration age) {
  auto out = v1::LeaseGranted{};
  out.set_sent_ns(x.sent_ns());
  out.set_age_ns(uint64_t(age.count()));
  return out;
}

v1::QuarantinedNode to_wire(const core::quarantined_node& x) {
  auto out = v1::QuarantinedNode{};
  out.set_agent_id(cut(x.agent.value, agent_id_size_max));
  out.set_host(cut(x.host, host_size_max));
  out.set_unkillable_count(x.unkillable_count);
  return out;
}

v1::Cause to_wire(const core::journal::culprit& x) {
  auto out = v1::Cause{};
  out.set_kind(static_cast<v1::CauseKind>(x.what));
  out.set_host(cut(x.host, host_size_max));
  out.set_agent_id(cut(x.agent.value, agent_id_size_max));
  out.set_reason(core::one_line(x.reason, reason_size_max));
  if (x.failure)
    *out.mutable_failure() = to_wire(*x.failure);
  out.mutable_failed_after_it()->Assign(x.failed_after_it.begin(),
                                        x.failed_after_it.end());
  return out;
}

// -- from the wire ------------------------------------------------------------

core::offer from_wire(const v1::Offer& x) {
  return {.agent = {x.agent_id()},
          .host = core::one_line(x.host(), host_size_max),
          .address = x.address(),
          .role = core::one_line(x.role(), role_size_max),
          .slot_count = x.slot_count(),
          .master_port = port_of(x.master_port()),
          .node_rank
          = x.has_node_rank() ? std::optional{x.node_rank()} : std::nullopt,
          .unfit = reason_line(x.unfit()),
          .is_checked_after_failure = x.is_checked_after_failure(),
          .is_checked_after_end = x.is_checked_after_end(),
          .has_checks = x.has_checks()};
}

std::string reason_line(std::string_view text) {
  return core::one_line(text, reason_size_max);
}

core::job_settings from_wire(const v1::Settings& x) {
  return {.agent_count_min = x.agent_count_min(),
          .agent_count_max = x.agent_count_max(),
          .restart_count_max = x.restart_count_max(),
          .ranked = x.ranked(),
          .lease = std::chrono::milliseconds{x.lease_ms()}};
}

/// No order gives more.
std::chrono::milliseconds drain_time(uint64_t ms) {
  return std::chrono::milliseconds{std::min<uint64_t>(
    ms, std::chrono::milliseconds{core::drain_time_max}.count())};
}

core::charter from_wire(const v1::Charter& x) {
  auto out = core::charter{};
  out.revision = std::min(x.revision(), revision_max);
  out.settings = from_wire(x.settings());
  out.is_resized = x.resized();
  out.restart_count = x.restart_count();
  out.charged = {x.charged_generation()};
  for (const auto& from : x.excluded())
    if (out.excluded.size() < core::excluded_hosts_max)
      out.excluded.push_back(
        {core::one_line(from.host(), host_size_max),
         core::one_line(from.reason(), exclusion_text_size_max),
         core::one_line(from.by(), exclusion_text_size_max),
         {}});
  out.lease = std::chrono::milliseconds{std::min<uint64_t>(
    x.lease_ms(), static_cast<uint64_t>(core::lease_max.count()))};
  out.newest = {x.newest_generation()};
  for (const auto& from : x.failing())
    if (out.failing.size() < core::told_hosts_max)
      out.failing.push_back(
        {core::one_line(from.host(), host_size_max), from.failure_count()});
  for (const auto& from : x.drains())
    if (out.drains.size() < core::told_drains_max)
      out.drains.push_back(
        {{core::one_line(from.agent_id(), agent_id_size_max)},
         core::one_line(from.by(), exclusion_text_size_max),
         drain_time(from.time_ms())});
  return out;
}

core::generation_plan from_wire(const v1::GenerationPlan& x) {
  auto survivors = core::rank_runs{};
  for (const auto& run : x.survivors())
    survivors.emplace_back(run.first(), run.last());
  return {.generation = {x.generation()},
          .own = {.agent = {x.agent_id()},
                  .node_rank = x.node_rank(),
                  .slot_count = x.slot_count(),
                  .first_global_rank = x.first_global_rank(),
                  .first_role_rank = x.first_role_rank(),
                  .role_world_size = x.role_world_size(),
                  .lead_slot = x.lead_slot()},
          .node_count = x.node_count(),
          .world_size = x.world_size(),
          .master_address = x.master_address(),
          .master_port = port_of(x.master_port()),
          .restart_count = x.restart_count(),
          .survivors = std::move(survivors)};
}

core::parked_share from_wire(const v1::ParkedWorkers& x) {
  return {{x.generation()}, {x.local_ranks().begin(), x.local_ranks().end()}};
}

core::worker_failure from_wire(const v1::WorkerFailure& x) {
  return core::bounded(
    {.agent = {core::one_line(x.agent_id(), agent_id_size_max)},
     .host = core::one_line(x.host(), host_size_max),
     .global_rank = x.global_rank(),
     .local_rank = x.local_rank(),
     .pid = x.pid(),
     .kind = static_cast<core::failure_kind>(
       std::clamp<int>(x.kind(), v1::FAILURE_EXITED, v1::FAILURE_UNKILLABLE)),
     .code = x.code(),
     .dumped = x.dumped(),
     .age
     = std::clamp(core::duration{x.age_ns()}, core::duration{0}, duration_max),
     .teardown = std::clamp(core::duration{x.teardown_ns()}, core::duration{0},
                            core::longest_teardown(~uint64_t{0})),
     .while_stopped = x.while_stopped(),
     .details = details_from_wire(x.details())});
}

core::collateral from_wire(const v1::Collateral& xs) {
  auto out = core::collateral{};
  for (const auto& x : xs.listed())
    out.add(from_wire(x));
  out.unlisted_count += xs.unlisted_count();
  return out;
}

core::claim from_wire(const v1::Claim& x) {
  auto out = core::claim{from_wire(x.plan()), from_wire(x.state()), {}};
  if (x.has_failure())
    out.failure = from_wire(x.failure());
  out.parked = from_wire(x.parked());
  if (x.has_drain_left_ms())
    out.drain_left = drain_time(x.drain_left_ms());
  if (x.has_notice())
    out.notice = core::one_line(x.notice(), core::notice_words_max);
  return out;
}

// A newer version may know more of them.
core::end_class from_wire(v1::EndClass x) {
  return v1::EndClass_IsValid(x) ? static_cast<core::end_class>(x)
                                 : core::end_class::unknown;
}

core::outcome from_wire(const v1::Outcome& x) {
  auto out
    = core::outcome{.kind = static_cast<core::outcome::verdict>(std::clamp<int>(
                      x.verdict(), v1::VERDICT_SUCCEEDED, v1::VERDICT_UNMET)),
                    .signal = x.signal(),
                    .reason = core::one_line(x.reason(), reason_size_max),
                    .what = from_wire(x.end_class()),
                    .given_up = core::one_line(x.given_up(), reason_size_max),
                    .is_without_progress = x.is_without_progress()};
  if (x.has_first_failure())
    out.first_failure = from_wire(x.first_failure());
  auto others = from_wire(x.others());
  out.other_failures = std::move(others.listed);
  out.unlisted_failure_count = others.unlisted_count;
  return out;
}

core::share_state from_wire(v1::ShareState x) {
  return static_cast<core::share_state>(
    std::clamp<int>(x, v1::SHARE_IDLE, v1::SHARE_STOPPING));
}

core::safe_point_order from_wire(const v1::SafePointOrder& x) {
  const auto action
    = std::clamp<int>(x.action(), v1::SAFE_POINT_HOLD, v1::SAFE_POINT_GO_ON);
  return {static_cast<core::safe_point_order::kind>(action), x.step(),
          x.round()};
}

core::safe_point_report from_wire(const v1::SafePointReport& x) {
  const auto state = v1::SafePointState_IsValid(x.state())
                       ? x.state()
                       : v1::SAFE_POINT_REFUSED;
  return {static_cast<core::safe_point_report::kind>(state), x.step(),
          x.round(), drain_time(x.left_ms())};
}

core::devices_status devices_from_wire(const v1::NodeStatus& x) {
  auto out = core::devices_status{};
  for (const auto& gpu : x.gpus())
    if (out.gpus.size() < core::gpus_per_node_max)
      out.gpus.push_back(gpu_from_wire(gpu));
  out.trouble = cut(x.gpu_trouble(), gpu_trouble_size_max);
  return out;
}

core::node_vitals from_wire(const v1::NodeVitals& x) {
  auto out = core::node_vitals{};
  if (x.has_load_1_percent() && x.has_load_5_percent()
      && x.has_load_15_percent())
    out.load = {x.load_1_percent(), x.load_5_percent(), x.load_15_percent()};
  if (x.has_cpu_count())
    out.cpu_count = x.cpu_count();
  if (x.has_memory_total() && x.has_memory_available())
    out.memory
      = {x.memory_total(), std::min(x.memory_available(), x.memory_total())};
  for (const auto& worker : x.workers())
    if (out.workers.size() < core::sampled_workers_max)
      out.workers.push_back(worker_from_wire(worker));
  out.truncated = x.truncated();
  return out;
}

namespace {

core::journal::culprit culprit_of(const v1::Cause& x) {
  auto out = core::journal::culprit{
    .what = static_cast<core::journal::culprit::kind>(
      std::clamp<int>(x.kind(), v1::CAUSE_WORKER, v1::CAUSE_REGROUPED)),
    .host = core::one_line(x.host(), host_size_max),
    .agent = {core::one_line(x.agent_id(), agent_id_size_max)},
    .reason = core::one_line(x.reason(), reason_size_max),
    .failed_after_it
    = {x.failed_after_it().begin(), x.failed_after_it().end()}};
  if (x.has_failure())
    out.failure = actorrun::from_wire(x.failure());
  return out;
}

} // namespace

core::journal::explanation from_wire(const v1::Explanation& x) {
  auto out = core::journal::explanation{
    .sentence = x.sentence(),
    .evidence = {x.evidence().begin(), x.evidence().end()},
    .generation = {x.generation()}};
  if (x.has_cause())
    out.cause = culprit_of(x.cause());
  return out;
}

} // namespace actorrun
