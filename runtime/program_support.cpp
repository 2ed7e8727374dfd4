#include "runtime/program_support.hpp"

#include "runtime/logs/posix_console.hpp"
#include "runtime/os/descriptor_room.hpp"
#include "runtime/os/file.hpp"
#include "runtime/os/freed_memory.hpp"
#include "runtime/os/resource_limits.hpp"
#include "runtime/os/socket_address.hpp"
#include "runtime/store/server.hpp"

#include <atomic>
#include <chrono>

#include <fcntl.h>
#include <unistd.h>

namespace actorrun {

namespace {

constexpr auto large_job_min = uint32_t{1'000}; // nodes
constexpr auto freed_memory_time = std::chrono::seconds{5};

/// A worker's process, and its clients of the store: torch has up to two.
constexpr size_t descriptors_per_worker = 3;

class console_line_output final : public line_output {
public:
  explicit console_line_output(int fd) : to_(fd, fd) { ::close(fd); }

  void add(std::string_view lines) override {
    if (!to_.offer(core::output_stream::out, lines))
      ++dropped_count_;
  }

  uint64_t dropped_count() const override { return dropped_count_; }

  bool finish(std::chrono::milliseconds limit) override {
    return to_.flush(std::chrono::steady_clock::now() + limit);
  }

private:
  detail::posix_console to_;
  std::atomic<uint64_t> dropped_count_ = 0;
};

} // namespace

void prepare_descriptors(size_t worker_count) {
  detail::raise_descriptor_limit(); // Each link of a coordinator is one.
  detail::make_descriptor_room(STDIN_FILENO,
                               detail::store_clients_expected
                                 + descriptors_per_worker * worker_count);
}

void keep_freed_memory(uint32_t node_count_max) {
  if (node_count_max >= large_job_min)
    detail::keep_freed_memory_for(freed_memory_time);
}

void fill_standard_descriptors() {
  // The lowest number that is free is the one we get.
  for (auto fd = 0; fd >= 0 && fd <= STDERR_FILENO;) {
    fd = ::open("/dev/null", O_RDWR);
    if (fd > STDERR_FILENO)
      ::close(fd);
  }
}

std::shared_ptr<program_console> open_program_console() {
  return std::make_shared<detail::posix_console>();
}

std::unique_ptr<line_output> open_line_output(int fd) {
  return std::make_unique<console_line_output>(fd);
}

result<void> write_own_file(const std::string& path, std::string_view text) {
  constexpr auto mode = 0600;
  if (const auto error = detail::replace_file(path, text, mode); error != 0)
    return system_failure(detail::system_error_text(error));
  return {};
}

std::string own_host_name() {
  return detail::local_host_name();
}

} // namespace actorrun
