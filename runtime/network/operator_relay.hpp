// Passes on to the coordinator what operators ask of another process of its job.
#pragma once

#include "actors/core/time.hpp"
#include "runtime/network/connector.hpp"
#include "runtime/network/link_outbox.hpp"
#include "runtime/network/operator_session.hpp"
#include "runtime/os/reactor.hpp"

#include "messages/operator.pb.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace actorrun::detail {

struct operator_relay_config {
  /// The coordinator lets this process steer as it lets any who has proved these.
  credentials mine;
  /// Where the coordinator is, as far as this process knows. Called on the reactor's
  /// thread; must not block.
  std::function<std::optional<endpoint>()> where;
  /// Answers what does not get there.
  question_sink otherwise;
  /// Timeout for one attempt to reach it, > 0; less than that of an answer.
  core::duration limit = std::chrono::seconds{2};
};

/// Has a connection for each operator, for as long as answers are missing. One that
/// ends before they are all there tells the operator so: the coordinator may have done
/// what was asked, so nothing is asked twice.
///
/// Everything but the constructor and the destructor runs on the reactor's thread.
class operator_relay {
public:
  /// @pre `home` outlives it
  operator_relay(reactor& home, operator_relay_config config);

  ~operator_relay();

  operator_relay(const operator_relay&) = delete;
  operator_relay& operator=(const operator_relay&) = delete;

  /// What only the coordinator does, or knows of all nodes.
  static bool is_for_coordinator(const v1::OperatorRequest& x);

  void take(operator_question x);

private:
  /// To the coordinator, for one operator.
  struct line {
    reactor_handle attempt{};
    reactor_handle link{};
    std::shared_ptr<link_outbox> outbox{};    ///< Null: it is not up yet.
    std::vector<operator_question> waiting{}; ///< Until it is.
    /// Questions without their last answer, by the operator's numbers.
    std::map<uint64_t, std::function<void(v1::OperatorReply)>> asked{};
  };

  class answers;

  void add_credit(const operator_question& x);
  void dial(uint64_t session, line& x, const endpoint& where,
            const std::string& by);
  void on_connected(uint64_t session, result<connected> x);
  void on_begun(uint64_t session, std::shared_ptr<link_outbox> outbox);
  void on_reply(uint64_t session, v1::OperatorReply x);
  void ask(line& to, const operator_question& x);
  void end(uint64_t session);

  reactor& home_;
  operator_relay_config config_;
  std::map<uint64_t, line> lines_; ///< By the operator's session.
};

/// An id for the handshake that says who asks: `alice-(pid-4711)`.
std::string peer_id_of(const std::string& by);

} // namespace actorrun::detail
