// Makes the texts of a status harmless: it may come from another host, whose
// coordinator may lie.
#pragma once

#include "messages/job.pb.h"

namespace actorrun::cli {

/// All texts as one printable line each (`core::one_line`); those of failures may keep
/// their lines.
v1::JobStatus cleaned(v1::JobStatus x);

} // namespace actorrun::cli
