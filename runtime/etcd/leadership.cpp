#include "runtime/etcd/leadership.hpp"

#include "runtime/os/thread.hpp"

#include <algorithm>
#include <utility>

namespace actorrun::detail {

using namespace core;

// One overload per effect. What has an answer returns it.
struct etcd_leadership::effect_runner {
  etcd_leadership& self;

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
                                "takes over the job"
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
    registry().end_lease(x.lease, x.job_over, clock::now() + resign_limit);
    return {};
  }

  reply operator()(const set_leadership_end& x) {
    *self.leadership_end_ = x.due.time_since_epoch().count();
    return {};
  }

  reply operator()(const close_coordinator& x) {
    self.config_.lines.info("this node's coordinator gives up the leadership: "
                            + x.reason);
    self.config_.close_coordinator();
    return {};
  }

  reply operator()(const try_endpoint& x) {
    self.report(x.endpoint, false);
    return {};
  }

  reply operator()(const report_here&) {
    self.report(here{}, true);
    return {};
  }

  reply operator()(const report_missing& x) {
    self.report(x.why, true);
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
    self.timer_ = x;
    return {};
  }
};

etcd_leadership::etcd_leadership(etcd_leadership_config config)
  : config_(std::move(config)), core_(config_.options) {
  inbox_.push_back({candidate_started{}});
  const auto blocked = signals_blocked{};
  thread_ = std::thread{[this] { run(); }};
}

etcd_leadership::~etcd_leadership() {
  stop();
}

void etcd_leadership::seek(bool was_member, seeker on_answer) {
  post({coordinator_wanted{was_member}, std::move(on_answer)});
}

void etcd_leadership::report(leadership_event what) {
  post({std::move(what)});
}

void etcd_leadership::resign(bool job_over) {
  post({resign_requested{job_over}});
}

std::function<bool()> etcd_leadership::leadership_check() const {
  return [end = leadership_end_, asleep = config_.asleep] {
    return (clock::now() + asleep()).time_since_epoch().count() < end->load();
  };
}

void etcd_leadership::stop() {
  if (!thread_.joinable())
    return;
  config_.registry->hurry(clock::now() + resign_limit);
  {
    const auto guard = std::lock_guard{mutex_};
    inbox_.push_back({resign_requested{false}});
    is_stopping_ = true;
  }
  news_.notify_one();
  thread_.join();
  seeker_ = nullptr;
}

// -- on the thread ------------------------------------------------------------

void etcd_leadership::post(incoming x) {
  {
    const auto guard = std::lock_guard{mutex_};
    if (is_stopping_)
      return;
    inbox_.push_back(std::move(x));
  }
  news_.notify_one();
}

std::optional<etcd_leadership::incoming> etcd_leadership::next() {
  auto lock = std::unique_lock{mutex_};
  const auto has_news = [this] { return !inbox_.empty() || is_stopping_; };
  if (timer_.timer.value == 0)
    news_.wait(lock, has_news);
  else if (!news_.wait_until(lock, timer_.due - config_.asleep(), has_news))
    return incoming{timer_fired{std::exchange(timer_, {}).timer}};
  if (inbox_.empty())
    return std::nullopt;
  auto out = std::move(inbox_.front());
  inbox_.pop_front();
  return out;
}

void etcd_leadership::run() {
  while (auto x = next()) {
    if (x->on_answer)
      seeker_ = std::move(x->on_answer);
    dispatch(std::move(x->event));
  }
}

void etcd_leadership::dispatch(leadership_event event) {
  auto events = std::deque{std::move(event)};
  while (!events.empty()) {
    const auto effects = core_.step(events.front(), now());
    events.pop_front();
    for (const auto& effect : effects)
      if (auto x = std::visit(effect_runner{*this}, effect))
        events.push_back(std::move(*x));
  }
}

etcd_leadership::clock::time_point
etcd_leadership::limit(std::optional<clock::time_point> deadline) const {
  const auto own = clock::now() + config_.request_limit;
  return deadline ? std::min(*deadline - config_.asleep(), own) : own;
}

void etcd_leadership::report(const answer& x, bool is_last) {
  const auto on_answer = is_last ? std::exchange(seeker_, {}) : seeker_;
  if (on_answer)
    on_answer(x);
}

} // namespace actorrun::detail
