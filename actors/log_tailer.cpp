#include "actors/log_tailer.hpp"

#include "actors/core/logs/line_prefix.hpp"
#include "messages/formatted.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace actorrun {

using namespace core;

namespace {

std::array<tail_output, tail_kind_count>
make_outputs(const log_options& options) {
  const auto folds = options.folds_identical;
  return {tail_output{tail_kind::out, folds, options.stdout_filters},
          tail_output{tail_kind::err, folds, options.stderr_filters},
          tail_output{tail_kind::watched, false, {}}};
}

constexpr tail_kind shown_kinds[] = {tail_kind::out, tail_kind::err};

output_stream target_of(tail_kind kind) {
  return kind == tail_kind::err ? output_stream::err : output_stream::out;
}

} // namespace

log_tailer_state::log_tailer_state(log_tailer_actor::pointer self,
                                   log_tailer_config config)
  : self_(self), config_(std::move(config)),
    outputs_(make_outputs(config_.options)) {
  files_.emplace(config_.files, config_.options, config_.lines);
}

log_tailer_actor::behavior_type log_tailer_state::make_behavior() {
  return {
    [this](const follow_generation& x) { follow(x); },
    [this](const drain_worker& x) { return obey(x); },
    [this](const close_generation& x) { obey(x); },
    [this](const flush_logs& x) { return obey(x); },
    [this](const log_file_grown& x) { on(x); },
    [this](const console_ready& x) { on(x); },
    [this](const tail_goes_on& x) { on(x); },
    [this](const tail_timer_fired& x) { on(x); },
  };
}

// Answers all pending requests, so that no actor waits forever.
void log_tailer_state::on_exit() {
  for (auto& x : drains_)
    x.promise.deliver(worker_drained{x.what.generation, x.what.local_rank});
  for (auto& x : flushes_)
    x.deliver(logs_flushed{});
  drains_.clear();
  flushes_.clear();
  files_->report_losses();
  files_.reset();
  config_ = {};
}

// -- messages -----------------------------------------------------------------

void log_tailer_state::follow(const follow_generation& x) {
  const auto count = static_cast<uint32_t>(x.outputs.workers.size());
  if (!streams_.open(x.plan.generation, count))
    return;
  const auto has_rank = [&x](uint32_t rank) {
    return !x.plan.is_ahead && rank < x.plan.own.slot_count;
  };
  for (const auto& [rank, was] : x.continued)
    for (auto* s : streams_.carry(x.last, was, rank)) {
      s->global_rank = x.plan.own.global_rank(rank);
      s->prefix = prefix_of(rank, has_rank(rank) ? std::optional{s->global_rank}
                                                 : std::nullopt);
    }
  auto problems = std::vector<std::string>{};
  for (uint32_t rank = 0; rank < count; ++rank)
    for (const auto to : {output_stream::out, output_stream::err})
      if (auto problem = x.continued.contains(rank) ? "" : add(x, rank, to);
          !problem.empty())
        problems.push_back(std::move(problem));
  if (!problems.empty())
    config_.lines.warn(
      formatted("log tailer cannot follow {}{}", problems.front(),
                problems.size() == 1 ? ""
                : problems.size() == 2
                  ? "; nor another file"
                  : formatted("; nor {} other files", problems.size() - 1)));
  run_slice();
}

caf::result<worker_drained> log_tailer_state::obey(const drain_worker& x) {
  for (auto* worker : streams_.of_worker(x.generation, x.local_rank))
    if (worker->kind != tail_kind::watched)
      output_of(*worker).expect_end(*worker, files_->end_of(*worker), now());
  run_slice();
  if (is_drained(x))
    return worker_drained{x.generation, x.local_rank};
  auto promise = self_->make_response_promise<worker_drained>();
  drains_.push_back({x, promise});
  return promise;
}

void log_tailer_state::obey(const close_generation& order) {
  auto spared = std::set<tail_stream*>{};
  for (const auto rank : order.spared)
    for (auto* x : streams_.of_worker(order.generation, rank))
      spared.insert(x);
  for (auto* x : streams_.of_generation(order.generation)) {
    if (x->is_closed || spared.contains(x))
      continue;
    x->is_closed = true;
    if (x->kind != tail_kind::watched)
      output_of(*x).expect_end(*x, files_->end_of(*x), now());
    finish_if_done(*x);
  }
  run_slice();
}

caf::result<logs_flushed> log_tailer_state::obey(const flush_logs&) {
  for (auto* x : streams_.all())
    if (x->kind != tail_kind::watched)
      output_of(*x).expect(*x, files_->end_of(*x), now());
  run_slice();
  auto promise = self_->make_response_promise<logs_flushed>();
  flushes_.push_back(promise);
  answer();
  return promise;
}

// -- streams ------------------------------------------------------------------

