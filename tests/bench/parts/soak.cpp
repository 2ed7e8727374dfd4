// Workers that are always in time, while the processors are busy: none may be
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

namespace actorrun::bench {

namespace {

constexpr size_t worker_count = 8;
static_assert(worker_count <= soak_worker_max);

constexpr size_t busy_thread_count = 2;

/// The board of a soak, in a file.
class mapped_board {
public:
  static result<mapped_board> make(std::string path) {
    const auto file = detail::unique_fd{
      ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600)};
    if (!file || ::ftruncate(file.get(), sizeof(soak_board)) != 0)
      return unmeasured(path + ": " + std::strerror(errno));
    auto* map = ::mmap(nullptr, sizeof(soak_board), PROT_READ | PROT_WRITE,
                       MAP_SHARED, file.get(), 0);
    if (map == MAP_FAILED)
      return unmeasured(path + ": " + std::strerror(errno));
    return mapped_board{std::move(path), static_cast<soak_board*>(map)};
  }

  mapped_board(mapped_board&& other) noexcept
    : path_(std::move(other.path_)),
      board_(std::exchange(other.board_, nullptr)) {}
  mapped_board& operator=(mapped_board&&) = delete;

  ~mapped_board() {
    if (board_ != nullptr)
      ::munmap(board_, sizeof(soak_board));
  }

  const std::string& path() const { return path_; }

  uint64_t round_count() const {
    auto sum = uint64_t{0};
    for (const auto& x : board_->places)
      sum += x.round_count;
    return sum;
  }

  /// Some worker did not renew or end a timer of its own in time.
  bool has_late(int64_t now) const {
    return std::any_of(
      board_->places.begin(), board_->places.end(),
      [&](const soak_board::place& x) { return x.due != 0 && x.due <= now; });
  }

private:
  mapped_board(std::string path, soak_board* board)
    : path_(std::move(path)), board_(board) {}

  std::string path_;
  soak_board* board_;
};

/// Whether the launcher speaks of a timer that was over.
bool has_overrun(const std::string& output) {
  auto file = std::ifstream{output};
  for (std::string line; std::getline(file, line);)
    if (line.find("its timer expired") != std::string::npos)
      return true;
  return false;
}

} // namespace

measured measure_soak(setting& s) {
  const auto window = s.soak_window();
  auto board = mapped_board::make(s.new_file());
  if (!board)
    return board.error();
  const auto what = s.command(
    {s.tool("actorrun"), "--nproc-per-node=" + std::to_string(worker_count),
     "--no-python", s.tool("timer_worker"), "soak",
     std::to_string(std::chrono::milliseconds{window}.count()), board->path()});
  const auto load = busy_threads{busy_thread_count};
  auto launcher = program::start(what);
  if (!launcher)
    return launcher.error();
  const auto status = launcher->wait(deadline() + window);
  const auto end = stamp_now();
  if (!status)
    return unmeasured("the workers do not end");
  if (*status != 0 && board->has_late(end)) {
    print_note("soak is not judged",
               "the machine kept a worker from being in time");
    return {};
  }
  if (*status != 0 && !has_overrun(what.output))
    return unmeasured(describe(*status) + ": " + last_words(what.output));
  print({.what = std::to_string(2 * board->round_count())
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

} // namespace actorrun::bench
