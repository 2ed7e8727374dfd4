#include "cli/slurm_address.hpp"

#include "cli/options/values.hpp"
#include "messages/formatted.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>

#include <netdb.h>

namespace actorrun::cli {

namespace {

/// In bytes. What scontrol says of a node has some 30 lines.
constexpr size_t answer_size_max = 16 * 1024;

std::optional<std::string> usable(std::string_view address,
                                  std::string_view node) {
  if (address.starts_with('[') && address.ends_with(']'))
    address = address.substr(1, address.size() - 2);
  if (address == node || !is_host(address))
    return std::nullopt;
  return std::string{address};
}

std::string variable(const char* name) {
  const auto* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool has_address(const std::string& host) {
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), nullptr, nullptr, &found) != 0)
    return false;
  ::freeaddrinfo(found);
  return true;
}

/// @pre `node` is a host, so a shell has nothing to misread
std::string ask_scontrol(const std::string& node) {
  const auto command = formatted(
    "exec 2>/dev/null; timeout -k 1 20 scontrol --oneliner show node {}", node);
  auto out = std::string{};
  auto* const from = ::popen(command.c_str(), "re");
  if (from == nullptr)
    return out;
  auto place = std::array<char, 1024>{};
  for (auto n = size_t{1}; n > 0 && out.size() < answer_size_max;) {
    n = std::fread(place.data(), 1, place.size(), from);
    out.append(place.data(), n);
  }
  ::pclose(from);
  return out;
}

} // namespace

std::optional<std::string> address_in_aliases(std::string_view aliases,
                                              std::string_view node) {
  for (const auto entry : split(aliases, ',')) {
    const auto colon = entry.find(':');
    if (colon == entry.npos || entry.substr(0, colon) != node)
      continue;
    const auto rest = entry.substr(colon + 1);
    const auto is_v6 = rest.starts_with('[');
    const auto end = is_v6 ? rest.find(']') : rest.find(':');
    return usable(rest.substr(0, is_v6 && end != rest.npos ? end + 1 : end),
                  node);
  }
  return std::nullopt;
}

std::optional<std::string> address_in_scontrol(std::string_view answer,
                                               std::string_view node) {
  constexpr std::string_view key = "NodeAddr=";
  for (auto at = answer.find(key); at != answer.npos;
       at = answer.find(key, at + 1)) {
    if (at != 0 && answer[at - 1] != ' ' && answer[at - 1] != '\n')
      continue;
    const auto rest = answer.substr(at + key.size());
    return usable(rest.substr(0, rest.find_first_of(" \t\r\n")), node);
  }
  return std::nullopt;
}

std::string find_address_by_slurm(job_options& job) {
  if (!job.rendezvous || variable("SLURM_JOB_ID").empty()
      || job.backend == rendezvous_backend::etcd || !job.more_seeds.empty()
      || has_address(job.rendezvous->host))
    return {};
  const auto node = job.rendezvous->host;
  auto found = address_in_aliases(variable("SLURM_NODE_ALIASES"), node);
  if (!found)
    found = address_in_scontrol(ask_scontrol(node), node);
  if (!found)
    return {};
  job.rendezvous->host = *found;
  return formatted("{} has no address here, and Slurm knows it as {}", node,
                   *found);
}

} // namespace actorrun::cli
