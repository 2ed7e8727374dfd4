#include "runtime/network/operator_socket.hpp"

#include "runtime/network/caf_links.hpp"

#include <unistd.h>

namespace actorrun::detail {

struct operator_door::parts {
  parts(run_folder x, door_listener y)
    : folder(std::move(x)), listener(std::move(y)) {}

  ~parts() {
    listener.reset();
    folder.remove_if_empty();
  }

  run_folder folder;
  std::optional<door_listener> listener;
};

result<operator_door> operator_door::open(caf::actor_system& system,
                                          reactor& home, const job_id& job,
                                          caf::strong_actor_ptr actor,
                                          socket_role role) {
  auto folder = run_folder::open();
  if (!folder)
    return folder.error();
  const auto path = folder->socket_path(job, ::getpid(), role);
  if (!path)
    return path.error();
  auto listener = door_listener::listen_unix(
    home, *path, {},
    {.on_peer =
       [&system, actor = std::move(actor)](unique_fd connection, const peer&) {
         serve(system, std::move(connection), actor);
       },
     .on_strangers = {}});
  if (!listener)
    return listener.error();
  return operator_door{
    std::make_shared<parts>(std::move(*folder), std::move(*listener))};
}

} // namespace actorrun::detail