// Returns why a file cannot be followed, with its name; empty if it can be.
std::string log_tailer_state::add(const follow_generation& x,
                                  uint32_t local_rank, output_stream to) {
  const auto is_err = to == output_stream::err;
  const auto& worker = x.outputs.workers[local_rank];
  const auto& target = is_err ? worker.err : worker.out;
  if (target.where != stream_target::kind::file)
    return {};
  if (!target.shown && config_.options.rotate_size == 0
      && watched_count_ == space_watch_max)
    return {};
  auto& s = streams_.add(x.plan.generation, local_rank, is_err);
  s.global_rank = x.plan.own.global_rank(local_rank);
  s.path = target.path;
  if (target.shown) {
    if (auto why = files_->open(s); !why.empty()) {
      why = s.path + ": " + why;
      streams_.remove(s.number);
      return why;
    }
    const auto has_rank
      = !x.plan.is_ahead && local_rank < x.plan.own.slot_count;
    s.prefix = prefix_of(local_rank, has_rank ? std::optional{s.global_rank}
                                              : std::nullopt);
    s.filter_path = is_err ? x.outputs.filtered_err : x.outputs.filtered_out;
    s.is_held = streams_.has_to_wait(s);
  } else {
    s.kind = tail_kind::watched;
    ++watched_count_;
  }
  if (s.is_held)
    ++held_count_;
  else
    output_of(s).add(s, now());
  return {};
}

std::string
log_tailer_state::prefix_of(uint32_t local_rank,
                            std::optional<uint32_t> global_rank) const {
  if (local_rank < config_.prefixes.size())
    return config_.prefixes[local_rank];
  return line_prefix(config_.options.prefix_template,
                     {.role = config_.role,
                      .host = config_.host,
                      .local_rank = local_rank,
                      .global_rank = global_rank});
}

void log_tailer_state::finish_if_done(stream& x) {
  if (x.is_closed && (x.kind == tail_kind::watched || output_of(x).is_shown(x)))
    finish(x);
}

void log_tailer_state::finish(stream& x) {
  if (x.is_held)
    --held_count_;
  else
    output_of(x).remove(x);
  if (x.kind == tail_kind::watched)
    --watched_count_;
  files_->close(x);
  streams_.remove(x.number);
  release_held();
}

// The lines of a generation that is over come before those of the next.
void log_tailer_state::release_held() {
  if (held_count_ == 0)
    return;
  for (auto* x : streams_.all()) {
    if (!x->is_held || streams_.has_to_wait(*x))
      continue;
    x->is_held = false;
    --held_count_;
    output_of(*x).add(*x, now());
  }
}

bool log_tailer_state::is_drained(const drain_worker& x) {
  const auto of = streams_.of_worker(x.generation, x.local_rank);
  return std::all_of(of.begin(), of.end(), [this](const auto* s) {
    const auto& at = output_of(*s);
    return s->kind == tail_kind::watched || at.is_blocked() || at.is_shown(*s);
  });
}

bool log_tailer_state::is_flushed() {
  const auto all = streams_.all();
  return std::all_of(all.begin(), all.end(), [this](const auto* s) {
    return s->kind == tail_kind::watched || output_of(*s).is_shown(*s);
  });
}

void log_tailer_state::answer() {
  std::erase_if(drains_, [this](auto& x) {
    if (!is_drained(x.what))
      return false;
    x.promise.deliver(worker_drained{x.what.generation, x.what.local_rank});
    return true;
  });
  if (flushes_.empty() || !is_flushed())
    return;
  files_->report_losses();
  for (auto& x : flushes_)
    x.deliver(logs_flushed{});
  flushes_.clear();
}

// -- reading and showing ------------------------------------------------------

void log_tailer_state::on(const log_file_grown& what) {
  if (auto* x = streams_.find(what.stream)) {
    x->is_armed = false;
    output_of(*x).schedule().wake(what.stream);
  }
  if (!goes_on_)
    run_slice();
}

void log_tailer_state::on(const console_ready& what) {
  outputs_[size_t(what.which)].unblock();
  run_slice();
}

void log_tailer_state::on(const tail_goes_on&) {
  goes_on_ = false;
  run_slice();
}

void log_tailer_state::on(const tail_timer_fired& what) {
  if (what.number != timer_number_)
    return;
  timer_due_.reset();
  run_slice();
}

void log_tailer_state::run_slice() {
  const auto at = now();
  for (const auto kind : shown_kinds)
    offer(kind, at);
  size_t byte_count = 0;
  size_t spent = 0;
  for (auto is_working = true; is_working && spent < tail_slice;) {
    is_working = false;
    for (auto& from : outputs_) {
      if (!from.is_ready(at))
        continue;
      const auto read
        = work(from, *streams_.find(*from.schedule().next(at)), at);
      byte_count += read;
      spent += std::max(read, tail_visit);
      is_working = true;
    }
  }
  check_space(byte_count, at);
  answer();
  plan_next();
}

