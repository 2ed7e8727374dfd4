#include "actors/core/epoch.hpp"

namespace actorrun::core {

std::string to_string(share_state x) {
  switch (x) {
    case share_state::idle:
      return "idle";
    case share_state::starting:
      return "starting";
    case share_state::running:
      return "running";
    case share_state::succeeded:
      return "succeeded";
    case share_state::failed:
      return "failed";
    case share_state::stopping:
      return "stopping";
  }
  return "unknown";
}

std::string to_string(outcome::verdict x) {
  switch (x) {
    case outcome::verdict::succeeded:
      return "succeeded";
    case outcome::verdict::failed:
      return "failed";
    case outcome::verdict::stopped:
      return "stopped";
    case outcome::verdict::unmet:
      return "unmet";
  }
  return "unknown";
}

} // namespace actorrun::core
