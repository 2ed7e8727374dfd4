// Elects one job's coordinator in etcd.
#pragma once

#include "runtime/etcd/members.hpp"
#include "runtime/etcd/messages.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <variant>

namespace actorrun::detail {

/// Blocks its caller; for one thread unless stated otherwise. Every call fails
/// by its deadline, with the failures of `etcd_members` and `messages.hpp`.
class etcd_client {
public:
  using clock = etcd_http::clock;
  using time_point = clock::time_point;
  using campaign_answer = std::variant<core::campaign_won, core::campaign_lost>;

  /// Sends no request yet.
  /// @param where One member; `options` may name more.
  /// @param lines Logs when another member is tried.
  /// @retval errc::system_failure  as `etcd_http::open`
  /// @retval errc::etcd_denied     a file of the options cannot be read
  static result<std::unique_ptr<etcd_client>> open(const endpoint& where,
                                                   const etcd_options& options,
                                                   const job_id& job,
                                                   log lines = {});

  /// Reads what etcd holds of the job at one moment after the call began.
  result<core::entry_read> read(time_point deadline);

  result<core::lease_opened> open_lease(std::chrono::seconds length,
                                        time_point deadline);

  result<campaign_answer> campaign(const core::campaign& order,
                                   time_point deadline);

  /// @returns the new revision; none: another node has the entry
  result<std::optional<int64_t>> publish(int64_t lease, int64_t revision,
                                         const std::string& endpoint,
                                         time_point deadline);

  /// @returns its length from the call on; none: it has ended
  result<std::optional<core::duration>> renew(int64_t lease,
                                              time_point deadline);

  /// Best effort: a lease that stays ends by itself.
  /// With `job_over`, and if this lease has the entry, the job is marked as over.
  void end_lease(const core::end_lease& order, time_point deadline);

  /// @returns false if the entry is not ours
  result<bool> write_job(const core::write_job& order, time_point deadline);

  /// As `etcd_members::link`.
  etcd_link link() const { return members_->link(); }

  /// As `etcd_http::hurry`; from any thread.
  void hurry(time_point deadline) { members_->hurry(deadline); }

private:
  etcd_client(std::unique_ptr<etcd_members> members, etcd::job_keys keys,
              std::string user, std::string password);

  result<http_answer> ask(const std::string& path, const std::string& body,
                          time_point deadline);
  result<void> log_in(time_point deadline);

  std::unique_ptr<etcd_members> members_;
  etcd::job_keys keys_;
  std::string user_; ///< Empty: no login.
  std::string password_;
  bool is_logged_in_ = false;
};

} // namespace actorrun::detail
