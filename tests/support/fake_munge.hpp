// A cluster's munge without daemons: what is sealed for whom is written down.
#pragma once

#include "runtime/os/munge.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

namespace actorrun::test {

/// As long as munged's own with its defaults and a text like ours.
inline constexpr size_t credential_size = 271;

/// What the daemons of all nodes have sealed.
struct fake_munge_cluster {
  struct sealed {
    std::string text;
    uid_t author = 0;
    uid_t reader = 0;
  };

  std::mutex mutex;
  std::map<std::string, sealed> texts; ///< By their credentials.
};

/// The daemon of one node, as processes of one user have it.
class fake_munge final : public detail::munge_service {
public:
  fake_munge(std::shared_ptr<fake_munge_cluster> cluster, uid_t user)
    : cluster_(std::move(cluster)), user_(user) {}

  result<std::string> seal(const std::string& text, uid_t reader) override {
    if (const auto why = obstacle())
      return *why;
    const auto lock = std::lock_guard{cluster_->mutex};
    auto credential = "MUNGE:" + std::to_string(cluster_->texts.size()) + ":";
    credential.resize(credential_size, '=');
    cluster_->texts[credential] = {text, user_, reader};
    return credential;
  }

  result<detail::opened_text> open(const std::string& credential) override {
    if (const auto why = obstacle())
      return *why;
    const auto lock = std::lock_guard{cluster_->mutex};
    const auto i = cluster_->texts.find(credential);
    if (i == cluster_->texts.end())
      return failure{errc::secret_mismatch, "munge refuses the credential"};
    const auto& [text, author, reader] = i->second;
    if (reader != any_user && reader != user_)
      return failure{errc::user_mismatch, "munge says that it is another's"};
    if (!opened_.insert(credential).second)
      return failure{errc::connection_failed, "munge has seen it before"};
    return detail::opened_text{text, author};
  }

  /// @param fn Called first in each call; it may block, and what it returns is the
  ///           call's failure.
  void before_calls(std::function<std::optional<failure>()> fn) {
    const auto lock = std::lock_guard{cluster_->mutex};
    before_ = std::move(fn);
  }

private:
  std::optional<failure> obstacle() {
    auto fn = std::function<std::optional<failure>()>{};
    {
      const auto lock = std::lock_guard{cluster_->mutex};
      fn = before_;
    }
    return fn ? fn() : std::nullopt;
  }

  std::shared_ptr<fake_munge_cluster> cluster_;
  uid_t user_;
  // Guarded by the cluster's mutex.
  std::set<std::string> opened_;
  std::function<std::optional<failure>()> before_;
};

} // namespace actorrun::test
