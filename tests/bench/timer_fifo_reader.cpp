#include "tests/bench/timer_fifo_reader.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace actorrun::bench {

namespace {

/// Capacity of a FIFO.
constexpr size_t piece_size = 64 * 1024;

} // namespace

result<std::unique_ptr<timer_fifo_reader>>
timer_fifo_reader::open(std::string path) {
  if (::mkfifo(path.c_str(), 0600) != 0)
    return unmeasured(path + ": " + std::strerror(errno));
  // Also open for writing: it does not end when its writers do.
  auto fd = detail::unique_fd{::open(path.c_str(), O_RDWR | O_CLOEXEC)};
  if (!fd)
    return unmeasured(path + ": " + std::strerror(errno));
  return std::unique_ptr<timer_fifo_reader>{
    new timer_fifo_reader{std::move(path), std::move(fd)}};
}

timer_fifo_reader::timer_fifo_reader(std::string path, detail::unique_fd fd)
  : path_(std::move(path)), fd_(std::move(fd)), thread_([this] { read(); }) {}

timer_fifo_reader::~timer_fifo_reader() {
  done_ = true;
  // Wakes up the reader.
  while (::write(fd_.get(), "\n", 1) < 0 && errno == EINTR)
    continue;
  thread_.join();
  ::unlink(path_.c_str());
}

std::string timer_fifo_reader::variable() const {
  return "TORCHELASTIC_TIMER_FILE=" + path_;
}

void timer_fifo_reader::read() {
  auto place = std::vector<char>(piece_size);
  while (!done_) {
    const auto count = ::read(fd_.get(), place.data(), place.size());
    if (count <= 0)
      return;
    line_count_
      += uint64_t(std::count(place.begin(), place.begin() + count, '\n'));
  }
}

} // namespace actorrun::bench
