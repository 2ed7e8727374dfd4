// Lists the hosts whose nodes get no place in an epoch, and counts the failures
// for which a host may come onto the list.
#pragma once

#include "actors/core/time.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace actorrun::core {

struct excluded_host {
  std::string host;
  std::string reason; ///< For people; may be empty.
  std::string by;     ///< Who has asked for it; empty: its own failures did it.
  time_point since{};

  friend bool operator==(const excluded_host&, const excluded_host&) = default;
};

/// `host n2 is excluded by alice: bad disk`
std::string to_string(const excluded_host& x);

/// At most so many hosts are listed; no more can be excluded.
inline constexpr size_t excluded_hosts_max = 64;

/// At most so many hosts' failures are counted; those of others are not.
inline constexpr size_t failing_hosts_max = 1'024;

/// At most one entry per host.
class exclusions {
public:
  /// @param failure_count_max A host with so many failures of its own is to be
  ///                          excluded; 0: never.
  explicit exclusions(uint32_t failure_count_max)
    : failure_count_max_(failure_count_max) {}

  /// @pre `!find(x.host)`, `!is_full()`
  void add(excluded_host x);

  /// Forgets the failures of the host, too.
  /// @returns false if it is not listed
  bool remove(const std::string& host);

  /// @returns null if the host is not listed
  const excluded_host* find(const std::string& host) const;

  bool is_full() const { return list_.size() >= excluded_hosts_max; }

  /// The newest last.
  const std::vector<excluded_host>& list() const { return list_; }

  /// A worker of this host was the root cause of an epoch's end.
  /// @returns whether the host is to be excluded for that
  bool add_failure(const std::string& host);

  /// Of the host, since it was last let in.
  uint32_t failure_count(const std::string& host) const;

private:
  uint32_t failure_count_max_;
  std::vector<excluded_host> list_;
  std::map<std::string, uint32_t> failures_; ///< By host.
};

} // namespace actorrun::core
