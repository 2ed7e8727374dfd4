#include "runtime/processes/process_starter.hpp"

#include "actors/core/devices/binding_plan.hpp"
#include "actors/core/text.hpp"
#include "messages/formatted.hpp"
#include "runtime/processes/program.hpp"

#include <cerrno>
#include <optional>
#include <utility>

#include <fcntl.h>

namespace actorrun::detail {

namespace {

using ports::start_method;

const auto unbound = core::process_binding{};

std::optional<started_process> fault_of(const ports::process_spec& spec) {
  const auto needs_program = spec.method != start_method::fork;
  if (needs_program ? spec.arguments.empty() : !spec.body)
    return not_started(EINVAL, needs_program ? "no program" : "no function");
  const auto name = spec.arguments.empty() ? "" : spec.arguments[0];
  if (spec.method != start_method::exec && spec.binding != unbound)
    return not_started(EINVAL, name + " (only programs can be bound to CPUs)");
  const auto count = spec.descriptors.size();
  if (count > descriptor_count_max)
    return not_started(EINVAL, formatted("{} ({} descriptors; {} are possible)",
                                         name, count, descriptor_count_max));
  for (const auto fd : spec.descriptors)
    if (::fcntl(fd, F_GETFD) < 0)
      return not_started(EBADF, formatted("{} (its descriptor {})", name, fd));
  return std::nullopt;
}

size_t text_size(const ports::process_spec& spec) {
  size_t result = 0;
  for (const auto* list : {&spec.arguments, &spec.environment})
    for (const auto& x : *list)
      result += x.size() + 1;
  return result;
}

std::string subject_of_failure(const ports::process_spec& spec,
                               const std::string& path, int error) {
  auto subject = subject_of(spec.arguments[0], path, error);
  if (error == E2BIG)
    subject
      += formatted(" ({} bytes of arguments and environment)", text_size(spec));
  if (error == EINVAL && !spec.binding.cpus.empty())
    subject += formatted(" (bound to the CPUs {})",
                         core::to_ranges(spec.binding.cpus));
  return subject;
}

} // namespace

process_starter::process_starter(reactor& loop, warden& guard,
                                 note_handler on_note)
  : loop_(loop), guard_(guard), on_note_(std::move(on_note)),
    forks_(loop, guard) {}

process_starter::~process_starter() = default;

output_files process_starter::begin_batch() {
  spawner_.inspect_signals();
  programs_ = {};
  return output_files{null_};
}

process_starter::id process_starter::start(ports::process_spec spec,
                                           uint64_t fire_count,
                                           output_files& outputs,
                                           callback done) {
  const auto refuse = [&](started_process why) {
    done(std::move(why));
    return id{0};
  };
  if (auto fault = fault_of(spec))
    return refuse(std::move(*fault));
  if (const auto error = guard_.ensure())
    return refuse(not_started(error, "actorrun-warden"));
  if (spec.method == start_method::exec)
    return refuse(execute(spec, fire_count, outputs));
  auto from = server_answer{};
  if (spec.method == start_method::fork_server)
    from = server_for(spec);
  if (from.error != 0)
    return refuse(not_started(from.error, from.subject));
  return forks_.start({.spec = std::move(spec),
                       .fire_count = fire_count,
                       .outputs = &outputs,
                       .server = std::move(from.server)},
                      std::move(done));
}

started_process process_starter::execute(const ports::process_spec& spec,
                                         uint64_t fire_count,
                                         output_files& outputs) {
  const auto& program = programs_.find(spec.arguments[0], spec.environment);
  const auto failed = [&](int error) {
    return not_started(error, subject_of_failure(spec, program.path, error));
  };
  if (program.error != 0)
    return failed(program.error);
  auto place = guard_.enlist(fire_count);
  if (!place)
    return failed(EAGAIN);
  const auto files = outputs.open(spec.out, spec.err);
  if (files.error != 0)
    return not_started(files.error, null_device);
  auto child = spawner_.start(program.path, spec.arguments, spec.environment,
                              &place, {files.out, files.err, spec.descriptors},
                              cpu_binding{spec.binding});
  if (child.error != 0)
    return failed(child.error);
  return {.pid = child.pid,
          .pidfd = std::move(child.pidfd),
          .registration = std::move(place)};
}

process_starter::server_answer
process_starter::server_for(const ports::process_spec& spec) {
  const auto& name = spec.arguments[0];
  auto& server = servers_[name];
  if (server && server->runs())
    return {.server = server};
  const auto& program = programs_.find(name, spec.environment);
  auto error = program.error;
  if (error == 0) {
    server = std::make_shared<fork_server_process>(
      loop_, spawner_, program.path, name, spec.environment, [this, name] {
        on_note_(formatted(
          "fork server {} has ended; the next worker starts another", name));
        forks_.server_ended();
      });
    error = server->error();
  }
  if (error == 0)
    return {.server = server};
  servers_.erase(name);
  return {.error = error,
          .subject = subject_of_failure(spec, program.path, error)};
}

} // namespace actorrun::detail
