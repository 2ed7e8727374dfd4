#include "tests/sim/succession_world.hpp"

#include <algorithm>

namespace actorrun::sim {

using namespace core;
using namespace std::chrono_literals;

namespace {

// From the design: a directed path takes 0.1 to 4 ms, and at times far longer.
constexpr auto delay_min = duration{100us};
constexpr auto delay_max = duration{4ms};
constexpr auto late_min = duration{50ms};
constexpr auto late_max = duration{1500ms};
constexpr auto late_percent = uint32_t{2};
// In one history of four the paths are busy.
constexpr auto slow_percent = uint32_t{30};
constexpr auto slow_max = duration{100ms};
constexpr auto clock_error_max = uint64_t{200}; // Parts per million.
constexpr auto first_trouble = time_point{1500ms};
constexpr auto last_trouble = time_point{6s};
constexpr auto calm_at = time_point{7s};
/// From calm to a leader (S8), …
constexpr auto election_max = 2s;
/// … and to a generation that all run: hold-back, stops, starts.
constexpr auto recovery_max = 5s;

} // namespace

succession_world::succession_world(uint64_t seed, uint32_t host_count)
  : dice_(seed) {
  for (uint32_t i = 0; i < host_count; ++i)
    spawn();
  is_slow_ = dice_.percent(25);
  auto& first = *processes_.front();
  first.is_witness = dice_.percent(25);
  auto job = charter{.revision = 1};
  job.lease = timeouts{}.lease();
  queue_.after(1ms, [this, &first, job] { feed(first, job_founded{job}); });
}

succession_world::~succession_world() = default;

void succession_world::note(const process& x, const std::string& what) {
  using std::chrono::microseconds;
  if (trace_)
    trace_(std::to_string(std::chrono::duration_cast<microseconds>(
                            queue_.now().time_since_epoch())
                            .count())
           + ' ' + to_string(x.id) + ' ' + what);
}

// -- histories --------------------------------------------------------------------

bool succession_world::run_for(duration time) {
  const auto limit = queue_.now() + time;
  while (!facts_.breach() && queue_.step(limit)) {
  }
  return !facts_.breach();
}

std::optional<std::string> succession_world::run() {
  const auto count = dice_.between(1, 7);
  for (uint64_t i = 0; i < count; ++i)
    queue_.at(first_trouble
                + dice_.between(duration{0}, last_trouble - first_trouble),
              [this] { trouble(); });
  if (run_for(calm_at.time_since_epoch())) {
    calm();
    if (run_for(election_max))
      check_end();
  }
  return facts_.breach();
}

std::optional<std::string>
succession_world::run_once(fault what, duration length, bool is_witness) {
  is_calm_ = true;
  processes_.front()->is_witness = is_witness;
  run_for(3s + dice_.between(duration{0}, duration{100ms}));
  if (auto* x = leader())
    strike(*x, what, length);
  else
    facts_.report("no leader before the fault");
  run_for(recovery_max);
  return facts_.breach();
}

void succession_world::calm() {
  is_calm_ = true;
  cut_.clear();
  for (const auto& x : processes_) {
    if (x->is_paused)
      resume(*x);
    x->is_hung = false;
    for (auto& what : std::exchange(x->undecided, {}))
      post(*x, std::move(what));
  }
}

// S8: where a majority lives of the voters that count, and one of them can lead.
void succession_world::check_end() {
  const tombstone* newest = nullptr;
  for (const auto& x : processes_)
    if ((x->is_alive || x->has_proof) && x->kept.charter
        && (newest == nullptr || x->kept.charter->key > newest->charter->key))
      newest = &x->kept;
  auto living = std::set<agent_id>{};
  auto has_candidate = false;
  for (const auto& x : processes_)
    if (x->is_alive && newest != nullptr) {
      living.insert(x->id);
      has_candidate |= !x->is_leaving
                       && std::ranges::count(newest->charter->order, x->id) > 0;
    }
  was_lost_ = newest == nullptr || !has_candidate
              || !newest->charter->voters.has_majority(living);
  if (was_lost_)
    return give_up_the_lost();
  if (leader() == nullptr)
    return facts_.report("S8: a majority lives, and no agent leads");
  if (run_for(recovery_max - election_max))
    if (const auto wrong = trouble_at_end())
      facts_.report(*wrong);
}

// S11: one of those that are left leads when an operator says that the others are lost.
// Who has not heard of the newest charter's voters refuses, and the next is asked; and
// some die of an order that comes now.
void succession_world::give_up_the_lost() {
  facts_.accept_loss();
  for (const auto& x : std::vector{processes_}) {
    if (leader() != nullptr)
      return; // By the votes of the dead.
    const auto dead = dead_agents();
    if (!x->is_alive || x->is_leaving || !x->kept.charter
        || std::ranges::count(x->kept.charter->order, x->id) == 0)
      continue;
    answer_.reset();
    feed(*x, election_ordered{dead, "bob"});
    if (!run_for(election_max + order_limit))
      return;
    const auto is_refused
      = answer_ && answer_->what != report_election::verdict::leads;
    if (!x->is_alive || dead != dead_agents()
        || (is_refused
            && answer_->what == report_election::verdict::has_no_charter))
      continue;
    if (is_refused || leader() == nullptr)
      return facts_.report(
        "S11: the lost are given up, and "
        + (answer_ ? to_string(succession_effect{*answer_}) : "no answer"));
    was_ordered_ = true;
    if (run_for(recovery_max))
      if (const auto wrong = trouble_at_end())
        facts_.report(*wrong);
    return;
  }
}

std::vector<std::string> succession_world::dead_agents() const {
  auto out = std::vector<std::string>{};
  for (const auto& x : processes_)
    if (!x->is_alive)
      out.push_back(to_string(x->id));
  return out;
}

// Whoever was away until all that it knew of had vanished finds no one: that is what
// several endpoints are for.
bool succession_world::can_be_found(const process& x) const {
  auto known = x.contacts;
  if (x.kept.charter)
    for (const auto& y : x.kept.charter->order)
      known.insert(find(y)->number);
  return std::ranges::any_of(
           known,
           [&](uint32_t y) { return y != x.number && find(y)->is_alive; })
         || x.leads;
}

std::optional<std::string> succession_world::trouble_at_end() const {
  if (leader() == nullptr)
    return "S8: the leader does not stay";
  for (const auto& x : processes_)
    if (x->is_alive && !x->is_leaving && !x->is_witness && can_be_found(*x)
        && x->workers != newest_generation())
      return "S8: " + to_string(x->id) + " runs " + std::to_string(x->workers)
             + ", not the newest generation "
             + std::to_string(newest_generation());
  return std::nullopt;
}

model_process* succession_world::leader() const {
  for (const auto& x : processes_)
    if (x->is_alive && x->leads && clock(*x) < x->leadership_end)
      return x.get();
  return nullptr;
}

uint32_t succession_world::fenced_count() const {
  auto out = uint32_t{0};
  for (const auto& x : processes_)
    out += x->fenced_count;
  return out;
}

uint32_t succession_world::running_count() const {
  return uint32_t(std::ranges::count_if(processes_, [&](const auto& x) {
    return x->is_alive && x->workers != 0 && x->workers == newest_generation();
  }));
}

uint32_t succession_world::alive_count() const {
  return uint32_t(std::ranges::count_if(processes_, &model_process::is_alive));
}

// -- machines and paths -----------------------------------------------------------

time_point succession_world::clock(const process& x) const {
  return x.clock.at(queue_.now());
}

succession_world::shared succession_world::find(uint32_t number) const {
  return processes_.at(number - 1);
}

succession_world::shared succession_world::pointer(const process& x) const {
  return find(x.number);
}

succession_world::shared succession_world::find(const agent_id& id) const {
  const auto i = std::ranges::find(
    processes_, id, [](const auto& x) -> const agent_id& { return x->id; });
  return i == processes_.end() ? nullptr : *i;
}

// A newborn on a host of its own.
void succession_world::spawn() {
  auto x
    = std::make_shared<process>(uint32_t(processes_.size() + 1), promise_min);
  x->clock.offset = dice_.between(duration{1s}, duration{1000s});
  x->clock.parts_per_million
    = int64_t(dice_.between(0, 2 * clock_error_max)) - int64_t(clock_error_max);
  for (const auto& y : processes_)
    if (y->is_alive)
      x->contacts.insert(y->number);
  processes_.push_back(x);
  facts_.add(*x);
  after(*x, 2ms, [this, x] { tick_agent(*x); });
}

void succession_world::post(process& x, action what) {
  if (!x.is_alive)
    return;
  if (x.is_paused)
    x.inbox.push_back(std::move(what));
  else
    what();
}

void succession_world::after(process& x, duration delay, action what) {
  queue_.after(delay, [this, self = pointer(x), what = std::move(what)] {
    post(*self, what);
  });
}

bool succession_world::has_path(const process& from, const process& to) const {
  return !cut_.contains({from.host, to.host})
         && !lost_hosts_.contains(from.host) && !lost_hosts_.contains(to.host);
}

duration succession_world::delay_of_message() {
  const auto delay = dice_.between(delay_min, delay_max);
  if (is_calm_)
    return delay;
  if (is_slow_ && dice_.percent(slow_percent))
    return delay + dice_.between(delay_max, slow_max);
  if (dice_.percent(late_percent))
    return delay + dice_.between(late_min, late_max);
  return delay;
}

void succession_world::send(process& from, process& to, action what) {
  if (!from.is_alive || !has_path(from, to))
    return;
  queue_.after(delay_of_message(), [this, a = pointer(from), b = pointer(to),
                                    what = std::move(what)] {
    if (has_path(*a, *b))
      post(*b, what);
  });
}

void succession_world::resume(process& x) {
  x.is_paused = false;
  const auto self = pointer(x);
  for (auto& what : std::exchange(x.inbox, {}))
    post(*self, std::move(what));
}

// The workers die with their process, a little later.
void succession_world::kill(process& x, bool is_proved, bool with_host) {
  if (!x.is_alive)
    return;
  x.is_alive = false;
  if (with_host) {
    lost_hosts_.insert(x.host);
    x.workers = 0;
    return;
  }
  const auto self = pointer(x);
  queue_.after(dice_.between(duration{0}, delay_max), [self, is_proved] {
    self->workers = 0;
    self->has_proof = is_proved;
  });
  break_links(x);
}

// At once, in the midst of its next orders, or when it next changes what its machine
// keeps.
void succession_world::kill_soon(process& x) {
  switch (dice_.between(0, 2)) {
    case 0:
      return kill(x, true, false);
    case 1:
      x.orders_left = dice_.between(0, 12);
      return;
    default:
      x.dies_keeping = true;
  }
}

// The others die while a successor is being elected, by proof or by lapse.
void succession_world::kill_some(process& x) {
  kill_soon(x);
  const auto pause = dice_.percent(50) ? duration{promise_min} : duration{0};
  const auto count = dice_.between(1, 2);
  for (uint64_t i = 0; i < count; ++i)
    queue_.after(pause + dice_.between(duration{0}, duration{60ms}),
                 [this, y = dice_.pick(processes_)] { kill_soon(*y); });
}

void succession_world::pause(process& x, duration length) {
  x.is_paused = true;
  queue_.after(length, [this, self = pointer(x)] { resume(*self); });
}

// The others are cut from each other, and not from it.
void succession_world::duel(process& x) {
  auto cuts = std::set<std::pair<uint32_t, uint32_t>>{};
  auto side = std::set<uint32_t>{};
  for (const auto& y : processes_)
    if (dice_.percent(50))
      side.insert(y->host);
  for (const auto& a : processes_)
    for (const auto& b : processes_)
      if (a->number != x.number && b->number != x.number
          && side.contains(a->host) != side.contains(b->host))
        cuts.insert({a->host, b->host});
  cut_for(std::move(cuts), 2s);
  pause(x, promise_min + dice_.between(duration{0}, duration{200ms}));
  x.dies_keeping = true;
}

// The system closes the connections of a process that ends.
void succession_world::break_links(process& x) {
  for (const auto& y : processes_) {
    if (y->number == x.number || !y->is_alive || !has_path(x, *y))
      continue;
    after(*y, dice_.between(duration{200us}, duration{5ms}),
          [this, y, who = pointer(x)] {
            if (y->linked == who->number)
              y->linked = 0;
            feed(*y, link_broken{who->id});
            if (y->leads && y->leads->agents.contains(who->number))
              examine(*y, who->id);
          });
  }
}

void succession_world::cut(process& x, duration length) {
  auto cuts = std::set<std::pair<uint32_t, uint32_t>>{};
  auto side = std::set<uint32_t>{x.host};
  for (const auto& y : processes_)
    if (dice_.percent(25))
      side.insert(y->host);
  const auto is_one_way = dice_.percent(40);
  for (const auto a : side)
    for (const auto& y : processes_) {
      if (side.contains(y->host) || !dice_.percent(90))
        continue;
      const auto out = std::pair{a, y->host};
      const auto in = std::pair{y->host, a};
      cuts.insert(out);
      if (!is_one_way)
        cuts.insert(in);
      else if (dice_.percent(50)) {
        cuts.erase(out);
        cuts.insert(in);
      }
    }
  cut_for(std::move(cuts), length);
}

void succession_world::cut_for(std::set<std::pair<uint32_t, uint32_t>> paths,
                               duration length) {
  cut_.insert(paths.begin(), paths.end());
  queue_.after(length, [this, paths] {
    for (const auto& y : paths)
      cut_.erase(y);
  });
}

// -- faults -----------------------------------------------------------------------

void succession_world::trouble() {
  if (is_calm_ || alive_count() < 2)
    return;
  auto* x = leader();
  if (x == nullptr || dice_.percent(50))
    do
      x = dice_.pick(processes_).get();
    while (!x->is_alive);
  if (dice_.percent(12))
    return spawn();
  const auto kinds = std::vector{fault::duel,
                                 fault::kill,
                                 fault::kill_some,
                                 fault::kill_some,
                                 fault::kill_mute,
                                 fault::lose_host,
                                 fault::pause,
                                 fault::pause,
                                 fault::hang,
                                 fault::hand_over,
                                 fault::leave,
                                 fault::move_leadership,
                                 fault::move_leadership,
                                 fault::cut,
                                 fault::cut,
                                 fault::cut};
  const auto what = kinds[dice_.between(0, kinds.size() - 1)];
  strike(*x, what, dice_.between(duration{50ms}, duration{2500ms}));
}

void succession_world::strike(process& x, fault what, duration length) {
  const auto self = pointer(x);
  note(x, "suffers fault " + std::to_string(int(what)));
  switch (what) {
    case fault::none:
      return;
    case fault::kill:
      return is_calm_ ? kill(x, true, false) : kill_soon(x);
    case fault::kill_some:
      return kill_some(x);
    case fault::kill_mute:
      return kill(x, false, false);
    case fault::lose_host:
      return kill(x, false, true);
    case fault::duel:
      return duel(x);
    case fault::pause:
      return pause(x, length);
    case fault::hang:
      x.is_hung = true;
      return queue_.after(length, [this, self] {
        self->is_hung = false;
        for (auto& y : std::exchange(self->undecided, {}))
          post(*self, std::move(y));
      });
    case fault::hand_over:
    case fault::move_leadership:
      return post(x, [this, self, what] {
        self->wants_to_leave = what == fault::hand_over;
        feed(*self, hand_over_requested{what == fault::hand_over});
      });
    case fault::leave:
      if (!x.leads) {
        x.is_leaving = true;
        queue_.after(2s, [this, self] { kill(*self, true, false); });
      }
      return;
    case fault::cut:
      return cut(x, length);
  }
}

// -- the voter --------------------------------------------------------------------

void succession_world::feed(process& x, const succession_event& event) {
  if (!x.is_alive)
    return;
  const auto effects = x.uut.step(event, clock(x));
  if (x.dies_keeping && std::ranges::any_of(effects, [](const auto& y) {
        return std::holds_alternative<keep_tombstone>(y);
      }))
    x.orders_left = dice_.between(0, effects.size() - 1);
  for (const auto& effect : effects) {
    if (x.orders_left && (*x.orders_left)-- == 0)
      kill(x, true, false);
    if (!x.is_alive)
      return;
    obey(x, effect);
  }
  if (x.written != x.uut.written()) {
    x.written = x.uut.written();
    if (x.written != charter_key{})
      facts_.check_write(x);
  }
  facts_.check_leaders(queue_.now());
}

void succession_world::obey(process& x, const succession_effect& effect) {
  const auto self = pointer(x);
  if (trace_)
    note(x, to_string(effect));
  if (const auto* message = std::get_if<send_message>(&effect)) {
    deliver(x, *message);
  } else if (const auto* words = std::get_if<keep_tombstone>(&effect)) {
    x.kept = words->left;
    if (x.kept.charter)
      facts_.know(*x.kept.charter);
  } else if (const auto* question = std::get_if<core::examine>(&effect)) {
    examine(x, question->who);
  } else if (const auto* order = std::get_if<open_coordinator>(&effect)) {
    facts_.check_open(x, x.uut.written());
    open(x, *order);
  } else if (const auto* lease = std::get_if<set_leadership_end>(&effect)) {
    // What it has decided within its lease may be on its way still.
    if (lease->due != time_point{} || clock(x) < x.leadership_end)
      x.leadership_end = lease->due;
    check_sign(x, lease->due);
  } else if (std::holds_alternative<close_coordinator>(effect)) {
    close(x);
  } else if (std::holds_alternative<ask_decider>(effect)) {
    answer_decider(x);
  } else if (const auto* done = std::get_if<report_charter_written>(&effect)) {
    if (x.leads && x.leads->forming != 0 && done->change >= x.leads->forming)
      after(x, delay_min, [this, self, reign = x.leads->reign] {
        decide(*self, reign, [this, self] { form(*self); });
      });
  } else if (const auto* move = std::get_if<move_agents>(&effect)) {
    if (x.wants_to_leave) {
      x.is_leaving = true;
      queue_.after(1s, [this, self] { kill(*self, true, false); });
    }
    for (const auto& [agent, _] : x.leads->agents)
      send(x, *find(agent),
           [y = find(agent), n = x.number, to = find(move->to)->number] {
             y->contacts.insert(to);
             if (y->linked == n)
               y->linked = 0;
           });
  } else if (const auto* lost = std::get_if<account_for>(&effect)) {
    x.leads->accounted_for = find(lost->who)->number;
    check_complete(x);
  } else if (const auto* answer = std::get_if<report_election>(&effect)) {
    answer_ = *answer;
  } else if (const auto* timer = std::get_if<arm_timer>(&effect)) {
    queue_.at(x.clock.when(timer->due), [this, self, id = timer->timer] {
      post(*self, [this, self, id] { feed(*self, timer_fired{id}); });
    });
  }
}

// Rule 4: no lease outlasts the coordinator's last sign by more than this: one lease, in
// which a process that was paused may still send a beat, and the next.
void succession_world::check_sign(const process& x, time_point due) {
  if (x.leads && due > x.sign + 2 * promise_min)
    facts_.report("rule 4: " + to_string(x.id)
                  + " leads on, and its coordinator gives no sign");
}

void succession_world::deliver(process& x, const send_message& order) {
  const auto to = find(order.to);
  if (const auto* given = std::get_if<vote>(&order.what))
    facts_.check_vote(x, given->term, order.to);
  if (const auto* wanted = std::get_if<vote_request>(&order.what))
    facts_.check_vote(x, wanted->term, x.id);
  send(x, *to, [this, to, from = x.id, what = order.what] {
    feed(*to, message_heard{from, what});
  });
}

// A machine that is reached, and says that the process lives, proves nothing.
void succession_world::examine(process& x, const agent_id& who) {
  const auto of = find(who);
  const auto self = pointer(x);
  queue_.after(dice_.between(duration{200us}, delay_max), [=, this] {
    if (!has_path(*self, *of) || !has_path(*of, *self))
      return;
    auto proof = std::optional<tombstone>{};
    if (!of->is_alive && of->has_proof)
      proof = of->kept;
    after(*self, dice_.between(duration{200us}, delay_max), [=, this] {
      feed(*self, process_examined{of->id, proof});
      // A tombstone names those who may lead now.
      if (proof && proof->charter)
        for (const auto& y : proof->charter->order)
          self->contacts.insert(find(y)->number);
      if (proof && self->leads)
        lose(*self, of->number);
    });
  });
}

void succession_world::answer_decider(process& x) {
  after(x, delay_min, [this, self = pointer(x), reign = x.leads->reign] {
    decide(*self, reign, [this, self] {
      self->sign = clock(*self);
      feed(*self, decider_answered{});
    });
  });
}

} // namespace actorrun::sim
