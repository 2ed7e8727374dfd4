// Holds the page for browsers, as one document that fetches nothing from elsewhere.
#pragma once

#include "runtime/http/reply.hpp"

#include <string_view>

namespace actorrun::detail {

// The parts, from `page/`; written by CMake.
extern const char page_html[];
extern const char page_css[];
extern const char page_js[];

/// The page. Its policy (CSP) lets browsers run and apply nothing but what is in it.
/// @param status The first status, a JSON document; empty: none.
http_reply page_reply(std::string_view status);

} // namespace actorrun::detail
