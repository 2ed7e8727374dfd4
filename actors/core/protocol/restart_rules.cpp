#include "actors/core/protocol/restart_rules.hpp"

#include "actors/core/end_class.hpp"

namespace actorrun::core {

std::string rule_text(end_class what, end_action action) {
  auto text = "--on-failure=" + to_string(what);
  switch (action) {
    case end_action::restart:
      return text + ":restart";
    case end_action::stop:
      return text + ":stop";
    case end_action::exclude:
      return text + ":exclude";
    case end_action::usual:
      break;
  }
  return text;
}

} // namespace actorrun::core
