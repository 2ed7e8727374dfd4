// Lists the hosts whose nodes get no place in a generation.
#pragma once

#include "actors/core/time.hpp"

#include <cstddef>
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

/// At most this many hosts are listed; no more can be excluded.
inline constexpr size_t excluded_hosts_max = 64;

/// At most one entry per host.
class exclusions {
public:
  /// @pre `!find(x.host)`, `!is_full()`
  void add(excluded_host x);

  /// @returns false if it is not listed
  bool remove(const std::string& host);

  /// @returns null if the host is not listed
  const excluded_host* find(const std::string& host) const;

  bool is_full() const { return list_.size() >= excluded_hosts_max; }

  /// The newest last.
  const std::vector<excluded_host>& list() const { return list_; }

private:
  std::vector<excluded_host> list_;
};

} // namespace actorrun::core
