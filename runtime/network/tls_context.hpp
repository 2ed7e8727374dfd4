// Makes what all encrypted links have in common.
#pragma once

#include "runtime/network/link_side.hpp"

#include <openssl/types.h>

namespace actorrun::detail {

/// TLS 1.3 with one cipher and one group, without sessions to resume. The caller
/// owns it; neither PSK nor certificates are set up yet.
SSL_CTX* new_tls_context(link_side side);

} // namespace actorrun::detail
