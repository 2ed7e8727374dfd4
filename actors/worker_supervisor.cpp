#include "actors/worker_supervisor.hpp"

#include "actors/core/shortage.hpp"
#include "actors/core/text.hpp"
#include "messages/formatted.hpp"

#include <cassert>
#include <cerrno>
#include <chrono>
#include <utility>

namespace actorrun {

using namespace core;

namespace {

/// A worker's death waits at most this long for its last lines to be shown.
constexpr auto drain_timeout = std::chrono::milliseconds{100};

/// At most this many bytes of a reason in a log line.
constexpr auto subject_size_max = size_t{512};

bool is_failure(const ports::process_exited& x) {
  return x.signal != 0 || x.exit_code != 0;
}

worker_exited to_event(const ports::process_exited& x,
                       death_details details = {}) {
  return {.local_rank = x.local_rank,
          .exit_code = x.exit_code,
          .signal = x.signal,
          .dumped = x.dumped,
          .details = std::move(details),
          .when = x.when,
          .was_ending = x.was_ending,
          .is_foreign = x.is_foreign,
          .memory = x.memory};
}

stream_target without_file(const stream_target& x) {
  using kind = stream_target::kind;
  if (x.where != kind::file)
    return x;
  return {.where = x.shown ? kind::inherited : kind::discarded};
}

// Console output that had labels loses them; what was meant for a file alone is
// lost, for the console may not be able to take it.
generation_outputs without_files(const generation_outputs& from) {
  auto out = generation_outputs{};
  for (const auto& x : from.workers)
    out.workers.push_back({.out = without_file(x.out),
                           .err = without_file(x.err),
                           .error_file = {}});
  return out;
}

worker_order to_worker_order(const safe_point_order& x) {
  switch (x.what) {
    case safe_point_order::kind::hold:
      return tell_hold{};
    case safe_point_order::kind::stop_at:
      return tell_stop_at{x.step};
    case safe_point_order::kind::go_on:
      break;
  }
  return tell_go_on{};
}

/// A failure's report waits at most this long for what files say of it.
constexpr auto examination_timeout = std::chrono::milliseconds{500};

/// The end of a group waits at most this long, and one examination longer, for what
/// the error files of stopped workers say, however many they are.
constexpr auto look_back_max = std::chrono::milliseconds{500};

/// So long after its begin a stop is worth a line.
constexpr auto stop_noted = std::chrono::seconds{5};
constexpr auto named_max = 8; // processes

/// Between two `workers_stepped`: a hang is one of a second at least.
constexpr auto step_news_interval = std::chrono::milliseconds{100};

constexpr auto unexamined
  = "its log files did not answer, so its last lines are not known";

/// Longest time for probing an overdue worker, and longest wait for the result.
constexpr auto inspection_max = std::chrono::milliseconds{400};
constexpr auto inspection_timeout = std::chrono::milliseconds{500};

} // namespace

// One overload per effect: the only code here that touches the machine.
struct worker_supervisor_state::effect_runner {
  worker_supervisor_state& st;
  time_point now;
  generation_id generation = st.group_->plan().generation;

  void operator()(const arm_timer& x) {
    tell_later(st.self_, x.due - now, grace_expired{generation, {x.timer}});
  }

  void operator()(const prepare_workers&) { st.prepare(); }

  void operator()(const start_workers&) { st.start(); }

  void operator()(const core::start_spares& x) { st.start_spares(x.numbers); }

  void operator()(const resume_workers& x) { st.resume(x.local_ranks); }

  void operator()(const ask_to_park& x) {
    for (const auto local_rank : x.local_ranks)
      st.config_.control->tell(local_rank,
                               tell_regroup{st.regroup_reason_, x.grace});
  }

  void operator()(const order_steps& x) {
    for (const auto local_rank : x.local_ranks)
      st.config_.control->tell(local_rank, to_worker_order(x.order));
  }

  void operator()(const park_worker& x) { st.park(x.local_rank); }

  void operator()(const signal_workers& x) { st.signal(x.signal, x.spared); }

  void operator()(const probe_workers& x) { st.inspect_workers(x.overdue); }

  void operator()(const signal_worker& x) {
    const auto who = st.origin_of(x.local_rank);
    st.config_.processes->signal_one(who.generation, who.local_rank, x.signal,
                                     ports::signal_scope::group);
  }

  void operator()(const release_workers&) { st.release(); }

  void operator()(const report_shortage& x) {
    const auto why = error_text(x.error);
    st.config_.lines.warn(formatted(
      "worker supervisor cannot start local rank {}: {}{}; it tries again for "
      "{}, which costs no restart",
      x.local_rank, one_line(x.subject, subject_size_max),
      x.subject.find(why) == std::string::npos ? ": " + why : "",
      core::duration_text(
        std::chrono::ceil<std::chrono::milliseconds>(x.left))));
  }

  void operator()(const report_started&) {
    auto pids = std::vector<int64_t>{};
    for (uint32_t i = 0; i < st.group_->plan().own.slot_count; ++i)
      pids.push_back(st.group_->workers()[i].pid);
    report(group_started{generation, std::move(pids)});
  }

