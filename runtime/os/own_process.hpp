// Returns the identity and the environment of this process.
#pragma once

#include "messages/ids.hpp"

#include <string>
#include <vector>

namespace actorrun::detail {

/// `<host>-<pid>-<8 hex digits>`: unique, even where hosts and pids are the
/// same.
agent_id make_agent_id(const std::string& host);

/// `NAME=value` each. No other thread may change the environment meanwhile.
std::vector<std::string> own_environment();

} // namespace actorrun::detail
