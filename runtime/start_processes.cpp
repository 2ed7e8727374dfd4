#include "runtime/start_processes.hpp"

#include "runtime/process_group/process_group.hpp"

#include <utility>

namespace actorrun {

result<std::unique_ptr<process_context>>
start_processes(process_options options) {
  auto group = detail::process_group::start(std::move(options));
  if (!group)
    return group.error();
  return std::make_unique<process_context>(std::move(*group));
}

process_context::process_context(std::unique_ptr<detail::process_group> group)
  : group_(std::move(group)) {}

process_context::~process_context() = default;

std::optional<processes_result>
process_context::wait(std::optional<std::chrono::milliseconds> timeout) {
  return group_->wait(timeout);
}

std::map<uint32_t, pid_t> process_context::pids() const {
  return group_->pids();
}

bool process_context::close(int signal, std::chrono::milliseconds timeout) {
  return group_->close(signal, timeout);
}

} // namespace actorrun
