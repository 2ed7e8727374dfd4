// Hides the differences between CAF 0.17 and CAF 1.1: numbers of message types,
// typed interfaces, actors as plain state classes, sends, timers and monitors.
#pragma once

#include "messages/config.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/exit_reason.hpp>
#include <caf/send.hpp>
#include <caf/type_id.hpp>
#include <caf/typed_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

// CAF 1.1.0 defines a wrong CAF_VERSION; major and minor are right everywhere.
#define ACTORRUN_CAF_017 (CAF_MAJOR_VERSION == 0 && CAF_MINOR_VERSION == 17)
#define ACTORRUN_CAF_1 (CAF_MAJOR_VERSION == 1 && CAF_MINOR_VERSION == 1)
#if !ACTORRUN_CAF_017 && !ACTORRUN_CAF_1
#error "actorrun can be built with CAF 0.17 and with CAF 1.1"
#endif

#if ACTORRUN_CAF_1
#include <caf/anon_mail.hpp>
#include <caf/behavior.hpp>
#include <caf/detail/behavior_impl.hpp>
#include <caf/init_global_meta_objects.hpp>
#include <caf/scheduler.hpp>
#endif

// -- messages that stay in the process ----------------------------------------

// CAF 1 wants a number for these, too, and a registration before the first actor
// system. Blocks are placed by hand behind that of the wire types; no peer ever sees
// their numbers.
#if ACTORRUN_CAF_1
#define ACTORRUN_BEGIN_LOCAL_TYPES(block, first)                               \
  CAF_BEGIN_TYPE_ID_BLOCK(block, first)
#define ACTORRUN_LOCAL_TYPE(block, ...)                                        \
  CAF_ALLOW_UNSAFE_MESSAGE_TYPE(__VA_ARGS__)                                   \
  CAF_ADD_TYPE_ID(block, (__VA_ARGS__))
#define ACTORRUN_END_LOCAL_TYPES(block) CAF_END_TYPE_ID_BLOCK(block)
#define ACTORRUN_REGISTER_LOCAL_TYPES(block)                                   \
  caf::init_global_meta_objects<caf::id_block::block>()
#else
#define ACTORRUN_BEGIN_LOCAL_TYPES(block, first)
#define ACTORRUN_LOCAL_TYPE(block, ...)                                        \
  CAF_ALLOW_UNSAFE_MESSAGE_TYPE(__VA_ARGS__)
#define ACTORRUN_END_LOCAL_TYPES(block)
#define ACTORRUN_REGISTER_LOCAL_TYPES(block) static_cast<void>(0)
#endif

namespace actorrun {

// -- typed interfaces: interface<Result(Argument...), void(Argument...)> ------

template <class Signature>
struct message_signature;

#if ACTORRUN_CAF_017
template <class Out, class... In>
struct message_signature<Out(In...)> {
  using type =
    typename caf::replies_to<std::decay_t<In>...>::template with<Out>;
};
template <class... In>
struct message_signature<void(In...)> {
  using type = caf::reacts_to<std::decay_t<In>...>;
};
#else
template <class Out, class... In>
struct message_signature<Out(In...)> {
  using type = caf::result<Out>(std::decay_t<In>...);
};
#endif

template <class... Signatures>
using interface = caf::typed_actor<
  typename message_signature<Signatures>::type...>;

// -- a behavior for all messages of an interface ------------------------------

template <class Signature>
struct signature_parts;

#if ACTORRUN_CAF_017
template <class In, class Out>
struct signature_parts<
  caf::typed_mpi<caf::detail::type_list<In>, caf::output_tuple<Out>>> {
  using in = In;
  using out = Out;
};
#else
template <class Out, class In>
struct signature_parts<caf::result<Out>(In)> {
  using in = In;
  using out = Out;
};
#endif

template <class Signature, class F>
auto handler_of(F fn) {
  using in = typename signature_parts<Signature>::in;
  using out = typename signature_parts<Signature>::out;
  if constexpr (std::is_void_v<out>)
    return [fn](const in& x) { fn(x); };
  else
    return [fn](const in& x) -> caf::result<out> { return fn(x); };
}

/// An interface and a few messages more.
template <class Handle, class... More>
struct extended_interface;

template <class... Signatures, class... More>
struct extended_interface<caf::typed_actor<Signatures...>, More...> {
  using type = caf::typed_actor<Signatures...,
                                typename message_signature<More>::type...>;

