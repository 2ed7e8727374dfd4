// Names the two sides of a link.
#pragma once

namespace actorrun::detail {

/// Which side of a connection one is: an agent or an operator, or a job.
enum class link_side { client, server };

} // namespace actorrun::detail
