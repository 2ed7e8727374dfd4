#include "runtime/http/page.hpp"

#include "messages/formatted.hpp"

#include <openssl/evp.h>

#include <array>
#include <string>
#include <string_view>

namespace actorrun::detail {

namespace {

/// What stands in the HTML for another part.
constexpr std::string_view css_place = "/* page.css */";
constexpr std::string_view js_place = "/* page.js */";

/// As a policy names it: `sha256-…`.
std::string hash_of(std::string_view text) {
  auto digest = std::array<unsigned char, EVP_MAX_MD_SIZE>{};
  auto size = 0U;
  ::EVP_Digest(text.data(), text.size(), digest.data(), &size, ::EVP_sha256(),
               nullptr);
  auto base64 = std::array<unsigned char, 2 * EVP_MAX_MD_SIZE>{};
  const auto length
    = ::EVP_EncodeBlock(base64.data(), digest.data(), static_cast<int>(size));
  return "sha256-"
         + std::string(reinterpret_cast<const char*>(base64.data()),
                       static_cast<size_t>(length));
}

void put(std::string& into, std::string_view place, std::string_view text) {
  if (const auto i = into.find(place); i != into.npos)
    into.replace(i, place.size(), text);
}

http_reply assemble() {
  auto text = std::string{page_html};
  put(text, css_place, page_css);
  put(text, js_place, page_js);
  return {.type = "text/html; charset=utf-8",
          .body = std::make_shared<const std::string>(std::move(text)),
          .fields = formatted(
            "Content-Security-Policy: default-src 'none'; script-src '{}'; "
            "style-src '{}'; connect-src 'self'; base-uri 'none'; "
            "form-action 'none'; frame-ancestors 'none'\r\n"
            "X-Frame-Options: DENY\r\n",
            hash_of(page_js), hash_of(page_css))};
}

} // namespace

http_reply page_reply() {
  static const auto page = assemble();
  return page;
}

} // namespace actorrun::detail
