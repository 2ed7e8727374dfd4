// Sends requests to the members of one etcd cluster in turn until one answers.
#pragma once

#include "actors/log.hpp"
#include "runtime/etcd/http.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace actorrun::detail {

/// Both ends of a connection to etcd.
struct etcd_link {
  std::string local_address; ///< Numeric; empty before the first answer.
  endpoint member;
};

/// Blocks its caller; for one thread unless stated otherwise.
class etcd_members {
public:
  using clock = etcd_http::clock;

  /// Sends no request yet.
  /// @pre `where` is not empty
  /// @retval as `etcd_http::open`
  static result<std::unique_ptr<etcd_members>>
  open(std::vector<endpoint> where, const etcd_options& options, log lines);

  /// As `etcd_http::post`, to the member that answered last and then to the
  /// others. Each has an equal part of the remaining time. A request may be
  /// executed more than once, because answers may be lost. If all fail, the
  /// text names all of them.
  /// @retval errc::etcd_unreachable   a member did not answer, or answered that
  ///                                  it is cut off from its cluster
  /// @retval errc::etcd_denied        else as `etcd_http::post`
  /// @retval errc::settings_mismatch  they are coordinators, not etcd
  result<http_answer> post(const std::string& path, const std::string& body,
                           clock::time_point deadline);

  /// As `etcd_http::set_token`. A token is valid for all members.
  void set_token(const std::string& token);

  /// To the member that answered last.
  etcd_link link() const;

  /// As `etcd_http::hurry`; from any thread.
  void hurry(clock::time_point deadline);

private:
  struct member {
    endpoint where;
    std::unique_ptr<etcd_http> http;
  };

  explicit etcd_members(log lines) : lines_(std::move(lines)) {}

  void move_to(size_t index, const failure& why);

  std::vector<member> members_;
  size_t current_ = 0;
  log lines_;
};

} // namespace actorrun::detail
