#include "actors/core/job_settings.hpp"

namespace actorrun::core {

std::string nodes_asked(const job_settings& x) {
  const auto min = std::to_string(x.agent_count_min);
  return x.agent_count_min == x.agent_count_max
           ? min
           : min + ":" + std::to_string(x.agent_count_max);
}

std::string to_string(const job_settings& x) {
  return "--nnodes=" + nodes_asked(x)
         + " --max-restarts=" + std::to_string(x.restart_count_max)
         + (x.ranked ? " --rdzv-backend=static" : "");
}

std::string describe(const job_settings& x, const job_settings& other) {
  auto out = to_string(x);
  if (other.ranked && !x.ranked)
    out += " without --rdzv-backend=static";
  if (x.lease == other.lease)
    return out;
  return out
         + (x.lease.count() == 0
              ? " without --rdzv-backend=etcd or --rdzv-conf=succession=on"
              : " and a lease of " + std::to_string(x.lease.count())
                  + " ms (keep_alive_interval x keep_alive_max_attempt +"
                    " fence_guard)");
}

} // namespace actorrun::core