// Returns how many bytes the stream had.
size_t log_tailer_state::work(output& from, stream& x, time_point at) {
  if (x.file == 0 && !files_->open(x).empty()) {
    finish(x); // It is not shown, so no output is missed.
    return 0;
  }
  auto found = poll(from, x, at);
  if (!found.is_news && !from.is_blocked()) {
    files_->find_cut(x);
    // A write between the reading and the arming would go unnoticed.
    if (!x.is_closed)
      files_->arm(x, telling(log_file_grown{x.number}));
    found = poll(from, x, at);
  }
  if (found.is_news || from.is_blocked())
    from.schedule().read_some(x.number, found.byte_count,
                              found.has_more || from.is_blocked(), at);
  else if (x.is_closed) // Its lines wait for those of others.
    from.schedule().read_nothing(x.number, at + fold_timeout_at_end);
  else
    from.schedule().read_nothing(x.number, x.cursor.due());
  files_->rotate_if_due(x, at);
  finish_if_done(x);
  return found.byte_count;
}

log_tailer_state::finding log_tailer_state::poll(output& from, stream& x,
                                                 time_point at) {
  const auto before = x.cursor.reached();
  const auto wanted = x.cursor.next();
  auto has_more = false;
  if (x.kind == tail_kind::watched || is_unread(x)) {
    x.cursor.skip_to(std::max(files_->end_of(x), before));
  } else {
    const auto bytes = files_->read(x, wanted);
    if (!bytes.empty())
      feed(from, x, bytes, at);
    // A request that goes back has found the end of a long line.
    has_more
      = bytes.size() == wanted.size || x.cursor.next().offset < wanted.offset;
  }
  const auto grown = x.cursor.reached() - before;
  return {.byte_count = size_t(grown),
          .is_news = grown > 0 || x.cursor.next().offset != wanted.offset,
          .has_more = has_more};
}

void log_tailer_state::feed(output& from, stream& x, std::string_view bytes,
                            time_point at) {
  for (auto is_left = true; is_left && !from.is_blocked();) {
    const auto begin = x.cursor.begin();
    is_left = from.feed(x, bytes, at);
    offer(x.kind, at);
    if (!from.filtered().empty()) {
      files_->append(x.filter_path, from.filtered());
      from.filtered_taken();
    }
    if (is_left)
      bytes.remove_prefix(x.cursor.begin() - begin);
  }
}

void log_tailer_state::offer(tail_kind kind, time_point at) {
  auto& from = outputs_[size_t(kind)];
  for (auto is_all = false; !is_all && !from.is_blocked();) {
    is_all = from.show(at);
    if (from.batch().empty())
      return;
    if (config_.console->offer(target_of(kind), from.batch())) {
      from.batch_taken();
    } else {
      from.batch_refused();
      config_.console->call_when_ready(target_of(kind),
                                       telling(console_ready{kind}));
    }
  }
}

// The console has no reader, and there is no filter.
bool log_tailer_state::is_unread(const stream& x) const {
  return x.kind != tail_kind::watched && x.filter_path.empty()
         && config_.console->is_closed(target_of(x.kind));
}

void log_tailer_state::check_space(size_t byte_count, time_point at) {
  const auto is_blocked
    = std::any_of(outputs_.begin(), outputs_.end(),
                  [](const auto& x) { return x.is_blocked(); });
  if ((byte_count == 0 && !is_blocked) || at < files_->next_check())
    return;
  files_->check_space(byte_count > 0, streams_.all(), at);
}

void log_tailer_state::plan_next() {
  auto due = std::optional<time_point>{};
  const auto consider = [&](std::optional<time_point> x) {
    if (x && (!due || *x < *due))
      due = x;
  };
  for (const auto& x : outputs_) {
    if (x.is_ready(now())) {
      if (!std::exchange(goes_on_, true))
        tell(self_, log_tailer_actor{self_}, tail_goes_on{});
      return;
    }
    if (!x.is_blocked())
      consider(x.due());
    else if (!streams_.is_empty()) // Whose workers write on.
      consider(files_->next_check());
  }
  if (!due || (timer_due_ && *timer_due_ <= *due))
    return;
  timer_due_ = due;
  tell_later(self_, *due - now(), tail_timer_fired{++timer_number_});
}

// The ports must not keep the actor alive: it is the actor that holds them.
template <class Message>
std::function<void()> log_tailer_state::telling(Message what) const {
  return [address = caf::actor_cast<caf::actor_addr>(self_), what] {
    if (const auto to = caf::actor_cast<log_tailer_actor>(address))
      tell_anonymously(to, what);
  };
}

log_tailer_actor spawn_log_tailer(caf::actor_system& system,
                                  log_tailer_config config) {
  using impl = actor_impl<log_tailer_actor, log_tailer_state>;
  if (config.has_own_thread)
    return system.spawn<impl, caf::detached>(std::move(config));
  return system.spawn<impl>(std::move(config));
}

} // namespace actorrun
