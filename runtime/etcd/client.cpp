#include "runtime/etcd/client.hpp"

#include "messages/formatted.hpp"

#include <fstream>
#include <utility>

namespace actorrun::detail {

namespace {

/// So long a member of a job that was away can learn that it has ended.
constexpr auto mark_length = std::chrono::hours{24};

/// The first line of a file.
result<std::string> password_in(const std::string& path) {
  auto file = std::ifstream{path};
  auto out = std::string{};
  if (!std::getline(file, out) || out.empty())
    return failure{errc::etcd_denied,
                   "password_file: there is no password in " + path};
  if (out.size() > secret_length_max)
    return failure{
      errc::etcd_denied,
      formatted("password_file: the password in {} is too long", path)};
  return out;
}

} // namespace

result<std::unique_ptr<etcd_client>>
etcd_client::open(const endpoint& where, const etcd_options& options,
                  const job_id& job, log lines) {
  auto password = std::string{};
  if (!options.user.empty()) {
    auto found = password_in(options.password_file);
    if (!found)
      return found.error();
    password = std::move(*found);
  }
  auto all = std::vector{where};
  all.insert(all.end(), options.more_members.begin(),
             options.more_members.end());
  auto members = etcd_members::open(std::move(all), options, std::move(lines));
  if (!members)
    return members.error();
  return std::unique_ptr<etcd_client>{
    new etcd_client{std::move(*members), etcd::keys_of(options.prefix, job),
                    options.user, std::move(password)}};
}

etcd_client::etcd_client(std::unique_ptr<etcd_members> members,
                         etcd::job_keys keys, std::string user,
                         std::string password)
  : members_(std::move(members)), keys_(std::move(keys)),
    user_(std::move(user)), password_(std::move(password)) {}

result<core::entry_read> etcd_client::read(time_point deadline) {
  const auto x = ask("/v3/kv/txn", etcd::read_body(keys_), deadline);
  if (!x)
    return x.error();
  return etcd::read_entry(*x);
}

result<core::lease_opened> etcd_client::open_lease(std::chrono::seconds length,
                                                   time_point deadline) {
  const auto sent = clock::now();
  const auto x
    = ask("/v3/lease/grant", etcd::open_lease_body(length), deadline);
  if (!x)
    return x.error();
  auto out = etcd::read_lease(*x);
  if (out)
    out->sent = sent;
  return out;
}

result<etcd_client::campaign_answer>
etcd_client::campaign(const core::campaign& order, time_point deadline) {
  const auto x = ask("/v3/kv/txn", etcd::campaign_body(keys_, order), deadline);
  if (!x)
    return x.error();
  return etcd::read_campaign(*x);
}

result<std::optional<int64_t>> etcd_client::publish(int64_t lease,
                                                    int64_t revision,
                                                    const std::string& endpoint,
                                                    time_point deadline) {
  const auto x
    = ask("/v3/kv/txn", etcd::publish_body(keys_, lease, revision, endpoint),
          deadline);
  if (!x)
    return x.error();
  return etcd::read_published(*x);
}

result<std::optional<core::duration>> etcd_client::renew(int64_t lease,
                                                         time_point deadline) {
  const auto x = ask("/v3/lease/keepalive", etcd::renew_body(lease), deadline);
  if (!x)
    return x.error();
  return etcd::read_renewed(*x);
}

result<bool> etcd_client::write_job(const core::write_job& order,
                                    time_point deadline) {
  auto mark = int64_t{0};
  if (order.is_over) {
    const auto kept = open_lease(mark_length, deadline);
    if (!kept)
      return kept.error();
    mark = kept->lease;
  }
  const auto x
    = ask("/v3/kv/txn", etcd::write_job_body(keys_, order, mark), deadline);
  if (!x)
    return x.error();
  return etcd::read_written(*x);
}

void etcd_client::end_lease(const core::end_lease& order, time_point deadline) {
  const auto lease = order.lease;
  if (order.job_over) {
    // Without a lease of its own the mark would stay for ever: then no mark.
    const auto kept = open_lease(mark_length, deadline);
    ask("/v3/kv/txn",
        kept ? etcd::end_job_body(keys_, order, kept->lease)
             : etcd::forget_job_body(keys_, lease),
        deadline);
  }
  ask("/v3/lease/revoke", etcd::end_lease_body(lease), deadline);
}

// A token expires a few minutes after its last use, and with the server.
result<http_answer> etcd_client::ask(const std::string& path,
                                     const std::string& body,
                                     time_point deadline) {
  if (!user_.empty() && !is_logged_in_)
    if (auto ok = log_in(deadline); !ok)
      return ok.error();
  auto x = members_->post(path, body, deadline);
  if (!x)
    return x;
  const auto why = etcd::refusal_of(*x);
  if (!why || why->code != errc::secret_mismatch)
    return x;
  is_logged_in_ = false;
  if (user_.empty())
    return failure{errc::etcd_denied, why->text};
  if (auto ok = log_in(deadline); !ok)
    return ok.error();
  x = members_->post(path, body, deadline);
  // A member that lags behind the others does not know the lease yet.
  if (const auto again = x ? etcd::refusal_of(*x) : std::nullopt;
      again && again->code == errc::secret_mismatch)
    return failure{errc::etcd_unreachable, again->text};
  return x;
}

result<void> etcd_client::log_in(time_point deadline) {
  members_->set_token({});
  const auto x
    = members_->post("/v3/auth/authenticate",
                     etcd::authenticate_body(user_, password_), deadline);
  if (!x)
    return x.error();
  auto token = etcd::read_token(*x);
  if (!token)
    return token.error();
  members_->set_token(*token);
  is_logged_in_ = true;
  return {};
}

} // namespace actorrun::detail
