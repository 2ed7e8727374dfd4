// Sends JSON requests to one HTTP server, one after the other.
#pragma once

#include "messages/result.hpp"
#include "runtime/etcd/curl.hpp"
#include "runtime/options.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

namespace actorrun::detail {

/// At most this many bytes of the head and of the body of an answer are read;
/// etcd's have a few hundred.
inline constexpr size_t http_answer_size_max = 64 * 1024;

struct http_answer {
  long status = 0; ///< 200, …
  std::string body;
};

/// Blocks its caller; for one thread unless stated otherwise. Uses no proxy,
/// follows no redirect. Keeps its connection between requests.
class etcd_http {
public:
  using clock = std::chrono::steady_clock;

  /// @retval errc::system_failure  libcurl cannot be loaded or has no memory
  /// @retval errc::etcd_denied     a file of certificates cannot be read
  static result<std::unique_ptr<etcd_http>> open(const endpoint& where,
                                                 const etcd_options& options);

  ~etcd_http();

  etcd_http(const etcd_http&) = delete;
  etcd_http& operator=(const etcd_http&) = delete;

  /// Sends `body` to `path`, which begins with `/`.
  /// @param deadline The request fails by then at the latest.
  /// @retval errc::etcd_unreachable  no HTTP answer came, or it is too long
  /// @retval errc::etcd_denied       TLS: one side does not trust the other, or
  ///                                 a certificate file contains none
  result<http_answer> post(const std::string& path, const std::string& body,
                           clock::time_point deadline);

  /// Sent with all later requests as `Authorization`.
  void set_token(std::string token) { token_ = std::move(token); }

  /// `http://host:port`
  const std::string& url() const { return url_; }

  /// This end's address of the last connection, numeric; empty before.
  const std::string& local_address() const { return local_address_; }

  /// The present request and all later ones fail by `deadline`. From any
  /// thread.
  void hurry(clock::time_point deadline);

private:
  struct exchange;

  etcd_http(const curl_library& library, std::string url, etcd_options options);

  void prepare(const exchange& x, const std::string& path);
  CURLcode run(clock::time_point deadline);
  failure explain(CURLcode code, const std::string& detail) const;

  const curl_library& library_;
  std::string url_;
  etcd_options options_;
  std::string token_;
  std::string local_address_;
  CURLM* multi_;
  CURL* easy_;
  std::atomic<clock::duration> latest_{clock::duration::max()};
};

} // namespace actorrun::detail
