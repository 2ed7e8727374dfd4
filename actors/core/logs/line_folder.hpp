// Shows a line that many ranks write at about the same time as one line.
#pragma once

#include "actors/core/logs/line_sink.hpp"
#include "actors/core/time.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace actorrun::core {

/// How long a line waits for other ranks to write it, too …
inline constexpr auto fold_timeout = std::chrono::milliseconds{100};

/// … and how long if a request waits for the line.
inline constexpr auto fold_timeout_at_end = std::chrono::milliseconds{10};

/// At most this many lines and bytes wait; then the oldest are shown.
inline constexpr size_t fold_lines_max = 4'096;
inline constexpr size_t fold_bytes_max = 1024 * 1024;

/// Groups equal lines of several members, in one order that keeps each
/// member's own: a member joins only groups behind the last one it is in.
///
/// A group is shown when all members are in it, or when it has waited
/// `fold_timeout`, and never before an older one.
class line_folder {
public:
  using member_id = uint64_t;
  /// Counts the groups that were ever begun.
  using mark = uint64_t;

  /// @param prefix Stands before lines that no other member has written.
  /// @pre the id is new
  void add(member_id member, uint32_t global_rank, std::string prefix);

  /// No line waits for this member any more; it may still write some. O(N) for
  /// N lines that wait.
  void retire(member_id member);

  /// Forgets a member; its lines stay.
  void remove(member_id member);

  /// A line of a member's. @pre `member` was added and not removed
  /// @returns whether there is room for another one; this one is taken anyway
  bool put(member_id member, std::string_view text, std::string_view end,
           time_point now);

  /// Moves lines that are due to the end of `batch`, until it has `batch_max`
  /// bytes.
  /// @returns whether there was room for all of them
  bool show(time_point now, std::string& batch);

  /// What was put before `until` is due in `fold_timeout_at_end`.
  void hurry(mark until, time_point now);

  /// When a line is due next; none if none waits.
  std::optional<time_point> due() const;

  /// Comes after all that has been put.
  mark newest() const { return first_ + groups_.size(); }
  /// Comes after all that a member has put.
  mark newest_of(member_id member) const;
  /// Whether all before `x` has been shown.
  bool has_shown(mark x) const { return x <= first_; }

private:
  struct group {
    std::string text; ///< With its line end.
    size_t hash = 0;
    std::string prefix; ///< Of the first member.
    time_point due{};
    std::vector<uint32_t> ranks{};
    size_t awaited_count = 0; ///< Members in it that have not retired.
  };

  struct member {
    uint32_t global_rank = 0;
    std::string prefix;
    mark next = 0; ///< It may join groups from this one on.
    bool is_awaited = true;
  };

  std::optional<mark> find(size_t hash, std::string_view text,
                           std::string_view end, mark from) const;
  mark begin_group(group x);
  bool is_full() const;
  bool may_go(const group& x, time_point now) const;
  void show_oldest(std::string& batch);

  std::map<member_id, member> members_;
  size_t awaited_count_ = 0;
  std::deque<group> groups_; ///< By age, so by due time.
  mark first_ = 0;           ///< Of `groups_.front()`.
  size_t byte_count_ = 0;
  /// Groups by the hash of their text, the oldest first.
  std::unordered_map<size_t, std::deque<mark>> by_hash_;
};

/// The way of one member's lines into a folder.
class folding_sink final : public line_sink {
public:
  folding_sink(line_folder& folder, line_folder::member_id member,
               time_point now)
    : folder_(folder), member_(member), now_(now) {}

  bool put(std::string_view text, std::string_view end) override {
    return folder_.put(member_, text, end, now_);
  }

private:
  line_folder& folder_;
  line_folder::member_id member_;
  time_point now_;
};

} // namespace actorrun::core
