// Owns the ports at which a process shows its part of a job, and the thread that
// serves them.
#pragma once

#include "actors/log.hpp"
#include "messages/result.hpp"
#include "runtime/http/views.hpp"
#include "runtime/options.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace actorrun::detail {

/// A thread of its own serves all ports: whatever clients do, actors and the
/// launcher's reactor get nothing of it but a question now and then.
class http_ports {
public:
  /// Listens; clients wait until `serve`.
  /// @pre `options.is_any_set()`
  /// @retval errc::address_in_use, errc::cannot_listen  a port that an option asks
  ///         for cannot be had; the text names the option
  static result<http_ports> open(const http_options& options, const log& lines);

  http_ports(http_ports&&) noexcept;
  http_ports& operator=(http_ports&&) noexcept;

  /// Asks nothing more, and closes all connections.
  ~http_ports();

  /// Call it once.
  void serve(view_setup setup);

  /// Where it listens, in the order metrics, page, health, without doubles.
  std::vector<uint16_t> ports() const;

private:
  struct members;
  explicit http_ports(std::unique_ptr<members> x);

  std::unique_ptr<members> members_;
};

} // namespace actorrun::detail
