// Remembers the keys of the last links with others, of so many of them.
#pragma once

#include "runtime/network/keys.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace actorrun::detail {

/// Whoever has had a link shows its key with the next one, so no other member can
/// speak under its name. The side that shows keys must forget later than the side that
/// asks for them, or it would not be let in any more.
class recent_keys {
public:
  /// @param max More than that: the one that was kept first is forgotten; > 0.
  explicit recent_keys(size_t max) : max_(max) {}

  std::optional<resumption_key> find(const std::string& id) const {
    const auto i = known_.find(id);
    return i == known_.end() ? std::nullopt : std::optional{i->second.key};
  }

  void keep(const std::string& id, const resumption_key& key) {
    known_[id] = {key, ++last_};
    if (known_.size() > max_)
      known_.erase(std::ranges::min_element(
        known_, {}, [](const auto& x) { return x.second.number; }));
  }

private:
  struct entry {
    resumption_key key{};
    uint64_t number = 0; ///< Grows from one to the next.
  };

  size_t max_;
  uint64_t last_ = 0;
  std::map<std::string, entry> known_;
};

} // namespace actorrun::detail
