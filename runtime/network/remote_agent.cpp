#include "runtime/network/remote_agent.hpp"

#include "actors/translate.hpp"
#include "messages/formatted.hpp"

#include <caf/behavior.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/message.hpp>

#include <chrono>
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

#if ACTORRUN_CAF_1
using handled = caf::skippable_result;
#else
using handled = caf::result<caf::message>;
#endif

/// Writes what the coordinator says to an agent.
///
/// A coordinator has thousands, and a behavior with a handler for each message of the
/// interface would take 2 KB of each.
class agent_writer final : public caf::event_based_actor {
public:
  agent_writer(caf::actor_config& config,
               rendezvous_coordinator_actor coordinator,
               std::shared_ptr<link_outbox> to)
    : event_based_actor(config), coordinator_(std::move(coordinator)),
      to_(std::move(to)) {
    write_all_others();
  }

  caf::behavior make_behavior() override {
    return {
      [this](const agent_asked& x) { ask_coordinator(x); },
      [this](const link_ended&) {
        quit(caf::exit_reason::remote_link_unreachable);
      },
    };
  }

  void on_exit() override {
    to_.end();
    coordinator_ = nullptr;
    event_based_actor::on_exit();
  }

  const char* name() const override { return "remote-agent"; }

private:
// CAF 1 would rather have these in the behavior.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  void write_all_others() {
    set_error_handler(
      [](caf::scheduled_actor*, caf::error&) { ++dropped_message_count; });
#if ACTORRUN_CAF_1
    set_default_handler(
      [this](caf::scheduled_actor*, caf::message& x) { return write(x); });
#else
    set_default_handler([this](caf::scheduled_actor*, caf::message_view& x) {
      return write(x.content());
    });
#endif
  }
#pragma GCC diagnostic pop

  /// Whoever sends it expects no answer.
  template <class Content>
  handled write(const Content& x) {
    const auto is_for_agents = std::apply(
      [&](const auto&... rows) {
        return (write_if<typename std::decay_t<decltype(rows)>::type>(x)
                || ...);
      },
      link_table<v1::ToAgent>);
    if (!is_for_agents)
      ++dropped_message_count; // It concerns agents of this process only.
    return caf::delegated<caf::message>{};
  }

  template <class T, class Content>
  bool write_if(const Content& x) {
    if constexpr (!std::is_same_v<T, v1::Welcome>) // No actor sends it.
      if (x.template match_elements<T>()) {
        to_.write(x.template get_as<T>(0));
        return true;
      }
    return false;
  }

  void ask_coordinator(const agent_asked& x) {
    const auto count = [open = x.open] { --*open; };
    actorrun::ask(this, coordinator_, answer_limit, x.what)
      .then(
        [this, count, number = x.number](const v1::JobStatus& y) {
          count();
          to_.write(y, number);
        },
        [count](const caf::error&) { count(); });
  }

  rendezvous_coordinator_actor coordinator_;
  link_writer<v1::ToAgent> to_;
};

} // namespace

remote_agent::remote_agent(caf::actor_system& system, remote_agent_setup setup)
  : system_(system), setup_(std::move(setup)) {}

void remote_agent::begin(const link_opening& x) {
  may_speak_for_ = x.may_speak_for;
  actor_ = system_.spawn<agent_writer>(setup_.coordinator, x.outbox);
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
      if (!setup_.hear)
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
  if (!question_count_)
    question_count_ = std::make_shared<std::atomic<size_t>>(0);
  if (++*question_count_ > question_count_max)
    return fault(formatted("asks for the status again and again: {} questions "
                           "have no answer yet",
                           question_count_max));
  if (setup_.is_member && !setup_.is_member())
    return false;
  tell_anonymously(actor_, agent_asked{number, std::move(x), question_count_});
  return true;
}

// Here and not by the coordinator, which then wakes up for decisions only.
void remote_agent::answer(const v1::KeepAlive& x) {
  if (const auto age = setup_.hear(x.sent_ns()))
    answers_ += message_frame(envelope_with<v1::ToAgent>(grant(x, *age)));
}

template <class T>
bool remote_agent::deliver(T x) {
  tell_as(actor_, setup_.coordinator, std::move(x));
  return true;
}

} // namespace actorrun::detail
