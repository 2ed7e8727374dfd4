#include "actors/core/logs/tail_output.hpp"

#include "actors/core/logs/line_label.hpp"

#include <algorithm>
#include <utility>

namespace actorrun::core {

namespace {

poll_limits limits_of(tail_kind kind) {
  return kind == tail_kind::watched ? watch_limits : poll_limits{};
}

/// Empties a text and keeps its memory, unless a long line has enlarged it.
void empty(std::string& text) {
  if (text.capacity() > 2 * batch_max)
    text = {};
  text.clear();
}

} // namespace

tail_output::tail_output(tail_kind kind, bool folds,
                         std::vector<std::string> filters)
  : schedule_(limits_of(kind)), filters_(std::move(filters)) {
  if (folds)
    folder_.emplace();
}

void tail_output::add(const tail_stream& x, time_point now) {
  if (x.kind == tail_kind::watched)
    schedule_.add(x.number, now + watch_limits.shortest);
  else
    schedule_.add(x.number);
  if (folder_)
    folder_->add(x.number, x.global_rank, x.prefix);
  if (folder_ && x.is_ended)
    folder_->retire(x.number);
}

void tail_output::remove(const tail_stream& x) {
  schedule_.remove(x.number);
  if (folder_)
    folder_->remove(x.number);
}

void tail_output::expect(tail_stream& x, uint64_t end, time_point now) {
  x.goal = std::max(x.goal, end);
  schedule_.wake(x.number);
  if (folder_ && !x.is_held) {
    x.mark = folder_->newest_of(x.number);
    folder_->hurry(x.mark, now);
  }
}

void tail_output::expect_end(tail_stream& x, uint64_t end, time_point now) {
  x.is_ended = true;
  x.cursor.flush_at(end);
  expect(x, end, now);
  schedule_.hurry(x.number);
  if (folder_ && !x.is_held)
    folder_->retire(x.number);
}

bool tail_output::feed(tail_stream& x, std::string_view bytes, time_point now) {
  const auto was_at_goal = x.is_at_goal();
  auto labels = labelling_sink{x.prefix, batch_};
  auto folds = std::optional<folding_sink>{};
  if (folder_)
    folds.emplace(*folder_, x.number, now);
  auto& shown = folds ? static_cast<line_sink&>(*folds) : labels;
  auto filter = filtering_sink{filters_, x.prefix, filtered_, shown};
  const auto is_left
    = x.cursor.take(bytes, now, x.filter_path.empty() ? shown : filter);
  if (folder_ && !was_at_goal) {
    x.mark = folder_->newest_of(x.number);
    folder_->hurry(x.mark, now);
  }
  return is_left;
}

bool tail_output::show(time_point now) {
  return !folder_ || folder_->show(now, batch_);
}

bool tail_output::is_shown(const tail_stream& x) const {
  return x.is_at_goal() && batch_.empty()
         && (!folder_ || folder_->has_shown(x.mark));
}

void tail_output::batch_taken() {
  empty(batch_);
}

void tail_output::filtered_taken() {
  empty(filtered_);
}

bool tail_output::is_ready(time_point now) const {
  return !is_blocked_ && schedule_.is_ready(now);
}

std::optional<time_point> tail_output::due() const {
  if (is_blocked_)
    return {};
  const auto stream = schedule_.due();
  const auto line = folder_ ? folder_->due() : std::nullopt;
  return stream && line ? std::min(*stream, *line) : stream ? stream : line;
}

} // namespace actorrun::core
