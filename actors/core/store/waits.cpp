#include "actors/core/store/waits.hpp"

#include "actors/core/store/cost.hpp"

#include <cassert>
#include <utility>

namespace actorrun::core {

namespace {

/// Of a wait's place in one line, on both sides.
constexpr auto place_cost
  = tree_node_cost<uint64_t>() + tree_node_cost<const std::string*>();

} // namespace

store_waits::store_waits(std::shared_ptr<store_budget> budget)
  : budget_(std::move(budget)) {}

bool store_waits::wait(store_client client, std::vector<std::string> missing) {
  assert(!missing.empty());
  return enter(client, std::move(missing), false);
}

bool store_waits::join(store_client client, const std::string& name) {
  return enter(client, {name}, true);
}

bool store_waits::enter(store_client client, std::vector<std::string> names,
                        bool is_barrier) {
  cancel(client);
  auto charge = store_charge{budget_};
  if (!charge.grow(tree_node_cost<decltype(waits_)::value_type>()
                   + hash_node_cost<decltype(by_client_)::value_type>()))
    return false;
  const auto who = ++last_;
  by_client_.emplace(client.value, who);
  auto& mine
    = waits_.emplace(who, entry{client, {}, is_barrier, std::move(charge)})
        .first->second;
  for (auto& x : names)
    if (!join_line(std::move(x), who, mine)) {
      cancel(client);
      return false;
    }
  return true;
}

bool store_waits::join_line(std::string name, wait_number who, entry& mine) {
  auto& all = lines_of(mine);
  auto i = all.find(name);
  if (i != all.end() && mine.missing.contains(&i->first))
    return true;
  if (!mine.charge.grow(place_cost))
    return false;
  if (i == all.end()) {
    auto charge = store_charge{budget_};
    if (!charge.grow(tree_node_cost<lines::value_type>() + text_cost(name)))
      return false;
    i = all.emplace(std::move(name), line{{}, std::move(charge)}).first;
  }
  mine.missing.insert(&i->first);
  i->second.waits.insert(who);
  return true;
}

std::vector<store_client> store_waits::on_key(const std::string& key) {
  return satisfy_all(keys_, key);
}

// A client that still waits for more is not the one: it does not come for it yet, and no
// longer waits for this.
std::optional<store_client> store_waits::on_queue(const std::string& name) {
  const auto i = keys_.find(name);
  if (i == keys_.end())
    return std::nullopt;
  auto first = std::optional<store_client>{};
  auto& waits = i->second.waits;
  for (auto who = waits.begin(); !first && who != waits.end();) {
    first = satisfy(*who, i->first);
    who = waits.erase(who);
  }
  if (waits.empty())
    keys_.erase(i);
  return first;
}

std::vector<store_client> store_waits::on_barrier(const std::string& name) {
  return satisfy_all(barriers_, name);
}

std::vector<store_client> store_waits::satisfy_all(lines& of,
                                                   const std::string& name) {
  auto out = std::vector<store_client>{};
  const auto node = of.extract(name);
  if (node.empty())
    return out;
  for (const auto who : node.mapped().waits)
    if (const auto client = satisfy(who, node.key()))
      out.push_back(*client);
  return out;
}

// `key` is that of the line, which the wait leaves.
std::optional<store_client> store_waits::satisfy(wait_number who,
                                                 const std::string& key) {
  const auto i = waits_.find(who);
  assert(i != waits_.end());
  i->second.missing.erase(&key);
  i->second.charge.shrink(place_cost);
  if (!i->second.missing.empty())
    return std::nullopt;
  const auto client = i->second.client;
  by_client_.erase(client.value);
  waits_.erase(i);
  return client;
}

void store_waits::cancel(store_client client) {
  const auto mine = by_client_.find(client.value);
  if (mine == by_client_.end())
    return;
  const auto i = waits_.find(mine->second);
  for (const auto* x : i->second.missing)
    leave(lines_of(i->second), *x, i->first);
  waits_.erase(i);
  by_client_.erase(mine);
}

void store_waits::leave(lines& from, const std::string& name, wait_number who) {
  const auto i = from.find(name);
  assert(i != from.end());
  i->second.waits.erase(who);
  if (i->second.waits.empty())
    from.erase(i);
}

} // namespace actorrun::core
