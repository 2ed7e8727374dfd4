#include "actors/core/hangs/ras_report.hpp"

#include "actors/core/text.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace actorrun::core {

namespace {

constexpr size_t name_size_max = 32;

/// NCCL counts to less; sums of several fit.
constexpr auto number_max = int64_t{1} << 44U;

/// More numbers of operations are not looked at, in one communicator.
constexpr size_t groups_max = 256;

/// A line, and how far it was read.
class words_of_line {
public:
  explicit words_of_line(std::string_view text) : text_(text) {}

  bool skip(std::string_view what) {
    if (!text_.starts_with(what))
      return false;
    text_.remove_prefix(what.size());
    return true;
  }

  /// Passes over all up to and with this.
  bool skip_to(std::string_view what) {
    const auto at = text_.find(what);
    if (at == text_.npos)
      return false;
    text_.remove_prefix(at + what.size());
    return true;
  }

  std::optional<int64_t> number() {
    auto out = int64_t{0};
    const auto* const end = text_.data() + text_.size();
    const auto done = std::from_chars(text_.data(), end, out);
    if (done.ec != std::errc{} || out < 0 || out > number_max)
      return {};
    text_.remove_prefix(static_cast<size_t>(done.ptr - text_.data()));
    return out;
  }

  /// Of letters, digits, `#` and `-`.
  std::string_view name() {
    const auto is_part = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
             || (c >= '0' && c <= '9') || c == '#' || c == '-';
    };
    const auto end = std::ranges::find_if_not(text_, is_part) - text_.begin();
    const auto out = text_.substr(0, static_cast<size_t>(end));
    text_.remove_prefix(out.size());
    return out.substr(0, name_size_max);
  }

private:
  std::string_view text_;
};

struct listed_rank {
  int64_t rank = 0;
  int64_t pid = 0;
};

/// Ranks that have launched equally many.
struct rank_group {
  int64_t count = 0;
  int64_t launched = 0;
  std::vector<listed_rank> listed{}; ///< Few of many are.
};

class ras_reader {
public:
  void read(std::string_view line) {
    auto words = words_of_line{line};
    if (words.skip("#"))
      return begin_communicator(line);
    if (words.skip("  Communicator ranks have different ")) {
      const auto operation = words.name();
      end_section();
      if (words.skip(" operation counts"))
        operation_ = operation;
      return;
    }
    if (operation_.empty())
      return;
    words.skip("  ");
    if (words.skip("Rank "))
      read_rank(words);
    else
      read_group(words);
  }

  std::vector<lagging_process> finish() {
    end_section();
    return std::move(found_);
  }

private:
  void begin_communicator(std::string_view line) {
    end_section();
    communicator_ = words_of_line{line}.name();
  }

  void begin_group(int64_t count, int64_t launched) {
    if (groups_.size() < groups_max)
      groups_.push_back({count, launched});
  }

  // `63 ranks have launched up to operation 48213`
  void read_group(words_of_line words) {
    const auto count = words.number();
    if (!count)
      return end_section(); // An empty line.
    if (words.skip(" ranks have launched up to operation "))
      begin_group(*count, words.number().value_or(0));
    else if (words.skip(" ranks have not launched any operations"))
      begin_group(*count, 0);
  }

  // `Rank 17 -- GPU 1 managed by process 4711 on node 10.0.0.3`, of the group before,
  // or `Rank 17 has launched up to operation 48212 -- GPU …`, a group of its own.
  void read_rank(words_of_line words) {
    const auto rank = words.number();
    if (!rank || groups_.size() == groups_max)
      return;
    if (words.skip(" has launched up to operation "))
      begin_group(1, words.number().value_or(0));
    else if (words.skip(" has not launched any operations"))
      begin_group(1, 0);
    if (groups_.empty() || !words.skip_to(" managed by process "))
      return;
    if (const auto pid = words.number())
      groups_.back().listed.push_back({*rank, *pid});
  }

  // Who is ahead of most waits as they do.
  void end_section() {
    auto all = int64_t{0};
    for (const auto& x : groups_)
      all += x.count;
    for (const auto& x : groups_) {
      auto ahead = int64_t{0};
      for (const auto& y : groups_)
        ahead += y.launched > x.launched ? y.count : 0;
      if (2 * ahead > all)
        for (const auto& who : x.listed)
          add(who, x.launched + 1, ahead);
    }
    groups_.clear();
    operation_.clear();
  }

  void add(const listed_rank& who, int64_t operation, int64_t ahead) {
    if (found_.size() == lagging_processes_max
        || std::ranges::find(found_, who.pid, &lagging_process::pid)
             != found_.end())
      return;
    found_.push_back({who.pid, "rank " + std::to_string(who.rank)
                                 + " of communicator " + communicator_
                                 + " has not launched " + operation_ + " "
                                 + std::to_string(operation) + ", which "
                                 + std::to_string(ahead) + " others have"});
  }

  std::string communicator_;
  std::string operation_; ///< Empty: the lines are about something else.
  std::vector<rank_group> groups_;
  std::vector<lagging_process> found_;
};

} // namespace

std::vector<lagging_process> find_lagging(std::string_view text) {
  auto reader = ras_reader{};
  while (!text.empty()) {
    auto line = take_until(text, '\n');
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    reader.read(line);
  }
  return reader.finish();
}

} // namespace actorrun::core
