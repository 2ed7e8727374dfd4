// Says of a status in JSON that the job is as it should be.
#pragma once

#include "tests/system/scene.hpp"

namespace actorrun::test {

/// For `scene::await_status`: before, `actorctl status` ends with 1.
inline bool is_healthy(const json& job) {
  return job.value("healthy", false);
}

} // namespace actorrun::test
