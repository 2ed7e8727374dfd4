#include "cli/top/background_requests.hpp"

#include "cli/asked_job.hpp"
#include "cli/log_commands.hpp"
#include "cli/steer_command.hpp"
#include "cli/top/text_lines.hpp"
#include "runtime/job_logs.hpp"

#include <chrono>
#include <utility>

namespace actorrun::cli::top {

namespace {

/// Timeouts for the first answer; the coordinator asks all nodes for stacks.
constexpr auto log_limit = std::chrono::milliseconds{5'000};
constexpr auto stack_limit = std::chrono::milliseconds{6'000};

constexpr auto too_many = "too many requests wait for an answer";

std::string text_of(const result<steering_answer>& x) {
  if (!x)
    return "not done: " + x.error().text;
  return (x->is_done ? "" : "refused: ") + x->text;
}

} // namespace

background_requests::~background_requests() {
  to_.close();
  for (auto& x : all_) {
    x.stop.signal();
    x.thread.join();
  }
}

void background_requests::run(const steer_job& x) {
  auto asked = steer_arguments{x.request, job_of(x.job, x.pid)};
  const auto is_started = start([this, asked = std::move(asked)](request&) {
    to_.put(job_answered{text_of(ask_job(asked))});
  });
  if (!is_started)
    to_.put(job_answered{too_many});
}

void background_requests::run(const open_text& x) {
  const auto is_started = start([this, x](request& own) {
    if (x.what == verb::show_log)
      follow_log(x, own);
    else
      show_stack(x);
  });
  if (is_started)
    text_ = &all_.back();
  else
    end_text(x, too_many);
}

void background_requests::close_text() {
  if (text_ != nullptr)
    text_->stop.signal();
  text_ = nullptr;
}

bool background_requests::start(std::function<void(request&)> what) {
  reap();
  if (all_.size() >= request_count_max)
    return false;
  auto& own = all_.emplace_back();
  own.thread = std::thread{[&own, what = std::move(what)] {
    what(own);
    own.is_done = true;
  }};
  return true;
}

// One that has done all has at most to return: no wait.
void background_requests::reap() {
  std::erase_if(all_, [this](request& x) {
    if (!x.is_done)
      return false;
    x.thread.join();
    if (text_ == &x)
      text_ = nullptr;
    return true;
  });
}

// The number tells it from another job of this host with its id.
asked_job background_requests::job_of(const std::string& id,
                                      int64_t pid) const {
  if (arguments_.remote)
    return {"", arguments_.remote};
  return {pid == 0 ? id : std::to_string(pid), std::nullopt};
}

void background_requests::follow_log(const open_text& x, request& own) {
  auto asked = log_of(x.of);
  const auto job = locate(job_of(x.of.job, x.of.pid), log_limit);
  if (!job)
    return end_text(x, job.error().text);
  const auto how = log_reading_options{
    .what = request_of(asked), .limit = log_limit, .stop = own.stop.fd()};
  const auto show = [&](const v1::LogLines& y) {
    to_.put_and_wait(text_came{x.number, lines_of(y)});
    return true;
  };
  const auto done = read_logs(*job, how, show);
  end_text(x, done ? "this is the end" : done.error().text);
}

void background_requests::show_stack(const open_text& x) {
  const auto job = locate(job_of(x.of.job, x.of.pid), log_limit);
  if (!job)
    return end_text(x, job.error().text);
  const auto seen = read_stacks(*job, x.of.ranks, stack_limit);
  if (!seen)
    return end_text(x, seen.error().text);
  to_.put(text_came{x.number, lines_of(*seen)});
}

// For the text that is open; of a closed one nothing is shown any more.
void background_requests::end_text(const open_text& x, const std::string& why) {
  to_.put(text_came{x.number, {note_line(why)}});
}

} // namespace actorrun::cli::top
