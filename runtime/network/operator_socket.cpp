#include "runtime/network/operator_socket.hpp"

#include "runtime/network/listener.hpp"
#include "runtime/network/operator_sessions.hpp"

#include <utility>

#include <unistd.h>

namespace actorrun::detail {

struct operator_socket::members {
  members(run_folder x, reactor& y, question_sink ask)
    : folder(std::move(x)), home(y), operators(y, std::move(ask)) {}

  ~members() {
    listening.reset();
    run_and_wait(home, [this] { operators.clear(); });
    folder.remove_if_empty();
  }

  run_folder folder;
  reactor& home;
  std::optional<listener> listening;
  operator_sessions operators; ///< Of the reactor's thread.
};

namespace {

template <class Members>
result<listener> listen_for(Members& all, const job_id& job, socket_role role) {
  const auto path = all.folder.socket_path(job, ::getpid(), role);
  if (!path)
    return path.error();
  return listener::listen_unix(all.home, *path, {},
                               {.on_peer =
                                  [&all](unique_fd connection, const peer&) {
                                    all.operators.add(std::move(connection), {},
                                                      {}, {});
                                  },
                                .on_rejections = {}});
}

} // namespace

std::optional<operator_socket>
operator_socket::open(reactor& home, const job_id& job, question_sink ask,
                      socket_role role, const log& lines) {
  const auto warn = [&](const failure& why) {
    lines.warn("actorctl cannot reach this job: " + why.text);
    return std::nullopt;
  };
  auto folder = run_folder::open();
  if (!folder)
    return warn(folder.error());
  auto all
    = std::make_shared<members>(std::move(*folder), home, std::move(ask));
  auto listening = listen_for(*all, job, role);
  if (!listening)
    return warn(listening.error());
  all->listening.emplace(std::move(*listening));
  return operator_socket{std::move(all)};
}

} // namespace actorrun::detail