  void operator()(const report_failed& x) {
    report(group_failed{generation, st.explained(x.failure), now});
  }

  void operator()(const report_succeeded&) {
    st.say_lack_of_spares();
    report(group_succeeded{generation});
  }

  // The port of a group that was started ahead may be in the next plan already.
  void operator()(const report_stopped& x) {
    if (!st.group_->plan().is_ahead)
      st.say_lack_of_spares();
    const auto has_used_port = st.config_.ports && !st.group_->plan().is_ahead;
    if (has_used_port)
      st.config_.ports->close();
    const auto port = has_used_port ? st.config_.ports->next() : uint16_t{0};
    auto others = x.others;
    for (auto& other : others.listed)
      other = st.explained(std::move(other));
    report(group_stopped{generation, port, std::move(others), now,
                         x.unkillable_count, x.parked, x.step});
  }

  void operator()(const report_safe_point& x) {
    report(group_safe_point{generation, x.report});
  }

  void operator()(const report_parked& x) {
    report(group_parked{generation, x.parked});
  }

  void report(group_event event) {
    tell(st.self_, st.owner_, std::move(event));
  }
};

worker_supervisor_state::worker_supervisor_state(
  worker_supervisor_actor::pointer self, worker_supervisor_config config,
  group_owner_actor owner)
  : self_(self), config_(std::move(config)), owner_(std::move(owner)),
    watches_(self), lacks_spares_(config_.workers.spare_count > 0) {}

worker_supervisor_actor::behavior_type
worker_supervisor_state::make_behavior() {
  depend_on(config_.tailer, "log tailer");
  depend_on(config_.timers, "timer server");
  if (config_.control)
    config_.control->listen(
      [handle = worker_supervisor_actor{self_}](ports::worker_message x) {
        tell_anonymously(handle, std::move(x));
      });
  return {
    [this](const group_order& order) {
      std::visit([this](const auto& x) { obey(x); }, order);
    },
    [this](const outputs_prepared& x) { take(x); },
    [this](const death_examined& x) { take(x); },
    [this](const process_report& report) { take(report); },
    [this](const process_spared& x) { take(x); },
    [this](const workers_resumed& x) { take(x); },
    [this](const ports::worker_message& x) { take(x); },
    [this](const grace_expired& x) {
      if (!group_ || group_->plan().generation != x.generation)
        return;
      if (group_->counts_ends(x.event.timer))
        tell_deaths();
      dispatch(x.event);
    },
    [this](const stop_lasts& x) { tell_of_stop(x); },
    [this](const worker_overrun& x) { take(x); },
    [this](const worker_hangs& x) { take(x); },
    [this](const overrun_probed& x) {
      if (group_ && group_->plan().generation == x.generation)
        dispatch(worker_probed{x.local_rank, x.where});
    },
  };
}

// Our end ends the workers, and who has spawned us notices it.
void worker_supervisor_state::lose(const char* role) {
  config_.lines.error(
    formatted("the {} of this node has ended unexpectedly", role));
  self_->quit(exit_by_failure);
}

// Two actors that hold each other never end.
void worker_supervisor_state::on_exit() {
  if (group_)
    signal(SIGKILL, {});
  owner_ = nullptr;
  given_.clear();
  config_ = {}; // The process host keeps us in its listeners.
}

void worker_supervisor_state::obey(const fenced_start& order) {
  decided_ = order.decided;
  generation_reason_ = order.reason;
  tell_deaths(); // Of workers that were parked.
  const auto parked = group_ ? group_->parked() : parked_workers{};
  auto origins = std::map<uint32_t, origin>{};
  for (const auto& [local_rank, pid] : parked.pids) {
    origins[local_rank] = origin_of(local_rank);
    origins[local_rank].last = local_rank;
  }
  origins_ = std::move(origins);
  release_earlier();
  close_outputs();
  group_.emplace(order.plan, config_.host, config_.workers.kill_timeout,
                 config_.workers.start_timeout, parked,
                 config_.workers.spare_count);
  events_ = {};
  files_hang_ = false;
  is_second_attempt_ = false;
  looked_back_ = {};
  dispatch(start_ordered{});
}

void worker_supervisor_state::obey(const stop_group& order) {
  if (!group_ || group_->plan().generation != order.generation)
    return;
  release_deaths();
  const auto& workers = config_.workers;
  const auto signal = order.signal == 0 || workers.is_stop_signal_fixed
                        ? workers.stop_signal
                        : order.signal;
  const auto grace = order.grace.value_or(workers.grace_period);
  if (order.may_park)
    regroup_reason_ = order.reason;
  else
    tell_live(tell_stop{order.reason, grace});
  dispatch(stop_ordered{signal, grace, order.may_park});
  if (grace > stop_noted)
    tell_later(self_, stop_noted,
               stop_lasts{order.generation, self_->clock().now() + grace});
}

// A stop that takes so long is to be no riddle.
void worker_supervisor_state::tell_of_stop(const stop_lasts& x) const {
  if (!group_ || group_->plan().generation != x.generation
      || group_->current_phase() != worker_group::phase::stopping
      || !group_->has_grace())
    return;
  auto pids = std::string{};
  auto count = 0;
  for (const auto& worker : group_->workers())
    if (worker.now == worker_record::state::running && ++count <= named_max)
      pids += (pids.empty() ? "" : ", ") + std::to_string(worker.pid);
  if (count == 0)
    return;
  config_.lines.info(
    formatted("waits for {} to end (pid {}{}), and kills what is left in {}",
              count == 1 ? "a worker" : formatted("{} workers", count), pids,
              count > named_max ? ", …" : "",
              core::duration_text(std::chrono::ceil<std::chrono::milliseconds>(
                x.until - self_->clock().now()))));
}

void worker_supervisor_state::obey(const kill_group& order) {
  if (!group_ || group_->plan().generation != order.generation)
    return;
  release_deaths();
  dispatch(kill_ordered{order.with_parked});
}

void worker_supervisor_state::obey(const order_safe_point& order) {
  if (group_ && group_->plan().generation == order.generation)
    dispatch(order.order);
}

void worker_supervisor_state::obey(const notify_group& order) {
  if (!group_)
    return;
  auto generations = earlier_;
  generations.insert(group_->plan().generation);
  for (const auto generation : generations)
    config_.processes->notify(generation, order.signal);
}

// The answer goes the way of an order to end workers.
void worker_supervisor_state::obey(const check_control& order) {
  config_.processes->check([owner = owner_, asked = order.asked] {
    tell_anonymously(owner, group_event{control_checked{asked}});
  });
}

// -- what becomes of processes ------------------------------------------------

// A death waits until the worker's last lines are on the console, and later
// events wait behind it. While all workers are stopping, no event waits.
void worker_supervisor_state::take(const process_report& report) {
  auto known = process_report{};
  for (const auto& event : report)
    if (auto now = with_rank_of_now(event))
      known.push_back(std::move(*now));
    else if (const auto* death = std::get_if<ports::process_exited>(&event);
             death != nullptr && config_.timers && group_)
      // It was parked, and no generation has resumed it.
      tell(
        self_, config_.timers,
        workers_untimed{death->generation, {{death->local_rank, death->pid}}});
  notify_timer_server(known);
  admit(known);
  for (const auto& event : known) {
    const auto* death = std::get_if<ports::process_exited>(&event);
    if (death == nullptr || !is_shown(death->local_rank)) {
      events_.push(event);
      continue;
    }
    drain(death->local_rank);
    if (group_->current_phase() == worker_group::phase::stopping)
      events_.push(event);
    else
      events_.push(event, lines_shown{death->local_rank});
  }
  advance();
}

std::optional<ports::process_event>
worker_supervisor_state::with_rank_of_now(ports::process_event event) const {
  const auto rank = std::visit(
    [this](const auto& x) { return rank_of(x.generation, x.local_rank); },
    event);
  if (!rank)
    return std::nullopt;
  std::visit([&](auto& x) { x.local_rank = *rank; }, event);
  return event;
}

void worker_supervisor_state::drain(uint32_t local_rank) {
  const auto generation = group_->plan().generation;
  actorrun::ask(self_, config_.tailer, drain_timeout,
                drain_worker{generation, local_rank})
    .then([=, this](const worker_drained&) { drained(generation, local_rank); },
          [=, this](const caf::error&) { drained(generation, local_rank); });
}

void worker_supervisor_state::drained(generation_id generation,
                                      uint32_t local_rank) {
  if (!group_ || group_->plan().generation != generation)
    return;
  events_.release(lines_shown{local_rank});
  advance();
}

// Workers that ended before an order to stop were not ordered to: their events
// come first.
void worker_supervisor_state::release_deaths() {
  events_.release_if(
    [](const auto& x) { return std::holds_alternative<lines_shown>(x); });
  advance();
}

// A worker that has ended must not be given up as one that does not end, however
// slow its files are.
void worker_supervisor_state::tell_deaths() {
  looks_back_since_.reset();
  events_.release_if([](const auto&) { return true; });
  while (events_.front() != nullptr)
    read_on(events_.pop(), {});
}

void worker_supervisor_state::advance() {
  while (const auto* event = events_.front()) {
    if (examine(*event))
      return events_.hold(examination{examination_count_});
    read_on(events_.pop(), {});
  }
}

// Returns false if nothing is to be learned. Examining takes time, which is spent
// only on failures that will be shown.
bool worker_supervisor_state::examine(const ports::process_event& event) {
  if (!config_.evidence || files_hang_)
    return false;
  const auto number = ++examination_count_;
  const auto answer
    = [handle = worker_supervisor_actor{self_}, number](death_details details) {
        tell_anonymously(handle, death_examined{number, std::move(details)});
      };
  const auto& evidence = config_.evidence;
  if (const auto* x = std::get_if<ports::process_exited>(&event)) {
    if (group_->is_spare(x->local_rank))
      return false;
    const auto& outputs = outputs_.workers.at(x->local_rank);
    const auto is_stopped = wants_account(*x, outputs);
    const auto is_listed
      = !group_->has_ordered(to_event(*x)) && group_->lists_more();
    if (!is_failure(*x) || (!is_stopped && !is_listed))
      return false;
    if (is_stopped)
      looks_back_since_ = self_->clock().now();
    run_aside([=, death = *x] {
      answer(is_stopped ? evidence->recall(death, outputs)
                        : evidence->examine(death, outputs));
    });
  } else if (const auto* y = std::get_if<ports::process_not_started>(&event)) {
    if (group_->is_spare(y->local_rank) || group_->has_ordered(y->when)
        || !group_->lists_more())
      return false;
    run_aside([=, start = *y, spec = spec_of(y->local_rank)] {
      answer(evidence->examine(start, spec));
    });
  } else {
    return false;
  }
  tell_later(self_, examination_timeout, death_examined{number});
  return true;
}

void worker_supervisor_state::take(death_examined x) {
  if (events_.release(examination{x.number}) == 0)
    return;
  if (const auto since = std::exchange(looks_back_since_, std::nullopt))
    looked_back_ += self_->clock().now() - *since;
  if (!x.details) {
    files_hang_ = true;
    config_.lines.warn(
      formatted("worker supervisor reports failures of generation "
                "{} without their last lines: "
                "the log files do not answer",
                to_string(group_->plan().generation)));
    x.details.emplace().message = unexamined;
  }
  read_on(events_.pop(), std::move(*x.details));
  advance();
}

void worker_supervisor_state::read_on(const ports::process_event& event,
                                      death_details details) {
  if (const auto* x = std::get_if<ports::process_started>(&event))
    return dispatch(worker_started{x->local_rank, x->pid});
  if (const auto* x = std::get_if<ports::process_exited>(&event)) {
    if (group_->plan().is_ahead || group_->is_spare(x->local_rank))
      say_ended_ahead(*x);
    const auto failed = failed_at(details);
    auto exited = to_event(*x, std::move(details));
    exited.failed = failed;
    return dispatch(exited);
  }
  const auto& x = std::get<ports::process_not_started>(event);
  if (details.subject.empty())
    details.subject = x.subject;
  if (group_->is_spare(x.local_rank) && !group_->has_ordered(x.when))
    say_spare_ended(x.local_rank,
                    formatted("cannot be started: {}: {}",
                              one_line(x.subject, subject_size_max),
                              error_text(x.error)));
  dispatch(
    worker_not_started{x.local_rank, x.error, std::move(details), x.when});
}

void worker_supervisor_state::say_ended_ahead(
  const ports::process_exited& x) const {
  if (group_->has_ordered(to_event(x)))
    return;
  const auto how = formatted("has ended before its first generation, {} {}",
                             x.signal != 0 ? "by signal" : "with code",
                             x.signal != 0 ? x.signal : x.exit_code);
  if (group_->is_spare(x.local_rank))
    return say_spare_ended(x.local_rank, how);
  config_.lines.warn(formatted("local rank {} {}: it is started again with it",
                               x.local_rank, how));
}

void worker_supervisor_state::say_spare_ended(uint32_t number,
                                              const std::string& how) const {
  config_.lines.warn(
    formatted("spare worker {} {}: it is started again with the next "
              "generation",
              number - group_->plan().own.slot_count, how));
}

// Wall clocks stay in the details: they may have been set meanwhile.
time_point worker_supervisor_state::failed_at(const death_details& x) const {
  if (!config_.evidence || x.error_file.empty() || x.wall_ms == 0)
    return {};
  return self_->clock().now() - config_.evidence->age_of(x.wall_ms);
}

// Its own error file may be older than the order to stop.
bool worker_supervisor_state::wants_account(
  const ports::process_exited& x, const worker_outputs& outputs) const {
  return group_->has_ordered(to_event(x)) && group_->looks_back()
         && looked_back_ < look_back_max && !outputs.error_file.empty();
}

void worker_supervisor_state::dispatch(const worker_group_event& event) {
  const auto now = self_->clock().now();
  if (config_.on_event)
    config_.on_event(event, *group_, now);
  for (const auto& effect : group_->step(event, now))
    std::visit(effect_runner{*this, now}, effect);
}

// -- starting -----------------------------------------------------------------

void worker_supervisor_state::run_aside(std::function<void()> fn) {
  if (config_.files)
    config_.files->post(std::move(fn));
  else
    fn();
}

void worker_supervisor_state::prepare() {
  const auto& plan = group_->plan();
  if (!config_.layout)
    return take(outputs_prepared{plan.generation, generation_outputs{}});
  auto asked = plan;
  asked.own.slot_count += config_.workers.spare_count; // They write, too.
  run_aside([layout = config_.layout, asked = std::move(asked),
             handle = worker_supervisor_actor{self_}] {
    tell_anonymously(
      handle, outputs_prepared{asked.generation, layout->prepare(asked)});
  });
}

void worker_supervisor_state::take(outputs_prepared x) {
  if (!group_ || group_->plan().generation != x.generation
      || group_->current_phase() != worker_group::phase::preparing)
    return;
  // Others take their places.
  std::erase_if(origins_, [this](const auto& spare) {
    return group_->workers()[spare.first].now != worker_record::state::parked;
  });
  move_in(group_->seat_spares());
  adopt(std::move(x.outputs));
  open_store(group_->plan());
  if (refusal_.empty())
    announce_outputs();
  dispatch(workers_prepared{});
}

// If logs could never be written, the settings are wrong, and the start fails. If
// they could be in an earlier generation, the job goes on without them.
void worker_supervisor_state::adopt(result<generation_outputs> made) {
  const auto& plan = group_->plan();
  refusal_.clear();
  outputs_.workers.resize(group_->workers().size());
  if (!config_.layout)
    return;
  const auto last = outputs_;
  if (made) {
    assert(made->workers.size() == group_->workers().size());
    outputs_ = std::move(*made);
    had_files_ = true;
    lost_files_ = false;
  } else if (!had_files_) {
    refusal_ = made.error().text;
  } else {
    outputs_ = without_files(outputs_);
    if (!std::exchange(lost_files_, true))
      config_.lines.warn(formatted(
        "worker supervisor starts generation {} without log files: {}; "
        "redirected "
        "output is lost, teed output has no labels",
        to_string(plan.generation),
        one_line(made.error().text, subject_size_max)));
  }
  // Who lives through a change has its files open.
  for (const auto& [local_rank, from] : origins_)
    outputs_.workers[local_rank] = last.workers[from.last];
}

// The store of workers that have all succeeded stays: those of other nodes may
// still need it. It goes with the next generation at the latest.
void worker_supervisor_state::open_store(const generation_plan& plan) {
  lacks_store_ = false;
  if (!config_.ports || plan.is_ahead)
    return;
  if (plan.own.node_rank != 0)
    return config_.ports->elsewhere(plan);
  if (auto opened = config_.ports->open(plan); !opened && refusal_.empty()) {
    refusal_ = opened.error().text;
    lacks_store_ = shortage_in(refusal_) != 0;
  }
}

void worker_supervisor_state::announce_outputs() {
  const auto& plan = group_->plan();
  if (config_.evidence)
    run_aside([evidence = config_.evidence] { evidence->begin(); });
  is_followed_ = config_.tailer != nullptr;
  if (is_followed_) {
    auto continued = std::map<uint32_t, uint32_t>{};
    for (const auto& [local_rank, from] : origins_)
      continued.emplace(local_rank, from.last);
    tell(self_, config_.tailer,
         follow_generation{plan, outputs_, std::move(continued), followed_});
    followed_ = plan.generation;
  }
  if (plan.is_ahead)
    return; // Until they have ranks, operators cannot name them.
  if (config_.vitals)
    config_.vitals->follow(plan.generation, outputs_of_workers());
  if (config_.reader)
    config_.reader->follow(plan, outputs_of_workers());
}

core::generation_outputs worker_supervisor_state::outputs_of_workers() const {
  auto out = outputs_;
  out.workers.resize(group_->plan().own.slot_count);
  return out;
}

void worker_supervisor_state::start() {
  const auto& plan = group_->plan();
  if (is_second_attempt_ && lacks_store_) {
    refusal_.clear();
    open_store(plan);
    if (refusal_.empty())
      announce_outputs();
  }
  is_second_attempt_ = true;
  if (!refusal_.empty())
    return refuse_start();
  config_.processes->start(
    plan.generation, decided_, processes(),
    [handle = worker_supervisor_actor{self_}](process_report report) {
      tell_anonymously(handle, std::move(report));
    });
}

// The first failure says why; the other starts are called off, unless they can be
// tried again.
void worker_supervisor_state::refuse_start() {
  auto why = death_details{};
  why.message = one_line(refusal_, failure_message_max);
  const auto shortage = lacks_store_ ? shortage_in(refusal_) : 0;
  auto error = shortage != 0 ? shortage : EIO;
  for (uint32_t i = 0; i < group_->plan().own.slot_count; ++i)
    if (group_->workers()[i].now == worker_record::state::waiting)
      dispatch(worker_not_started{
        i, shortage != 0 ? error : std::exchange(error, ECANCELED),
        std::exchange(why, {})});
}

std::vector<ports::process_spec> worker_supervisor_state::processes() {
  const auto& plan = group_->plan();
  auto result = std::vector<ports::process_spec>{};
  if (config_.processes_of)
    result = given_ = config_.processes_of(plan, outputs_);
  else
    for (uint32_t i = 0; i < plan.own.slot_count; ++i)
      result.push_back(spec_of(i));
  assert(result.size() == plan.own.slot_count);
  std::erase_if(result, [this](const auto& x) {
    return group_->workers()[x.local_rank].now != worker_record::state::waiting;
  });
  for (auto& x : result) {
    x.out = outputs_.workers.at(x.local_rank).out;
    x.err = outputs_.workers.at(x.local_rank).err;
  }
  return result;
}

ports::process_spec
worker_supervisor_state::spec_of(uint32_t local_rank) const {
  if (config_.processes_of)
    return given_.at(local_rank);
  const auto& error_file = outputs_.workers.at(local_rank).error_file;
  auto spec = ports::process_spec{
    .local_rank = local_rank,
    .arguments = command_of(config_.workers, local_rank),
    .environment
    = group_->is_spare(local_rank)
        ? spare_environment(config_.environment, config_.job, group_->plan(),
                            error_file)
        : worker_environment(config_.environment, config_.job, group_->plan(),
                             local_rank, error_file)};
  if (!config_.bindings.empty())
    spec.binding = config_.bindings.at(local_rank);
  return spec;
}

bool worker_supervisor_state::is_shown(uint32_t local_rank) const {
  const auto& x = outputs_.workers.at(local_rank);
  return config_.tailer && (x.out.shown || x.err.shown);
}

// -- workers that live through a change ---------------------------------------

worker_supervisor_state::origin
worker_supervisor_state::origin_of(uint32_t local_rank) const {
  const auto i = origins_.find(local_rank);
  return i == origins_.end()
           ? origin{group_->plan().generation, local_rank, local_rank}
           : i->second;
}

std::optional<uint32_t>
worker_supervisor_state::rank_of(generation_id birth,
                                 uint32_t local_rank) const {
  if (!group_)
    return std::nullopt;
  for (const auto& [rank, from] : origins_)
    if (from.generation == birth && from.local_rank == local_rank)
      return rank;
  const auto is_new = birth == group_->plan().generation
                      && local_rank < group_->workers().size()
                      && !origins_.contains(local_rank);
  return is_new ? std::optional{local_rank} : std::nullopt;
}

std::vector<uint32_t>
worker_supervisor_state::parked_of(generation_id birth) const {
  auto out = std::vector<uint32_t>{};
  for (const auto& [local_rank, pid] : group_->parked().pids)
    if (const auto from = origin_of(local_rank); from.generation == birth)
      out.push_back(from.local_rank);
  return out;
}

// Spares take the places of workers that have ended: from now on they are these.
void worker_supervisor_state::move_in(
  const std::map<uint32_t, uint32_t>& seated) {
  if (seated.empty())
    return;
  auto who = std::string{};
  for (const auto& [local_rank, number] : seated) {
    auto moved = origins_.extract(number);
    moved.key() = local_rank;
    origins_.insert(std::move(moved));
    pids_.erase(local_rank);
    auto pid = pids_.extract(number);
    if (pid) {
      pid.key() = local_rank;
      who += formatted("{}local rank {} is pid {}", who.empty() ? "" : ", ",
                       local_rank, pid.mapped());
      pids_.insert(std::move(pid));
    }
  }
  config_.lines.info("spare workers take vacant places: "
                     + one_line(who, subject_size_max));
  admit_all();
}

void worker_supervisor_state::say_lack_of_spares() {
  if (std::exchange(lacks_spares_, false))
    config_.lines.warn(
      "there were no spare workers: they start when all workers"
      " of the node have called generations()");
}

void worker_supervisor_state::start_spares(
  const std::vector<uint32_t>& numbers) {
  lacks_spares_ = false;
  auto specs = std::vector<ports::process_spec>{};
  for (const auto number : numbers) {
    specs.push_back(spec_of(number));
    specs.back().out = outputs_.workers.at(number).out;
    specs.back().err = outputs_.workers.at(number).err;
  }
  config_.processes->start(
    group_->plan().generation, decided_, std::move(specs),
    [handle = worker_supervisor_actor{self_}](process_report report) {
      tell_anonymously(handle, std::move(report));
    });
}

// Its end is known here before anything that was said in its name.
void worker_supervisor_state::admit(const process_report& known) {
  for (const auto& event : known) {
    if (const auto* x = std::get_if<ports::process_started>(&event))
      pids_[x->local_rank] = x->pid;
    else if (const auto* y = std::get_if<ports::process_exited>(&event))
      pids_.erase(y->local_rank);
  }
  admit_all();
}

void worker_supervisor_state::admit_all() {
  if (!config_.control)
    return;
  auto admitted = std::vector<ports::controlled_worker>{};
  for (const auto& [local_rank, pid] : pids_)
    admitted.push_back({local_rank, pid});
  config_.control->admit(std::move(admitted));
}

// It may have been a spare when it spoke, so its process counts.
void worker_supervisor_state::take(const ports::worker_message& x) {
  const auto known = std::ranges::find(
    pids_, x.pid, [](const auto& entry) { return entry.second; });
  if (!group_ || known == pids_.end())
    return;
  const auto local_rank = known->first;
  const auto& plan = group_->plan();
  const auto has_no_generation = plan.is_ahead || group_->is_spare(local_rank);
  const auto number = has_no_generation ? 0 : number_of(plan.generation);
  if (std::holds_alternative<said_hello>(x.word)) {
    dispatch(worker_greeted{local_rank});
    if (group_->current_phase() < worker_group::phase::stopping
        && !has_no_generation)
      begin_generation(local_rank);
  } else if (const auto* parked = std::get_if<said_parked>(&x.word)) {
    if (parked->generation == number)
      dispatch(worker_parked{local_rank});
  } else if (const auto* trouble = std::get_if<said_trouble>(&x.word)) {
    config_.lines.info(formatted("rank {} waits for news of the group: {}",
                                 plan.own.global_rank(local_rank),
                                 one_line(trouble->text, subject_size_max)));
  } else if (const auto* at = std::get_if<said_step>(&x.word)) {
    dispatch(worker_stepped{local_rank, at->step});
    tell_steps();
  } else if (const auto* held = std::get_if<said_held>(&x.word)) {
    if (held->generation == number_of(plan.generation))
      dispatch(worker_held{local_rank, held->step});
  } else if (const auto* reached = std::get_if<said_reached>(&x.word)) {
    if (reached->generation == number_of(plan.generation))
      dispatch(worker_reached{local_rank, reached->step});
  } else if (std::holds_alternative<hung_up>(x.word)) {
    dispatch(worker_hung_up{local_rank});
  }
}

void worker_supervisor_state::tell_steps() {
  const auto now = self_->clock().now();
  if (!config_.tells_steps || now < next_step_news_)
    return;
  next_step_news_ = now + step_news_interval;
  tell(self_, owner_, group_event{workers_stepped{group_->plan().generation}});
}

void worker_supervisor_state::begin_generation(uint32_t local_rank) {
  const auto& plan = group_->plan();
  config_.control->tell(local_rank,
                        tell_generation{.generation = plan.generation,
                                        .environment = generation_environment(
                                          config_.job, plan, local_rank),
                                        .survivors = plan.survivors,
                                        .restart_count = plan.restart_count,
                                        .reason = generation_reason_});
}

void worker_supervisor_state::tell_live(const worker_order& order) {
  if (!config_.control)
    return;
  for (uint32_t i = 0; i < group_->workers().size(); ++i)
    if (group_->workers()[i].is_live)
      config_.control->tell(i, order);
}

// Its timers are those of the generation that it has left.
void worker_supervisor_state::park(uint32_t local_rank) {
  const auto generation = group_->plan().generation;
  if (config_.timers)
    tell(self_, config_.timers,
         workers_untimed{generation,
                         {{local_rank, group_->workers()[local_rank].pid}},
                         true});
  const auto who = origin_of(local_rank);
  config_.processes->park(
    who.generation, who.local_rank,
    [handle = worker_supervisor_actor{self_}, generation, local_rank] {
      tell_anonymously(handle, process_spared{generation, local_rank});
    });
}

void worker_supervisor_state::take(const process_spared& x) {
  if (!group_ || group_->plan().generation != x.generation)
    return;
  dispatch(worker_spared{x.local_rank});
  if (group_->is_spare(x.local_rank)
      && group_->workers()[x.local_rank].now == worker_record::state::parked)
    config_.lines.info(formatted("spare worker {} is ready (pid {})",
                                 x.local_rank - group_->plan().own.slot_count,
                                 group_->workers()[x.local_rank].pid));
}

void worker_supervisor_state::resume(const std::vector<uint32_t>& local_ranks) {
  auto by_birth = std::map<generation_id, std::map<uint32_t, uint32_t>>{};
  auto timed = std::vector<timed_process>{};
  for (const auto local_rank : local_ranks) {
    const auto who = origin_of(local_rank);
    by_birth[who.generation].emplace(who.local_rank, local_rank);
    timed.push_back({local_rank, group_->workers()[local_rank].pid});
  }
  const auto generation = group_->plan().generation;
  if (config_.timers)
    tell(self_, config_.timers,
         workers_timed{generation, std::move(timed),
                       worker_supervisor_actor{self_}});
  for (auto& [birth, ranks] : by_birth) {
    auto born_as = std::vector<uint32_t>{};
    for (const auto& [was, local_rank] : ranks)
      born_as.push_back(was);
    config_.processes->resume(
      birth, decided_, std::move(born_as),
      [handle = worker_supervisor_actor{self_}, generation,
       ranks = std::move(ranks)](std::vector<uint32_t> resumed) {
        for (auto& x : resumed)
          x = ranks.at(x);
        tell_anonymously(handle,
                         workers_resumed{generation, std::move(resumed)});
      });
  }
}

// One that has been asked to park meanwhile did not expect that.
void worker_supervisor_state::take(const workers_resumed& x) {
  if (!group_ || group_->plan().generation != x.generation)
    return;
  for (const auto local_rank : x.local_ranks) {
    begin_generation(local_rank);
    if (group_->current_phase() >= worker_group::phase::stopping)
      config_.control->tell(
        local_rank,
        tell_regroup{regroup_reason_, config_.workers.grace_period});
  }
}

void worker_supervisor_state::signal(int signal,
                                     const std::vector<uint32_t>& spared) {
  const auto scope = config_.workers.stops_children || signal == SIGKILL
                       ? ports::signal_scope::group
                       : ports::signal_scope::worker;
  config_.processes->signal(group_->plan().generation, signal, spared, scope);
  for (const auto& [local_rank, from] : origins_)
    config_.processes->signal_one(
      from.generation, from.local_rank,
      std::ranges::find(spared, local_rank) == spared.end() ? signal : 0,
      scope);
}

void worker_supervisor_state::release() {
  earlier_.insert(group_->plan().generation);
  release_earlier();
  close_outputs();
}

// All but those of parked workers.
void worker_supervisor_state::close_outputs() {
  if (!is_followed_)
    return;
  auto parked = std::vector<uint32_t>{};
  for (const auto& [local_rank, pid] : group_->parked().pids)
    parked.push_back(local_rank);
  is_followed_ = !parked.empty();
  tell(self_, config_.tailer, close_generation{followed_, std::move(parked)});
}

// Those of whom nothing lives any more are forgotten.
void worker_supervisor_state::release_earlier() {
  for (auto i = earlier_.begin(); i != earlier_.end();) {
    auto spared = parked_of(*i);
    const auto is_over = spared.empty();
    config_.processes->release(*i, std::move(spared));
    i = is_over ? earlier_.erase(i) : std::next(i);
  }
}

// -- timers, and workers that do not end --------------------------------------

// Not delayed by waiting events: a worker may use a timer as soon as it runs, and
// one that has ended must not be overdue.
void worker_supervisor_state::notify_timer_server(const process_report& known) {
  if (!config_.timers || !group_)
    return;
  const auto generation = group_->plan().generation;
  auto begun = std::vector<timed_process>{};
  auto ended = std::vector<timed_process>{};
  for (const auto& event : known)
    if (const auto* x = std::get_if<ports::process_started>(&event)) {
      if (!group_->is_spare(x->local_rank))
        begun.push_back({x->local_rank, x->pid});
    } else if (const auto* y = std::get_if<ports::process_exited>(&event)) {
      ended.push_back({y->local_rank, y->pid});
    }
  if (!begun.empty())
    tell(self_, config_.timers,
         workers_timed{generation, std::move(begun),
                       worker_supervisor_actor{self_}});
  if (!ended.empty())
    tell(self_, config_.timers, workers_untimed{generation, std::move(ended)});
}

void worker_supervisor_state::take(const worker_overrun& x) {
  const auto& what = x.what;
  if (has_worker(what.who.generation, what.who.local_rank))
    overrun({.local_rank = what.who.local_rank,
             .scope = what.scope,
             .lateness = what.lateness,
             .limit = what.limit,
             .signal = what.signal});
}

void worker_supervisor_state::take(const worker_hangs& x) {
  if (has_worker(x.generation, x.local_rank))
    overrun({.local_rank = x.local_rank,
             .scope = std::string{hang_scope},
             .lateness = std::max(x.silent_for - x.limit, duration{0}),
             .limit = x.limit,
             .signal = SIGKILL,
             .where = x.where});
}

bool worker_supervisor_state::has_worker(generation_id generation,
                                         uint32_t local_rank) const {
  return group_ && group_->plan().generation == generation
         && local_rank < group_->workers().size();
}

void worker_supervisor_state::overrun(worker_overran event) {
  event.grace = config_.workers.grace_period;
  if (config_.probe)
    event.timeout = inspection_timeout;
  dispatch(event);
}

void worker_supervisor_state::inspect_workers(uint32_t overdue) {
  const auto& plan = group_->plan();
  auto workers = std::vector<ports::probed_worker>{};
  for (uint32_t i = 0; i < plan.own.slot_count; ++i)
    if (const auto& x = group_->workers()[i];
        x.now == worker_record::state::running)
      workers.push_back({.local_rank = i,
                         .global_rank = plan.own.global_rank(i),
                         .pid = x.pid,
                         .error_file = outputs_.workers.at(i).error_file});
  config_.probe->look(
    std::move(workers), overdue, inspection_max,
    [=, handle = worker_supervisor_actor{self_},
     generation = plan.generation](std::string where) {
      tell_anonymously(handle,
                       overrun_probed{generation, overdue, std::move(where)});
    });
}

// Of a worker that cannot be killed, only the kernel function that it waits in is
// known.
worker_failure worker_supervisor_state::explained(worker_failure x) const {
  if (x.kind != failure_kind::unkillable) {
    config_.lines.debug("worker supervisor reports " + to_string(x));
    return x;
  }
  const auto where = config_.probe ? config_.probe->summarize(x.pid) : "";
  if (!where.empty())
    x.details.where = where;
  config_.lines.error(formatted("worker supervisor gives up a worker: {}{}",
                                to_string(x),
                                where.empty() ? "" : ": " + where));
  return x;
}

worker_supervisor_actor spawn_worker_supervisor(caf::actor_system& system,
                                                worker_supervisor_config config,
                                                group_owner_actor owner) {
  return system
    .spawn<actor_impl<worker_supervisor_actor, worker_supervisor_state>>(
      std::move(config), std::move(owner));
}

} // namespace actorrun
