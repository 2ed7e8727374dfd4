// A worker that writes lines to its standard output: `line_writer fast COUNT`
// as fast as it can, `line_writer slow COUNT` a block each half millisecond,
// `line_writer fail` one line to standard error, and stamps the moment before it
// ends. With the path of a FIFO as the last argument it says `ready` and begins
// when the FIFO is opened for writing. The lines cross the blocks, which are as large as those of stdio.

#include "tests/bench/tools/line_writer.hpp"

#include "tests/bench/append_record.hpp"
#include "tests/bench/line_format.hpp"
#include "tests/bench/tools/stamp.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

namespace {

using namespace actorrun::bench;
using clock_type = std::chrono::steady_clock;

constexpr size_t block_size = 4096;
constexpr auto pause = std::chrono::microseconds{500};

// The ranks as set by actorrun, torchrun and Hydra, or as given.
uint32_t own_rank() {
  for (const auto* name : {"RANK", "PMI_RANK"})
    if (const auto* text = std::getenv(name))
      return uint32_t(std::strtoul(text, nullptr, 10));
  return 0;
}

void write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto count = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (count < 0)
      std::exit(EXIT_FAILURE);
    bytes.remove_prefix(size_t(count));
  }
}

void write_lines(uint64_t count, bool is_slow) {
  const auto rank = own_rank();
  auto block = std::string{};
  block.reserve(block_size + line_size);
  char line[line_size];
  for (uint64_t i = 0; i < count; ++i) {
    format_line(line, {rank, i});
    block.append(line, line_size);
    if (block.size() < block_size)
      continue;
    write_all({block.data(), block_size});
    block.erase(0, block_size);
    if (is_slow)
      std::this_thread::sleep_for(pause);
  }
  write_all(block);
}

bool await_writer(const char* fifo) {
  write_all("ready\n");
  const auto fd = ::open(fifo, O_RDONLY | O_CLOEXEC); // Blocks until then.
  return fd >= 0 && ::close(fd) == 0;
}

int64_t nanoseconds_of(clock_type::duration x) {
  return std::chrono::nanoseconds{x}.count();
}

} // namespace

int main(int argc, char** argv) {
  const auto mode = std::string_view{argc > 1 ? argv[1] : ""};
  if (mode == "fail") {
    std::fprintf(stderr, "last words\n");
    append_record(
      stamp_file_variable,
      stamp_record{.time = nanoseconds_of(clock_type::now().time_since_epoch()),
                   .pid = ::getpid()});
    ::_exit(EXIT_FAILURE);
  }
  if (argc < 3 || argc > 4 || (mode != "fast" && mode != "slow"))
    return EXIT_FAILURE;
  if (argc == 4 && !await_writer(argv[3]))
    return EXIT_FAILURE;
  const auto count = std::strtoull(argv[2], nullptr, 10);
  const auto begin = clock_type::now();
  write_lines(count, mode == "slow");
  append_record(
    result_file_variable,
    write_record{count * line_size, nanoseconds_of(clock_type::now() - begin)});
}
