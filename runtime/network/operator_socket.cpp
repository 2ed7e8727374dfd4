#include "runtime/network/operator_socket.hpp"

#include "runtime/network/caf_links.hpp"
#include "runtime/network/guarded_link.hpp"
#include "runtime/network/listener.hpp"

#include <map>
#include <utility>

#include <unistd.h>

namespace actorrun::detail {

struct operator_socket::members {
  members(run_folder x, caf::actor_system& y, reactor& z,
          caf::strong_actor_ptr who)
    : folder(std::move(x)), system(y), home(z), actor(std::move(who)) {}

  ~members() {
    listening.reset();
    run_and_wait(home, [this] { links.clear(); });
    folder.remove_if_empty();
  }

  void admit(unique_fd connection, const peer& who);

  run_folder folder;
  caf::actor_system& system;
  reactor& home;
  caf::strong_actor_ptr actor;
  std::optional<listener> listening;
  // The rest belongs to the reactor's thread.
  std::map<uint64_t, reactor_handle> links;
  uint64_t last_link = 0;
};

void operator_socket::members::admit(unique_fd connection, const peer& who) {
  const auto number = ++last_link;
  auto link = carry(home, std::move(connection),
                    {.ends = {link_side::server, purpose::operate, who.id,
                              node_name(system), actor->id()},
                     .on_closed = [this, number](const result<void>&) {
                       links.erase(number);
                     }});
  if (!link)
    return;
  links[number] = std::move(link->link);
  serve(system, std::move(link->for_caf), actor);
}

namespace {

template <class Members>
result<listener> listen_for(Members& all, const job_id& job, socket_role role) {
  const auto path = all.folder.socket_path(job, ::getpid(), role);
  if (!path)
    return path.error();
  return listener::listen_unix(
    all.home, *path, {},
    {.on_peer
     = [&all](unique_fd connection,
              const peer& who) { all.admit(std::move(connection), who); },
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
  auto all = std::make_shared<members>(std::move(*folder), system, home, actor);
  auto listening = listen_for(*all, job, role);
  if (!listening)
    return warn(listening.error());
  all->listening.emplace(std::move(*listening));
  return operator_socket{std::move(all)};
}

} // namespace actorrun::detail
