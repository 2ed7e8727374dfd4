#include "runtime/http/request.hpp"

#include "actors/core/text.hpp"

#include <algorithm>
#include <cctype>
#include <optional>

namespace actorrun::detail {

namespace {

using reading = std::variant<http_unfinished, http_request, http_fault>;

constexpr std::string_view line_end = "\r\n";
constexpr std::string_view head_end = "\r\n\r\n";
constexpr std::string_view scheme = "http://";

/// What RFC 9110 lets a method and the name of a field consist of.
bool is_token(std::string_view x) {
  return !x.empty() && std::all_of(x.begin(), x.end(), [](unsigned char c) {
    return std::isalnum(c) != 0
           || std::string_view{"!#$%&'*+-.^_`|~"}.find(char(c))
                != std::string_view::npos;
  });
}

bool is_graphic(std::string_view x) {
  return std::all_of(x.begin(), x.end(),
                     [](char c) { return c > 0x20 && c < 0x7f; });
}

bool is_content(std::string_view x) {
  return std::all_of(x.begin(), x.end(), [](unsigned char c) {
    return c == '\t' || (c >= 0x20 && c != 0x7f);
  });
}

std::string_view trimmed(std::string_view x) {
  const auto first = x.find_first_not_of(" \t");
  if (first == x.npos)
    return {};
  return x.substr(first, x.find_last_not_of(" \t") - first + 1);
}

/// The text up to `end`, which is removed with it from `rest`.
std::string_view take(std::string_view& rest, std::string_view end) {
  const auto size = std::min(rest.find(end), rest.size());
  const auto out = rest.substr(0, size);
  rest.remove_prefix(std::min(size + end.size(), rest.size()));
  return out;
}

std::optional<http_fault> read_first_line(std::string_view line,
                                          http_request& out) {
  auto rest = line;
  const auto method = take(rest, " ");
  const auto target = take(rest, " ");
  if (!is_token(method) || target.empty() || !is_graphic(target))
    return http_fault{400, "this is no HTTP request"};
  if (rest != "HTTP/1.1" && rest != "HTTP/1.0")
    return http_fault{505, "only HTTP/1.1 and HTTP/1.0 are spoken here"};
  auto resource = target.substr(0, target.find('#'));
  if (core::lowered(resource.substr(0, scheme.size())) == scheme) {
    resource.remove_prefix(scheme.size());
    out.host = resource.substr(0, resource.find_first_of("/?"));
    resource.remove_prefix(out.host.size());
    if (out.host.empty())
      return http_fault{400, "the target of the request names no host"};
  } else if (!resource.starts_with('/')) {
    return http_fault{400, "the target of the request is not a path"};
  }
  out.method = method;
  const auto mark = std::min(resource.find('?'), resource.size());
  out.path = mark == 0 ? "/" : resource.substr(0, mark);
  out.query = resource.substr(std::min(mark + 1, resource.size()));
  out.keeps_alive = rest == "HTTP/1.1";
  return {};
}

struct fields {
  bool names_host = false; ///< The target does: that counts.
  size_t host_count = 0;
  bool has_content = false;
};

std::optional<http_fault> read_field(std::string_view line, http_request& out,
                                     fields& seen) {
  const auto colon = line.find(':');
  if (colon == line.npos || !is_token(line.substr(0, colon)))
    return http_fault{400, "a line of the request's head is no field"};
  const auto name = core::lowered(line.substr(0, colon));
  const auto value = trimmed(line.substr(colon + 1));
  if (!is_content(value))
    return http_fault{400, "the request's head has control characters"};
  if (name == "host") {
    if (++seen.host_count == 1 && !seen.names_host)
      out.host = value;
  } else if (name == "transfer-encoding") {
    seen.has_content = true;
  } else if (name == "content-length") {
    seen.has_content = seen.has_content || value != "0";
  } else if (name == "connection") {
    if (core::lowered(value).find("close") != std::string::npos)
      out.keeps_alive = false;
  }
  return {};
}

} // namespace

reading read_request(std::string_view bytes) {
  // Some clients send an empty line after the request before.
  const auto begin = bytes.starts_with(line_end) ? line_end.size() : 0;
  const auto size = bytes.substr(0, http_head_size_max).find(head_end, begin);
  if (size == bytes.npos) {
    if (bytes.size() >= http_head_size_max)
      return http_fault{431, "the request's head is too long"};
    return http_unfinished{};
  }
  auto rest = bytes.substr(begin, size - begin);
  auto out = http_request{};
  out.size = size + head_end.size();
  if (auto fault = read_first_line(take(rest, line_end), out))
    return std::move(*fault);
  const auto needs_host = out.keeps_alive; // Since HTTP/1.1.
  auto seen = fields{.names_host = !out.host.empty()};
  for (size_t i = 0; !rest.empty(); ++i) {
    if (i == http_line_count_max)
      return http_fault{431, "the request's head has too many lines"};
    if (auto fault = read_field(take(rest, line_end), out, seen))
      return std::move(*fault);
  }
  if (seen.host_count > 1 || (needs_host && seen.host_count == 0))
    return http_fault{400, "the request does not name one host"};
  if (seen.has_content)
    return http_fault{413, "a request has no content here"};
  return out;
}

} // namespace actorrun::detail
