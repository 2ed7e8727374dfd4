// Owns the store's keys and queues, and answers requests.
#pragma once

#include "actors/core/store/request.hpp"
#include "actors/core/store/value.hpp"
#include "actors/core/store/waits.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace actorrun::core {

// -- effects: what the owner must do, in order --------------------------------

/// Send the head, then each value with its length, 64 bits, before it, then the
/// tail.
struct send_reply {
  store_client client;
  std::string head{}; ///< As it goes over the wire.
  std::vector<store_value> values{};
  std::optional<store_value> tail{}; ///< As it goes over the wire.
};

/// Cut the connection: there is no reply that says no.
struct drop_client {
  store_client client;
  std::string why; ///< One line.
};

using store_effect = std::variant<send_reply, drop_client>;
using store_effects = std::vector<store_effect>;

/// The store of one generation: keys, queues and barriers.
///
/// Does what torch's own server does, but for three things. A request that
/// cannot be answered cuts the connection and affects no other client. A client
/// that gave up waiting silently (torch 2.0 and before do) gets no late answer
/// in the place of the next. Everything has a limit.
class store_table {
public:
  store_table(const store_limits& limits, std::shared_ptr<store_budget> budget);

  /// @pre `request` has what its verb says
  void apply(store_client client, store_request request, store_effects& out);

  /// The connection is gone, and its wait with it.
  void forget(store_client client);

  size_t key_count() const { return entries_.size(); }

private:
  struct entry {
    store_value value;
    store_charge charge; ///< For the key.
  };

  /// A list: most queues are short, and an empty deque has room for many.
  struct queue {
    std::list<store_value> values;
    store_charge charge; ///< For the name and for what the list adds.
  };

  bool has(const std::string& key) const;
  std::vector<std::string> missing(std::vector<std::string> keys) const;
  store_value value_or_empty(const std::string& key) const;
  const std::string* put(std::string key, std::string bytes);
  void set(store_client client, std::string key, std::string bytes,
           store_effects& out);
  void wake(const std::vector<store_client>& clients, store_effects& out) const;
  std::optional<int64_t> counter(const std::string& key) const;

  void get(store_client client, const store_request& x, store_effects& out);
  void compare_set(store_client client, store_request& x, store_effects& out);
  void add(store_client client, store_request& x, store_effects& out);
  void append(store_client client, store_request& x, store_effects& out);
  void multi_set(store_client client, store_request& x, store_effects& out);
  void wait(store_client client, store_request& x, store_effects& out);
  void barrier(store_client client, const store_request& x, store_effects& out);
  queue* queue_for_one_more(std::string name);
  void push(store_client client, store_request& x, store_effects& out);
  void pop(store_client client, const std::string& name, store_effects& out);
  void list(store_client client, store_effects& out) const;

  store_limits limits_;
  std::shared_ptr<store_budget> budget_;
  store_value empty_;
  /// Ordered: clients choose the keys, and could choose colliding ones.
  std::map<std::string, entry> entries_;
  std::map<std::string, queue> queues_; ///< None of them empty.
  store_waits waits_;
};

} // namespace actorrun::core
