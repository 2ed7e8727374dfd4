#include "actors/core/logs/line_folder.hpp"

#include "actors/core/logs/line_label.hpp"
#include "actors/core/text.hpp"

#include <algorithm>
#include <cassert>
#include <functional>
#include <utility>

namespace actorrun::core {

// -- members ------------------------------------------------------------------

void line_folder::add(member_id id, uint32_t global_rank, std::string prefix) {
  const auto is_new
    = members_.emplace(id, member{global_rank, std::move(prefix), newest()})
        .second;
  assert(is_new);
  awaited_count_ += is_new ? 1 : 0;
}

void line_folder::retire(member_id id) {
  auto& who = members_.at(id);
  if (!std::exchange(who.is_awaited, false))
    return;
  --awaited_count_;
  for (auto& x : groups_)
    if (std::find(x.ranks.begin(), x.ranks.end(), who.global_rank)
        != x.ranks.end())
      --x.awaited_count;
}

void line_folder::remove(member_id id) {
  retire(id);
  members_.erase(id);
}

line_folder::mark line_folder::newest_of(member_id id) const {
  return members_.at(id).next;
}

// -- lines --------------------------------------------------------------------

bool line_folder::put(member_id id, std::string_view text, std::string_view end,
                      time_point now) {
  auto& who = members_.at(id);
  const auto hash = std::hash<std::string_view>{}(text);
  auto at = find(hash, text, end, std::max(who.next, first_));
  if (!at)
    at = begin_group({.text = std::string{text}.append(end),
                      .hash = hash,
                      .prefix = who.prefix,
                      .due = now + fold_timeout});
  auto& joined = groups_[*at - first_];
  joined.ranks.push_back(who.global_rank);
  joined.awaited_count += who.is_awaited ? 1 : 0;
  who.next = *at + 1;
  return !is_full();
}

std::optional<line_folder::mark> line_folder::find(size_t hash,
                                                   std::string_view text,
                                                   std::string_view end,
                                                   mark from) const {
  const auto found = by_hash_.find(hash);
  if (found == by_hash_.end())
    return {};
  const auto& marks = found->second;
  const auto i
    = std::find_if(std::lower_bound(marks.begin(), marks.end(), from),
                   marks.end(), [&](mark x) {
                     const auto line
                       = std::string_view{groups_[x - first_].text};
                     return line.size() == text.size() + end.size()
                            && line.starts_with(text) && line.ends_with(end);
                   });
  return i == marks.end() ? std::nullopt : std::optional{*i};
}

line_folder::mark line_folder::begin_group(group x) {
  const auto result = newest();
  byte_count_ += x.text.size();
  by_hash_[x.hash].push_back(result);
  groups_.push_back(std::move(x));
  return result;
}

bool line_folder::is_full() const {
  return groups_.size() >= fold_lines_max || byte_count_ >= fold_bytes_max;
}

bool line_folder::may_go(const group& x, time_point now) const {
  return x.due <= now || x.awaited_count >= awaited_count_ || is_full();
}

bool line_folder::show(time_point now, std::string& batch) {
  while (!groups_.empty() && may_go(groups_.front(), now)) {
    if (batch.size() >= batch_max)
      return false;
    show_oldest(batch);
  }
  return true;
}

void line_folder::show_oldest(std::string& batch) {
  auto& x = groups_.front();
  if (x.ranks.size() > 1) {
    std::sort(x.ranks.begin(), x.ranks.end());
    batch += "[×" + std::to_string(x.ranks.size()) + " " + to_ranges(x.ranks)
             + "] ";
  } else {
    batch += x.prefix;
  }
  batch += x.text;
  byte_count_ -= x.text.size();
  const auto marks = by_hash_.find(x.hash);
  marks->second.pop_front();
  if (marks->second.empty())
    by_hash_.erase(marks);
  groups_.pop_front();
  ++first_;
}

void line_folder::hurry(mark until, time_point now) {
  const auto count = until <= first_ ? 0 : until - first_;
  for (size_t i = 0; i < std::min<size_t>(count, groups_.size()); ++i)
    groups_[i].due = std::min(groups_[i].due, now + fold_timeout_at_end);
}

std::optional<time_point> line_folder::due() const {
  if (groups_.empty())
    return {};
  return groups_.front().due;
}

} // namespace actorrun::core
