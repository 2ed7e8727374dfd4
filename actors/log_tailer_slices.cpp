// The part of the log tailer that reads and shows.
#include "actors/log_tailer.hpp"

#include <algorithm>
#include <utility>

namespace actorrun {

using namespace core;

namespace {

/// What a wake-up is about, and which one of these.
enum class reason : uint64_t { go_on, timer, console, growth };

constexpr uint64_t reason_count = 4;

constexpr uint64_t code(reason why, uint64_t number = 0) {
  return number * reason_count + static_cast<uint64_t>(why);
}

constexpr tail_kind shown_kinds[] = {tail_kind::out, tail_kind::err};

output_stream target_of(tail_kind kind) {
  return kind == tail_kind::err ? output_stream::err : output_stream::out;
}

} // namespace

void log_tailer_state::wake_up(uint64_t what) {
  const auto number = what / reason_count;
  switch (static_cast<reason>(what % reason_count)) {
    case reason::go_on:
      goes_on_ = false;
      break;
    case reason::timer:
      if (number != timer_number_)
        return;
      timer_due_.reset();
      break;
    case reason::console:
      if (number < outputs_.size())
        outputs_[number].unblock();
      break;
    case reason::growth:
      if (auto* x = streams_.find(number)) {
        x->is_armed = false;
        output_of(*x).schedule().wake(number);
      }
      if (goes_on_)
        return;
      break;
  }
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
    finish(x); // It is not shown: nobody misses anything.
    return 0;
  }
  auto found = poll(from, x, at);
  if (!found.is_news && !from.is_blocked()) {
    files_->find_cut(x);
    // A write between the look and the arming would go unnoticed.
    if (!x.is_closed)
      files_->arm(x, waking(code(reason::growth, x.number)));
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
      config_.console->call_when_ready(
        target_of(kind), waking(code(reason::console, uint64_t(kind))));
    }
  }
}

// Nobody reads the console, and nobody looks for needles.
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
        tell(self_, log_tailer_actor{self_}, tail_wake_up{code(reason::go_on)});
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
  tell_later(self_, *due - now(),
             tail_wake_up{code(reason::timer, ++timer_number_)});
}

// The ports must not keep the actor alive: it is the actor that holds them.
std::function<void()> log_tailer_state::waking(uint64_t what) const {
  return [address = caf::actor_cast<caf::actor_addr>(self_), what] {
    if (const auto to = caf::actor_cast<log_tailer_actor>(address))
      tell_anonymously(to, tail_wake_up{what});
  };
}

} // namespace actorrun
