#include "tests/sim/founding_world.hpp"

#include <algorithm>

namespace actorrun::sim {

using namespace core;
using namespace std::chrono_literals;

namespace {

constexpr auto founding_delay_min = duration{100us};
constexpr auto founding_delay_max = duration{4ms};
constexpr auto founding_late_percent = uint32_t{4};
constexpr auto founding_late_max = duration{1500ms};
/// A member that has lost its leader knows the next after this time.
constexpr auto takeover_pause = duration{450ms};
/// From a leader to one of the seeds in turn.
constexpr auto dial_pause = duration{300ms};
constexpr auto look_pause = duration{250ms};
constexpr auto tombstone_lasts = duration{1200ms};
constexpr auto founding_trouble_end = time_point{6s};
/// From calm to one job that all are in.
constexpr auto founding_recovery = 8s;

std::string address_of(uint32_t host) {
  return "10.0.0." + std::to_string(host);
}

std::string endpoint_at(uint32_t host) {
  return address_of(host) + ":1";
}

} // namespace

struct founding_world::job {
  uint64_t number = 0;
  agent_id founder;
  agent_id leader; ///< The last.
  time_point leader_since{};
  endpoint_list voters;
};

/// What is there when a process has ended.
struct founding_world::machine {
  std::map<agent_id, endpoint_list> memos; ///< By those whose they are.
};

struct founding_world::process {
  agent_id id;
  uint32_t host = 0;
  duration offset{};
  bool is_alive = true;
  bool has_proof = false;
  time_point ended{};
  bool is_paused = false;
  std::vector<action> inbox;
  std::optional<founding> uut;
  std::optional<beginning> wait;
  job* in = nullptr;
  endpoint_list voters{}; ///< Of its job, as it was told.
  uint32_t dialled = 0;
};

founding_world::founding_world(uint64_t seed, uint32_t seed_count, kind what)
  : dice_(seed), kind_(what), seed_count_(seed_count),
    host_count_(seed_count + uint32_t(dice_.between(0, 2))) {
  for (uint32_t i = 1; i <= seed_count_; ++i)
    seeds_.push_back(address_of(i) + ":29400");
  if (seed_count_ > 2 && dice_.percent(40))
    never_.insert(uint32_t(dice_.between(1, seed_count_)));
  const auto is_duel = dice_.percent(30);
  if (is_duel && kind_ == kind::cut_off)
    cut_halves(1s);
  for (uint32_t host = 1; host <= host_count_; ++host) {
    machines_[host];
    if (never_.contains(host))
      continue;
    auto due = dice_.between(duration{0}, duration{900ms});
    if (is_duel && host <= seed_count_) // They ask for the first time at once.
      due = 200ms - founding_turn * host
            + dice_.between(duration{0}, founding_delay_max);
    queue_.at(time_point{due}, [this, host] { start(host); });
  }
}

founding_world::~founding_world() = default;

void founding_world::note(const process& x, const std::string& what) {
  if (trace_)
    trace_(std::to_string(queue_.now().time_since_epoch() / 1us) + ' '
           + std::string{x.id.value} + ' ' + what);
}

void founding_world::report(const std::string& what) {
  if (!breach_)
    breach_ = what;
}

// -- histories ----------------------------------------------------------------------

bool founding_world::run_for(duration time) {
  const auto limit = queue_.now() + time;
  while (!breach_ && queue_.step(limit)) {
  }
  return !breach_;
}

std::optional<std::string> founding_world::run() {
  const auto count = dice_.between(2, 12);
  for (uint64_t i = 0; i < count; ++i)
    queue_.at(time_point{dice_.between(
                duration{0}, founding_trouble_end.time_since_epoch())},
              [this] { trouble(); });
  if (run_for(founding_trouble_end.time_since_epoch())) {
    calm();
    if (run_for(founding_recovery))
      check_end();
  }
  return breach_;
}

void founding_world::trouble() {
  auto living = std::vector<shared>{};
  for (const auto& x : processes_)
    if (x->is_alive)
      living.push_back(x);
  if (is_calm_ || living.empty())
    return;
  const auto x = dice_.pick(living);
  const auto length = dice_.between(duration{50ms}, duration{2500ms});
  const auto restart = [&](duration least) {
    queue_.after(least + dice_.between(duration{0}, duration{800ms}),
                 [this, host = x->host] { start(host); });
  };
  switch (kind_ == kind::forgetful ? 0 : dice_.between(0, 5)) {
    case 0:
      kill(*x, true);
      return restart(1ms);
    case 1:
      kill(*x, false);
      return restart(1ms);
    case 2:
      return pause(x, length);
    default:
      return cut_halves(length);
  }
}

void founding_world::cut_halves(duration length) {
  auto side = std::set<uint32_t>{};
  for (uint32_t host = 1; host <= host_count_; ++host)
    if (dice_.percent(50))
      side.insert(host);
  const auto is_one_way = dice_.percent(20);
  // At times one is left that both halves reach.
  const auto both = dice_.between(0, 2 * host_count_);
  auto paths = hosts{};
  for (const auto a : side)
    for (uint32_t b = 1; b <= host_count_; ++b)
      if (!side.contains(b) && a != both && b != both) {
        paths.insert({a, b});
        if (!is_one_way)
          paths.insert({b, a});
      }
  cut_.insert(paths.begin(), paths.end());
  queue_.after(length, [this, paths] {
    for (const auto& y : paths)
      cut_.erase(y);
  });
}

// Jobs whose majority is gone are over, and every host that has ever come is there.
void founding_world::calm() {
  is_calm_ = true;
  cut_.clear();
  for (const auto& x : std::vector{processes_}) {
    if (x->is_paused)
      pause(x, {});
    if (x->is_alive && x->in != nullptr && !leader_of(*x))
      kill(*x, true);
  }
  for (uint32_t host = 1; host <= host_count_; ++host)
    if (!never_.contains(host) && !at(host))
      queue_.after(tombstone_lasts, [this, host] { start(host); });
}

void founding_world::check_end() {
  for (const auto& x : processes_)
    if (x->is_alive && (x->in == nullptr || !leader_of(*x)))
      return report(
        "S8: " + std::string{x->id.value}
        + (x->in == nullptr ? " has found no job" : " has no leader"));
}

// -- machines and paths ---------------------------------------------------------------

time_point founding_world::clock(const process& x) const {
  return queue_.now() + x.offset;
}

founding_world::shared founding_world::find(const agent_id& id) const {
  const auto i
    = std::ranges::find(processes_, id, [](const auto& x) { return x->id; });
  return i == processes_.end() ? nullptr : *i;
}

// The one that is there, if any.
founding_world::shared founding_world::at(uint32_t host) const {
  for (const auto& x : processes_)
    if (x->host == host && x->is_alive)
      return x;
  return nullptr;
}

bool founding_world::has_path(uint32_t from, uint32_t to) const {
  return !cut_.contains({from, to});
}

void founding_world::start(uint32_t host) {
  if (at(host))
    return;
  auto x = std::make_shared<process>();
  x->id = {"n" + std::to_string(host) + "-"
           + std::to_string(processes_.size() + 1)};
  x->host = host;
  x->offset = dice_.between(duration{1s}, duration{1000s});
  processes_.push_back(x);
  note(*x, "starts");
  auto known = endpoint_list{};
  for (const auto& [_, voters] : machines_[host].memos)
    known.insert(voters.begin(), voters.end());
  if (!known.empty())
    wait_for(x, known);
  if (host <= seed_count_)
    begin_founding(x);
  after(x, 1ms, [this, x] { look(x); });
}

void founding_world::post(const shared& x, action what) {
  if (!x->is_alive)
    return;
  if (x->is_paused)
    x->inbox.push_back(std::move(what));
  else
    what();
}

void founding_world::after(const shared& x, duration delay, action what) {
  queue_.after(delay, [this, x, what = std::move(what)] { post(x, what); });
}

duration founding_world::delay_of_message() {
  const auto delay = dice_.between(founding_delay_min, founding_delay_max);
  if (is_calm_ || kind_ == kind::forgetful
      || !dice_.percent(founding_late_percent))
    return delay;
  return delay + dice_.between(duration{50ms}, founding_late_max);
}

// To whoever listens there when it arrives.
void founding_world::send(const process& from, uint32_t host,
                          std::function<void(shared)> what) {
  if (!from.is_alive || !has_path(from.host, host))
    return;
  queue_.after(delay_of_message(),
               [this, a = from.host, host, what = std::move(what)] {
                 const auto x = at(host);
                 if (x && has_path(a, host))
                   post(x, [x, what] { what(x); });
               });
}

void founding_world::send(const process& from, const agent_id& to,
                          std::function<void(shared)> what) {
  if (const auto whom = find(to))
    send(from, whom->host, [whom, what = std::move(what)](const shared& x) {
      if (x == whom)
        what(x);
    });
}

void founding_world::pause(const shared& x, duration length) {
  x->is_paused = length > duration{0};
  if (x->is_paused)
    return queue_.after(length, [this, x] { pause(x, {}); });
  for (auto& what : std::exchange(x->inbox, {}))
    post(x, std::move(what));
}

void founding_world::kill(process& x, bool is_proved) {
  if (!x.is_alive)
    return;
  note(x, is_proved ? "dies" : "dies without a proof");
  x.is_alive = false;
  x.has_proof = is_proved;
  x.ended = queue_.now();
  if (kind_ == kind::forgetful)
    machines_[x.host].memos.clear();
  if (x.in != nullptr && x.in->leader == x.id)
    x.in->leader_since = queue_.now();
}

// Of all that have granted the job to this one, none remembers it.
void founding_world::restart_newborns(const agent_id& but) {
  for (const auto& x : std::vector{processes_})
    if (x->is_alive && x->in == nullptr && x->id != but) {
      kill(*x, true);
      queue_.after(dice_.between(duration{0}, founding_delay_max),
                   [this, host = x->host] { start(host); });
    }
}

// -- newborns -----------------------------------------------------------------------

void founding_world::begin_founding(const shared& x) {
  auto known = endpoint_list{};
  if (x->wait)
    known = x->wait->awaited();
  x->uut.emplace(founding_options{.self = x->id,
                                  .endpoint = endpoint_at(x->host),
                                  .seeds = seeds_,
                                  .own = x->host - 1,
                                  .remembered = known});
  feed(x, founding_started{});
}

void founding_world::feed(const shared& x, const founding_event& event) {
  if (!x->uut || x->in != nullptr)
    return;
  const auto effects = x->uut->step(event, clock(*x));
  for (const auto& effect : effects)
    note(*x, to_string(effect));
  for (const auto& effect : effects)
    obey(x, effect);
}

void founding_world::obey(const shared& x, const founding_effect& effect) {
  if (const auto* order = std::get_if<ask_seed>(&effect))
    ask(x, *order);
  if (const auto* y = std::get_if<answer_seed>(&effect)) {
    send(*x, y->to, [this, from = x->id, what = y->what](const shared& to) {
      feed(to, founding_heard{from, what});
    });
    if (kind_ == kind::forgetful && dice_.percent(20)
        && std::holds_alternative<found_granted>(y->what))
      restart_newborns(y->to);
  }
  if (const auto* y = std::get_if<await_agents>(&effect))
    wait_for(x, y->who);
  if (const auto* y = std::get_if<follow_founder>(&effect)) {
    x->wait.reset();
    keep_memo(*x, {{y->who, y->endpoint}});
    wait_for(x, {{y->who, y->endpoint}});
  }
  if (std::holds_alternative<begin_job>(effect))
    begin(x);
  if (const auto* y = std::get_if<arm_timer>(&effect))
    after(x, y->due - clock(*x),
          [this, x, timer = y->timer] { feed(x, timer_fired{timer}); });
}

// Whoever is in the job says so instead.
void founding_world::ask(const shared& x, const ask_seed& order) {
  const auto* question = std::get_if<found_ask>(&order.what);
  const auto by
    = question != nullptr ? std::optional{question->by} : std::nullopt;
  send(*x, order.seed + 1,
       [this, by, from = x->id, what = order.what](const shared& to) {
         if (to->in != nullptr)
           answer(to, from, by);
         else
           feed(to, founding_heard{from, what});
       });
}

void founding_world::answer(const shared& x, const agent_id& to,
                            std::optional<ballot> by) {
  if (const auto leader = leader_of(*x))
    return send(*x, to,
                [this, leader](const shared& y) { hear_of_job(y, leader); });
  if (by)
    send(*x, to,
         [this, by, from = x->id, seed = x->host - 1,
          known = x->voters](const shared& y) {
           feed(y, founding_heard{from, found_refused{.by = *by,
                                                      .seed = seed,
                                                      .may_know = known}});
         });
}

void founding_world::hear_of_job(const shared& x, const shared& leader) {
  if (x->in != nullptr)
    return;
  send(*x, leader->id, [this, x](const shared& there) {
    if (there->in != nullptr)
      send(*there, x->id, [this, there](const shared& y) { join(y, there); });
  });
}

// Also one that is no seed.
void founding_world::look(const shared& x) {
  if (x->in != nullptr)
    return;
  const auto ask_at = [&](uint32_t host) {
    send(*x, host, [this, from = x->id](const shared& to) {
      if (to->in != nullptr)
        answer(to, from, std::nullopt);
    });
  };
  for (uint32_t host = 1; host <= seed_count_; ++host)
    if (host != x->host) {
      if (x->host > seed_count_)
        ask_at(host);
      send(*x, host, [this, seen = survey(*x)](const shared& to) {
        feed_wait(to, host_surveyed{seen});
      });
    }
  if (x->wait)
    for (const auto& [who, _] : x->wait->awaited())
      if (const auto whom = find(who))
        ask_at(whom->host);
  after(x, look_pause, [this, x] { look(x); });
}

void founding_world::begin(const shared& x) {
  for (const auto& y : jobs_)
    if (is_alive(*y))
      report("S1: " + std::string{x->id.value} + " begins job "
             + std::to_string(jobs_.size() + 1) + ", and job "
             + std::to_string(y->number) + " lives");
  for (const auto& [_, voters] : machines_[x->host].memos)
    for (const auto& [who, where] : voters)
      if (const auto other = find(who);
          other && other->is_alive && other->in != nullptr)
        report("S10: " + std::string{x->id.value}
               + " begins a job, and its host's memo names "
               + std::string{who.value});
  auto made = std::make_unique<job>();
  made->number = jobs_.size() + 1;
  made->leader = made->founder = x->id;
  x->in = made.get();
  jobs_.push_back(std::move(made));
  join(x, x);
  tick_leader(x);
}

// -- waiting ---------------------------------------------------------------------------

void founding_world::wait_for(const shared& x, const endpoint_list& who) {
  if (x->wait)
    return feed_wait(x, voters_named{who});
  x->wait.emplace(who);
  feed_wait(x, beginning_started{});
}

void founding_world::feed_wait(const shared& x, const beginning_event& event) {
  if (!x->wait || x->in != nullptr)
    return;
  for (const auto& effect : x->wait->step(event, clock(*x)))
    if (x->wait)
      obey_wait(x, effect);
}

void founding_world::obey_wait(const shared& x,
                               const beginning_effect& effect) {
  if (std::holds_alternative<survey_host>(effect))
    post(x, [this, x] { feed_wait(x, host_surveyed{survey(*x)}); });
  if (const auto* y = std::get_if<core::examine>(&effect))
    examine(x, y->who);
  if (const auto* y = std::get_if<arm_timer>(&effect))
    after(x, y->due - clock(*x),
          [this, x, timer = y->timer] { feed_wait(x, timer_fired{timer}); });
  if (std::holds_alternative<begin_job>(effect)) {
    note(*x, "waits no more");
    const auto settled = x->wait->settled(clock(*x));
    x->wait.reset();
    feed(x, awaited_ended{settled});
  }
}

void founding_world::examine(const shared& x, const agent_id& who) {
  const auto of = find(who);
  if (!of || !has_path(x->host, of->host) || !has_path(of->host, x->host))
    return;
  after(x, 2 * delay_of_message(), [this, x, of] {
    if (of->is_alive || !of->has_proof
        || queue_.now() > of->ended + tombstone_lasts)
      return;
    feed_wait(x,
              process_examined{of->id, tombstone{.charter = written_charter{
                                                   .endpoints = of->voters}}});
  });
}

host_survey founding_world::survey(const process& x) const {
  auto out = host_survey{.addresses = {address_of(x.host)}};
  if (x.uut && x.in == nullptr)
    out.newborn = x.id;
  for (const auto& y : processes_)
    if (y->is_alive && y->host == x.host)
      out.present.push_back(std::string{y->id.value});
  for (const auto& [_, voters] : machines_.at(x.host).memos)
    out.voters.insert(voters.begin(), voters.end());
  return out;
}

void founding_world::keep_memo(process& x, const endpoint_list& voters) {
  machines_[x.host].memos[x.id] = voters;
}

// -- jobs -----------------------------------------------------------------------------

// Where hosts forget, members that are left know of a job that no seed can know of: then
// only one that lives on where it has begun must not get a second one beside it.
bool founding_world::is_alive(const job& x) const {
  if (kind_ == kind::forgetful)
    return find(x.founder)->is_alive;
  return std::ranges::any_of(
    processes_, [&](const auto& y) { return y->is_alive && y->in == &x; });
}

// Another one follows if most voters live. Cuts within the job are not looked at.
founding_world::shared founding_world::leader_of(const process& x) const {
  auto& in = *x.in;
  const auto last = find(in.leader);
  if (last->is_alive)
    return last;
  if (queue_.now() < in.leader_since + takeover_pause)
    return nullptr;
  auto living = std::vector<shared>{};
  for (const auto& [who, _] : in.voters)
    if (const auto y = find(who); y->is_alive)
      living.push_back(y);
  if (living.size() < in.voters.size() / 2 + 1)
    return nullptr;
  in.leader = living.front()->id;
  return living.front();
}

void founding_world::join(const shared& x, const shared& leader) {
  if (x->in != nullptr && x != leader)
    return;
  if (leader->in == nullptr || !leader->is_alive)
    return;
  note(*x, "joins job " + std::to_string(leader->in->number));
  x->in = leader->in;
  feed_wait(x, job_found{});
  x->wait.reset();
  x->uut.reset();
  // What is proved to be over.
  auto& memos = machines_[x->host].memos;
  std::erase_if(memos, [&](const auto& y) { return !find(y.first)->is_alive; });
  share_voters(*x->in);
}

// Those of the job that live, at most five.
void founding_world::share_voters(job& of) {
  of.voters.clear();
  for (const auto& y : processes_)
    if (y->is_alive && y->in == &of && of.voters.size() < voters_max)
      of.voters[y->id] = endpoint_at(y->host);
  for (const auto& y : processes_)
    if (y->is_alive && y->in == &of) {
      y->voters = of.voters;
      keep_memo(*y, of.voters);
    }
}

// Its beat reaches newborns at seeds.
void founding_world::tick_leader(const shared& x) {
  if (x->in == nullptr)
    return;
  if (leader_of(*x) == x) {
    x->dialled = x->dialled % seed_count_ + 1;
    send(*x, x->dialled, [this, x, voters = x->voters](const shared& to) {
      if (to->in != nullptr)
        return;
      wait_for(to, voters);
      hear_of_job(to, x);
    });
  }
  after(x, dial_pause, [this, x] { tick_leader(x); });
}

} // namespace actorrun::sim
