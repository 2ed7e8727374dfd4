#include "actors/core/protocol/restart_rules.hpp"

#include "actors/core/end_class.hpp"

namespace actorrun::core {

std::string rule_text(end_class what, end_action action) {
  return "--on-failure=" + to_string(what)
         + (action == end_action::stop ? ":stop" : ":exclude");
}

} // namespace actorrun::core
