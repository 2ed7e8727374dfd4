#include "runtime/network/remote_coordinator.hpp"

#include "messages/formatted.hpp"
#include "messages/version.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <type_traits>
#include <utility>

namespace actorrun::detail {

namespace {

/// At most this many questions wait for their answers; the oldest goes.
constexpr size_t status_question_count_max = 8;

/// Writes what an agent says to the coordinator, and passes on to it what comes back.
/// Ends with the agent, and the link with it.
class remote_coordinator_state {
public:
  static constexpr const char* name = "remote-coordinator";

  remote_coordinator_state(remote_coordinator_actor::pointer self,
                           std::shared_ptr<link_outbox> to)
    : self_(self), to_(std::move(to)) {}

  remote_coordinator_actor::behavior_type make_behavior() {
    return remote_coordinator_interface::behavior(
      [this](const auto& x) { return on(x); });
  }

  void on_exit() {
    to_.end();
    agent_ = nullptr;
    questions_.clear();
  }

private:
  template <class T>
  void on(const T& x) {
    if constexpr (can_have<v1::ToCoordinator, T>)
      to_.write(x);
    else
      ++dropped_message_count; // It concerns coordinators of this process only.
  }

  void on(const v1::JoinRequest& x) {
    const auto agent
      = caf::actor_cast<node_agent_actor>(self_->current_sender());
    if (agent && agent_ != agent)
      watches_.watch(self_, agent, [this] { self_->quit(); });
    agent_ = agent;
    to_.write(x);
  }

  caf::result<v1::JobStatus> on(const v1::StatusRequest& x) {
    auto promise = self_->make_response_promise<v1::JobStatus>();
    if (questions_.size() == status_question_count_max)
      questions_.erase(questions_.begin());
    questions_.emplace(++last_question_, promise);
    to_.write(x, last_question_);
    return promise;
  }

  void on(const coordinator_spoke& x) {
    auto envelope = x.what;
    open_envelope(envelope, [&]<class T>(T y) {
      if constexpr (std::is_same_v<T, v1::JobStatus>)
        answer(envelope.number(), std::move(y));
      else if constexpr (!std::is_same_v<T, v1::Welcome>)
        if (agent_)
          tell(self_, agent_, std::move(y));
    });
  }

  void on(const link_ended&) {
    self_->quit(caf::exit_reason::remote_link_unreachable);
  }

  void answer(uint64_t number, v1::JobStatus x) {
    if (auto known = questions_.extract(number))
      known.mapped().deliver(std::move(x));
  }

  remote_coordinator_actor::pointer self_;
  watch_list watches_{self_};
  link_writer<v1::ToCoordinator> to_;
  node_agent_actor agent_; ///< Null: none has asked to join.
  uint64_t last_question_ = 0;
  std::map<uint64_t, caf::typed_response_promise<v1::JobStatus>> questions_;
};

} // namespace

remote_coordinator::remote_coordinator(caf::actor_system& system, log lines,
                                       welcome_taker on_welcome,
                                       pointer_taker on_elsewhere)
  : system_(system), lines_(std::move(lines)),
    on_welcome_(std::move(on_welcome)), on_elsewhere_(std::move(on_elsewhere)) {
}

void remote_coordinator::begin(const link_opening& x) {
  actor_
    = system_
        .spawn<actor_impl<remote_coordinator_actor, remote_coordinator_state>>(
          x.outbox);
}

result<bool> remote_coordinator::take(std::string_view content) {
  auto x = v1::ToAgent{};
  if (auto ok = read_message(content, x); !ok)
    return ok.error();
  if (x.what_case() == v1::ToAgent::WHAT_NOT_SET) {
    if (!std::exchange(has_said_strange_, true))
      lines_.info("the coordinator sends messages that this version does not "
                  "know; they are left alone");
    return false;
  }
  if (on_welcome_) {
    if (!x.has_welcome())
      return failure{errc::not_actorrun, "speaks before it serves the link"};
    const auto version = x.welcome().version();
    if (version < protocol_version_min || version > protocol_version)
      return failure{
        errc::protocol_mismatch,
        formatted("serves the link in protocol version {}", version)};
    if (const auto& where = x.welcome().elsewhere(); !where.empty()) {
      if (!on_elsewhere_)
        return failure{errc::not_actorrun, "points elsewhere"};
      on_welcome_ = nullptr;
      on_elsewhere_(where);
      return false;
    }
    std::exchange(on_welcome_, nullptr)(
      caf::actor_cast<rendezvous_coordinator_actor>(actor_));
    return false;
  }
  tell_anonymously(actor_, coordinator_spoke{std::move(x)});
  return true;
}

void remote_coordinator::end() {
  if (const auto gone = std::exchange(actor_, nullptr))
    tell_anonymously(gone, link_ended{});
  on_welcome_ = nullptr;
}

} // namespace actorrun::detail
