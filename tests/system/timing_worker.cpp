// A worker that sets timers by lines as torch's clients write them, and gets
// stuck in many ways. Its arguments are steps, one after the other:
//
//   acquire SCOPE MS SIGNAL   a timer that expires in MS
//   release SCOPE
//   as PID                    the pid in later requests (default: its own)
//   write TEXT                text for the FIFO, unchanged; `\n` is a line end
//   flood COUNT               pairs of acquire and release, as fast as it can
//   blob COUNT                bytes without a line end, zeros among them
//   notify TEXT               a datagram to NOTIFY_SOCKET, as sd_notify(3)
//   sleep MS
//   hang lock|read|spin|stop|pause
//   exit CODE                 (default: 0, after the last step)
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace {

// Tests time out long before; no process of a test stays forever.
constexpr auto life_s = 60u;

constexpr auto ms_per_s = 1'000L;
constexpr auto ns_per_ms = 1'000'000L;

long named_pid = 0;

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "timing_worker: %s (%s)\n", why.c_str(),
               std::strerror(errno));
  std::exit(99);
}

const char* variable(const char* name) {
  const auto* value = std::getenv(name);
  if (value == nullptr)
    give_up(std::string{name} + " is not set");
  return value;
}

// Opens and writes anew for each message.
void write_once(std::string_view text) {
  const auto fd
    = ::open(variable("TORCHELASTIC_TIMER_FILE"), O_WRONLY | O_CLOEXEC);
  if (fd < 0)
    give_up("open");
  while (!text.empty()) {
    const auto count = ::write(fd, text.data(), text.size());
    if (count < 0)
      give_up("write");
    text.remove_prefix(static_cast<size_t>(count));
  }
  ::close(fd);
}

std::string line(const std::string& scope, double expiration, long signal) {
  char numbers[128];
  std::snprintf(numbers, sizeof numbers,
                R"(", "expiration_time": %.6f, "signal": %ld})", expiration,
                signal);
  return R"({"version": 1, "pid": )" + std::to_string(named_pid)
         + R"(, "scope_id": ")" + scope + numbers + "\n";
}

void acquire(const std::string& scope, long ms, long signal) {
  auto now = timespec{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  write_once(
    line(scope,
         double(now.tv_sec) + double(now.tv_nsec) / 1e9 + double(ms) / ms_per_s,
         signal));
}

void release(const std::string& scope) {
  write_once(line(scope, -1, 0));
}

void flood(long count) {
  for (auto i = 0L; i < count; ++i) {
    acquire("flood", 60'000, SIGKILL);
    release("flood");
  }
}

void blob(long count) {
  auto text = std::string(static_cast<size_t>(count), '{');
  for (size_t i = 0; i < text.size(); i += 3)
    text[i] = static_cast<char>(i % 10 == 0 ? '\0' : 200 + i % 56);
  std::replace(text.begin(), text.end(), '\n', 'n');
  write_once(text);
}

std::string unescaped(std::string text) {
  for (auto i = text.find("\\n"); i != text.npos; i = text.find("\\n", i))
    text.replace(i, 2, "\n");
  return text;
}

void notify(const std::string& text) {
  const auto fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  auto to = sockaddr_un{};
  to.sun_family = AF_UNIX;
  std::strncpy(to.sun_path, variable("NOTIFY_SOCKET"), sizeof to.sun_path - 1);
  if (::sendto(fd, text.data(), text.size(), 0,
               reinterpret_cast<sockaddr*>(&to), sizeof to)
      < 0)
    give_up("sendto");
  ::close(fd);
}

void sleep_ms(long ms) {
  auto left = timespec{ms / ms_per_s, ms % ms_per_s * ns_per_ms};
  while (::nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

void hang(std::string_view how) {
  if (how == "lock") {
    static std::timed_mutex mutex;
    mutex.lock();
    mutex.lock();
  } else if (how == "read") {
    int ends[2];
    char byte = 0;
    if (::pipe(ends) == 0 && ::read(ends[0], &byte, 1) >= 0)
      give_up("a pipe without writers");
  } else if (how == "spin") {
    for (auto count = std::atomic<unsigned>{0};;)
      ++count;
  } else if (how == "stop") {
    std::raise(SIGSTOP);
  }
  for (;;)
    ::pause();
}

/// Takes arguments one by one.
struct steps {
  char** next;

  std::string word() {
    if (*next == nullptr)
      give_up("a step lacks an argument");
    return *next++;
  }

  long number() { return std::atol(word().c_str()); }
};

void take_step(const std::string& what, steps& rest) {
  if (what == "acquire") {
    const auto scope = rest.word();
    const auto ms = rest.number();
    acquire(scope, ms, rest.number());
  } else if (what == "release") {
    release(rest.word());
  } else if (what == "as") {
    named_pid = rest.number();
  } else if (what == "write") {
    write_once(unescaped(rest.word()));
  } else if (what == "flood") {
    flood(rest.number());
  } else if (what == "blob") {
    blob(rest.number());
  } else if (what == "notify") {
    notify(unescaped(rest.word()));
  } else if (what == "sleep") {
    sleep_ms(rest.number());
  } else if (what == "hang") {
    hang(rest.word());
  } else if (what == "exit") {
    std::exit(static_cast<int>(rest.number()));
  } else {
    give_up("there is no step " + what);
  }
}

} // namespace

int main(int, char** argv) {
  ::alarm(life_s);
  named_pid = ::getpid();
  auto rest = steps{argv + 1};
  while (*rest.next != nullptr)
    take_step(rest.word(), rest);
}