  /// Passes all messages to `fn`, which may be a template.
  template <class F>
  static typename type::behavior_type behavior(F fn) {
    return {handler_of<Signatures>(fn)...,
            handler_of<typename message_signature<More>::type>(fn)...};
  }
};

// -- actors as plain state classes --------------------------------------------

/// How many messages this process's actors have dropped because no actor of ours sends
/// such messages, to them or in this way.
inline std::atomic<uint64_t> dropped_message_count = 0;

#if ACTORRUN_CAF_1

/// What an actor does when it ends; empty when that is done.
using end_task = std::shared_ptr<std::function<void()>>;

/// Ends an actor before those that watch it are notified, as CAF 0.17 does: CAF 1 calls
/// `on_exit` after that. It drops the behavior before both.
class ending_behavior final : public caf::detail::behavior_impl {
public:
  ending_behavior(end_task at_end, pointer handlers)
    : at_end_(std::move(at_end)), handlers_(std::move(handlers)) {}

  ~ending_behavior() override {
    if (const auto end = std::exchange(*at_end_, nullptr))
      end();
  }

  using behavior_impl::invoke;

  bool invoke(caf::detail::invoke_result_visitor& f, caf::message& x) override {
    return handlers_->invoke(f, x);
  }

private:
  end_task at_end_;
  pointer handlers_;
};

inline caf::behavior ending_with(end_task at_end, const caf::behavior& x) {
  return caf::behavior{caf::detail::behavior_impl::pointer{
    new ending_behavior{std::move(at_end), x.as_behavior_impl()}, false}};
}

#endif

/// Runs `State`, which has `name`, a constructor that takes the actor's pointer
/// first, `make_behavior()` and `on_exit()`. By default, CAF ends an actor that gets an
/// error as a message, and prints each message that it does not know; here they count.
template <class Handle, class State>
class actor_impl : public Handle::base {
public:
  template <class... Ts>
  explicit actor_impl(caf::actor_config& config, Ts&&... xs)
    : Handle::base(config), state_(this, std::forward<Ts>(xs)...) {
    count_strange_messages();
  }

#if ACTORRUN_CAF_1
  ~actor_impl() override {
    *at_end_ = nullptr;
  }

  typename Handle::base::behavior_type make_behavior() override {
    this->do_become(ending_with(at_end_, state_.make_behavior().unbox()), true);
    return Handle::base::behavior_type::make_empty_behavior();
  }

  void on_exit() override {
    if (const auto end = std::exchange(*at_end_, nullptr))
      end();
    Handle::base::on_exit();
  }
#else
  typename Handle::base::behavior_type make_behavior() override {
    return state_.make_behavior();
  }

  void on_exit() override {
    state_.on_exit();
    Handle::base::on_exit();
  }
#endif

  const char* name() const override {
    return State::name;
  }

private:
// CAF 1 would rather have these in every behavior.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  void count_strange_messages() {
    this->set_error_handler(
      [](caf::scheduled_actor*, caf::error&) { ++dropped_message_count; });
#if ACTORRUN_CAF_1
    this->set_default_handler(
      [](caf::scheduled_actor*, caf::message&) -> caf::skippable_result {
        ++dropped_message_count;
        return caf::make_error(caf::sec::unexpected_message);
      });
#else
    this->set_default_handler(
      [](caf::scheduled_actor*, auto&) -> caf::result<caf::message> {
        ++dropped_message_count;
        return caf::sec::unexpected_message;
      });
#endif
  }
#pragma GCC diagnostic pop

#if ACTORRUN_CAF_1
  const end_task at_end_
    = std::make_shared<std::function<void()>>([this] { state_.on_exit(); });
#endif
  State state_;
};

