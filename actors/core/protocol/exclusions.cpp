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
  return std::erase_if(list_, [&](const auto& x) { return x.host == host; })
         > 0;
}

const excluded_host* exclusions::find(const std::string& host) const {
  const auto i = std::ranges::find(list_, host, &excluded_host::host);
  return i == list_.end() ? nullptr : &*i;
}

} // namespace actorrun::core
