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

} // namespace

/// A process with an agent that always wants to be linked to a coordinator. Some
/// can host none, and some have no agent and always campaign.
struct leadership_world::candidate {
  candidate(uint32_t number, bool can_host, bool is_alone, duration lease_ttl)
    : id(number), has_agent(!is_alone), is_candidate(can_host),
      uut({.is_candidate = can_host,
           .always_campaigns = is_alone,
           .lease = lease_ttl,
           .guard = guard}) {}

  uint32_t id;
  bool has_agent;
  bool is_candidate;
  leadership uut;
  time_point leadership_end{};
  std::string open;      ///< Address of its coordinator; empty: none.
  std::string linked;    ///< Address to which its agent is linked …
  std::string served_by; ///< … and was linked last.
  bool is_alive = true;
  bool is_cut = false;    ///< Cannot reach etcd.
  bool is_walled = false; ///< A firewall resets what comes from others.
  bool is_searching = false;
  time_point awake_at{};
  uint32_t opened_count = 0;
  int64_t lease = 0;                  ///< With which it campaigned last.
  uint32_t request_count = 0;         ///< Without an answer yet.
  std::optional<leader_entry> read;   ///< The last entry, if etcd answered.
  std::optional<leader_entry> served; ///< The one that led to `served_by`.
  bool says_away = false;             ///< That etcd is, in its log.
  bool knows = false; ///< Where it was linked, other than to itself.
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
             && queue_.now() < y->leadership_end;
    });
}

void leadership_world::report(const candidate& x, const std::string& what) {
  if (!breach_)
    breach_ = "candidate " + std::to_string(x.id) + " " + what;
}

// Whether an order fits the state of the world.
void leadership_world::check(const candidate& x,
                             const leadership_effect& effect) {
  const auto is_request = std::holds_alternative<read_entry>(effect)
                          || std::holds_alternative<open_lease>(effect)
                          || std::holds_alternative<campaign>(effect)
                          || std::holds_alternative<publish>(effect)
                          || std::holds_alternative<renew_lease>(effect);
  if (is_request && x.request_count > 0)
    report(x, "has two requests to etcd at once");
  if (is_request && x.has_agent && !x.is_searching && x.open.empty())
    report(x, "asks etcd without need");
  if (std::holds_alternative<open_coordinator>(effect)
      && (!x.open.empty() || !x.is_candidate))
    report(x, "opens a coordinator, and has one or can host none");
  if (!x.is_searching
      && (std::holds_alternative<report_here>(effect)
          || std::holds_alternative<report_missing>(effect)
          || std::holds_alternative<try_endpoint>(effect)))
    report(x, "answers without a question");
  const auto* term = std::get_if<set_leadership_end>(&effect);
  if (const auto end = registry_.end_of(x.lease);
      term != nullptr && end && term->due > *end)
    report(x, "may decide for longer than its lease lasts");
}