// -- sends and timers ---------------------------------------------------------

template <class Self, class To, class... Ts>
void tell(Self* self, const To& to, Ts&&... xs) {
#if ACTORRUN_CAF_1
  self->mail(std::forward<Ts>(xs)...).send(to);
#else
  self->send(to, std::forward<Ts>(xs)...);
#endif
}

template <class To, class... Ts>
void tell_anonymously(const To& to, Ts&&... xs) {
#if ACTORRUN_CAF_1
  caf::anon_mail(std::forward<Ts>(xs)...).send(to);
#else
  caf::anon_send(to, std::forward<Ts>(xs)...);
#endif
}

/// Sends in the name of `from`.
template <class From, class To, class T>
void tell_as(const From& from, const To& to, T&& x) {
#if ACTORRUN_CAF_1
  caf::detail::send_as(from, to, std::forward<T>(x));
#else
  caf::send_as(from, to, std::forward<T>(x));
#endif
}

/// Sends `x` to the actor itself after `delay`; 0 or less: at once.
template <class Self, class T>
void tell_later(Self* self, caf::timespan delay, T&& x) {
#if ACTORRUN_CAF_1
  self->mail(std::forward<T>(x)).delay(delay).send(self);
#else
  self->delayed_send(self, delay, std::forward<T>(x));
#endif
}

/// Sends a request; the caller adds `.then(on_result, on_error)`.
/// @param limit Finite: CAF does not fail requests when a link breaks.
template <class Self, class To, class... Ts>
auto ask(Self* self, const To& to, caf::timespan limit, Ts&&... xs) {
#if ACTORRUN_CAF_1
  return self->mail(std::forward<Ts>(xs)...).request(to, limit);
#else
  return self->request(to, limit, std::forward<Ts>(xs)...);
#endif
}

/// The same without a limit. @pre `to` is of this process, and always answers
template <class Self, class To, class... Ts>
auto ask_without_limit(Self* self, const To& to, Ts&&... xs) {
#if ACTORRUN_CAF_1
  return self->mail(std::forward<Ts>(xs)...).request(to, caf::infinite);
#else
  return self->request(to, caf::infinite, std::forward<Ts>(xs)...);
#endif
}

/// The reason with which an actor quits that cannot go on.
#if ACTORRUN_CAF_1
inline constexpr auto exit_by_failure = caf::exit_reason::unknown;
#else
inline constexpr auto exit_by_failure = caf::exit_reason::unhandled_exception;
#endif

/// What went wrong, as text.
inline std::string to_text(caf::actor_system& system, const caf::error& why) {
#if ACTORRUN_CAF_1
  (void)system;
  return to_string(why);
#else
  return system.render(why);
#endif
}

// -- monitors -----------------------------------------------------------------

/// Calls back once for each watched actor that goes down. One per actor: CAF
/// 0.17 has one down handler for all monitors.
class watch_list {
public:
  template <class Self>
  explicit watch_list(Self* self) {
#if !ACTORRUN_CAF_1
    self->set_down_handler(
      [this](const caf::down_msg& x) { on_down(x.source); });
#else
    (void)self;
#endif
  }

  template <class Self, class Handle>
  void watch(Self* self, const Handle& who, std::function<void()> on_gone) {
    const auto address = caf::actor_cast<caf::actor_addr>(who);
#if ACTORRUN_CAF_1
    self->monitor(who,
                  [this, address](const caf::error&) { on_down(address); });
#else
    self->monitor(who);
#endif
    callbacks_.emplace(address, std::move(on_gone));
  }

private:
  void on_down(const caf::actor_addr& source) {
    auto range = callbacks_.equal_range(source);
    auto due = std::multimap<caf::actor_addr, std::function<void()>>(
      range.first, range.second);
    callbacks_.erase(range.first, range.second);
    for (auto& x : due)
      x.second();
  }

  std::multimap<caf::actor_addr, std::function<void()>> callbacks_;
};

} // namespace actorrun
