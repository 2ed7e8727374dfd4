#include "runtime/worker/detail/error_writer.hpp"

#include "runtime/worker/detail/fixed_text.hpp"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <ctime>

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

namespace actorrun::recording {

namespace {

/// Room for what is between the texts.
constexpr auto frame_size = size_t{256};

char path[PATH_MAX];
char draft[PATH_MAX + 32];
pid_t owner = 0;
char document[json_expansion_max * (message_max + stack_max) + frame_size];

std::atomic<pid_t> writer = 0; ///< The thread.
std::atomic<bool> is_over = false;
static_assert(std::atomic<pid_t>::is_always_lock_free);
static_assert(std::atomic<bool>::is_always_lock_free);

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const auto n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return false;
    text.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

void complain(std::string_view why) {
  static char buffer[PATH_MAX + 256];
  auto note = fixed_text{buffer};
  note.put("actorrun: warning: the error file ")
    .put(path)
    .put(" cannot be written: ")
    .put(why)
    .put("\n");
  write_all(STDERR_FILENO, note.view());
}

std::string_view compose(std::string_view message, std::string_view stack) {
  auto now = timespec{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  auto text = fixed_text{document};
  text.put(R"({"message": {"message": ")")
    .put_json(message.substr(0, message_max))
    .put(R"(", "extraInfo": {"py_callstack": ")")
    .put_json(end_of(stack, stack_max))
    .put(R"(", "timestamp": ")")
    .put_number(static_cast<uint64_t>(now.tv_sec))
    .put(R"("}}})");
  return {document, text.size()};
}

// Torch's @record gives the file the same rights: those of the umask.
bool replace_file(std::string_view text) {
  constexpr auto mode = 0666;
  ::unlink(draft);
  const auto fd = ::open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0)
    return false;
  auto written = write_all(fd, text);
  written = ::close(fd) == 0 && written;
  if (written && ::rename(draft, path) == 0)
    return true;
  const auto error = errno;
  ::unlink(draft);
  errno = error;
  return false;
}

} // namespace

bool open_error_file(std::string_view name) {
  auto text = fixed_text{path};
  if (!name.starts_with('/')) {
    if (::getcwd(path, sizeof path) == nullptr)
      return false;
    text.cut(::strlen(path));
    text.put("/");
  }
  if (text.size() + name.size() >= sizeof path)
    return false;
  text.put(name);
  path[text.size()] = '\0';
  owner = ::getpid();
  writer = 0;
  is_over = false;
  ::snprintf(draft, sizeof draft, "%s.%d.tmp", path, owner);
  return true;
}

bool is_recording() {
  return owner != 0 && owner == ::getpid();
}

// What is not a file, /dev/null above all, must not be replaced by one.
void write_error(std::string_view message, std::string_view stack) {
  struct stat facts {};
  if (::stat(path, &facts) == 0 && !S_ISREG(facts.st_mode))
    return complain("it is no regular file");
  if (!replace_file(compose(message, stack)))
    complain(::strerrordesc_np(errno));
}

turn take_turn() {
  const auto self = ::gettid();
  auto present = pid_t{0};
  if (writer.compare_exchange_strong(present, self))
    return turn::ours;
  return present == self && !is_over ? turn::ours_again : turn::taken;
}

void end_turn() {
  is_over = true;
}

void await_turn() {
  constexpr auto pause = timespec{0, 1'000'000};
  constexpr auto pauses_max = 2'000;
  for (auto i = 0; i < pauses_max && !is_over; ++i)
    ::nanosleep(&pause, nullptr);
}

} // namespace actorrun::recording
