#include "runtime/network/listener.hpp"

#include "runtime/network/pending_peers.hpp"
#include "runtime/os/run_folder.hpp"
#include "runtime/os/socket.hpp"

#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

namespace actorrun::detail {

namespace {

std::string folder_of(const std::string& path) {
  return std::filesystem::path{path}.parent_path().string();
}

// A job that ends removes an empty folder, even one that was just opened.
bool is_tidied_away(const std::string& path) {
  auto error = std::error_code{};
  return !std::filesystem::exists(folder_of(path), error) && !error;
}

} // namespace

result<listener> listener::listen(reactor& home, const socket_address& where,
                                  const credentials& mine,
                                  listener_callbacks callbacks,
                                  const listener_limits& limits) {
  auto fd = open_listening(where);
  if (!fd)
    return fd.error();
  const auto bound = local_address_of(fd->get()).value_or(where);
  const auto incarnation = random_nonce();
  if (callbacks.on_listening)
    callbacks.on_listening(fd->get(), incarnation);
  auto peers = std::make_shared<pending_peers>(
    home, std::move(*fd), "", mine, incarnation, std::move(callbacks), limits);
  return listener{reactor_handle{home, std::move(peers)}, to_string(bound),
                  port_of(bound)};
}

result<listener> listener::listen_unix(reactor& home, const std::string& path,
                                       const credentials& mine,
                                       listener_callbacks callbacks,
                                       const listener_limits& limits) {
  auto fd = open_listening_unix(path);
  if (!fd && is_tidied_away(path)) {
    const auto folder = run_folder::open_at(folder_of(path), false);
    if (!folder)
      return folder.error();
    fd = open_listening_unix(path);
  }
  if (!fd)
    return fd.error();
  auto peers = std::make_shared<pending_peers>(home, std::move(*fd), path, mine,
                                               nonce_bytes{},
                                               std::move(callbacks), limits);
  return listener{reactor_handle{home, std::move(peers)}, path, 0};
}

} // namespace actorrun::detail
