// Records which clients wait for which keys and at which barriers.
#pragma once

#include "actors/core/store/value.hpp"
#include "messages/ids.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace actorrun::core {

/// A connection to the store; numbers are not used again.
using store_client = strong_id<struct store_client_tag, uint64_t>;

/// At most one wait per client.
class store_waits {
public:
  explicit store_waits(std::shared_ptr<store_budget> budget);

  /// The client waits until every key has been there, whether or not it is
  /// still there then.
  /// @param missing The keys that are not there; not empty.
  /// @returns false, and nothing is kept, if the budget is spent
  bool wait(store_client client, std::vector<std::string> missing);

  /// The client waits at the barrier of that name; returns like `wait`.
  bool join(store_client client, const std::string& name);

  /// The key is there now.
  /// @returns the clients whose wait is over, in order of arrival
  std::vector<store_client> on_key(const std::string& key);

  /// The queue of that name has an element, for one client.
  /// @returns the first client, if its wait is over
  std::optional<store_client> on_queue(const std::string& name);

  /// The barrier is complete.
  /// @returns the clients that waited there, in order of arrival
  std::vector<store_client> on_barrier(const std::string& name);

  /// Forgets the wait of the client, if it has one.
  void cancel(store_client client);

  size_t size() const { return waits_.size(); }

private:
  /// Numbers the waits in the order in which they began.
  using wait_number = uint64_t;
  struct line {
    std::set<wait_number> waits;
    store_charge charge; ///< For the name.
  };

  /// Ordered: clients choose the names, and could choose colliding ones.
  using lines = std::map<std::string, line>;

  struct entry {
    store_client client;
    /// The names as their lines keep them.
    std::set<const std::string*> missing;
    bool is_barrier = false;
    store_charge charge;
  };

  bool enter(store_client client, std::vector<std::string> names,
             bool is_barrier);
  bool join_line(std::string name, wait_number who, entry& mine);
  static void leave(lines& from, const std::string& name, wait_number who);
  std::optional<store_client> satisfy(wait_number who, const std::string& key);
  std::vector<store_client> satisfy_all(lines& of, const std::string& name);
  lines& lines_of(const entry& x) { return x.is_barrier ? barriers_ : keys_; }

  std::shared_ptr<store_budget> budget_;
  lines keys_;
  lines barriers_;
  std::map<wait_number, entry> waits_;
  std::unordered_map<uint64_t, wait_number> by_client_;
  wait_number last_ = 0;
};

} // namespace actorrun::core
