#include "cli/top/feed.hpp"

#include "cli/ended_jobs.hpp"
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

/// Looks into the journals of a job that is gone: they take long if they are large.
constexpr uint32_t end_looks_max = 20;

bool is_same_kind(const event& a, const status_came& b) {
  const auto* x = std::get_if<status_came>(&a);
  return x != nullptr && x->job == b.job;
}

/// The process of this host that knows most of a job; none: there is none.
std::optional<local_job> find_job(const feed_source& of) {
  const auto jobs = find_local_jobs();
  if (!jobs)
    return {};
  const auto i = std::ranges::find_if(*jobs, [&](const auto& x) {
    return x.label == of.label && (of.pid == 0 || of.pid == x.pid);
  });
  return i == jobs->end() ? std::nullopt : std::optional{*i};
}

int64_t now_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch())
    .count();
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
  add(std::move(x));
}

void inbox::put_and_wait(event x) {
  auto lock = std::unique_lock{mutex_};
  add(std::move(x));
  const auto before = take_count_;
  taken_.wait(lock, [&] { return take_count_ != before || is_closed_; });
}

void inbox::add(event x) {
  if (const auto* news = std::get_if<status_came>(&x))
    std::erase_if(waiting_,
                  [&](const auto& y) { return is_same_kind(y, *news); });
  waiting_.push_back(std::move(x));
  ready_.signal();
}

std::vector<event> inbox::take() {
  const auto lock = std::lock_guard{mutex_};
  ready_.clear();
  ++take_count_;
  taken_.notify_all();
  return std::exchange(waiting_, {});
}

void inbox::close() {
  const auto lock = std::lock_guard{mutex_};
  is_closed_ = true;
  taken_.notify_all();
}

feed::feed(feed_source what, inbox& to)
  : what_(std::move(what)), to_(to), thread_([this] { run(); }) {}

feed::~feed() {
  stop_.signal();
  thread_.join();
}

void feed::run() {
  do {
    auto why = watch();
    to_.put(answer_missing{what_.key, std::move(why), end_of_job()});
    is_over_ = is_gone_ && (end_ || end_looks_left_ == 0);
    is_lost_ = is_gone_ && (!end_ || end_->how == lost_job);
  } while (pause());
}

/// @returns why nothing comes any more
std::string feed::watch() {
  const auto how = watch_options{
    .interval = watch_interval, .limit = watch_limit, .stop = stop_.fd()};
  const auto on_status = [this](const v1::JobStatus& x) {
    is_over_ = false;
    is_lost_ = false;
    job_id_ = x.job_id();
    if (heard_since_ms_ == 0)
      heard_since_ms_ = now_ms();
    end_.reset();
    end_looks_left_ = end_looks_max;
    to_.put(status_came{what_.key, x, what_.pid});
    return true;
  };
  const auto job = what_.remote ? std::nullopt : find_job(what_);
  is_gone_ = !what_.remote && !job;
  if (is_gone_)
    return "the job has no process on this host any more";
  const auto done = what_.remote ? watch_status(*what_.remote, how, on_status)
                                 : watch_status(*job, how, on_status);
  return done ? "" : done.error().text;
}

// The last record may be written after the last process that answers has gone. As
// long as there is one, the job goes on; and of another host there is no journal.
std::optional<ended_job> feed::end_of_job() {
  if (!is_gone_ || end_ || end_looks_left_ == 0)
    return end_;
  --end_looks_left_;
  auto all
    = find_ended_jobs(what_.journal_folder,
                      job_id_.empty() ? what_.label : job_id_, {}, now_ms());
  // An earlier one that had its id is another job.
  if (!all.empty() && all.front().ended_ms >= heard_since_ms_)
    end_ = std::move(all.front());
  return end_;
}

// False: it is to end.
bool feed::pause() {
  auto x = ::pollfd{stop_.fd(), POLLIN, 0};
  return ::poll(&x, 1, static_cast<int>(look_interval.count())) == 0;
}

} // namespace actorrun::cli::top
