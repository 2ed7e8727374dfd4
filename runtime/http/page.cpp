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
constexpr std::string_view status_place = "/* status */";

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

/// The parts that are always the same.
struct fixed_page {
  std::string text;
  std::string fields;
};

fixed_page assemble() {
  auto text = std::string{page_html};
  put(text, css_place, page_css);
  put(text, js_place, page_js);
  return {.text = std::move(text),
          .fields = formatted(
            "Content-Security-Policy: default-src 'none'; script-src '{}'; "
            "style-src '{}'; connect-src 'self'; base-uri 'none'; "
            "form-action 'none'; frame-ancestors 'none'\r\n"
            "X-Frame-Options: DENY\r\n",
            hash_of(page_js), hash_of(page_css))};
}

/// The same document without `<`, which could end the element that it stands in.
std::string embeddable(std::string_view json) {
  auto out = std::string{};
  out.reserve(json.size());
  for (const auto c : json)
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  return out;
}

} // namespace

http_reply page_reply(std::string_view status) {
  static const auto fixed = assemble();
  auto text = fixed.text;
  put(text, status_place, embeddable(status));
  return {.type = "text/html; charset=utf-8",
          .body = std::make_shared<const std::string>(std::move(text)),
          .fields = fixed.fields};
}

} // namespace actorrun::detail
