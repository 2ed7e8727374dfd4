// Plays a node agent without workers: the shipped listener, encryption and
// membership, and a host of processes that only pretends. It votes for no coordinator,
// and finds the one that others elect as agents do.
#pragma once

#include "actors/core/job_settings.hpp"
#include "actors/core/protocol/membership.hpp"
#include "actors/core/succession/questions.hpp"
#include "runtime/network/connector.hpp"
#include "runtime/network/link_messages.hpp"
#include "runtime/network/link_socket.hpp"
#include "runtime/network/message_frames.hpp"
#include "runtime/os/acceptor.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/succession/voter_links.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace actorrun::bench {

/// What hollow agents have in common.
struct hollow_job {
  endpoint where;
  detail::credentials mine;
  core::job_settings settings;
  core::timeouts limits;
};

/// Called by an agent, on the reactor's thread.
struct hollow_listener {
  std::function<void(uint32_t times)> on_accepted; ///< Of this agent.
  std::function<void(generation_id)> on_formed;    ///< The plan has arrived.
  std::function<void()> on_fenced; ///< It would have killed its workers.
  std::function<void(const std::string&)>
    on_trouble; ///< No link, or a lost one.
};

/// Has no actors, because an actor system for each agent would cost more than all that is
/// measured. Lives on the reactor's thread.
class hollow_agent {
public:
  /// @param number Names it; agents of one job have different ones.
  /// @param is_mortal It has a port where its end can be proved, for `die`.
  /// @pre `home`, `of` and `to` outlive it
  hollow_agent(detail::reactor& home, const hollow_job& of,
               const hollow_listener& to, uint32_t number, bool is_mortal);
  ~hollow_agent();

  hollow_agent(const hollow_agent&) = delete;
  hollow_agent& operator=(const hollow_agent&) = delete;

  void start();

  /// Ends without a word, as by SIGKILL; from now on its machine proves that. It
  /// never does anything again.
  void die();

private:
  struct effect_runner;

  void open_liveness();
  void dispatch(core::membership_event event);
  void seek();
  void seek_at(const endpoint& where);
  void ask();
  void hear(const voter_message& x);
  void on_connected(result<detail::connected> x, core::time_point tried);
  void on_network();
  bool take(std::string_view plain);
  template <class T>
  void on(const T&) {} ///< What it has no use for.
  void on(const v1::Welcome& x);
  void on(const v1::LeaseGranted& x);
  void on(const v1::JoinAccepted& x);
  void on(const v1::JoinRejected& x);
  void on(const v1::GenerationFormed& x);
  void on(const v1::CharterChanged& x);
  void on(const v1::GenerationRevoked& x);
  void on(const v1::JobEnded& x);
  void on(const v1::NodeStatusRequest& x);
  void on(const v1::VotersChanged& x);
  template <class T>
  void send(T x);
  void write(const std::string& bytes);
  void hang_up();
  void on_end(const std::string& how);

  detail::reactor& home_;
  const hollow_job& of_;
  const hollow_listener& to_;
  core::membership membership_;
  std::deque<core::membership_event> events_;
  bool is_dispatching_ = false;
  bool is_dead_ = false;
  uint32_t accepted_ = 0;
  core::time_point fence_ = core::time_point::max();
  // The link.
  detail::reactor_handle attempt_;
  std::optional<detail::link_socket> socket_;
  std::optional<detail::socket_watch> watch_;
  std::optional<detail::frame_splitter> frames_;
  std::optional<detail::resumption_key> last_key_;
  std::optional<detail::nonce_bytes> served_by_;
  bool is_served_ = false; ///< The coordinator's side has said so.
  // Where the next coordinator is.
  core::endpoint_list voters_;
  core::questions questions_;
  std::unique_ptr<detail::voter_links> links_;
  bool is_searching_ = false;
  // Where its end is proved.
  std::shared_ptr<detail::acceptor> liveness_;
  uint16_t liveness_port_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

} // namespace actorrun::bench
