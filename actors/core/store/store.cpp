#include "actors/core/store/store.hpp"

#include <cassert>
#include <utility>

namespace actorrun::core {

store::store(const store_limits& limits)
  : limits_(limits), budget_(std::make_shared<store_budget>(limits.memory_max)),
    table_(limits, budget_) {}

void store::connect(store_client client) {
  const auto is_new
    = parsers_.emplace(client, store_parser{limits_, budget_}).second;
  assert(is_new);
}

store_effects store::receive(store_client client, std::string_view& input) {
  auto out = store_effects{};
  auto request = parsers_.at(client).next(input);
  if (!request)
    out.emplace_back(drop_client{client, request.error().text});
  else if (*request)
    table_.apply(client, std::move(**request), out);
  return out;
}

bool store::is_undecided(store_client client) const {
  return parsers_.at(client).is_undecided();
}

store_effects store::decide(store_client client) {
  auto out = store_effects{};
  table_.apply(client, parsers_.at(client).decide_delete(), out);
  return out;
}

void store::disconnect(store_client client) {
  parsers_.erase(client);
  table_.forget(client);
}

} // namespace actorrun::core
