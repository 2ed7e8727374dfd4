// Renders lines of workers' logs, and where workers are, as JSON.
#pragma once

#include "actors/core/reports/hang_summary.hpp"

#include "messages/operator.pb.h"

#include <string>
#include <vector>

namespace actorrun {

/// Where each worker is: its innermost frame, or why none is known.
std::vector<core::worker_snapshot> innermost_frames(const v1::Stacks& x);

/// What `actorctl stacks --json` prints and a page shows; one line, with its end.
std::string to_json(const v1::Stacks& x);

/// What a page shows; one line, with its end. Bytes that are no UTF-8 are replaced.
std::string to_json(const v1::LogLines& x);

} // namespace actorrun
