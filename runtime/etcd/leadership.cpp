#include "runtime/etcd/leadership.hpp"

#include "runtime/os/thread.hpp"

#include <caf/scoped_actor.hpp>

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

namespace actorrun::detail {

using namespace core;

namespace {

using leadership_actor = etcd_leadership::actor;
using shared_end = std::shared_ptr<std::atomic<etcd_client::clock::rep>>;

/// `core_` reckons with a clock that goes on while the machine is suspended;
/// requests and waits have the steady one.
class leadership_state {
public:
  static constexpr const char* name = "etcd-leadership";

  /// @param end When our leadership ends, for who asks whether we lead.
  leadership_state(leadership_actor::pointer self,
                   etcd_leadership_config config, shared_end end)
    : self_(self), config_(std::move(config)), leadership_end_(std::move(end)),
      core_(config_.options) {}

  leadership_actor::behavior_type make_behavior();

  void on_exit() {
    seeker_ = nullptr;
    on_written_ = nullptr;
    config_ = {};
  }

private:
  using clock = etcd_client::clock;
  using reply = std::optional<leadership_event>;
  struct effect_runner;

  void dispatch(leadership_event event);
  clock::time_point now() const { return clock::now() + config_.asleep(); }
  clock::time_point limit(std::optional<clock::time_point> deadline) const;
  void answer(const etcd_leadership::answer& x, bool is_last);

  leadership_actor::pointer self_;
  etcd_leadership_config config_;
  shared_end leadership_end_;
  leadership core_;
  etcd_leadership::seeker seeker_;
  std::function<void()> on_written_; ///< Of the outcome.
};

// One overload per effect. What has an answer returns it.
struct leadership_state::effect_runner {
  leadership_state& self;

  etcd_client& registry() { return *self.config_.registry; }

  reply operator()(const read_entry& x) {
    auto found = registry().read(self.limit(x.deadline));
    if (!found)
      return registry_failed{found.error()};
    return std::move(*found);
  }

  reply operator()(const open_lease& x) {
    const auto sent = self.now();
    auto opened = registry().open_lease(
      std::chrono::ceil<std::chrono::seconds>(x.length), self.limit({}));
    if (!opened)
      return registry_failed{opened.error()};
    opened->sent = sent;
    return *opened;
  }

  reply operator()(const campaign& x) {
    auto ended = registry().campaign(x, self.limit({}));
    if (!ended)
      return registry_failed{ended.error()};
    return std::visit([](auto& y) -> reply { return std::move(y); }, *ended);
  }

  reply operator()(const open_coordinator& x) {
    self.config_.lines.info(x.successor
                              ? "etcd elects this node's coordinator, which "
                                "takes over the job: "
                                  + to_string(x.change, {})
                              : "etcd elects this node's coordinator");
    auto opened = self.config_.open_coordinator(x, registry().link());
    if (!opened)
      return coordinator_not_opened{opened.error()};
    return coordinator_opened{std::move(*opened)};
  }

  reply operator()(const publish& x) {
    auto published = registry().publish(x.lease, x.revision, x.endpoint,
                                        self.limit(x.deadline));
    if (!published)
      return registry_failed{published.error()};
    if (!*published)
      return leadership_lost{};
    return leadership_published{**published};
  }

  reply operator()(const renew_lease& x) {
    const auto sent = self.now();
    auto renewed = registry().renew(x.lease, self.limit(x.deadline));
    if (!renewed)
      return registry_failed{renewed.error()};
    if (!*renewed)
      return lease_ended{};
    return lease_renewed{**renewed, sent};
  }

  reply operator()(const end_lease& x) {
    registry().end_lease(x, clock::now() + resign_limit);
    return {};
  }

  reply operator()(const write_job& x) {
    auto written = registry().write_job(x, self.limit(x.deadline));
    if (!written)
      return registry_failed{written.error()};
    // If the entry is not ours, the next look at it ends our leadership.
    return job_written{};
  }

  reply operator()(const report_outcome_written&) {
    if (const auto on_written = std::exchange(self.on_written_, {}))
      on_written();
    return {};
  }

  reply operator()(const set_leadership_end& x) {
    *self.leadership_end_ = x.due.time_since_epoch().count();
    return {};
  }

  reply operator()(const close_coordinator& x) {
    self.config_.lines.info("this node's coordinator gives up the leadership: "
                            + x.reason);
    self.config_.close_coordinator(x.reason);
    return {};
  }

