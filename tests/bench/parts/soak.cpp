// Checks that workers that are always on time, on busy processors, are not
// killed.

#include "runtime/os/unique_fd.hpp"
#include "tests/bench/busy_threads.hpp"
#include "tests/bench/parts/parts.hpp"
#include "tests/bench/tools/timer_worker.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace actorrun::bench::soak_part {

namespace {

constexpr size_t worker_count = 8;
static_assert(worker_count <= soak_worker_max);

constexpr size_t busy_thread_count = 2;

/// The progress of a soak, in a file.
class mapped_progress {
public:
  static result<mapped_progress> make(std::string path) {
    const auto file = detail::unique_fd{
      ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600)};
    if (!file || ::ftruncate(file.get(), sizeof(soak_progress)) != 0)
      return unmeasured(path + ": " + std::strerror(errno));
    auto* map = ::mmap(nullptr, sizeof(soak_progress), PROT_READ | PROT_WRITE,
                       MAP_SHARED, file.get(), 0);
    if (map == MAP_FAILED)
      return unmeasured(path + ": " + std::strerror(errno));
    return mapped_progress{std::move(path), static_cast<soak_progress*>(map)};
  }

  mapped_progress(mapped_progress&& other) noexcept
    : path_(std::move(other.path_)),
      progress_(std::exchange(other.progress_, nullptr)) {}
  mapped_progress& operator=(mapped_progress&&) = delete;

  ~mapped_progress() {
    if (progress_ != nullptr)
      ::munmap(progress_, sizeof(soak_progress));
  }

  const std::string& path() const { return path_; }

  uint64_t round_count() const {
    auto sum = uint64_t{0};
    for (const auto& x : progress_->places)
      sum += x.round_count;
    return sum;
  }

  /// Whether a worker did not renew or end one of its timers in time.
  bool has_late(int64_t now) const {
    return std::any_of(progress_->places.begin(), progress_->places.end(),
                       [&](const soak_progress::place& x) {
                         return x.due != 0 && x.due <= now;
                       });
  }

private:
  mapped_progress(std::string path, soak_progress* progress)
    : path_(std::move(path)), progress_(progress) {}

  std::string path_;
  soak_progress* progress_;
};

/// Whether the launcher reports an expired timer.
bool has_overrun(const std::string& output) {
  auto file = std::ifstream{output};
  for (std::string line; std::getline(file, line);)
    if (line.find("its timer expired") != std::string::npos)
      return true;
  return false;
}

} // namespace

measured measure(setting& s) {
  const auto window = s.soak_window();
  auto progress = mapped_progress::make(s.new_file());
  if (!progress)
    return progress.error();
  const auto what = s.command(
    {s.tool("actorrun"), "--nproc-per-node=" + std::to_string(worker_count),
     "--no-python", s.tool("timer_worker"), "soak",
     std::to_string(std::chrono::milliseconds{window}.count()),
     progress->path()});
  const auto load = busy_threads{busy_thread_count};
  auto launcher = program::start(what);
  if (!launcher)
    return launcher.error();
  const auto status = launcher->wait(deadline() + window);
  const auto end = stamp_now();
  if (!status)
    return unmeasured("the workers do not end");
  if (*status != 0 && progress->has_late(end)) {
    print_note("soak is not evaluated",
               "the machine kept a worker from being in time");
    return {};
  }
  if (*status != 0 && !has_overrun(what.output))
    return unmeasured(describe(*status) + ": " + last_words(what.output));
  print({.what = std::to_string(2 * progress->round_count())
                 + " timers that were ended in time: kills",
         .ours =
           [&] {
             auto x = figures{};
             x.add(*status == 0 ? 0 : 1);
             return x;
           }(),
         .goal = "0",
         .met = *status == 0});
  return {};
}

} // namespace actorrun::bench::soak_part
