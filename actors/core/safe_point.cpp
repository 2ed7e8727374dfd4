#include "actors/core/safe_point.hpp"

#include "actors/core/text.hpp"

namespace actorrun::core {

std::string to_string(const safe_point_order& x) {
  switch (x.what) {
    case safe_point_order::kind::hold:
      return "hold";
    case safe_point_order::kind::stop_at:
      return "stop_at " + std::to_string(x.step);
    case safe_point_order::kind::go_on:
      return "go_on";
  }
  return "unknown";
}

std::string to_string(const safe_point_report& x) {
  switch (x.what) {
    case safe_point_report::kind::stepping:
      return "stepping";
    case safe_point_report::kind::held:
      return "held " + std::to_string(x.step);
    case safe_point_report::kind::reached:
      return "reached " + std::to_string(x.step);
    case safe_point_report::kind::refused:
      return "refused";
    case safe_point_report::kind::wanted:
      return "wanted " + duration_text(x.left);
  }
  return "unknown";
}

} // namespace actorrun::core