  reply operator()(const try_endpoint& x) {
    self.answer(x.endpoint, false);
    return {};
  }

  reply operator()(const report_here&) {
    self.answer(etcd_leadership::here{}, true);
    return {};
  }

  reply operator()(const report_missing& x) {
    self.answer(x.why, true);
    return {};
  }

  reply operator()(const log_registry& x) {
    if (x.trouble)
      self.config_.lines.warn(
        "etcd is away from this node; a coordinator leads "
        "on until its lease there ends: "
        + x.trouble->text);
    else
      self.config_.lines.info("etcd is back");
    return {};
  }

  reply operator()(const arm_timer& x) {
    tell_later(self.self_, x.due - self.now(), timer_fired{x.timer});
    return {};
  }
};

leadership_actor::behavior_type leadership_state::make_behavior() {
  return {
    [this](etcd_leadership::start_now) { dispatch(candidate_started{}); },
    [this](const etcd_leadership::search& x) {
      seeker_ = x.on_answer;
      dispatch(coordinator_wanted{x.was_member});
    },
    [this](const endpoint_report& x) {
      std::visit([this](const auto& y) { dispatch(y); }, x);
    },
    [this](const resign_requested& x) { dispatch(x); },
    [this](const job_changed& x) { dispatch(x); },
    [this](const etcd_leadership::outcome& x) {
      on_written_ = x.on_written;
      dispatch(outcome_reached{});
    },
    [this](const timer_fired& x) { dispatch(x); },
    [this](etcd_leadership::stop_now) {
      dispatch(resign_requested{false});
      self_->quit();
    },
  };
}

void leadership_state::dispatch(leadership_event event) {
  auto events = std::deque{std::move(event)};
  while (!events.empty()) {
    const auto effects = core_.step(events.front(), now());
    events.pop_front();
    for (const auto& effect : effects)
      if (auto x = std::visit(effect_runner{*this}, effect))
        events.push_back(std::move(*x));
  }
}

leadership_state::clock::time_point
leadership_state::limit(std::optional<clock::time_point> deadline) const {
  const auto own = clock::now() + config_.request_limit;
  return deadline ? std::min(*deadline - config_.asleep(), own) : own;
}

void leadership_state::answer(const etcd_leadership::answer& x, bool is_last) {
  const auto on_answer = is_last ? std::exchange(seeker_, {}) : seeker_;
  if (on_answer)
    on_answer(x);
}

} // namespace

etcd_leadership::etcd_leadership(caf::actor_system& system,
                                 etcd_leadership_config config)
  : system_(system), registry_(config.registry), asleep_(config.asleep) {
  const auto blocked = signals_blocked{}; // Its thread takes none.
  auto on_died = std::move(config.on_died);
  actor_ = system.spawn<actor_impl<actor, leadership_state>, caf::detached>(
    std::move(config), leadership_end_);
  watch_ = actor_watch{actor_, [on_died](const std::string& why) {
                         if (on_died)
                           on_died(why);
                       }};
}

etcd_leadership::~etcd_leadership() {
  stop();
}

void etcd_leadership::begin() {
  tell_anonymously(actor_, start_now{});
}

void etcd_leadership::seek(bool was_member, seeker on_answer) {
  tell_anonymously(actor_, search{was_member, std::move(on_answer)});
}

void etcd_leadership::report(endpoint_report what) {
  tell_anonymously(actor_, std::move(what));
}

void etcd_leadership::resign(bool job_over) {
  tell_anonymously(actor_, resign_requested{job_over});
}

void etcd_leadership::change_job(core::charter job) {
  tell_anonymously(actor_, job_changed{std::move(job)});
}

void etcd_leadership::write_outcome(std::function<void()> on_written) {
  tell_anonymously(actor_, outcome{std::move(on_written)});
}

std::function<bool()> etcd_leadership::leadership_check() const {
  return [end = leadership_end_, asleep = asleep_] {
    return (clock::now() + asleep()).time_since_epoch().count() < end->load();
  };
}

void etcd_leadership::stop() {
  if (is_stopped_)
    return;
  is_stopped_ = true;
  watch_.release();
  registry_->hurry(clock::now() + resign_limit);
  auto self = caf::scoped_actor{system_};
  tell_anonymously(actor_, stop_now{});
  self->wait_for(actor_);
}

void register_leadership_types() {
  ACTORRUN_REGISTER_LOCAL_TYPES(actorrun_leadership);
}

} // namespace actorrun::detail
