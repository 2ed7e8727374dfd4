#include "cli/top/feed.hpp"

#include "messages/formatted.hpp"
#include "runtime/status.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace actorrun::cli::top {

namespace {

/// The least between two pictures of a job.
constexpr auto watch_interval = std::chrono::milliseconds{100};

/// Timeout for a connection and the first status.
constexpr auto watch_limit = std::chrono::milliseconds{3'000};

/// Between two looks for a job.
constexpr auto look_interval = std::chrono::milliseconds{500};

bool is_same_kind(const event& a, const status_came& b) {
  const auto* x = std::get_if<status_came>(&a);
  return x != nullptr && x->job == b.job;
}

/// The process of this host that knows most of a job; none: there is none.
std::optional<local_job> find_job(const std::string& label) {
  const auto jobs = find_local_jobs();
  if (!jobs)
    return {};
  const auto i = std::ranges::find_if(
    *jobs, [&](const auto& x) { return x.label == label; });
  return i == jobs->end() ? std::nullopt : std::optional{*i};
}

} // namespace

wake_up::wake_up() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

wake_up::~wake_up() {
  ::close(fd_);
}

void wake_up::signal() {
  const auto one = uint64_t{1};
  [[maybe_unused]] const auto size = ::write(fd_, &one, sizeof one);
}

void wake_up::clear() {
  auto count = uint64_t{0};
  [[maybe_unused]] const auto size = ::read(fd_, &count, sizeof count);
}

void inbox::put(event x) {
  const auto lock = std::lock_guard{mutex_};
  if (const auto* news = std::get_if<status_came>(&x))
    std::erase_if(waiting_,
                  [&](const auto& y) { return is_same_kind(y, *news); });
  waiting_.push_back(std::move(x));
  ready_.signal();
}

std::vector<event> inbox::take() {
  const auto lock = std::lock_guard{mutex_};
  ready_.clear();
  return std::exchange(waiting_, {});
}

feed::feed(feed_source what, inbox& to)
  : what_(std::move(what)), to_(to), thread_([this] { run(); }) {}

feed::~feed() {
  stop_.signal();
  thread_.join();
}

void feed::run() {
  const auto how = watch_options{
    .interval = watch_interval, .limit = watch_limit, .stop = stop_.fd()};
  const auto on_status = [this](const v1::JobStatus& x) {
    to_.put(status_came{what_.key, x});
    return true;
  };
  do {
    auto why = std::string{"the job has no process on this host any more"};
    if (what_.remote) {
      if (const auto done = watch_status(*what_.remote, how, on_status); !done)
        why = done.error().text;
    } else if (const auto job = find_job(what_.key)) {
      if (const auto done = watch_status(*job, how, on_status); !done)
        why = done.error().text;
    }
    to_.put(answer_missing{what_.key, std::move(why)});
  } while (pause());
}

// False: it is to end.
bool feed::pause() {
  auto x = ::pollfd{stop_.fd(), POLLIN, 0};
  return ::poll(&x, 1, static_cast<int>(look_interval.count())) == 0;
}

} // namespace actorrun::cli::top
