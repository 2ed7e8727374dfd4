#include "actors/core/protocol/end_row.hpp"

#include "actors/core/failure_text.hpp"
#include "actors/core/text.hpp"

#include <algorithm>

namespace actorrun::core {

namespace {

constexpr size_t words_max = 160;

std::string first_line(const std::string& text) {
  return one_line(text.substr(0, text.find('\n')), words_max);
}

std::string last_line(std::string text) {
  while (text.ends_with('\n') || text.ends_with(' '))
    text.pop_back();
  return one_line(text.substr(text.rfind('\n') + 1), words_max);
}

} // namespace

// A message may name a time or an address; then its ends are not alike, and nothing
// waits.
end_row::likeness end_row::likeness_of(const worker_failure& x) {
  const auto& more = x.details;
  return {x.host, x.global_rank, x.kind, x.code,
          more.message.empty() ? last_line(more.traceback)
                               : first_line(more.message)};
}

void end_row::add(const worker_failure& x, duration ran, time_point now) {
  auto like = likeness_of(x);
  const auto is_alike = last_ == like && ran < loop_run_max;
  count_ = is_alike ? count_ + 1 : 1;
  last_ = std::move(like);
  text_ = "rank " + std::to_string(x.global_rank) + " on "
          + one_line(x.host, words_max) + " "
          + one_line(what_happened(x), words_max) + " after "
          + duration_text(ran);
  next_start_ = now + wait();
}

duration end_row::wait() const {
  if (count_ < 2)
    return {};
  auto out = min_;
  for (auto i = uint32_t{2}; i < count_ && out < max_; ++i)
    out *= 2;
  return std::min(out, max_);
}

std::string end_row::text() const {
  return count_ < 2 ? std::string{}
                    : std::to_string(count_) + " ends alike: " + text_;
}

} // namespace actorrun::core
