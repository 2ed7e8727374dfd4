#include "runtime/os/private_name.hpp"

#include "messages/formatted.hpp"

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <system_error>

#include <signal.h>
#include <sys/random.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

// At most this many entries of a folder are read.
constexpr size_t names_max = 65'536;

uint32_t random_token() {
  auto out = uint32_t{0};
  while (::getrandom(&out, sizeof out, 0) != ssize_t{sizeof out}) {
  }
  return out;
}

/// Whether a process may have ended, as far as we see.
bool may_be_gone(pid_t owner, std::string_view name) {
  if (owner == ::getpid())
    return !name.starts_with(process_name(owner) + ".");
  return ::kill(owner, 0) != 0 && errno == ESRCH;
}

} // namespace

std::string process_name(pid_t pid) {
  static const auto token = random_token();
  return formatted("{}-{:08x}", pid, token);
}

std::optional<pid_t> pid_of(std::string_view process_name) {
  auto pid = pid_t{0};
  const auto* end = process_name.data() + process_name.size();
  const auto first = std::from_chars(process_name.data(), end, pid);
  if (first.ec != std::errc{} || pid <= 0)
    return std::nullopt;
  if (first.ptr == end)
    return pid;
  auto token = uint32_t{0};
  const auto second = std::from_chars(first.ptr + 1, end, token, 16);
  if (*first.ptr != '-' || second.ec != std::errc{} || second.ptr != end)
    return std::nullopt;
  return pid;
}

std::string private_name(std::string_view suffix) {
  static auto count = std::atomic<uint64_t>{0};
  return formatted("{}.{}{}", process_name(::getpid()), ++count, suffix);
}

std::optional<pid_t> owner_of(std::string_view name, std::string_view suffix) {
  if (!name.ends_with(suffix))
    return std::nullopt;
  name.remove_suffix(suffix.size());
  const auto dot = name.find('.');
  if (dot == std::string_view::npos)
    return std::nullopt;
  auto number = uint64_t{0};
  const auto* end = name.data() + name.size();
  const auto read = std::from_chars(name.data() + dot + 1, end, number);
  if (read.ec != std::errc{} || read.ptr != end)
    return std::nullopt;
  return pid_of(name.substr(0, dot));
}

void remove_dead(const std::string& folder, std::string_view suffix,
                 const std::function<bool(const std::string& path)>& is_used) {
  auto error = std::error_code{};
  auto i = std::filesystem::directory_iterator{folder, error};
  for (size_t count = 0; !error && i != std::filesystem::directory_iterator{}
                         && count < names_max;
       i.increment(error), ++count) {
    const auto name = i->path().filename().string();
    const auto owner = owner_of(name, suffix);
    if (owner && may_be_gone(*owner, name) && !is_used(i->path().string()))
      ::unlink(i->path().c_str());
  }
}

} // namespace actorrun::detail
