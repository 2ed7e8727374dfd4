#include "cli/options/host_facts.hpp"

#include "actors/core/text.hpp"
#include "cli/options/secret_file.hpp"
#include "cli/options/values.hpp"
#include "messages/formatted.hpp"
#include "runtime/devices.hpp"
#include "runtime/node_check.hpp"
#include "runtime/program_support.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <fcntl.h>
#include <sched.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

namespace actorrun::cli {

namespace {

/// Linux has no more CPUs than this, and cpu_set_t only 1,024.
constexpr int cpu_max = 1 << 16;

struct free_cpu_set {
  void operator()(cpu_set_t* x) const { CPU_FREE(x); }
};

uint32_t affinity_count() {
  const auto size = CPU_ALLOC_SIZE(cpu_max);
  const auto set = std::unique_ptr<cpu_set_t, free_cpu_set>{CPU_ALLOC(cpu_max)};
  if (!set || sched_getaffinity(0, size, set.get()) != 0)
    return 1;
  return static_cast<uint32_t>(std::max(1, CPU_COUNT_S(size, set.get())));
}

/// In the form of a UUID, as torchrun makes them. `std::random_device` would ask the
/// processor first what it can do, which a virtual machine answers late.
std::string make_random_id() {
  auto drawn = std::array<uint32_t, 4>{};
  while (::getrandom(drawn.data(), sizeof drawn, 0) != ssize_t{sizeof drawn}) {
  }
  const auto [a, b, c, d] = drawn;
  char out[37];
  std::snprintf(out, sizeof(out), "%08x-%04x-%04x-%04x-%04x%08x", a, b >> 16,
                b & 0xFFFF, c >> 16, c & 0xFFFF, d);
  return out;
}

std::optional<std::string> variable_of_process(const std::string& name) {
  const auto* value = std::getenv(name.c_str());
  return value ? std::optional<std::string>{value} : std::nullopt;
}

std::vector<std::string> variables_of_process() {
  auto out = std::vector<std::string>{};
  for (auto** x = environ; x != nullptr && *x != nullptr; ++x)
    out.emplace_back(*x, std::strcspn(*x, "="));
  return out;
}

bool is_ignored_by_process(int signal) {
  struct sigaction now = {};
  return ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

result<std::string> read_text(const std::string& path, size_t size_max) {
  auto out = std::string(size_max + 1, '\0');
  const auto fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  size_t size = 0;
  auto n = ssize_t{fd < 0 ? -1 : 1};
  while (n > 0 && size < out.size()) {
    n = ::read(fd, out.data() + size, out.size() - size);
    if (n < 0 && errno == EINTR)
      n = 1;
    else if (n > 0)
      size += static_cast<size_t>(n);
  }
  const auto error = errno;
  if (fd >= 0)
    ::close(fd);
  if (n < 0)
    return bad_argument(formatted("cannot read {}: {}", in_quotes(path),
                                  core::error_text(error)));
  if (size > size_max)
    return bad_argument(
      formatted("{} is longer than {} bytes", in_quotes(path), size_max));
  out.resize(size);
  return out;
}

descriptor_facts examine_descriptor(int fd) {
  const auto flags = ::fcntl(fd, F_GETFL);
  struct stat facts {};
  if (flags < 0 || ::fstat(fd, &facts) != 0)
    return {};
  const auto access = flags & O_ACCMODE;
  return {.is_open = true,
          .is_pipe = S_ISFIFO(facts.st_mode) || S_ISSOCK(facts.st_mode),
          .is_readable = access != O_WRONLY,
          .is_writable = access != O_RDONLY};
}

bool may_write_in_folder(const std::string& path) {
  for (auto at = path; !at.empty(); at.resize(at.rfind('/'))) {
    if (::faccessat(AT_FDCWD, at.c_str(), W_OK | X_OK, AT_EACCESS) == 0)
      return true;
    if (errno != ENOENT || at.find('/') == std::string::npos)
      return false;
  }
  return ::faccessat(AT_FDCWD, "/", W_OK | X_OK, AT_EACCESS) == 0;
}

} // namespace

host_facts this_process() {
  return {
    variable_of_process,
    affinity_count,
    read_secret,
    make_random_id,
    is_ignored_by_process,
    list_gpus,
    [] { return count_cuda_devices(); },
    [] { return count_xpu_devices(); },
    variables_of_process,
    [] { return read_secret_if_any(own_secret_path(variable_of_process)); },
    read_text,
    own_host_name,
    may_write_in_folder,
    examine_descriptor,
    own_program_file};
}

result<std::string> secret_of(const std::string& path,
                              const host_facts& world) {
  if (!path.empty()) {
    auto secret = world.secret(path);
    if (!secret)
      return failure{secret.error().code,
                     "--secret-file: " + secret.error().text};
    return secret;
  }
  if (auto secret = world.variable("ACTORRUN_SECRET")) {
    if (secret->find_first_not_of("\r\n") == secret->npos)
      return bad_argument("ACTORRUN_SECRET is set and empty");
    return *std::move(secret);
  }
  return world.own_secret ? world.own_secret() : std::string{};
}

} // namespace actorrun::cli
