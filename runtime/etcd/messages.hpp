// Writes requests to etcd and reads its answers: the JSON of its v3 gateway.
//
// Reference: etcd's api_reference_v3; numbers of 64 bits are texts in JSON,
// keys and values are base64, and what is 0, false or empty is left out.
#pragma once

#include "actors/core/protocol/leadership.hpp"
#include "messages/ids.hpp"
#include "messages/result.hpp"
#include "runtime/etcd/http.hpp"
#include "runtime/options.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace actorrun::detail::etcd {

/// The keys of one job.
struct job_keys {
  std::string coordinator; ///< Exists while a node leads.
  /// Exists from the first coordinator on, and for a day after the end.
  std::string job;
};

/// Keys below `prefix`, different for every job. Job ids may contain any bytes,
/// so they are written as hexadecimal digits unless they are plain.
job_keys keys_of(const std::string& prefix, const job_id& job);

// -- requests -----------------------------------------------------------------

std::string authenticate_body(const std::string& user,
                              const std::string& password);
std::string read_body(const job_keys& keys);
std::string open_lease_body(std::chrono::seconds length);
std::string renew_body(int64_t lease);
std::string end_lease_body(int64_t lease);
/// Marks the job as over until the lease `mark` ends, and removes the entry. As the
/// next one, it has no effect unless `lease` has the entry.
std::string end_job_body(const job_keys& keys, const core::end_lease& order,
                         int64_t mark);
/// @param mark Lease of a mark that says that the job is over; 0: it does not.
std::string write_job_body(const job_keys& keys, const core::write_job& order,
                           int64_t mark);
std::string forget_job_body(const job_keys& keys, int64_t lease);
std::string campaign_body(const job_keys& keys, const core::campaign& order);
std::string publish_body(const job_keys& keys, int64_t lease, int64_t revision,
                         const std::string& endpoint);

// -- answers ------------------------------------------------------------------
//
// All of them may fail as `refusal_of` says, and:
// @retval errc::etcd_unreachable  it is not an answer of etcd

/// Whether the member, or the proxy, that answers is cut off from its cluster.
/// Then another member may have the answer.
bool is_unavailable(const http_answer& x);

/// The failure in an answer, if it is one. `errc::secret_mismatch` only means
/// that the token has expired: get another.
/// @retval errc::etcd_denied, errc::etcd_unreachable
std::optional<failure> refusal_of(const http_answer& x);

result<std::string> read_token(const http_answer& x);
result<core::entry_read> read_entry(const http_answer& x);
result<core::lease_opened> read_lease(const http_answer& x);
result<std::variant<core::campaign_won, core::campaign_lost>>
read_campaign(const http_answer& x);
/// The new revision; none: the entry is not ours.
/// The same, for the job's key: false if the entry is not ours.
result<bool> read_written(const http_answer& x);
result<std::optional<int64_t>> read_published(const http_answer& x);
/// The length of the lease; none: it is over.
result<std::optional<core::duration>> read_renewed(const http_answer& x);

} // namespace actorrun::detail::etcd
