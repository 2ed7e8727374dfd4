#include "runtime/network/operator_socket.hpp"

#include "messages/formatted.hpp"
#include "runtime/network/listener.hpp"
#include "runtime/network/operator_sessions.hpp"

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include <sys/socket.h>
#include <unistd.h>

namespace actorrun::detail {

struct operator_socket::members {
  members(run_folder x, reactor& y, question_sink ask)
    : folder(std::move(x)), home(y), operators(y, std::move(ask)) {}

  ~members() {
    listening.reset();
    run_and_wait(home, [this] { operators.clear(); });
    folder.list(); // Removes what killed programs have left.
    folder.remove_if_empty();
  }

  run_folder folder;
  reactor& home;
  std::optional<listener> listening;
  operator_sessions operators; ///< Of the reactor's thread.
};

namespace {

/// This user's name, as far as the environment tells it; empty: it does not.
std::string own_user_name() {
  for (const auto* variable : {"LOGNAME", "USER"})
    if (const auto* name = std::getenv(variable); name && *name != '\0')
      return name;
  return {};
}

/// `alice (pid 4711)`: the user by the system's word.
std::string name_of_peer(int socket, const std::string& own_name) {
  auto x = ucred{};
  auto size = socklen_t{sizeof x};
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &x, &size) != 0)
    return "a process of this host";
  auto user = formatted("uid {}", x.uid);
  if (x.uid == 0)
    user = "root";
  else if (x.uid == ::geteuid() && !own_name.empty())
    user = own_name;
  return formatted("{} (pid {})", user, x.pid);
}

// The folder is private: whoever gets here is our user, or root.
template <class Members>
result<listener> listen_for(Members& all, const job_id& job, socket_role role) {
  const auto path = all.folder.socket_path(job, ::getpid(), role);
  if (!path)
    return path.error();
  return listener::listen_unix(
    all.home, *path, {},
    {.on_peer =
       [&all, name = own_user_name()](unique_fd connection, const peer&) {
         auto by = name_of_peer(connection.get(), name);
         all.operators.add(std::move(connection), {}, {}, {std::move(by), true},
                           {});
       },
     .on_rejections = {}});
}

} // namespace

result<operator_socket> operator_socket::open(reactor& home, const job_id& job,
                                              question_sink ask,
                                              socket_role role) {
  auto folder = run_folder::open();
  if (!folder)
    return folder.error();
  auto all
    = std::make_shared<members>(std::move(*folder), home, std::move(ask));
  auto listening = listen_for(*all, job, role);
  if (!listening)
    return listening.error();
  all->listening.emplace(std::move(*listening));
  return operator_socket{std::move(all)};
}

} // namespace actorrun::detail