/// Two leaders at one time.
std::optional<std::string> leadership_world::breach() {
  if (breach_)
    return breach_;
  auto reigning = std::string{};
  for (const auto& x : candidates_) {
    if (!x->is_alive || queue_.now() >= x->leadership_end)
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
  switch (dice_.between(0, 6)) {
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
      if (x.is_alive && dice_.percent(30)) {
        feed(x, resign_requested{});
        kill(x);
        spawn();
      }
      break;
    case 5:
      x.is_walled = !x.is_walled;
      if (x.is_walled)
        reset_links_to(x);
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
  auto x = std::make_shared<candidate>(id, id % 5 != 4 || !can_be_spared,
                                       id % 5 == 3, lease_length_);
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
    proofs_.insert(x.open);
  close(x);
}

void leadership_world::close(candidate& x) {
  reset_links_to(x);
  if (x.is_alive && !x.open.empty() && x.linked == x.open) {
    x.linked.clear();
    const auto self = *std::find_if(candidates_.begin(), candidates_.end(),
                                    [&](const auto& y) { return &*y == &x; });
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
  if (!x.is_alive || !x.has_agent || x.is_searching || !x.linked.empty())
    return;
  x.is_searching = true;
  feed(x, coordinator_wanted{});
}

// A process that sleeps gets its events when it wakes up.
void leadership_world::feed(candidate& x, leadership_event event,
                            bool is_answer) {
  const auto self = *std::find_if(candidates_.begin(), candidates_.end(),
                                  [&](const auto& y) { return &*y == &x; });
  if (queue_.now() < x.awake_at)
    return queue_.at(x.awake_at, [this, self, event, is_answer] {
      if (self->is_alive)
        feed(*self, event, is_answer);
    });
  x.request_count -= is_answer ? 1 : 0;
  if (const auto* answer = std::get_if<entry_read>(&event))
    x.read = answer->entry;
  else if (const auto* lost = std::get_if<campaign_lost>(&event))
    x.read = lost->entry;
  else if (std::holds_alternative<registry_failed>(event))
    x.read.reset();
  const auto was_reading
    = x.uut.current_phase() == leadership::phase::reading && x.has_agent;
  const auto effects = x.uut.step(event, queue_.now());
  if (was_reading && x.knows)
    check_outage(x, event, effects);
  for (const auto& effect : effects)
    if (x.is_alive) {
      check(x, effect);
      obey(x, effect);
    }
  if (x.is_alive && x.open.empty() && queue_.now() < x.leadership_end
      && !x.uut.is_leader())
    report(x, "may decide, and has no coordinator");
  if (x.is_alive && !x.open.empty() && !x.uut.is_leader())
    report(x, "keeps a coordinator without the leadership");
  // Its term runs out: an operator must see that etcd does not answer, and when
  // it does again.
  if (x.is_alive && !x.open.empty() && is_answer
      && ((std::holds_alternative<registry_failed>(event) && !x.says_away)
          || (std::holds_alternative<entry_read>(event) && x.says_away)))
    report(x, "leads, and does not log whether etcd answers");
}

// While etcd is away nothing else happens: whoever knows the coordinator goes
// there, and says once that etcd is away.
void leadership_world::check_outage(
  candidate& x, const leadership_event& event,
  const std::vector<leadership_effect>& effects) {
  const auto is_away = std::holds_alternative<registry_failed>(event);
  if (!is_away && !std::holds_alternative<entry_read>(event))
    return;
  const auto tries
    = std::any_of(effects.begin(), effects.end(), [](const auto& y) {
        return std::holds_alternative<try_endpoint>(y);
      });
  const auto logs
    = std::any_of(effects.begin(), effects.end(), [](const auto& y) {
        return std::holds_alternative<log_registry>(y);
      });
  if (is_away && !tries)
    report(x, "knows the coordinator, and does not go there without etcd");
  if (logs != (is_away != x.says_away))
    report(x, "does not log that etcd is away, or back");
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
  if (at != phase::connecting) {
    ignores(endpoint_reached{});
    ignores(endpoint_gone{why});
    ignores(endpoint_failed{why});
  }
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
    = std::find_if(candidates_.begin(), candidates_.end(),
                   [&](const auto& y) { return y->open == endpoint; });
  if (host == candidates_.end() && x.served_by == endpoint
      && proofs_.contains(endpoint)) {
    const auto is_awake = queue_.now() >= x.awake_at;
    const auto must_run = x.is_candidate && x.read && x.read == x.served;
    feed(x, endpoint_gone{{errc::coordinator_gone, ""}});
    const auto runs = x.uut.current_phase() == leadership::phase::opening_lease;
    if (is_awake && runs != must_run)
      report(x, runs ? "takes over what may be another's"
                     : "does not take over although it has the proof");
    return;
  }
  if (host == candidates_.end() || (*host)->is_walled)
    return feed(x, endpoint_failed{{errc::connection_refused, ""}});
  if (queue_.now() < (*host)->awake_at)
    return feed(x, endpoint_failed{{errc::connection_timed_out, ""}});
  x.linked = x.served_by = endpoint;
  x.knows = true;
  if (x.read)
    x.served = x.read;
  x.is_searching = false;
  feed(x, endpoint_reached{});
}

// -- etcd ---------------------------------------------------------------------

/// A request that is lost, or whose answer is lost, fails at its deadline; etcd
/// may have served it.
void leadership_world::ask(candidate& x, std::optional<time_point> deadline,
                           std::function<leadership_event()> serve) {
  const auto self = *std::find_if(candidates_.begin(), candidates_.end(),
                                  [&](const auto& y) { return &*y == &x; });
  const auto own = queue_.now() + request_limit;
  const auto due = deadline ? std::min(*deadline, own) : own;
  const auto there = dice_.between(duration{1ms}, is_calm_ ? 20ms : 400ms);
  const auto back = dice_.between(duration{1ms}, is_calm_ ? 20ms : 400ms);
  const auto is_answered = std::make_shared<bool>(false);
  ++x.request_count;
  const auto answer = [this, self, is_answered](const leadership_event& what) {
    if (!self->is_alive || std::exchange(*is_answered, true))
      return;
    feed(*self, what, true);
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
    ask(x, {}, [this, now, length = wish->length]() -> leadership_event {
      return lease_opened{registry_.open_lease(length, queue_.now()), length,
                          now};
    });
  } else if (const auto* bid = std::get_if<campaign>(&effect)) {
    x.lease = bid->lease;
    ask(x, {}, [this, y = *bid] { return registry_.campaign(y); });
  } else if (const auto* entry = std::get_if<publish>(&effect)) {
    ask(x, entry->deadline,
        [this, y = *entry] { return registry_.publish(y); });
  } else if (const auto* renewal = std::get_if<renew_lease>(&effect)) {
    ask(x, renewal->deadline, [this, now, y = *renewal] {
      return registry_.renew(y, now, queue_.now());
    });
  } else if (const auto* end = std::get_if<end_lease>(&effect)) {
    if (end->lease == 0)
      report(x, "ends a lease that it has not");
    if (!x.is_cut && !is_away_)
      registry_.end_lease({end->lease}, queue_.now());
  } else if (std::holds_alternative<open_coordinator>(effect)) {
    if (!is_calm_ && dice_.percent(10)) // Its port is taken.
      return feed(x, coordinator_not_opened{{errc::system_failure, ""}});
    x.open = std::to_string(x.id) + ":" + std::to_string(++x.opened_count);
    ++reign_count_;
    const auto self = *std::find_if(candidates_.begin(), candidates_.end(),
                                    [&](const auto& y) { return &*y == &x; });
    queue_.after(dice_.between(duration{0}, open_delay_max),
                 [this, self, endpoint = x.open] {
                   if (self->is_alive && self->open == endpoint)
                     feed(*self, coordinator_opened{endpoint});
                 });
  } else if (const auto* line = std::get_if<log_registry>(&effect)) {
    if (std::exchange(x.says_away, line->trouble.has_value())
        == line->trouble.has_value())
      report(x, "logs again that etcd is away, or back");
  } else if (const auto* term = std::get_if<set_leadership_end>(&effect)) {
    x.leadership_end = term->due;
  } else if (std::holds_alternative<close_coordinator>(effect)) {
    x.knows = false;
    close(x);
  } else if (const auto* target = std::get_if<try_endpoint>(&effect)) {
    connect(x, target->endpoint);
  } else if (std::holds_alternative<report_here>(effect)) {
    x.linked = x.served_by = x.open;
    x.is_searching = false;
  } else if (std::holds_alternative<report_missing>(effect)) {
    x.is_searching = false;
    const auto self = *std::find_if(candidates_.begin(), candidates_.end(),
                                    [&](const auto& y) { return &*y == &x; });
    queue_.after(pause_between_searches, [this, self] { want(*self); });
  } else if (const auto* timer = std::get_if<arm_timer>(&effect)) {
    const auto self = *std::find_if(candidates_.begin(), candidates_.end(),
                                    [&](const auto& y) { return &*y == &x; });
    queue_.at(timer->due, [this, self, id = timer->timer] {
      if (self->is_alive)
        feed(*self, timer_fired{id});
    });
  }
}

} // namespace actorrun::sim
