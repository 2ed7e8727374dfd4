#include "actors/timer_requests.hpp"

#include "messages/formatted.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

namespace actorrun {

using namespace core;

namespace {

uint64_t fault_count(const timer_line_counts& x) {
  return x.malformed + x.binary + x.oversized + x.torn;
}

} // namespace

timer_requests::timer_requests(std::shared_ptr<ports::timer_source> source,
                               log lines)
  : source_(std::move(source)), lines_(std::move(lines)) {}

size_t timer_requests::read(size_t limit) {
  buffer_.resize(timer_slice);
  const auto count
    = source_->read(std::span{buffer_.data(), std::min(limit, timer_slice)});
  bytes_ = {buffer_.data(), count};
  return count;
}

const timer_request* timer_requests::next() {
  return reader_.next(bytes_, request_) ? &request_ : nullptr;
}

void timer_requests::warn(time_point now) {
  const auto count = fault_count(reader_.counts());
  if (count == reported_count_
      || (reported_at_ && now - *reported_at_ < timer_warning_interval))
    return;
  lines_.warn(
    formatted("timer server skips {} lines that are no requests; the last: {}",
              count - reported_count_, to_string(*reader_.last_fault())));
  reported_count_ = count;
  reported_at_ = now;
}

void timer_requests::close() {
  reported_at_.reset();
  warn({});
  source_.reset();
  bytes_ = {};
  buffer_ = {};
}

} // namespace actorrun
