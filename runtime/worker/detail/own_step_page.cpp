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

uint64_t now_ns() {
  return static_cast<uint64_t>(std::chrono::nanoseconds{
    std::chrono::steady_clock::now().time_since_epoch()}
                                 .count());
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
  // Of a program that this one replaces.
  for (auto word = size_t{0}; word < step_page::first_time_word; ++word)
    store(words_[word], 0);
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

// -- saves --------------------------------------------------------------------

void own_step_page::begin_save() noexcept {
  if (words_ == nullptr)
    return;
  const auto lock = std::scoped_lock{saves_mutex_};
  store(words_[step_page::saving_since_word], now_ns());
}

void own_step_page::end_save() noexcept {
  if (words_ == nullptr)
    return;
  const auto lock = std::scoped_lock{saves_mutex_};
  const auto since = words_[step_page::saving_since_word];
  const auto now = now_ns();
  const auto before = stop_saving(since, now);
  mark_saved(since == 0 ? now : since, before);
}

void own_step_page::close_save(bool is_complete) noexcept {
  if (words_ == nullptr)
    return;
  const auto lock = std::scoped_lock{saves_mutex_};
  const auto since = words_[step_page::saving_since_word];
  if (since == 0)
    return;
  const auto before = stop_saving(since, now_ns());
  if (is_complete)
    mark_saved(since, before);
}

void own_step_page::add_save(std::chrono::nanoseconds time) noexcept {
  if (words_ == nullptr)
    return;
  const auto lock = std::scoped_lock{saves_mutex_};
  const auto now = now_ns();
  const auto took
    = std::min(static_cast<uint64_t>(std::max<int64_t>(time.count(), 0)), now);
  auto& saving = words_[step_page::saving_word];
  const auto before = saving;
  store(saving, before + took);
  mark_saved(now - took, before);
}

/// At worst the agent reads too little for a moment.
/// @returns how long it had saved before
uint64_t own_step_page::stop_saving(uint64_t since, uint64_t now) {
  auto& saving = words_[step_page::saving_word];
  const auto before = saving;
  if (since == 0)
    return before;
  store(words_[step_page::saving_since_word], 0);
  store(saving, before + (now - since));
  return before;
}

// Another thread may have saved later work meanwhile.
void own_step_page::mark_saved(uint64_t up_to, uint64_t saving_before) {
  if (up_to >= words_[step_page::saved_up_to_word]) {
    store(words_[step_page::saving_before_word], saving_before);
    store(words_[step_page::saved_up_to_word], up_to);
  }
  auto& count = words_[step_page::save_count_word];
  store(count, count + 1);
}

} // namespace actorrun::worker
