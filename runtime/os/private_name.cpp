#include "runtime/os/private_name.hpp"

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <system_error>

#include <signal.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

// At most so many entries of a folder are read.
constexpr size_t names_max = 65'536;

} // namespace

std::string private_name(std::string_view suffix) {
  static auto count = std::atomic<uint64_t>{0};
  return std::to_string(::getpid()) + "." + std::to_string(++count)
         + std::string{suffix};
}

std::optional<pid_t> owner_of(std::string_view name, std::string_view suffix) {
  if (!name.ends_with(suffix))
    return std::nullopt;
  name.remove_suffix(suffix.size());
  auto pid = pid_t{0};
  auto number = uint64_t{0};
  const auto* end = name.data() + name.size();
  const auto first = std::from_chars(name.data(), end, pid);
  if (first.ec != std::errc{} || first.ptr == end || *first.ptr != '.')
    return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, number);
  if (second.ec != std::errc{} || second.ptr != end || pid <= 0)
    return std::nullopt;
  return pid;
}

void remove_dead(const std::string& folder, std::string_view suffix,
                 const std::function<bool(const std::string& path)>& is_used) {
  auto error = std::error_code{};
  auto i = std::filesystem::directory_iterator{folder, error};
  for (size_t count = 0; !error && i != std::filesystem::directory_iterator{}
                         && count < names_max;
       i.increment(error), ++count) {
    const auto owner = owner_of(i->path().filename().string(), suffix);
    if (owner && ::kill(*owner, 0) != 0 && errno == ESRCH
        && !is_used(i->path().string()))
      ::unlink(i->path().c_str());
  }
}

} // namespace actorrun::detail
