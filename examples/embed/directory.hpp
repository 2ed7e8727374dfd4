// THE HOST'S OWN PROTOCOL, as it was before there were jobs in it: types where
// every manual of CAF lets them begin.
#pragma once

#include <caf/type_id.hpp>

#include <cstdint>
#include <string>

/// Asks how large a job is now.
struct lookup {
  std::string job;
};

template <class Inspector>
auto inspect(Inspector& f, lookup& x) {
  return f(x.job);
}

struct placement {
  std::string job;
  uint64_t epoch = 0;
  uint32_t world_size = 0; ///< 0: no worker runs.
};

template <class Inspector>
auto inspect(Inspector& f, placement& x) {
  return f(x.job, x.epoch, x.world_size);
}

CAF_BEGIN_TYPE_ID_BLOCK(embed, caf::first_custom_type_id)
CAF_ADD_TYPE_ID(embed, (lookup))
CAF_ADD_TYPE_ID(embed, (placement))
CAF_END_TYPE_ID_BLOCK(embed)
