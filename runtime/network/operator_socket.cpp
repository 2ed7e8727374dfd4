#include "runtime/network/operator_socket.hpp"

#include "runtime/network/caf_links.hpp"
#include "runtime/network/listener.hpp"

#include <utility>

#include <unistd.h>

namespace actorrun::detail {

struct operator_socket::members {
  members(run_folder x, listener y)
    : folder(std::move(x)), listening(std::move(y)) {}

  ~members() {
    listening.reset();
    folder.remove_if_empty();
  }

  run_folder folder;
  std::optional<listener> listening;
};

namespace {

result<listener> listen_in(const run_folder& folder, caf::actor_system& system,
                           reactor& home, const job_id& job,
                           const caf::strong_actor_ptr& actor,
                           socket_role role) {
  const auto path = folder.socket_path(job, ::getpid(), role);
  if (!path)
    return path.error();
  return listener::listen_unix(
    home, *path, {},
    {.on_peer =
       [&system, actor](unique_fd connection, const peer&) {
         serve(system, std::move(connection), actor);
       },
     .on_rejections = {}});
}

} // namespace

std::optional<operator_socket>
operator_socket::open(caf::actor_system& system, reactor& home,
                      const job_id& job, const caf::strong_actor_ptr& actor,
                      socket_role role, const log& lines) {
  const auto warn = [&](const failure& why) {
    lines.warn("actorctl cannot reach this job: " + why.text);
    return std::nullopt;
  };
  auto folder = run_folder::open();
  if (!folder)
    return warn(folder.error());
  auto listening = listen_in(*folder, system, home, job, actor, role);
  if (!listening)
    return warn(listening.error());
  return operator_socket{
    std::make_shared<members>(std::move(*folder), std::move(*listening))};
}

} // namespace actorrun::detail
