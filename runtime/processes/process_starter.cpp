#include "runtime/processes/process_starter.hpp"

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

} // namespace

process_starter::process_starter(reactor& loop, warden& guard,
                                 note_handler on_note)
  : loop_(loop), guard_(guard), on_note_(std::move(on_note)), thread_(loop),
    forks_(loop, guard, thread_) {}

process_starter::~process_starter() = default;

std::shared_ptr<start_batch> process_starter::begin_batch() {
  auto batch = thread_.begin_batch();
  if (guard_.ensure() == 0)
    batch->cgroup = guard_.open_cgroup();
  return batch;
}

process_starter::id process_starter::start(ports::process_spec spec,
                                           uint64_t fire_count,
                                           std::shared_ptr<start_batch> batch,
                                           callback done) {
  const auto how = spec.method;
  const auto refuse = [&](started_process why) {
    done(std::move(why));
    return id{how, 0};
  };
  if (auto fault = fault_of(spec))
    return refuse(std::move(*fault));
  if (const auto error = guard_.ensure())
    return refuse(not_started(error, "the guard of the workers"));
  if (how == start_method::exec) {
    auto place = guard_.enlist(fire_count, batch->cgroup);
    if (!place)
      return refuse(not_started(EAGAIN, spec.arguments[0]));
    return {how, thread_.execute(std::move(batch), std::move(spec),
                                 std::move(place), std::move(done))};
  }
  auto from = server_answer{};
  if (how == start_method::fork_server)
    from = server_for(spec);
  if (from.error != 0)
    return refuse(not_started(from.error, from.subject));
  return {how, forks_.start({.spec = std::move(spec),
                             .fire_count = fire_count,
                             .batch = std::move(batch),
                             .server = std::move(from.server)},
                            std::move(done))};
}

void process_starter::give_up(id which) {
  if (which.how == start_method::exec)
    thread_.give_up(which.number);
  else
    forks_.give_up(which.number);
}

void process_starter::complain(std::shared_ptr<start_batch> batch) {
  thread_.complain(std::move(batch), on_note_);
}

process_starter::server_answer
process_starter::server_for(const ports::process_spec& spec) {
  const auto& name = spec.arguments[0];
  auto& server = servers_[name];
  if (server && server->runs())
    return {.server = server};
  const auto program = program_finder{}.find(name, spec.environment);
  auto error = program.error;
  if (error == 0) {
    if (!server_spawner_)
      server_spawner_.emplace();
    server = std::make_shared<fork_server_process>(
      loop_, *server_spawner_, program.path, name, spec.environment,
      [this, name] {
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
