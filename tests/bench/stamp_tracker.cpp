#include "tests/bench/stamp_tracker.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

namespace actorrun::bench {

namespace {

stamps newer_than(const stamps& all, uint64_t generation, size_t count) {
  for (const auto& newest : all) {
    if (newest.generation <= generation)
      continue;
    auto same = stamps{};
    std::copy_if(
      all.begin(), all.end(), std::back_inserter(same),
      [&](const auto& x) { return x.generation == newest.generation; });
    if (same.size() >= count)
      return same;
  }
  return {};
}

failure too_few(size_t found, size_t wanted, uint64_t generation) {
  return unmeasured("only " + std::to_string(found) + " of "
                    + std::to_string(wanted)
                    + " workers started after generation "
                    + std::to_string(generation) + " in time");
}

} // namespace

result<stamp_tracker> stamp_tracker::open(std::string path) {
  const auto file = detail::unique_fd{
    ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)};
  auto watch = detail::unique_fd{::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)};
  if (!file || !watch
      || ::inotify_add_watch(watch.get(), path.c_str(), IN_MODIFY) < 0)
    return unmeasured(path + ": " + std::strerror(errno));
  return stamp_tracker{std::move(path), std::move(watch)};
}

std::string stamp_tracker::variable() const {
  return std::string{stamp_file_variable} + "=" + path_;
}

result<stamps> stamp_tracker::await(uint64_t generation, size_t count) {
  const auto due = deadline();
  for (;;) {
    if (auto found = newer_than(read(), generation, count); !found.empty())
      return found;
    if (!await_change(due))
      return too_few(newer_than(records_, generation, 1).size(), count,
                     generation);
  }
}

result<stamps> stamp_tracker::await_any(size_t count) {
  const auto due = deadline();
  for (;;) {
    if (read().size() >= count)
      return records_;
    if (!await_change(due))
      return too_few(records_.size(), count, 0);
  }
}

result<stamps> stamp_tracker::await_world(size_t known, int32_t world_size,
                                          size_t count, clock::time_point due) {
  for (;;) {
    auto found = stamps{};
    const auto& all = read();
    const auto first
      = all.begin() + std::ptrdiff_t(std::min(known, all.size()));
    std::copy_if(first, all.end(), std::back_inserter(found),
                 [&](const auto& x) { return x.world_size == world_size; });
    if (found.size() >= count)
      return found;
    if (!await_change(due))
      return unmeasured("only " + std::to_string(found.size()) + " of "
                        + std::to_string(count)
                        + " workers started in a world of "
                        + std::to_string(world_size) + " in time");
  }
}

const stamps& stamp_tracker::read() {
  const auto file
    = detail::unique_fd{::open(path_.c_str(), O_RDONLY | O_CLOEXEC)};
  auto next = stamp_record{};
  const auto size = sizeof next;
  while (::pread(file.get(), &next, size, off_t(records_.size() * size))
         == ssize_t(size))
    records_.push_back(next);
  return records_;
}

bool stamp_tracker::await_change(clock::time_point due) {
  using std::chrono::milliseconds;
  const auto left = std::chrono::ceil<milliseconds>(due - clock::now());
  if (left.count() <= 0)
    return false;
  auto ready = pollfd{.fd = watch_.get(), .events = POLLIN, .revents = 0};
  if (::poll(&ready, 1, int(left.count())) <= 0)
    return false;
  char ignored[4096];
  while (::read(watch_.get(), ignored, sizeof ignored) > 0) {
  }
  return true;
}

int64_t first_start(const stamps& xs) {
  auto first = xs.front().time;
  for (const auto& x : xs)
    first = std::min(first, x.time);
  return first;
}

int64_t last_start(const stamps& xs) {
  auto last = int64_t{0};
  for (const auto& x : xs)
    last = std::max(last, x.time);
  return last;
}

} // namespace actorrun::bench
