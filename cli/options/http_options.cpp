#include "cli/options/http_options.hpp"

#include "messages/formatted.hpp"

#include <cstdint>
#include <limits>
#include <optional>

#include <arpa/inet.h>
#include <netinet/in.h>

namespace actorrun::cli {

namespace {

constexpr auto own_host = "127.0.0.1";
constexpr auto health_variable = "TORCHELASTIC_HEALTH_CHECK_PORT";

bool is_address(const std::string& host) {
  auto room = in6_addr{};
  return ::inet_pton(AF_INET, host.c_str(), &room) == 1
         || ::inet_pton(AF_INET6, host.c_str(), &room) == 1;
}

failure not_listening(std::string_view text) {
  return bad_argument(
    formatted("{} is not a port, with or without an address: 9400, "
              "0.0.0.0:9400, [::]:9400",
              in_quotes(text)));
}

} // namespace

result<endpoint> parse_listening(std::string_view text) {
  const auto colon = text.rfind(':');
  auto host = std::string{colon == text.npos ? std::string_view{own_host}
                                             : text.substr(0, colon)};
  const auto port
    = parse_count(colon == text.npos ? text : text.substr(colon + 1), 0,
                  std::numeric_limits<uint16_t>::max());
  if (!port)
    return not_listening(text);
  if (host.starts_with('[') && host.ends_with(']') && host.size() > 2)
    host = host.substr(1, host.size() - 2);
  else if (host.find(':') != host.npos)
    return not_listening(text);
  if (host == "localhost")
    host = own_host;
  if (!is_address(host))
    return not_listening(text);
  return endpoint{.host = host, .port = static_cast<uint16_t>(*port)};
}

void add_http_options(option_adder& add, http_options& out) {
  add("--metrics-port", "[ADDRESS:]PORT",
      "serve metrics for Prometheus at /metrics, and /healthz and /readyz for "
      "probes (default: not). Without an address only this host reaches them; "
      "0.0.0.0:9400 or [::]:9400 lets every host read them",
      into(out.metrics, parse_listening));
  add("--dashboard-port", "[ADDRESS:]PORT",
      "serve a page for browsers that shows the job live and cannot change it "
      "(default: not). Without an address only browsers of this host reach it",
      into(out.page, parse_listening));
}

void settle_http(const run_settings& settings, const host_facts& world,
                 run_arguments& out) {
  out.http = settings.http;
  const auto typed = world.variable(health_variable).value_or("");
  if (typed.empty())
    return;
  auto health = parse_listening(typed);
  if (health)
    out.http.health = std::move(*health);
  else
    out.warnings.push_back(
      formatted("{} has no effect: {}", health_variable, health.error().text));
}

} // namespace actorrun::cli
