#include "runtime/network/job_credentials.hpp"

#include "runtime/network/munge_queue.hpp"
#include "runtime/network/tls_identity.hpp"

#include <memory>
#include <utility>

namespace actorrun::detail {

namespace {

/// @pre there is neither a secret nor a certificate
result<void> use_munge(munge_use how, credentials& out) {
  if (how == munge_use::never)
    return {};
  out.munge = std::make_shared<munge_queue>();
  if (how == munge_use::on_demand)
    return {};
  if (const auto works = out.munge->check(munge_check_limit); !works) {
    if (how == munge_use::always)
      return system_failure("munge has to prove who joins the job, and "
                            + works.error().text);
    out.munge_lack = works.error().text;
    return {};
  }
  out.demands_munge = true;
  out.key = random_key();
  return {};
}

} // namespace

result<credentials> load_credentials(const job_options& job) {
  auto out
    = job.rendezvous ? credentials_of(job.job, job.secret) : credentials{};
  if (job.tls.is_set()) {
    auto identity = tls_identity::load(job.tls);
    if (!identity)
      return identity.error();
    out.identity = std::move(*identity);
  }
  if (job.rendezvous && !out.is_guarded())
    if (auto ok = use_munge(job.munge, out); !ok)
      return ok.error();
  return out;
}

} // namespace actorrun::detail
