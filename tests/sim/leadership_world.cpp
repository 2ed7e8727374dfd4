#include "tests/sim/leadership_world.hpp"

#include <algorithm>

namespace actorrun::sim {

using namespace core;
using namespace std::chrono_literals;

namespace {

constexpr auto lease_length = 5s;
constexpr auto short_lease_length = 1s;
constexpr auto open_delay_max = duration{50ms};
constexpr auto guard = 300ms;
constexpr auto request_limit = 2s;
constexpr auto pause_between_searches = 200ms;
constexpr auto trouble_every = 700ms;
constexpr auto exit_delay = 2s; ///< From leaving the job to the process's end.
constexpr auto host_count = uint32_t{6};

} // namespace

/// A process with an agent that always wants to be linked to a coordinator. Some
/// can host none, and some have no agent and always campaign.
struct leadership_world::candidate {
  candidate(uint32_t number, const leadership_options& options,
            const registry& etcd)
    : id(number), has_agent(!options.always_campaigns),
      is_candidate(options.is_candidate), uut(options), facts(options, etcd) {}

  uint32_t id;
  bool has_agent;
  bool is_candidate;
  leadership uut;
  leadership_invariants facts; ///< What its orders have to fit.
  bool is_alive = true;
  std::string open;      ///< Address of its coordinator; empty: none.
  std::string linked;    ///< Address to which its agent is linked …
  std::string served_at; ///< … and was linked last, to another's coordinator.
  uint32_t open_id = 0;  ///< Of its coordinator, which is never used again …
  uint32_t served_by = 0; ///< … and of the one at `served_at`.
  bool is_cut = false;    ///< Cannot reach etcd.
  bool is_walled = false; ///< A firewall resets what comes from others.
  bool is_erased = false; ///< etcd has lost its entry: it leads until it hears.
  time_point awake_at{};
};

leadership_world::leadership_world(uint64_t seed, size_t candidate_count)
  : dice_(seed),
    lease_length_(dice_.percent(40) ? short_lease_length : lease_length) {
  while (candidates_.size() < candidate_count)
    spawn();
}

leadership_world::~leadership_world() = default;

std::optional<std::string> leadership_world::run(time_point calm,
                                                 time_point limit) {
  queue_.at(calm, [this] {
    is_calm_ = true;
    is_away_ = false;
    for (auto& x : candidates_)
      x->is_cut = x->is_walled = false;
  });
  trouble();
  while (queue_.step(limit)) {
    registry_.expire(queue_.now());
    if (auto why = breach())
      return why;
  }
  for (const auto& x : candidates_)
    if (x->is_alive && x->has_agent && !is_served(*x))
      return "agent " + std::to_string(x->id) + " has no leader";
  return std::nullopt;
}

bool leadership_world::is_served(const candidate& x) const {
  return std::any_of(
    candidates_.begin(), candidates_.end(), [&](const auto& y) {
      return y->is_alive && !y->open.empty() && y->open == x.linked
             && queue_.now() < y->facts.leadership_end();
    });
}

void leadership_world::report(const candidate& x, const std::string& what) {
  if (!breach_)
    breach_ = "candidate " + std::to_string(x.id) + " " + what;
}

/// Two leaders at one time.
std::optional<std::string> leadership_world::breach() {
  if (breach_)
    return breach_;
  auto reigning = std::string{};
  for (const auto& x : candidates_) {
    if (!x->is_alive || x->is_erased
        || queue_.now() >= x->facts.leadership_end())
      continue;
    if (!reigning.empty())
      return "two leaders at once: " + reigning + " and "
             + std::to_string(x->id);
    reigning = std::to_string(x->id);
  }
  return std::nullopt;
}

// -- what happens -------------------------------------------------------------

void leadership_world::trouble() {
  if (is_calm_)
    return;
  auto& x = *dice_.pick(candidates_);
  for (const auto& y : candidates_)
    hear_late(*y);
  switch (dice_.between(0, 8)) {
    case 0:
      kill(x);
      spawn();
      break;
    case 1:
      x.is_cut = !x.is_cut;
      break;
    case 2:
      is_away_ = !is_away_;
      break;
    case 3:
      x.awake_at = queue_.now() + dice_.between(duration{1s}, 8s);
      break;
    case 4:
      if (x.is_alive && dice_.percent(50))
        retire(x);
      break;
    case 5:
      x.is_walled = !x.is_walled;
      if (x.is_walled)
        reset_links_to(x);
      break;
    case 6: // Its agent's link to its own coordinator ends.
      if (x.is_alive && !x.open.empty() && x.linked == x.open) {
        x.linked.clear();
        want(x);
      }
      break;
    case 7:
      if (dice_.percent(20)) {
        // Until it hears of it, a leader does not know that it is none.
        for (auto& y : candidates_)
          y->is_erased = true;
        registry_.erase(dice_.percent(50));
      }
      break;
    default:
      break;
  }
  queue_.after(trouble_every, [this] { trouble(); });
}

void leadership_world::spawn() {
  std::erase_if(candidates_, [](const auto& x) { return !x->is_alive; });
  const auto id = ++last_id_;
  const auto can_be_spared
    = std::any_of(candidates_.begin(), candidates_.end(),
                  [](const auto& y) { return y->is_candidate; });
  auto x = std::make_shared<candidate>(
    id,
    leadership_options{.is_candidate = id % 5 != 4 || !can_be_spared,
                       .always_campaigns = id % 5 == 3,
                       .lease = lease_length_,
                       .guard = guard},
    registry_);
  x->is_walled = !is_calm_ && dice_.percent(15);
  candidates_.push_back(x);
  queue_.after(dice_.between(duration{0}, 500ms), [this, x] {
    if (x->is_alive)
      feed(*x, candidate_started{});
    want(*x);
  });
}

void leadership_world::kill(candidate& x) {
  x.is_alive = false;
  if (dice_.percent(70)) // Its warden lives.
    proofs_.insert(x.open_id);
  close(x);
}

// Only who leads learns first that the job is over.
void leadership_world::retire(candidate& x) {
  feed(x, resign_requested{.job_over = x.uut.is_leader() && dice_.percent(40)});
  if (dice_.percent(50))
    want(x);
  end_soon(x, exit_delay);
}

void leadership_world::end_soon(candidate& x, duration delay) {
  queue_.after(delay, [this, self = shared(x)] {
    if (!self->is_alive)
      return;
    kill(*self);
    spawn();
  });
}

std::shared_ptr<leadership_world::candidate>
leadership_world::shared(const candidate& x) const {
  return *std::find_if(candidates_.begin(), candidates_.end(),
                       [&](const auto& y) { return &*y == &x; });
}

void leadership_world::close(candidate& x) {
  reset_links_to(x);
  if (x.is_alive && !x.open.empty() && x.linked == x.open) {
    x.linked.clear();
    const auto self = shared(x);
    queue_.after(20ms, [this, self] { want(*self); });
  }
  x.open.clear();
}

void leadership_world::reset_links_to(const candidate& x) {
  for (const auto& y : candidates_)
    if (&*y != &x && y->is_alive && !x.open.empty() && y->linked == x.open) {
      y->linked.clear();
      queue_.after(20ms, [this, y] { want(*y); });
    }
}

void leadership_world::want(candidate& x) {
  if (!x.is_alive || !x.has_agent || x.facts.is_searching()
      || !x.linked.empty())
    return;
  if (queue_.now() < x.awake_at)
    return queue_.at(x.awake_at, [this, self = shared(x)] { want(*self); });
  feed(x, coordinator_wanted{x.facts.was_member()});
}

// A process that sleeps gets its events when it wakes up.
void leadership_world::feed(candidate& x, const leadership_event& event) {
  if (queue_.now() < x.awake_at)
    return queue_.at(x.awake_at, [this, self = shared(x), event] {
      if (self->is_alive)
        feed(*self, event);
    });
  const auto before = x.uut.current_phase();
  const auto effects = x.uut.step(event, queue_.now());
  if (const auto wrong = x.facts.observe(event, before, effects,
                                         x.uut.current_phase(), queue_.now()))
    report(x, *wrong);
  for (const auto& effect : effects)
    if (x.is_alive)
      obey(x, effect);
}

// Answers to what was asked long ago: they must change nothing.
void leadership_world::hear_late(candidate& x) {
  using phase = leadership::phase;
  if (!x.is_alive || queue_.now() < x.awake_at)
    return;
  const auto at = x.uut.current_phase();
  const auto why = failure{errc::connection_failed, "late"};
  const auto ignores = [&](const leadership_event& event) {
    if (!x.uut.step(event, queue_.now()).empty() || x.uut.current_phase() != at)
      report(x, "obeys what is over");
  };
  ignores(timer_fired{});
  // An attempt at an address has its answer at once.
  ignores(endpoint_reached{});
  ignores(endpoint_gone{why});
  ignores(endpoint_failed{why});
  if (at != phase::opening) {
    ignores(coordinator_opened{"late"});
    ignores(coordinator_not_opened{why});
  }
  if (at != phase::publishing) {
    ignores(leadership_published{1});
    ignores(leadership_lost{});
  }
  if (at != phase::renewing) {
    ignores(lease_renewed{lease_length, queue_.now()});
    ignores(lease_ended{});
  }
  if (at != phase::opening_lease)
    ignores(lease_opened{1, lease_length, queue_.now()});
  if (at != phase::campaigning) {
    ignores(campaign_won{1, 0});
    ignores(campaign_lost{});
  }
  if (at != phase::reading && at != phase::checking)
    ignores(entry_read{});
  if (at == phase::idle || at == phase::connecting || at == phase::opening
      || at == phase::leading)
    ignores(registry_failed{why});
}

void leadership_world::connect(candidate& x, const std::string& endpoint) {
  const auto host
    = std::find_if(candidates_.begin(), candidates_.end(), [&](const auto& y) {
        return y->is_alive && y->open == endpoint;
      });
  if (host == candidates_.end() && x.served_at == endpoint
      && proofs_.contains(x.served_by))
    return feed(x, endpoint_gone{{errc::coordinator_gone, ""}});
  if (host == candidates_.end() || (*host)->is_walled)
    return feed(x, endpoint_failed{{errc::connection_refused, ""}});
  if (queue_.now() < (*host)->awake_at)
    return feed(x, endpoint_failed{{errc::connection_timed_out, ""}});
  x.linked = x.served_at = endpoint;
  x.served_by = (*host)->open_id;
  feed(x, endpoint_reached{});
}

// -- etcd ---------------------------------------------------------------------

/// A request that is lost, or whose answer is lost, fails at its deadline; etcd
/// may have served it.
void leadership_world::ask(candidate& x, std::optional<time_point> deadline,
                           std::function<leadership_event()> serve) {
  const auto self = shared(x);
  const auto own = queue_.now() + request_limit;
  const auto due = deadline ? std::min(*deadline, own) : own;
  const auto there = dice_.between(duration{1ms}, is_calm_ ? 20ms : 400ms);
  const auto back = dice_.between(duration{1ms}, is_calm_ ? 20ms : 400ms);
  const auto is_answered = std::make_shared<bool>(false);
  const auto answer = [this, self, is_answered](const leadership_event& what) {
    if (!self->is_alive || std::exchange(*is_answered, true))
      return;
    feed(*self, what);
  };
  queue_.at(due, [answer] {
    answer(registry_failed{{errc::etcd_unreachable, "no answer in time"}});
  });
  if (!is_calm_ && dice_.percent(5))
    return;
  queue_.after(there, [=, this] {
    if (is_away_ || self->is_cut)
      return;
    registry_.expire(queue_.now());
    const auto what = serve();
    if (is_calm_ || !dice_.percent(5))
      queue_.after(back, [answer, what] { answer(what); });
  });
}

// -- orders of candidates -----------------------------------------------------

void leadership_world::obey(candidate& x, const leadership_effect& effect) {
  const auto now = queue_.now();
  if (const auto* order = std::get_if<read_entry>(&effect)) {
    ask(x, order->deadline,
        [this]() -> leadership_event { return registry_.read(); });
  } else if (const auto* wish = std::get_if<open_lease>(&effect)) {
    // etcd may grant more than it was asked for.
    const auto length = wish->length + (dice_.percent(30) ? 600ms : 0ms);
    ask(x, {}, [this, now, length]() -> leadership_event {
      return lease_opened{registry_.open_lease(length, queue_.now()), length,
                          now};
    });
  } else if (const auto* bid = std::get_if<campaign>(&effect)) {
    x.is_erased = false;
    ask(x, {}, [this, y = *bid] { return registry_.campaign(y); });
  } else if (const auto* entry = std::get_if<publish>(&effect)) {
    ask(x, entry->deadline,
        [this, y = *entry] { return registry_.publish(y); });
  } else if (const auto* news = std::get_if<write_job>(&effect)) {
    ask(x, news->deadline,
        [this, y = *news] { return registry_.write(y, queue_.now()); });
  } else if (const auto* renewal = std::get_if<renew_lease>(&effect)) {
    ask(x, renewal->deadline, [this, now, y = *renewal] {
      return registry_.renew(y, now, queue_.now());
    });
  } else if (const auto* end = std::get_if<end_lease>(&effect)) {
    if (!x.is_cut && !is_away_)
      registry_.end_lease(*end, queue_.now());
  } else if (std::holds_alternative<open_coordinator>(effect)) {
    // Who runs on a host has the port that an earlier one had there.
    const auto endpoint = "host" + std::to_string(x.id % host_count);
    const auto is_taken
      = std::any_of(candidates_.begin(), candidates_.end(), [&](const auto& y) {
          return y->is_alive && y->open == endpoint;
        });
    if (is_taken || (!is_calm_ && dice_.percent(10)))
      return feed(x, coordinator_not_opened{{errc::system_failure, ""}});
    x.open = endpoint;
    x.open_id = ++last_open_id_;
    ++reign_count_;
    const auto self = shared(x);
    queue_.after(dice_.between(duration{0}, open_delay_max),
                 [this, self, endpoint, id = x.open_id] {
                   if (self->is_alive && self->open_id == id)
                     feed(*self, coordinator_opened{endpoint});
                 });
  } else if (std::holds_alternative<close_coordinator>(effect)) {
    close(x);
  } else if (const auto* target = std::get_if<try_endpoint>(&effect)) {
    connect(x, target->endpoint);
  } else if (std::holds_alternative<report_here>(effect)) {
    x.linked = x.open;
  } else if (const auto* miss = std::get_if<report_missing>(&effect)) {
    if (miss->why.code == errc::job_over)
      return end_soon(x, 0ms);
    const auto self = shared(x);
    queue_.after(pause_between_searches, [this, self] { want(*self); });
  } else if (const auto* timer = std::get_if<arm_timer>(&effect)) {
    const auto self = shared(x);
    queue_.at(timer->due, [this, self, id = timer->timer] {
      if (self->is_alive)
        feed(*self, timer_fired{id});
    });
  }
}

} // namespace actorrun::sim
