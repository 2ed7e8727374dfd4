// Writes the answer to an HTTP request.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace actorrun::detail {

/// Shared by all clients that get the same.
using http_body = std::shared_ptr<const std::string>;

struct http_reply {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  http_body body{}; ///< Null: empty.
  /// Further lines of the head, each with its end.
  std::string fields{};
  /// Events follow for as long as the client stays; see `http_server::publish`.
  bool is_stream = false;
};

/// A line for people.
http_reply text_reply(int status, std::string_view line);

/// @param keeps_alive Another request may follow.
std::string head_of(const http_reply& x, bool keeps_alive);

} // namespace actorrun::detail
