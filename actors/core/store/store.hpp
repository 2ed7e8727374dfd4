// Serves torch's TCPStore protocol to the workers of one generation: clients' bytes
// come in, replies go out.
#pragma once

#include "actors/core/store/parser.hpp"
#include "actors/core/store/table.hpp"

#include <memory>
#include <string_view>
#include <unordered_map>

namespace actorrun::core {

/// Whatever a client sends, no other client is affected.
class store {
public:
  explicit store(const store_limits& limits);

  /// @returns false, and the client is not connected, if the store is full
  /// @pre no client has had this number
  bool connect(store_client client);

  /// Takes bytes of the client from the front of `input` up to the end of its
  /// next request, or all.
  /// @returns its effects; not all need be for this client
  /// @pre the client is connected
  store_effects receive(store_client client, std::string_view& input);

  /// The client's last request may yet be another one, if nothing comes behind
  /// it.
  bool is_undecided(store_client client) const;

  /// Nothing has come behind it for long enough.
  /// @pre `is_undecided(client)`
  store_effects decide(store_client client);

  /// The connection is gone, or has been cut.
  void disconnect(store_client client);

  /// For what its connection keeps of a client's requests and replies.
  store_charge new_charge() const { return store_charge{budget_}; }

  /// Bytes that are kept, of `store_limits::memory_max`.
  size_t memory() const { return budget_->used(); }

  /// The most that were ever kept.
  size_t memory_peak() const { return budget_->most(); }

  size_t key_count() const { return table_.key_count(); }

private:
  struct connection {
    store_parser parser;
    store_charge charge;
  };

  store_limits limits_;
  std::shared_ptr<store_budget> budget_;
  store_table table_;
  std::unordered_map<store_client, connection> connections_;
};

} // namespace actorrun::core
