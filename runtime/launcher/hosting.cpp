#include "runtime/launcher/hosting.hpp"

#include "actors/core/text.hpp"
#include "runtime/os/host_addresses.hpp"

#include <algorithm>

#include <strings.h>

namespace actorrun::detail {

bool may_host_coordinator(const job_options& job, const agent_options& agent) {
  if (!job.rendezvous)
    return true;
  if (job.backend == rendezvous_backend::fixed)
    return agent.node_rank == 0U;
  if (job.place == coordinator_place::automatic
      && job.backend == rendezvous_backend::native)
    return names_this_host(job.rendezvous->host);
  return job.place != coordinator_place::elsewhere;
}

std::vector<endpoint> seeds_of(const job_options& job) {
  auto out = job.more_seeds;
  out.push_back(*job.rendezvous);
  for (auto& x : out)
    x.host = core::lowered(x.host);
  std::ranges::sort(out, {}, [](const auto& x) { return to_string(x); });
  return out;
}

std::string meeting_points(const job_options& job) {
  auto out = to_string(*job.rendezvous);
  for (const auto& x : job.more_seeds)
    out += "," + to_string(x);
  return out;
}

std::optional<endpoint> own_seed_of(const job_options& job,
                                    const agent_options& agent) {
  const auto all = seeds_of(job);
  for (const auto& x : all)
    if (!agent.local_address.empty() && x.host == agent.local_address)
      return x;
  for (const auto& x : all)
    if (names_this_host(x.host))
      return x;
  return std::nullopt;
}

result<hosting_place> place_of_coordinator(const job_options& job) {
  const auto& [host, port] = *job.rendezvous;
  const auto is_localhost = ::strcasecmp(host.c_str(), "localhost") == 0;
  const auto is_any = is_any_address(host);
  if (is_any || (is_localhost && job.agent_count_max > 1)) {
    auto others = address_for_others();
    return hosting_place{.where = is_any ? *numeric_address(host, port)
                                         : wildcard_address(port),
                         .announced = others.empty() ? "127.0.0.1" : others,
                         .is_whole_host = true};
  }
  auto where = listen_address(host, port);
  if (!where)
    return where.error();
  return hosting_place{.where = *where, .announced = host};
}

} // namespace actorrun::detail
