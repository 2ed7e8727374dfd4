// Stands where nodes look for the coordinator while another node has it.
#pragma once

#include "actors/log.hpp"
#include "messages/result.hpp"
#include "runtime/network/connector.hpp"
#include "runtime/network/listener.hpp"
#include "runtime/network/operator_sessions.hpp"
#include "runtime/network/rejected_peers.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/os/socket_address.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace actorrun::detail {

struct signpost_config {
  credentials mine;
  socket_address where;
  /// Where the coordinator is; none: that is unknown just now. As the next two called
  /// on the reactor's thread; must not block.
  std::function<std::optional<std::string>()> place;
  /// Has operators answered.
  question_sink ask;
  /// Takes the link of an agent that votes.
  std::function<void(unique_fd, const peer&)> pass_voter;
  log lines{};
};

/// Tells agents that look for the coordinator where it is, and serves operators.
class signpost {
public:
  /// @pre `home` outlives it
  /// @retval as `listener::listen`
  static result<std::unique_ptr<signpost>> open(reactor& home,
                                                signpost_config config);

  ~signpost();

  signpost(const signpost&) = delete;
  signpost& operator=(const signpost&) = delete;

  uint16_t port() const { return listener_->port(); }

private:
  signpost(reactor& home, signpost_config config);

  result<void> listen();
  void receive(unique_fd connection, const peer& who);
  void point(unique_fd connection, const peer& who);

  reactor& home_;
  signpost_config config_;
  std::optional<listener> listener_;
  // Of the reactor's thread.
  rejected_peers cut_;
  operator_sessions operators_;
  std::map<uint64_t, reactor_handle>
    links_; ///< Of agents, until they have heard.
  uint64_t last_link_ = 0;
};

} // namespace actorrun::detail
