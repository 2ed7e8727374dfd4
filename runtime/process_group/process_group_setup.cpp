#include "actors/core/logs/line_prefix.hpp"
#include "actors/log_tailer.hpp"
#include "runtime/diagnosis/worker_evidence.hpp"
#include "runtime/logs/inotify_log_files.hpp"
#include "runtime/os/own_process.hpp"
#include "runtime/process_group/process_group.hpp"
#include "runtime/processes/posix_process_host.hpp"

#include <utility>

namespace actorrun::detail {

namespace {

/// The folders have been made before anything was started.
class ready_layout final : public ports::log_layout {
public:
  explicit ready_layout(core::epoch_outputs outputs)
    : outputs_(std::move(outputs)) {}

  result<core::epoch_outputs> prepare(const core::epoch_plan&) override {
    return outputs_;
  }

private:
  core::epoch_outputs outputs_;
};

} // namespace

result<void> process_group::make_outputs() {
  auto layout = options_.layout;
  if (!layout) {
    auto opened = torch_log_layout::open(options_.logs, {run_id_of(options_)});
    if (!opened)
      return opened.error();
    layout = folders_ = std::move(*opened);
  }
  auto outputs = layout->prepare(plan_);
  if (!outputs)
    return outputs.error();
  if (outputs->workers.size() != plan_.own.slot_count)
    return failure{errc::log_failed, "the log layout plans the output of "
                                       + std::to_string(outputs->workers.size())
                                       + " processes, not of "
                                       + std::to_string(plan_.own.slot_count)};
  outputs_ = std::move(*outputs);
  return {};
}

std::vector<std::string> process_group::prefixes() const {
  auto result = std::vector<std::string>{};
  for (uint32_t rank = 0; rank < plan_.own.slot_count; ++rank) {
    const auto own = options_.log_line_prefixes.find(rank);
    result.push_back(own != options_.log_line_prefixes.end()
                       ? own->second
                       : core::line_prefix(options_.logs.prefix_template,
                                           {.role = options_.name,
                                            .host = host_,
                                            .local_rank = rank,
                                            .global_rank = rank}));
  }
  return result;
}

void process_group::spawn_tailer() {
  // An actor may be the last to let go of them.
  auto files = std::shared_ptr<ports::log_files>{
    new inotify_log_files(*loop_),
    [loop = loop_](ports::log_files* x) { delete x; }};
  tailer_ = spawn_log_tailer(system_, {.options = options_.logs,
                                       .role = options_.name,
                                       .host = host_,
                                       .prefixes = prefixes(),
                                       .console = console_,
                                       .files = std::move(files),
                                       .lines = options_.lines});
}

worker_supervisor_config process_group::supervisor_config() {
  auto host = std::shared_ptr<ports::process_host>{
    new posix_process_host(*loop_, [lines = options_.lines](
                                     const std::string& x) { lines.warn(x); }),
    [loop = loop_, gone = host_gone_](ports::process_host* x) {
      delete x;
      gone->set_value();
    }};
  auto workers = core::worker_settings{};
  workers.role = options_.name;
  workers.slot_count = plan_.own.slot_count;
  workers.stop_signal = options_.stop_signal;
  workers.grace_period = options_.grace_period;
  auto processes
    = make_processes(options_, own_environment(), outputs_, files_);
  return {.workers = std::move(workers),
          .job = {},
          .environment = {},
          .processes_of = [processes = std::move(processes)](
                            const auto&, const auto&) { return processes; },
          .host = host_,
          .processes
          = std::make_shared<noting_process_host>(std::move(host), tracker_),
          .ports = nullptr,
          .layout = std::make_shared<ready_layout>(outputs_),
          .evidence = std::make_shared<worker_evidence>(),
          .tailer = tailer_,
          .lines = options_.lines};
}

void process_group::spawn_owner() {
  owner_ = spawn_process_owner(
    system_, {.supervisor = supervisor_config(),
              .plan = plan_,
              .on_ended = [tracker = tracker_](group_ending x) {
                tracker->note(std::move(x));
              }});
}

} // namespace actorrun::detail
