#include "tests/bench/line_checker.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace actorrun::bench {

namespace {

/// Size of a pipe without privileges: the same for all writers.
constexpr size_t pipe_size = 1024 * 1024;

/// Maximum length of a line; longer ones count as torn.
constexpr size_t line_max = 64 * 1024;

/// A line that contains this is only a piece of a line.
constexpr std::string_view part_of_filler = "....";

} // namespace

result<line_checker> line_checker::open(size_t worker_count) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return unmeasured(std::string{"no pipe: "} + std::strerror(errno));
  ::fcntl(ends[1], F_SETPIPE_SZ, int(pipe_size));
  return line_checker{detail::unique_fd{ends[0]}, detail::unique_fd{ends[1]},
                      worker_count};
}

result<void> line_checker::await_lines(size_t count) {
  auto input = pollfd{.fd = reading_.get(), .events = POLLIN, .revents = 0};
  const auto limit = int(std::chrono::milliseconds{timeout}.count());
  while (count > 0) {
    auto x = '\0';
    if (::poll(&input, 1, limit) != 1 || ::read(input.fd, &x, 1) != 1)
      return unmeasured("the launcher does not show the first lines");
    count -= x == '\n';
  }
  return {};
}

result<line_account>
line_checker::read(uint64_t line_count,
                   const std::function<void(uint64_t)>& on_part) {
  auto buffer = std::vector<char>(pipe_size + line_max);
  auto kept = size_t{0}; // Bytes of an incomplete line.
  auto begin = clock::time_point{};
  auto end = clock::time_point{};
  auto input = pollfd{.fd = reading_.get(), .events = POLLIN, .revents = 0};
  const auto limit = int(std::chrono::milliseconds{timeout}.count());
  for (;;) {
    if (::poll(&input, 1, limit) != 1)
      return unmeasured("the launcher falls silent and does not end");
    const auto count = ::read(input.fd, buffer.data() + kept, pipe_size);
    if (count <= 0)
      break;
    end = clock::now();
    if (account_.whole == 0)
      begin = end;
    auto text = std::string_view{buffer.data(), kept + size_t(count)};
    for (auto at = text.find('\n'); at != text.npos; at = text.find('\n')) {
      look_at(text.substr(0, at));
      text.remove_prefix(at + 1);
    }
    if (text.size() > line_max)
      return unmeasured("the launcher writes lines without an end");
    kept = text.size();
    std::memmove(buffer.data(), text.data(), kept);
    if (on_part)
      on_part(account_.whole);
  }
  account_.torn += kept > 0;
  for (const auto x : next_)
    account_.lost += line_count - std::min(x, line_count);
  account_.seconds = std::chrono::duration<double>{end - begin}.count();
  return account_;
}

result<shown_text> line_checker::read_text() {
  auto shown = shown_text{};
  auto part = std::vector<char>(line_max);
  auto input = pollfd{.fd = reading_.get(), .events = POLLIN, .revents = 0};
  const auto limit = int(std::chrono::milliseconds{timeout}.count());
  for (;;) {
    if (::poll(&input, 1, limit) != 1)
      return unmeasured("the launcher falls silent and does not end");
    const auto count = ::read(input.fd, part.data(), part.size());
    if (count <= 0)
      return shown;
    shown.last = stamp_now();
    shown.text.append(part.data(), size_t(count));
  }
}

void line_checker::look_at(std::string_view line) {
  const auto mark = line.find(line_mark);
  if (mark == line.npos) {
    account_.torn += line.find(part_of_filler) != line.npos;
    return; // Otherwise it is a line of the launcher itself.
  }
  const auto name = parse_line(line.substr(mark));
  if (!name || name->rank >= next_.size()) {
    ++account_.torn;
    return;
  }
  auto& next = next_[name->rank];
  ++account_.whole;
  if (name->number < next) {
    ++account_.misplaced;
    return;
  }
  account_.lost += name->number - next;
  next = name->number + 1;
}

} // namespace actorrun::bench
