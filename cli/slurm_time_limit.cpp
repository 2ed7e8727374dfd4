#include "cli/slurm_time_limit.hpp"

#include "cli/options/values.hpp"
#include "messages/formatted.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace actorrun::cli {

namespace {

using std::chrono::seconds;

/// In bytes. Of the answer, which is two short lines.
constexpr size_t limit_answer_size_max = 512;

/// Nodes ask one after the other, so that a large job does not ask all at once.
constexpr auto pause_per_node = std::chrono::milliseconds{5};
constexpr auto pause_max = std::chrono::seconds{10};

/// squeue counts in seconds, and rounds.
constexpr auto slack = seconds{1};

std::optional<int64_t> number_of(std::string_view text) {
  auto out = int64_t{0};
  const auto* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, out);
  constexpr auto max = int64_t{1'000'000};
  if (text.empty() || error != std::errc{} || at != end || out < 0 || out > max)
    return std::nullopt;
  return out;
}

/// What a shell writes that asks squeue, and gives it 20 s.
std::string ask_squeue(const time_limit_notice& x) {
  const auto command = formatted(
    "exec 2>&1; timeout -k 1 20 sh -c 'squeue --noheader --jobs={} --format=%L"
    " && squeue --noheader --steps={}.{} --format=\"%l %M\"'",
    x.job, x.job, x.step);
  auto out = std::string{};
  auto* const from = ::popen(command.c_str(), "re");
  if (from == nullptr)
    return out;
  auto place = std::array<char, limit_answer_size_max>{};
  out.resize(std::fread(place.data(), 1, place.size(), from));
  std::copy_n(place.begin(), out.size(), out.begin());
  ::pclose(from);
  return out;
}

} // namespace

result<std::optional<seconds>> parse_slurm_time(std::string_view text) {
  if (text == "UNLIMITED" || text == "NOT_SET")
    return std::optional<seconds>{};
  const auto dash = text.find('-');
  const auto has_days = dash != std::string_view::npos;
  const auto days = has_days ? number_of(text.substr(0, dash)) : 0;
  auto parts = split(has_days ? text.substr(dash + 1) : text, ':');
  if (parts.size() == 2)
    parts.insert(parts.begin(), "0");
  auto numbers = std::vector<int64_t>{};
  for (const auto part : parts)
    if (const auto x = number_of(part))
      numbers.push_back(*x);
  if (!days || parts.size() != 3 || numbers.size() != 3)
    return bad_argument(in_quotes(text) + " is no time");
  return std::optional{
    seconds{((*days * 24 + numbers[0]) * 60 + numbers[1]) * 60 + numbers[2]}};
}

result<std::optional<seconds>> time_left_in(std::string_view answer) {
  const auto lines = split(answer, '\n');
  const auto strange = [&] {
    const auto text = trimmed(lines.front());
    return system_failure(text.empty() ? "squeue says nothing about the job"
                                       : "squeue says " + in_quotes(text));
  };
  const auto of_job = parse_slurm_time(trimmed(lines.front()));
  if (!of_job || lines.size() < 2)
    return strange();
  const auto of_step = split(trimmed(lines[1]), ' ');
  if (of_step.size() != 2)
    return strange();
  const auto limit = parse_slurm_time(of_step[0]);
  const auto used = parse_slurm_time(of_step[1]);
  if (!limit || !used || !*used)
    return strange();
  if (!*limit)
    return *of_job;
  const auto left = std::max(seconds{0}, **limit - **used);
  return std::optional{*of_job ? std::min(**of_job, left) : left};
}

struct time_limit_watch::shared {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_over = false;
  callbacks calls; // Guarded by the mutex.

  /// @returns false if the watch is over
  template <class Duration>
  bool sleep(Duration time) {
    auto lock = std::unique_lock{mutex};
    return !changed.wait_for(lock, time, [this] { return is_over; });
  }

  void report_near(seconds left) {
    const auto lock = std::lock_guard{mutex};
    if (!is_over)
      calls.on_near(left);
  }

  void report_unknown(const std::string& why) {
    const auto lock = std::lock_guard{mutex};
    if (!is_over)
      calls.on_unknown(why);
  }
};

time_limit_watch::time_limit_watch(const time_limit_notice& when,
                                   callbacks calls)
  : shared_(std::make_shared<shared>()) {
  shared_->calls = std::move(calls);
  auto all = sigset_t{};
  auto before = sigset_t{};
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread{[x = shared_, when] { run(*x, when); }}.detach();
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

time_limit_watch::~time_limit_watch() {
  const auto lock = std::lock_guard{shared_->mutex};
  shared_->is_over = true;
  shared_->changed.notify_all();
}

void time_limit_watch::run(shared& x, const time_limit_notice& when) {
  const auto pause = std::min<std::chrono::milliseconds>(
    pause_max, when.node_rank * pause_per_node);
  if (!x.sleep(pause))
    return;
  for (auto is_first = true;; is_first = false) {
    const auto left = time_left_in(ask_squeue(when));
    if (!left)
      return x.report_unknown(left.error().text);
    if (!*left)
      return x.report_unknown("there is no time limit");
    const auto until = **left - when.before;
    if (until <= slack && is_first)
      return x.report_unknown(
        formatted("only {} s are left", (*left)->count()));
    if (until <= slack)
      return x.report_near(**left);
    if (!x.sleep(until))
      return;
  }
}

} // namespace actorrun::cli
