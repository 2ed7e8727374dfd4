#include "runtime/network/operator_socket.hpp"

#include "runtime/network/caf_links.hpp"

#include <unistd.h>

namespace actorrun::detail {

struct operator_socket::parts {
  parts(run_folder x, listener y)
    : folder(std::move(x)), listening(std::move(y)) {}

  ~parts() {
    listening.reset();
    folder.remove_if_empty();
  }

  run_folder folder;
  std::optional<listener> listening;
};

result<operator_socket> operator_socket::open(caf::actor_system& system,
                                              reactor& home, const job_id& job,
                                              caf::strong_actor_ptr actor,
                                              socket_role role) {
  auto folder = run_folder::open();
  if (!folder)
    return folder.error();
  const auto path = folder->socket_path(job, ::getpid(), role);
  if (!path)
    return path.error();
  auto listening = listener::listen_unix(
    home, *path, {},
    {.on_peer =
       [&system, actor = std::move(actor)](unique_fd connection, const peer&) {
         serve(system, std::move(connection), actor);
       },
     .on_rejections = {}});
  if (!listening)
    return listening.error();
  return operator_socket{
    std::make_shared<parts>(std::move(*folder), std::move(*listening))};
}

} // namespace actorrun::detail
