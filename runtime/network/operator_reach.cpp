#include "runtime/network/operator_reach.hpp"

#include "actors/core/failure.hpp"
#include "runtime/network/connector.hpp"
#include "runtime/network/job_credentials.hpp"
#include "runtime/status.hpp"

#include <cstdint>
#include <utility>
#include <variant>

#include <unistd.h>

namespace actorrun::detail {

namespace {

std::string operator_name() {
  return "actorctl-" + std::to_string(::getpid());
}

client_identity operator_of(const credentials& mine) {
  return {mine, purpose::operate, operator_name()};
}

result<client_identity> operator_of(const job_options& job) {
  const auto mine = load_credentials(job);
  return mine ? operator_of(*mine) : result<client_identity>{mine.error()};
}

result<reached> reach(const operator_client::dialler& dial,
                      std::shared_ptr<const tls_identity> identity,
                      std::chrono::milliseconds limit) {
  const auto due = operator_client::time_point::clock::now() + limit;
  auto whom = operator_client::open(dial, std::move(identity), due);
  if (!whom)
    return whom.error();
  return reached{std::move(*whom), due};
}

result<reached> reach(const local_job& job, std::chrono::milliseconds limit) {
  const auto dial = [&](reactor& home, connect_callback on_done) {
    return connect_unix(home, job.path, operator_of(credentials{}), limit,
                        std::move(on_done));
  };
  return reach(dial, nullptr, limit);
}

result<reached> reach_at(const endpoint& where, const client_identity& mine,
                         std::chrono::milliseconds limit) {
  const auto dial = [&](reactor& home, connect_callback on_done) {
    return connect(home, where, mine, limit, std::move(on_done));
  };
  return reach(dial, mine.mine.identity, limit);
}

result<reached> reach(const job_options& job, std::chrono::milliseconds limit) {
  const auto mine = operator_of(job);
  if (!mine)
    return mine.error();
  auto where = result<endpoint>{*job.rendezvous};
  if (job.backend == rendezvous_backend::etcd)
    where = find_coordinator(job, limit);
  if (!where)
    return where.error();
  auto out = reach_at(*where, *mine, limit);
  // Of several seeds any one whose node takes part passes on what is asked.
  for (size_t i = 0; !out && i < job.more_seeds.size(); ++i)
    out = reach_at(job.more_seeds[i], *mine, limit);
  return out;
}

} // namespace

result<reached> reach(const located_job& job, std::chrono::milliseconds limit) {
  return std::visit([&](const auto& x) { return reach(x, limit); }, job);
}

result<v1::OperatorReply> ask(result<reached> there,
                              v1::OperatorRequest request) {
  if (!there)
    return there.error();
  request.set_number(1);
  if (auto ok = there->whom.send(request); !ok)
    return ok.error();
  auto x = there->whom.receive(there->due);
  if (!x)
    return x.error();
  return std::move(**x);
}

std::string shown(std::string_view text) {
  constexpr size_t length_max = 1'024;
  return core::one_line(text, length_max);
}

failure refusal_in(const v1::OperatorReply& x, const std::string& wanted) {
  const auto last = static_cast<uint32_t>(errc::certificate_mismatch);
  const auto code = x.refusal().code();
  if (code == 0 || code > last)
    return {errc::not_actorrun, "the job does not say " + wanted};
  return {static_cast<errc>(code), shown(x.refusal().text())};
}

} // namespace actorrun::detail
