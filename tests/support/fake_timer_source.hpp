// A FIFO, a notify socket and processes in memory: a test writes to them and
// decides which process belongs to which worker.
#pragma once

#include "actors/ports/timer_source.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace actorrun::test {

/// Calls back on each write, in the test's own thread.
class fake_timer_source final : public ports::timer_source {
public:
  static constexpr size_t full_size = 60 * 1024;

  size_t read(std::span<char> into) override {
    const auto count = std::min(into.size(), bytes_.size());
    std::copy_n(bytes_.begin(), count, into.begin());
    bytes_.erase(0, count);
    ++read_count;
    if (after_read)
      after_read();
    return count;
  }

  size_t size() const override { return bytes_.size(); }
  bool is_full() const override { return bytes_.size() >= full_size; }
  core::duration wall_offset() const override { return offset; }

  void call_when_ready(std::function<void()> fn) override {
    ++question_count;
    if (call_)
      return;
    call_ = std::move(fn);
    tell();
  }

  // -- what a test does -------------------------------------------------------

  void write(std::string_view text) {
    bytes_ += text;
    tell();
  }

  /// Writes to the FIFO without calling back.
  void write_unheard(std::string_view text) { bytes_ += text; }

  bool is_waited_for() const { return static_cast<bool>(call_); }

  core::duration offset{0}; ///< The wall clock minus the monotonic one.
  uint64_t read_count = 0;
  uint64_t question_count = 0; ///< How often a callback was requested.
  /// Runs after each read, as other processes may.
  std::function<void()> after_read{};

private:
  void tell() {
    if (!bytes_.empty() && call_)
      std::exchange(call_, {})();
  }

  std::string bytes_;
  std::function<void()> call_;
};

class fake_notice_source final : public ports::notice_source {
public:
  std::optional<ports::notice> next() override {
    if (waiting_.empty())
      return std::nullopt;
    last_ = std::move(waiting_.front());
    waiting_.pop_front();
    return ports::notice{last_.first, last_.second};
  }

  void call_when_ready(std::function<void()> fn) override {
    call_ = std::move(fn);
    tell();
  }

  void send(int64_t sender, std::string text) {
    waiting_.emplace_back(sender, std::move(text));
    tell();
  }

  void send_unheard(int64_t sender, std::string text) {
    waiting_.emplace_back(sender, std::move(text));
  }

private:
  void tell() {
    if (!waiting_.empty() && call_)
      std::exchange(call_, {})();
  }

  std::deque<std::pair<int64_t, std::string>> waiting_;
  std::pair<int64_t, std::string> last_;
  std::function<void()> call_;
};

class fake_session_members final : public ports::session_members {
public:
  std::optional<int64_t> worker_of(int64_t pid) override {
    const auto i = workers.find(pid);
    return i == workers.end() ? std::nullopt : std::optional{i->second};
  }

  std::optional<uint64_t> birth_of(int64_t pid) override {
    ++birth_count;
    const auto i = births.find(pid);
    return i == births.end() ? std::nullopt : std::optional{i->second};
  }

  /// Adds a process and the worker that it belongs to.
  void add(int64_t pid, int64_t worker, uint64_t birth = 1) {
    workers[pid] = worker;
    births[pid] = birth;
  }

  void remove(int64_t pid) {
    workers.erase(pid);
    births.erase(pid);
  }

  std::map<int64_t, int64_t> workers; ///< By pid.
  std::map<int64_t, uint64_t> births;
  uint64_t birth_count = 0;
};

} // namespace actorrun::test
