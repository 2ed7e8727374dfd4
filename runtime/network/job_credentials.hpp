// Loads that by which this process shows that it belongs to a job.
#pragma once

#include "messages/result.hpp"
#include "runtime/network/keys.hpp"
#include "runtime/options.hpp"

#include <chrono>

namespace actorrun::detail {

/// How long munge may take to show that it works here.
inline constexpr auto munge_check_limit = std::chrono::seconds{2};

/// The secret, the certificates, or munge, as the options say. May block for
/// `munge_check_limit`.
/// @pre `validate(job)`
/// @returns of a job without a rendezvous, the certificates alone
/// @retval errc::bad_argument     as `tls_identity::load`
/// @retval errc::system_failure   munge has to be used, and does not work here
result<credentials> load_credentials(const job_options& job);

} // namespace actorrun::detail
