// Reads the value of `--rdzv-conf`: the timeouts of the rendezvous, which node
// hosts it, and how to connect to etcd.
#pragma once

#include "actors/core/time.hpp"
#include "messages/result.hpp"
#include "runtime/options.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace actorrun::cli {

struct rendezvous_conf {
  core::timeouts timeouts;
  coordinator_place place = coordinator_place::automatic;
  std::optional<bool> succession{}; ///< None: not given.
  etcd_options etcd;
  std::vector<std::string> etcd_keys; ///< Those that were given.
  std::vector<std::string>
    unknown_keys; ///< Likewise, in the order of the alphabet.
  std::vector<std::string> warnings; ///< One line each, for a person.
  /// `timeout` was given, and what to say of it where torchrun ignores it.
  std::string remark_on_timeout;
};

/// Reads `key=value,key=value`; white space around both is dropped, and so is one
/// pair of quotes around the whole. Of a key given twice the last one holds. An
/// empty text gives the defaults.
///
/// Keys: join_timeout, last_call_timeout, close_timeout, heartbeat_timeout,
/// keep_alive_interval, keep_alive_max_attempt, read_timeout, is_host,
/// store_type (only `tcp`) mean what they mean to torchrun; quiet_period,
/// join_settle, rejoin_backoff, fence_guard and succession are ours. Times are in seconds or have a unit
/// (`300ms`, `30s`, `5m`). `timeout` counts as join_timeout and
/// `heartbeat` as heartbeat_timeout: torchrun ignores the second, and with most
/// back ends the first, but scripts that have them mean those.
///
/// For etcd there are protocol, cacert, cert and key, also under the names that
/// torchrun's etcd-v2 has for them (ca_cert, ssl_cert, ssl_cert_key),
/// etcd_prefix, and ours: lease_ttl, user, password_file. A file of
/// certificates asks for TLS without `protocol=https`.
/// @retval errc::bad_argument  a pair is malformed, a key the matter of an option,
///         or a value is wrong; the text names the key
result<rendezvous_conf> parse_rendezvous_conf(std::string_view text);

/// Checks that all keys are known and fit the back end.
/// @retval errc::bad_argument  a key does not; the text names it
result<void> check_conf(const rendezvous_conf& conf,
                        rendezvous_backend backend);

/// Warnings about keys that are unknown, do not fit the back end, or mean something
/// else to torchrun; one line each. Such keys have no effect in torchrun either, so
/// that its scripts have them.
std::vector<std::string> remarks_on(const rendezvous_conf& conf,
                                    rendezvous_backend backend);

/// The known keys, in the order in which people read them.
std::vector<std::string> rendezvous_conf_keys();

} // namespace actorrun::cli
