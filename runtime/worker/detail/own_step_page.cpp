#include "runtime/worker/detail/own_step_page.hpp"

#include "actors/core/stragglers/step_page.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

namespace actorrun::worker {

namespace {

using core::step_page;

constexpr auto page_size = step_page::word_count * sizeof(uint64_t);

// What the agent reads while it changes.
void store(uint64_t& word, uint64_t x) {
  std::atomic_ref{word}.store(x, std::memory_order_release);
}

} // namespace

own_step_page& own_step_page::instance() {
  static auto& x = *new own_step_page;
  return x;
}

own_step_page::own_step_page() {
  const auto* prefix = std::getenv("ACTORRUN_STEPS");
  if (prefix != nullptr && *prefix != '\0' && open(prefix))
    ::pthread_atfork(nullptr, nullptr, &forget);
}

// The lock says that a process uses the file: to the agent of another container, which
// does not see it, and to others of this session. It stays until the process ends.
bool own_step_page::open(const char* prefix) {
  const auto path = prefix + std::to_string(::getsid(0)) + ".steps";
  const auto fd
    = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY,
             S_IRUSR | S_IWUSR);
  if (fd < 0)
    return false;
  auto* place = MAP_FAILED;
  // A page that the file system has no room for would kill the program.
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0
      && ::posix_fallocate(fd, 0, page_size) == 0)
    place
      = ::mmap(nullptr, page_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (place == MAP_FAILED) {
    ::close(fd);
    return false;
  }
  words_ = static_cast<uint64_t*>(place);
  store(words_[step_page::count_word],
        0); // Of a program that this one replaces.
  store(words_[step_page::mark_word], step_page::mark);
  return true;
}

// The child does not speak for its parent.
void own_step_page::forget() {
  instance().words_ = nullptr;
}

void own_step_page::add(std::chrono::nanoseconds time) noexcept {
  if (words_ == nullptr)
    return;
  auto& count = words_[step_page::count_word];
  const auto number = count;
  const auto ns = std::max<int64_t>(time.count(), 0);
  store(words_[step_page::first_time_word + number % step_page::newest_max],
        static_cast<uint64_t>(ns));
  store(count, number + 1);
}

} // namespace actorrun::worker
