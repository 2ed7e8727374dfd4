#include "cli/options/service_variables.hpp"

#include "cli/options/values.hpp"
#include "messages/formatted.hpp"

#include <charconv>
#include <chrono>
#include <cstdint>
#include <system_error>

#include <sys/un.h>

namespace actorrun::cli {

namespace {

constexpr auto path_size_max = sizeof(sockaddr_un::sun_path) - 1;

/// A century: more does not fit into the arithmetic of clocks.
constexpr auto microseconds_max = uint64_t{100} * 366 * 24 * 3'600 * 1'000'000;

/// Nothing if it is not a number in 1..`microseconds_max`.
std::optional<uint64_t> parse_microseconds(const std::string& text) {
  auto out = uint64_t{0};
  const auto* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, out);
  if (error != std::errc{} || at != end || out == 0 || out > microseconds_max)
    return std::nullopt;
  return out;
}

bool is_socket(const std::string& x) {
  return (x.starts_with('/') || x.starts_with('@')) && x.size() > 1
         && x.size() <= path_size_max;
}

} // namespace

service_variables read_service_variables(
  const std::function<std::optional<std::string>(const std::string&)>& variable,
  pid_t own_pid) {
  auto out = service_variables{};
  auto socket = variable("NOTIFY_SOCKET").value_or("");
  if (socket.empty())
    return out;
  if (!is_socket(socket)) {
    out.warnings.push_back(formatted(
      "NOTIFY_SOCKET has no effect: {} is neither an absolute path nor @ and a"
      " name, of at most {} characters",
      in_quotes(socket), path_size_max));
    return out;
  }
  out.options.socket = std::move(socket);
  const auto typed = variable("WATCHDOG_USEC").value_or("");
  if (typed.empty())
    return out;
  const auto pid = variable("WATCHDOG_PID").value_or("");
  if (!pid.empty() && pid != std::to_string(own_pid))
    return out;
  if (const auto microseconds = parse_microseconds(typed))
    out.options.watchdog = std::chrono::microseconds{*microseconds};
  else
    out.warnings.push_back(
      formatted("WATCHDOG_USEC has no effect: {} is not a number of"
                " microseconds above 0",
                in_quotes(typed)));
  return out;
}

} // namespace actorrun::cli
