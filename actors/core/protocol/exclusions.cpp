#include "actors/core/protocol/exclusions.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace actorrun::core {

std::string to_string(const excluded_host& x) {
  return "host " + x.host + " is excluded" + (x.by.empty() ? "" : " by " + x.by)
         + (x.reason.empty() ? "" : ": " + x.reason);
}

void exclusions::add(excluded_host x) {
  assert(find(x.host) == nullptr);
  assert(!is_full());
  list_.push_back(std::move(x));
}

bool exclusions::remove(const std::string& host) {
  failures_.erase(host);
  return std::erase_if(list_, [&](const auto& x) { return x.host == host; })
         > 0;
}

const excluded_host* exclusions::find(const std::string& host) const {
  const auto i = std::ranges::find(list_, host, &excluded_host::host);
  return i == list_.end() ? nullptr : &*i;
}

bool exclusions::add_failure(const std::string& host) {
  if (failure_count_max_ == 0
      || (failures_.size() >= failing_hosts_max && !failures_.contains(host)))
    return false;
  return ++failures_[host] >= failure_count_max_;
}

uint32_t exclusions::failure_count(const std::string& host) const {
  const auto i = failures_.find(host);
  return i == failures_.end() ? 0 : i->second;
}

} // namespace actorrun::core
