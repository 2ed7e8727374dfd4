// Reads what a client asks: the head of an HTTP/1 request.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>

namespace actorrun::detail {

/// In bytes. Browsers send less than a tenth.
inline constexpr size_t http_head_size_max = 8 * 1024;

/// A head has at most this many lines.
inline constexpr size_t http_line_count_max = 64;

struct http_request {
  std::string method; ///< `GET`
  std::string path;   ///< Begins with `/`; without what follows a `?`.
  std::string query;  ///< What follows it.
  /// As the client has sent it, with the port; empty: it names none, as clients of
  /// HTTP/1.0 need not.
  std::string host;
  bool keeps_alive = false; ///< The client may send another one.
  size_t size = 0;          ///< In bytes.
  int client
    = -1; ///< The connection that it came from; open while it is answered.
};

/// Why a request is not answered; the client has to go.
struct http_fault {
  int status = 400;
  std::string text; ///< For people.
};

/// More has to come.
struct http_unfinished {};

/// Reads the first request in `bytes`. It has no content: what only reads needs
/// none.
std::variant<http_unfinished, http_request, http_fault>
read_request(std::string_view bytes);

} // namespace actorrun::detail
