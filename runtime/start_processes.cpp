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

} // namespace actorrun
