#include "runtime/hosts/console_relay.hpp"

#include <cerrno>
#include <utility>

#include <sys/epoll.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

constexpr size_t read_size = 64 * 1024;

} // namespace

relayed_stream::relayed_stream(reactor& loop, program_console& console,
                               core::output_stream to, unique_fd fd,
                               std::string label, hooks calls)
  : loop_(loop), console_(console), to_(to), fd_(std::move(fd)),
    lines_(std::move(label)), hooks_(std::move(calls)) {
  loop_.watch(fd_.get(), EPOLLIN, [this](uint32_t) { read_some(); });
}

relayed_stream::~relayed_stream() {
  pause();
}

void relayed_stream::pause() {
  if (fd_)
    loop_.unwatch(fd_.get());
}

// One piece at a time, so that no host keeps the others waiting.
void relayed_stream::read_some() {
  char piece[read_size];
  const auto n = ::read(fd_.get(), piece, sizeof piece);
  if (n < 0 && (errno == EAGAIN || errno == EINTR))
    return;
  if (n > 0)
    take({piece, static_cast<size_t>(n)});
  else
    end();
  if (!flush()) {
    pause();
    hooks_.on_blocked();
  } else if (is_ended_) {
    hooks_.on_end();
  }
}

void relayed_stream::take(std::string_view bytes) {
  while (hooks_.on_line && !bytes.empty()) {
    const auto end = bytes.find('\n');
    head_ += bytes.substr(0, end);
    if (end == bytes.npos && head_.size() < core::labelled_line_max)
      return;
    bytes.remove_prefix(end == bytes.npos ? bytes.size() : end + 1);
    const auto line = std::exchange(head_, {});
    if (!hooks_.on_line(line))
      lines_.add(line + '\n', batch_);
  }
  lines_.add(bytes, batch_);
}

void relayed_stream::end() {
  lines_.add(std::exchange(head_, {}), batch_);
  lines_.end(batch_);
  pause();
  fd_.reset();
  is_ended_ = true;
}

bool relayed_stream::flush() {
  if (batch_.empty())
    return true;
  if (!console_.offer(to_, batch_))
    return false;
  batch_.clear();
  return true;
}

bool relayed_stream::resume() {
  if (!flush())
    return false;
  if (fd_)
    loop_.watch(fd_.get(), EPOLLIN, [this](uint32_t) { read_some(); });
  return true;
}

void relayed_stream::cut() {
  batch_.clear();
  if (is_ended_)
    return;
  end();
  if (!flush())
    batch_.clear();
}

} // namespace actorrun::detail
