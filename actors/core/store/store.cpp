#include "actors/core/store/store.hpp"

#include "actors/core/store/cost.hpp"

#include <cassert>
#include <utility>

namespace actorrun::core {

store::store(const store_limits& limits)
  : limits_(limits), budget_(std::make_shared<store_budget>(limits.memory_max)),
    table_(limits, budget_) {}

bool store::connect(store_client client) {
  auto charge = new_charge();
  if (!charge.grow(hash_node_cost<decltype(connections_)::value_type>()))
    return false;
  const auto is_new
    = connections_
        .emplace(client, connection{{limits_, budget_}, std::move(charge)})
        .second;
  assert(is_new);
  return true;
}

store_effects store::receive(store_client client, std::string_view& input) {
  auto out = store_effects{};
  auto request = connections_.at(client).parser.next(input);
  if (!request)
    out.emplace_back(drop_client{client, request.error().text});
  else if (*request)
    table_.apply(client, std::move(**request), out);
  return out;
}

bool store::is_undecided(store_client client) const {
  return connections_.at(client).parser.is_undecided();
}

store_effects store::decide(store_client client) {
  auto out = store_effects{};
  table_.apply(client, connections_.at(client).parser.decide_delete(), out);
  return out;
}

void store::disconnect(store_client client) {
  connections_.erase(client);
  table_.forget(client);
}

} // namespace actorrun::core
