#include "runtime/http/reply.hpp"

#include "messages/formatted.hpp"

namespace actorrun::detail {

namespace {

const char* phrase_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 421:
      return "Misdirected Request";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Error";
  }
}

} // namespace

http_reply text_reply(int status, std::string_view line) {
  return {.status = status,
          .body = std::make_shared<const std::string>(formatted("{}\n", line))};
}

// No answer may be kept, guessed at, or read by the page of another site.
std::string head_of(const http_reply& x, bool keeps_alive) {
  auto out = formatted("HTTP/1.1 {} {}\r\n"
                       "Content-Type: {}\r\n"
                       "Cache-Control: no-store\r\n"
                       "X-Content-Type-Options: nosniff\r\n"
                       "Cross-Origin-Resource-Policy: same-origin\r\n"
                       "Referrer-Policy: no-referrer\r\n"
                       "Connection: {}\r\n",
                       x.status, phrase_of(x.status), x.type,
                       keeps_alive ? "keep-alive" : "close");
  if (!x.is_stream)
    out += formatted("Content-Length: {}\r\n", x.body ? x.body->size() : 0);
  return out + x.fields + "\r\n";
}

} // namespace actorrun::detail
