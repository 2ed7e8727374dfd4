#include "actors/core/logs/log_retention.hpp"

#include <algorithm>
#include <utility>

namespace actorrun::core {

namespace {

uint64_t shown_bytes(const log_extent& x) {
  const auto kept = std::min(discard_keeps, x.free_to - x.base);
  return x.free_to - x.base - kept;
}

uint64_t unseen_bytes(const log_extent& x) {
  return x.end - x.free_to;
}

template <class Measure>
std::optional<size_t> most(std::span<const log_extent> files, Measure of) {
  const auto i = std::max_element(
    files.begin(), files.end(),
    [&](const auto& a, const auto& b) { return of(a) < of(b); });
  if (i == files.end() || of(*i) < discard_min)
    return {};
  return size_t(i - files.begin());
}

} // namespace

std::optional<discard_choice>
choose_discard(std::span<const log_extent> files) {
  if (const auto i = most(files, shown_bytes))
    return discard_choice{*i, files[*i].base + shown_bytes(files[*i]), false};
  if (const auto i = most(files, unseen_bytes))
    return discard_choice{*i, files[*i].end - unseen_bytes(files[*i]) / 2,
                          true};
  return {};
}

void space_ledger::asked(time_point now, bool is_flowing) {
  next_ = now
          + (is_flowing ? duration{space_interval}
                        : duration{space_interval_blocked});
}

bool space_ledger::is_news() {
  return reported_count_ == 0 && is_more_than_reported();
}

bool space_ledger::is_more_than_reported() {
  return std::exchange(reported_count_, byte_count_) != byte_count_;
}

} // namespace actorrun::core
