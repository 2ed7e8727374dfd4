#include "runtime/network/remote_agent.hpp"

#include "messages/formatted.hpp"

#include <chrono>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

namespace actorrun::detail {

namespace {

/// An agent joins once on a link; after some refusals it makes a new one.
constexpr size_t join_count_max = 64;

/// An agent asks for one status at a time; after a timeout it asks again.
constexpr size_t question_count_max = 8;

/// For the coordinator to answer such a question: longer than an agent waits.
constexpr auto answer_limit = std::chrono::seconds{5};

/// An IPv4 address as a socket of both families has it is the same one.
std::string_view plain(std::string_view address) {
  constexpr auto mapped = std::string_view{"::ffff:"};
  const auto is_mapped
    = address.starts_with(mapped) && address.find('.') != address.npos;
  return is_mapped ? address.substr(mapped.size()) : address;
}

failure fault(std::string text) {
  return {errc::not_actorrun, std::move(text)};
}

/// Writes what the coordinator says to an agent. Ends with the coordinator, and the link
/// with it.
class remote_agent_state {
public:
  static constexpr const char* name = "remote-agent";

  remote_agent_state(remote_agent_actor::pointer self,
                     rendezvous_coordinator_actor coordinator,
                     std::shared_ptr<link_outbox> to,
                     std::shared_ptr<std::atomic<size_t>> question_count)
    : self_(self), coordinator_(std::move(coordinator)), to_(std::move(to)),
      question_count_(std::move(question_count)) {}

  remote_agent_actor::behavior_type make_behavior() {
    watches_.watch(self_, coordinator_, [this] { self_->quit(); });
    return remote_agent_interface::behavior(
      [this](const auto& x) { return on(x); });
  }

  void on_exit() {
    to_.end();
    coordinator_ = nullptr;
  }

private:
  template <class T>
  void on(const T& x) {
    if constexpr (can_have<v1::ToAgent, T>)
      to_.write(x);
    else
      ++dropped_message_count; // It concerns agents of this process only.
  }

  caf::result<v1::JobStatus> on(const v1::StatusRequest&) {
    return caf::make_error(caf::sec::unexpected_message);
  }

  void on(const agent_asked& x) {
    const auto done = [count = question_count_] { --*count; };
    actorrun::ask(self_, coordinator_, answer_limit, x.what)
      .then(
        [this, done, number = x.number](const v1::JobStatus& y) {
          done();
          to_.write(y, number);
        },
        [done](const caf::error&) { done(); });
  }

  void on(const link_ended&) {
    self_->quit(caf::exit_reason::remote_link_unreachable);
  }

  remote_agent_actor::pointer self_;
  watch_list watches_{self_};
  rendezvous_coordinator_actor coordinator_;
  link_writer<v1::ToAgent> to_;
  std::shared_ptr<std::atomic<size_t>> question_count_;
};

} // namespace

remote_agent::remote_agent(caf::actor_system& system, remote_agent_setup setup)
  : system_(system), setup_(std::move(setup)),
    question_count_(std::make_shared<std::atomic<size_t>>(0)) {}

void remote_agent::begin(const link_opening& x) {
  may_speak_for_ = x.may_speak_for;
  actor_ = system_.spawn<actor_impl<remote_agent_actor, remote_agent_state>>(
    setup_.coordinator, x.outbox, question_count_);
  auto welcome = v1::Welcome{};
  welcome.set_version(setup_.version);
  link_writer<v1::ToAgent>{x.outbox}.write(std::move(welcome));
}

result<bool> remote_agent::take(std::string_view content) {
  auto x = v1::ToCoordinator{};
  if (auto ok = read_message(content, x); !ok)
    return ok.error();
  auto out = result{false};
  const auto is_known
    = open_envelope(x, [&](auto y) { out = on(std::move(y), x.number()); });
  if (!is_known && !std::exchange(has_said_strange_, true))
    setup_.lines.info(formatted("agent {} sends messages that this version does"
                                " not know; they are left alone",
                                setup_.id));
  return out;
}

std::string remote_agent::take_answers() {
  return std::exchange(answers_, {});
}

void remote_agent::end() {
  if (const auto gone = std::exchange(actor_, nullptr))
    tell_anonymously(gone, link_ended{});
  setup_ = {};
}

template <class T>
result<bool> remote_agent::on(T x, uint64_t number) {
  if constexpr (requires { x.agent_id(); })
    if (x.agent_id() != setup_.id.get())
      return fault("sends a message of another agent");
  if constexpr (std::is_same_v<T, v1::JoinRequest>) {
    return join(std::move(x));
  } else {
    if (join_count_ == 0)
      return fault("speaks before it has asked to join");
    if constexpr (std::is_same_v<T, v1::StatusRequest>) {
      return ask(std::move(x), number);
    } else if constexpr (std::is_same_v<T, v1::KeepAlive>) {
      if (!setup_.has_lease)
        return deliver(std::move(x));
      answer(x);
      return false;
    } else {
      return deliver(std::move(x));
    }
  }
}

result<bool> remote_agent::join(v1::JoinRequest x) {
  if (++join_count_ > join_count_max)
    return fault("asks to join again and again");
  if (x.offer().agent_id() != setup_.id.get())
    return fault("asks to join as another agent");
  const auto& address = x.offer().address();
  if (may_speak_for_ && !may_speak_for_(address))
    return fault("announces an address that its certificate does not name");
  x.set_is_address_unproved(!setup_.peer_host.empty()
                            && plain(address) != plain(setup_.peer_host));
  x.set_comes_by_link(true);
  return deliver(std::move(x));
}

// They cost the coordinator more than they cost their sender, and its mailbox has no
// limit. A peer that was not accepted gets no answer, so it is cut after a few.
result<bool> remote_agent::ask(v1::StatusRequest x, uint64_t number) {
  if (++*question_count_ > question_count_max)
    return fault(formatted("asks for the status again and again: {} questions "
                           "have no answer yet",
                           question_count_max));
  if (setup_.is_member && !setup_.is_member())
    return false;
  tell_anonymously(actor_, agent_asked{number, std::move(x)});
  return true;
}

// Here and not by the coordinator, which then wakes up for decisions only.
void remote_agent::answer(const v1::KeepAlive& x) {
  if (!setup_.has_lease(x.sent_ns()))
    return;
  auto grant = v1::LeaseGranted{};
  grant.set_sent_ns(x.sent_ns());
  answers_ += message_frame(envelope_with<v1::ToAgent>(std::move(grant)));
}

template <class T>
bool remote_agent::deliver(T x) {
  tell_as(actor_, setup_.coordinator, std::move(x));
  return true;
}

} // namespace actorrun::detail
