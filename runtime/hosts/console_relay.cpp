#include "runtime/hosts/console_relay.hpp"

#include "actors/core/hosts/agent_order.hpp"

#include <algorithm>
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
    take_out_signs({piece, static_cast<size_t>(n)});
  else
    end();
  if (!flush()) {
    pause();
    hooks_.on_blocked();
  } else if (is_ended_) {
    hooks_.on_end();
  }
}

// A sign is written in one piece, and may come in several.
void relayed_stream::take_out_signs(std::string_view bytes) {
  constexpr auto sign = core::life_sign;
  if (!hooks_.on_life_sign
      || (sign_.empty() && bytes.find(sign.front()) == bytes.npos))
    return take(bytes);
  const auto all = std::exchange(sign_, {}).append(bytes);
  auto rest = std::string_view{all};
  for (auto at = rest.find(sign); at != rest.npos; at = rest.find(sign)) {
    take(rest.substr(0, at));
    rest.remove_prefix(at + sign.size());
    hooks_.on_life_sign();
  }
  auto size = std::min(rest.size(), sign.size() - 1);
  while (!rest.ends_with(sign.substr(0, size)))
    --size;
  take(rest.substr(0, rest.size() - size));
  sign_ = rest.substr(rest.size() - size);
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
  take(std::exchange(sign_, {}));
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
