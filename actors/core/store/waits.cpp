#include "actors/core/store/waits.hpp"

#include <cassert>
#include <utility>

namespace actorrun::core {

store_waits::store_waits(std::shared_ptr<store_budget> budget)
  : budget_(std::move(budget)) {}

bool store_waits::wait(store_client client, std::vector<std::string> missing) {
  assert(!missing.empty());
  return enter(client,
               {std::make_move_iterator(missing.begin()),
                std::make_move_iterator(missing.end())},
               false);
}

bool store_waits::join(store_client client, const std::string& name) {
  return enter(client, {name}, true);
}

// Each name is kept here and in its line.
bool store_waits::enter(store_client client, std::set<std::string> names,
                        bool is_barrier) {
  cancel(client);
  auto charge = store_charge{budget_};
  for (const auto& x : names)
    if (!charge.grow(2 * (x.size() + store_overhead)))
      return false;
  const auto who = ++last_;
  for (const auto& x : names)
    (is_barrier ? barriers_ : keys_)[x].insert(who);
  by_client_.emplace(client.value, who);
  waits_.emplace(
    who, entry{client, std::move(names), is_barrier, std::move(charge)});
  return true;
}

std::vector<store_client> store_waits::on_key(const std::string& key) {
  auto out = std::vector<store_client>{};
  auto node = keys_.extract(key);
  if (node.empty())
    return out;
  for (const auto who : node.mapped())
    if (const auto client = satisfy(who, key))
      out.push_back(*client);
  return out;
}

// A client that still waits for more is not the one: it does not come for it yet, and no
// longer waits for this.
std::optional<store_client> store_waits::on_queue(const std::string& name) {
  const auto i = keys_.find(name);
  if (i == keys_.end())
    return std::nullopt;
  auto first = std::optional<store_client>{};
  for (auto who = i->second.begin(); !first && who != i->second.end();) {
    first = satisfy(*who, name);
    who = i->second.erase(who);
  }
  if (i->second.empty())
    keys_.erase(i);
  return first;
}

std::vector<store_client> store_waits::on_barrier(const std::string& name) {
  auto out = std::vector<store_client>{};
  auto node = barriers_.extract(name);
  if (node.empty())
    return out;
  for (const auto who : node.mapped())
    if (const auto client = satisfy(who, name))
      out.push_back(*client);
  return out;
}

std::optional<store_client> store_waits::satisfy(wait_number who,
                                                 const std::string& key) {
  const auto i = waits_.find(who);
  assert(i != waits_.end());
  i->second.missing.erase(key);
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
  for (const auto& x : i->second.missing)
    leave(i->second.is_barrier ? barriers_ : keys_, x, i->first);
  waits_.erase(i);
  by_client_.erase(mine);
}

void store_waits::leave(lines& from, const std::string& name, wait_number who) {
  const auto i = from.find(name);
  assert(i != from.end());
  i->second.erase(who);
  if (i->second.empty())
    from.erase(i);
}

} // namespace actorrun::core
