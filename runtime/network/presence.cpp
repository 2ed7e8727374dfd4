#include "runtime/network/presence.hpp"

#include "actors/core/text.hpp"
#include "messages/formatted.hpp"
#include "runtime/os/file.hpp"
#include "runtime/os/resource_limits.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

/// In bytes, of what follows the name of the job. Ids of agents are longer than an
/// address may be; their ends are random.
constexpr size_t id_size_max = 64;
/// Of the name of a launch, which is random, too.
constexpr size_t launch_size_max = 24;

std::string end_of(const std::string& text, size_t size) {
  return text.substr(text.size() - std::min(text.size(), size));
}

template <size_t N>
std::string hex(const std::array<uint8_t, N>& x) {
  auto out = std::string{};
  for (const auto byte : x)
    out += formatted("{:02x}", byte);
  return out;
}

std::string names_of(const job_fingerprint& job) {
  return "actorrun/" + hex(job) + "/";
}

result<unique_fd> hold(const std::string& name) {
  auto fd = unique_fd{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  auto address = sockaddr_un{};
  address.sun_family = AF_UNIX;
  // A zero byte first makes the address abstract.
  const auto size = std::min(name.size(), sizeof address.sun_path - 1);
  std::copy_n(name.begin(), size, address.sun_path + 1);
  const auto length = offsetof(sockaddr_un, sun_path) + 1 + size;
  if (!fd
      || ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address),
                static_cast<socklen_t>(length))
           != 0)
    return failure{errc::system_failure,
                   formatted("cannot hold the socket @{} ({})", name,
                             system_error_text(errno))};
  return fd;
}

} // namespace

result<unique_fd> open_presence(const job_fingerprint& job,
                                const agent_id& agent,
                                const std::string& launch) {
  const auto from
    = launch.empty() ? launch : end_of(launch, launch_size_max) + "/";
  return hold(names_of(job) + from
              + end_of(to_string(agent), id_size_max - from.size()));
}

bool is_other_launch_present(const job_fingerprint& job,
                             const std::string& launch) {
  const auto list = read_kernel_file("/proc/self/net/unix");
  const auto name = "@" + names_of(job);
  for (auto at = list.find(name); at != list.npos;
       at = list.find(name, at + name.size())) {
    const auto begin = at + name.size();
    const auto entry = list.substr(begin, list.find('\n', begin) - begin);
    const auto slash = entry.find('/');
    if (slash != entry.npos
        && entry.substr(0, slash) != end_of(launch, launch_size_max))
      return true;
  }
  return false;
}

// Its own entry shows that the list is one: some sandboxes have an empty file.
std::optional<std::vector<std::string>>
present_agents(const job_fingerprint& job) {
  const auto own = "?" + hex(random_nonce());
  const auto self = hold(names_of(job) + own);
  const auto list = self ? read_kernel_file("/proc/self/net/unix") : "";
  if (list.size() >= kernel_file_max) // Its end is missing.
    return std::nullopt;
  auto out = std::vector<std::string>{};
  auto is_own_there = false;
  const auto name = "@" + names_of(job);
  for (auto at = list.find(name); at != list.npos;
       at = list.find(name, at + name.size())) {
    const auto begin = at + name.size();
    auto entry = list.substr(begin, list.find('\n', begin) - begin);
    entry.erase(0, entry.rfind('/') + 1); // A launch.
    if (entry == own)
      is_own_there = true;
    else
      out.push_back(std::move(entry));
  }
  return is_own_there ? std::optional{std::move(out)} : std::nullopt;
}

bool is_no_agent_present(const job_fingerprint& job) {
  const auto present = present_agents(job);
  return present && present->empty();
}

} // namespace actorrun::detail
