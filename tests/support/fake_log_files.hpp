// A disk in memory: a test writes to the files, and a log tailer reads them.
#pragma once

#include "actors/ports/log_files.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace actorrun::test {

class fake_log_files final : public ports::log_files {
public:
  result<ports::log_file_id> open(const std::string& path) override {
    if (unusable.contains(path))
      return failure{errc::log_failed, "it is cursed"};
    const auto id = ports::log_file_id{++last_id_};
    paths_[id] = path;
    files_[path]; // Creates it if missing.
    return id;
  }

  size_t read(ports::log_file_id id, uint64_t offset,
              std::span<char> into) override {
    const auto& text = of(id).text;
    ++read_count;
    read_largest = std::max(read_largest, into.size());
    if (unreadable.contains(paths_.at(id)) || offset >= text.size())
      return 0;
    const auto count = std::min<size_t>(into.size(), text.size() - offset);
    std::copy_n(text.begin() + ptrdiff_t(offset), count, into.begin());
    read_bytes += count;
    return count;
  }

  uint64_t size(ports::log_file_id id) const override {
    return of(id).text.size();
  }

  void call_when_grown(ports::log_file_id id,
                       std::function<void()> fn) override {
    ++arm_count;
    if (before_arming)
      std::exchange(before_arming, nullptr)();
    of(id).on_growth = std::move(fn);
  }

  result<uint64_t> rotate(ports::log_file_id id, uint64_t limit,
                          uint32_t keep) override {
    ++rotate_count;
    const auto& path = paths_.at(id);
    if (unrotatable.contains(path))
      return failure{errc::log_failed, "no space left"};
    auto& x = of(id);
    for (auto i = keep; i > 1; --i)
      if (const auto older = files_.find(numbered(path, i - 1));
          older != files_.end())
        files_[numbered(path, i)].text = older->second.text;
    files_[numbered(path, 1)].text = x.text.substr(x.hole, limit - x.hole);
    return cut(x, limit);
  }

  uint64_t discard(ports::log_file_id id, uint64_t limit) override {
    auto& x = of(id);
    REQUIRE(limit > x.hole);
    discarded[paths_.at(id)] += x.text.substr(x.hole, limit - x.hole);
    short_of_space -= std::min<uint64_t>(short_of_space, limit - x.hole);
    return cut(x, limit);
  }

  bool is_short_of_space(ports::log_file_id) const override {
    ++space_question_count;
    return short_of_space > 0;
  }

  bool append(const std::string& path, std::string_view lines) override {
    if (unusable.contains(path))
      return false;
    ++append_count;
    files_[path].text += lines;
    return true;
  }

  void close(ports::log_file_id id) override { REQUIRE(paths_.erase(id) == 1); }

  // -- what a test does -------------------------------------------------------

  /// Writes as a worker; notifies whoever waits for it.
  void write(const std::string& path, std::string_view text) {
    auto& x = files_[path];
    x.text += text;
    if (auto fn = std::exchange(x.on_growth, nullptr)) {
      ++notice_count;
      fn();
    }
  }

  /// Empties a file, as another program may.
  void empty(const std::string& path) { files_.at(path).text.clear(); }

  std::set<std::string> unusable;      ///< They cannot be opened or written …
  std::set<std::string> unreadable;    ///< … or read …
  std::set<std::string> unrotatable;   ///< … or rotated.
  bool makes_holes = false;            ///< Offsets stay what they are.
  uint64_t short_of_space = 0;         ///< Bytes that are wanted back.
  std::function<void()> before_arming; ///< Called once.

  // -- what a test sees -------------------------------------------------------

  std::string text(const std::string& path) const {
    const auto i = files_.find(path);
    return i == files_.end() ? "(none)" : i->second.text.substr(i->second.hole);
  }

  size_t open_count() const { return paths_.size(); }

  size_t read_count = 0;
  uint64_t read_bytes = 0;
  size_t read_largest = 0; ///< Bytes wanted by one call.
  size_t arm_count = 0;
  size_t notice_count = 0; ///< Writes that cost their writer a notice.
  size_t rotate_count = 0;
  size_t append_count = 0;
  mutable size_t space_question_count = 0;
  std::map<std::string, std::string> discarded;

private:
  struct file {
    std::string text;
    uint64_t hole = 0; ///< Bytes that are gone, at the beginning.
    std::function<void()> on_growth;
  };

  static std::string numbered(const std::string& path, uint32_t i) {
    return path + "." + std::to_string(i);
  }

  uint64_t cut(file& x, uint64_t limit) {
    if (makes_holes) {
      std::fill_n(x.text.begin(), limit, '\0');
      x.hole = limit;
      return 0;
    }
    x.text.erase(0, limit);
    return limit;
  }

  file& of(ports::log_file_id id) { return files_.at(paths_.at(id)); }
  const file& of(ports::log_file_id id) const {
    return files_.at(paths_.at(id));
  }

  uint64_t last_id_ = 0;
  std::map<ports::log_file_id, std::string> paths_;
  std::map<std::string, file> files_;
};

} // namespace actorrun::test
