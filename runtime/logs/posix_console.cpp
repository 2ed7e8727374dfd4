#include "runtime/logs/posix_console.hpp"

#include <limits>
#include <utility>

namespace actorrun::detail {

posix_console::posix_console(int out, int err)
  : out_{::isatty(out) == 1, console_queue::of(out)}, err_{::isatty(err) == 1,
                                                           console_queue::of(
                                                             err)} {}

posix_console::~posix_console() {
  out_.queue->forget(&out_);
  err_.queue->forget(&err_);
}

bool posix_console::offer(core::output_stream stream, std::string_view lines) {
  return of(stream).queue->offer(lines, console_backlog_max);
}

// Identified by the stream, not by this: both may be the same queue.
void posix_console::call_when_ready(core::output_stream stream,
                                    std::function<void()> fn) {
  const auto& x = of(stream);
  x.queue->call_when_ready(&x, std::move(fn));
}

bool posix_console::is_closed(core::output_stream stream) const {
  return of(stream).queue->is_closed();
}

void posix_console::note(std::string_view lines) {
  err_.queue->note(lines);
}

void posix_console::say(core::output_stream stream, std::string_view lines) {
  of(stream).queue->offer(lines, std::numeric_limits<size_t>::max());
}

bool posix_console::is_terminal(core::output_stream stream) const {
  return of(stream).is_terminal;
}

bool posix_console::is_flushed() const {
  return out_.queue->is_flushed() && err_.queue->is_flushed();
}

bool posix_console::flush(core::time_point due) {
  return out_.queue->flush(due, gave_up_) && err_.queue->flush(due, gave_up_);
}

void posix_console::give_up() {
  gave_up_ = true;
  out_.queue->interrupt();
  err_.queue->interrupt();
}

// New lines on the first stream while the second is awaited do not count:
// callers have no more to write.
void posix_console::call_when_flushed(std::function<void()> fn) {
  if (is_flushed()) {
    fn();
    return;
  }
  if (out_.queue == err_.queue) {
    out_.queue->call_when_flushed(std::move(fn));
    return;
  }
  out_.queue->call_when_flushed(
    [second = err_.queue, fn = std::move(fn)]() mutable {
      second->call_when_flushed(std::move(fn));
    });
}

const posix_console::channel& posix_console::of(core::output_stream x) const {
  return x == core::output_stream::out ? out_ : err_;
}

} // namespace actorrun::detail
