#include "tests/sim/candidate.hpp"

#include "tests/sim/cluster.hpp"

#include <string>

namespace actorrun::sim {

using namespace core;
using namespace std::chrono_literals;

namespace {

constexpr auto request_limit = duration{500ms};
constexpr auto way_max = duration{5ms};
constexpr auto slow_way_max = duration{400ms};
constexpr auto slow_percent = 5;
constexpr auto lost_percent = 2;
constexpr auto starved_percent = 20;
constexpr auto starved_max = duration{300ms};

} // namespace

candidate::candidate(cluster& all, std::shared_ptr<os_process> process,
                     agent& who)
  : all_(all), process_(std::move(process)), who_(who),
    brain_({.lease = all.plan().registry_lease,
            .guard = all.plan().limits.fence_guard,
            .settings = who.settings()}) {}

void candidate::seek(bool was_member) {
  sought_ = all_.now();
  handle(coordinator_wanted{was_member});
}

void candidate::on_reached() {
  handle(endpoint_reached{});
}

void candidate::on_missed(const failure& why) {
  if (why.code == errc::coordinator_gone)
    handle(endpoint_gone{why});
  else
    handle(endpoint_failed{why});
}

bool candidate::may_decide() const {
  return all_.now() < leadership_end_;
}

void candidate::handle(const leadership_event& event) {
  const auto effects = brain_.step(event, all_.now());
  if (all_.trace().on() && !effects.empty())
    all_.trace().add(all_.now(), who_.id().value + " candidate",
                     to_string(brain_.current_phase()), effects);
  for (const auto& effect : effects)
    std::visit([this](const auto& x) { perform(x); }, effect);
}

// -- etcd ---------------------------------------------------------------------

// A request that is lost, or whose answer is lost, fails at its deadline; etcd
// may have served it.
void candidate::ask(std::optional<time_point> deadline, answer serve) {
  auto& roll = all_.roll();
  const auto own = all_.now() + request_limit;
  const auto is_answered = std::make_shared<bool>(false);
  const auto done = [this, is_answered](const leadership_event& x) {
    if (!std::exchange(*is_answered, true))
      handle(x);
  };
  process_->at(deadline ? std::min(*deadline, own) : own, [done] {
    done(registry_failed{{errc::etcd_unreachable, "no answer in time"}});
  });
  const auto way = [&roll, is_calm = all_.is_healed()] {
    return roll.between(duration{100us}, !is_calm && roll.percent(slow_percent)
                                           ? slow_way_max
                                           : way_max);
  };
  const auto loses
    = [this] { return !all_.is_healed() && all_.roll().percent(lost_percent); };
  if (!all_.reaches_registry(who_.host()) || loses())
    return;
  all_.after(way(), [this, done, loses, way, serve = std::move(serve)] {
    if (!all_.reaches_registry(who_.host()))
      return;
    all_.etcd().expire(all_.now());
    const auto what = serve();
    if (!loses())
      process_->after(way(), [done, what] { done(what); });
  });
}

void candidate::perform(const read_entry& x) {
  ask(x.deadline, [this]() -> leadership_event { return all_.etcd().read(); });
}

void candidate::perform(const open_lease& x) {
  ask({}, [this, sent = all_.now(), length = x.length]() -> leadership_event {
    return lease_opened{all_.etcd().open_lease(length, all_.now()), length,
                        sent};
  });
}

void candidate::perform(const campaign& x) {
  ask({}, [this, x] {
    const auto was_over = all_.etcd().read().job.is_over;
    auto out = all_.etcd().campaign(x);
    if (was_over && who_.brain().was_accepted()
        && std::holds_alternative<campaign_won>(out))
      all_.checks().report("job: " + who_.id().value
                           + " begins it again, of which it was a member");
    return out;
  });
}

void candidate::perform(const publish& x) {
  ask(x.deadline, [this, x] { return all_.etcd().publish(x); });
}

void candidate::perform(const write_job& x) {
  if (x.job.revision < all_.etcd().read().job.job.revision)
    all_.checks().report("job: " + who_.id().value
                         + " writes less of it to etcd than is known");
  ask(x.deadline, [this, x] { return all_.etcd().write(x, all_.now()); });
}

void candidate::perform(const report_outcome_written&) {
  process_->post([this] {
    if (hosted_ != nullptr)
      hosted_->handle(outcome_written{});
  });
}

void candidate::perform(const renew_lease& x) {
  ask(x.deadline, [this, x, sent = all_.now()] {
    return all_.etcd().renew(x, sent, all_.now());
  });
}

void candidate::perform(const end_lease& x) {
  if (all_.reaches_registry(who_.host()))
    all_.etcd().end_lease(x, all_.now());
}

// -- the coordinator ----------------------------------------------------------

void candidate::perform(const open_coordinator& x) {
  if (x.known.revision != 0
      && !fits(who_.settings(), x.known.settings, x.known.is_resized, {}))
    all_.checks().report("settings: " + who_.id().value
                         + ", which asks for another job, is elected");
  hosted_ = &all_.open_coordinator(process_, who_.host(), x,
                                   [this] { return may_decide(); });
  process_->after(1ms, [this, number = hosted_->number()] {
    handle(coordinator_opened{std::to_string(number)});
  });
}

void candidate::perform(const close_coordinator&) {
  if (auto* gone = std::exchange(hosted_, nullptr))
    all_.end_leadership(*gone);
}

// -- the agent ----------------------------------------------------------------

void candidate::perform(const try_endpoint& x) {
  all_.connect(who_, std::stoi(x.endpoint), true);
}

void candidate::perform(const report_here&) {
  if (hosted_)
    all_.connect(who_, hosted_->number(), false);
  else
    process_->post([this] {
      who_.on_not_found({errc::connection_failed, "just given up"}, sought_);
    });
}

void candidate::perform(const report_missing& x) {
  process_->post([this, why = x.why] { who_.on_not_found(why, sought_); });
}

void candidate::perform(const arm_timer& x) {
  // Its thread may be starved, while the coordinator's runs.
  auto& roll = all_.roll();
  const auto late = roll.percent(starved_percent)
                      ? roll.between(duration{0}, starved_max)
                      : duration{0};
  process_->at(
    all_.on_time(x.due) + all_.timer_lateness(), [this, late, timer = x.timer] {
      process_->after(late, [this, timer] { handle(timer_fired{timer}); });
    });
}

} // namespace actorrun::sim
