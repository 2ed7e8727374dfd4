// What this process is called, and what its environment is.
#pragma once

#include "messages/ids.hpp"

#include <string>
#include <vector>

namespace actorrun::detail {

/// `<host>-<pid>-<8 hex digits>`: nobody else's, also where hosts and pids are
/// the same.
agent_id make_agent_id(const std::string& host);

/// `NAME=value` each. Nobody may change the environment meanwhile.
std::vector<std::string> own_environment();

} // namespace actorrun::detail
