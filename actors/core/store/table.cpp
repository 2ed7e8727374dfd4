#include "actors/core/store/table.hpp"

#include "actors/core/store/cost.hpp"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <iterator>
#include <utility>

namespace actorrun::core {

namespace {

constexpr char is_ready = 0;
constexpr char is_not_ready = 1;
constexpr char stop_waiting = 0;
constexpr char wait_is_cancelled = 1;

/// Least significant byte first.
template <class Int>
std::string bytes_of(Int x) {
  auto out = std::string{};
  for (size_t i = 0; i < sizeof x; ++i)
    out += static_cast<char>(static_cast<uint64_t>(x) >> (8 * i));
  return out;
}

send_reply flag(store_client client, char x) {
  return {.client = client, .head = {x}};
}

send_reply number(store_client client, int64_t x) {
  return {.client = client, .head = bytes_of(x)};
}

// Of a key, for people: it may be anything.
std::string shown(std::string_view key) {
  constexpr auto length_max = size_t{64};
  auto out = std::string{key.substr(0, length_max)};
  for (auto& c : out)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f')
      c = '?';
  return "\"" + out + (key.size() > length_max ? "…\"" : "\"");
}

// As std::stoll, which is torch's reader: what stands behind the digits does
// not matter.
std::optional<int64_t> leading_number(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\n\v\f\r");
  if (first == text.npos)
    return std::nullopt;
  text.remove_prefix(first);
  if (text.size() > 1 && text.front() == '+' && text[1] != '-')
    text.remove_prefix(1);
  auto out = int64_t{0};
  const auto end = std::from_chars(text.data(), text.data() + text.size(), out);
  return end.ec == std::errc{} ? std::optional{out} : std::nullopt;
}

} // namespace

store_table::store_table(const store_limits& limits,
                         std::shared_ptr<store_budget> budget)
  : limits_(limits), budget_(std::move(budget)),
    empty_(*store_value::make(
      std::make_shared<store_budget>(store_value::cost_of({})), {})),
    waits_(budget_) {}

void store_table::apply(store_client client, store_request x,
                        store_effects& out) {
  // A client that sends another request does not wait any more.
  waits_.cancel(client);
  switch (x.verb) {
    case store_verb::validate:
      return;
    case store_verb::set:
      return set(client, std::move(x.keys[0]), std::move(x.values[0]), out);
    case store_verb::compare_set:
      return compare_set(client, x, out);
    case store_verb::get:
    case store_verb::multi_get:
      return get(client, x, out);
    case store_verb::add:
      return add(client, x, out);
    case store_verb::check:
      out.emplace_back(flag(
        client, missing(std::move(x.keys)).empty() ? is_ready : is_not_ready));
      return;
    case store_verb::wait:
      return wait(client, x, out);
    case store_verb::count_keys:
      out.emplace_back(number(client, static_cast<int64_t>(entries_.size())));
      return;
    case store_verb::delete_key:
      out.emplace_back(
        number(client, static_cast<int64_t>(entries_.erase(x.keys[0]))));
      return;
    case store_verb::append:
      return append(client, x, out);
    case store_verb::multi_set:
      return multi_set(client, x, out);
    case store_verb::cancel_wait:
      out.emplace_back(flag(client, wait_is_cancelled));
      return;
    case store_verb::ping:
      out.emplace_back(send_reply{
        .client = client, .head = bytes_of(static_cast<uint32_t>(x.number))});
      return;
    case store_verb::queue_push:
      return push(client, x, out);
    case store_verb::queue_pop:
      return pop(client, x.keys[0], out);
    case store_verb::queue_length: {
      const auto i = queues_.find(x.keys[0]);
      out.emplace_back(
        number(client, i == queues_.end()
                         ? 0
                         : static_cast<int64_t>(i->second.values.size())));
      return;
    }
    case store_verb::list_keys:
      return list(client, out);
    case store_verb::barrier:
      return barrier(client, x, out);
  }
}

void store_table::forget(store_client client) {
  waits_.cancel(client);
}

// -- keys ---------------------------------------------------------------------

bool store_table::has(const std::string& key) const {
  return entries_.contains(key) || queues_.contains(key);
}

std::vector<std::string>
store_table::missing(std::vector<std::string> keys) const {
  std::erase_if(keys, [this](const auto& x) { return has(x); });
  return keys;
}

store_value store_table::value_or_empty(const std::string& key) const {
  const auto i = entries_.find(key);
  return i == entries_.end() ? empty_ : i->second.value;
}

void store_table::get(store_client client, const store_request& x,
                      store_effects& out) {
  auto reply = send_reply{.client = client};
  reply.values.reserve(x.keys.size());
  for (const auto& key : x.keys)
    reply.values.push_back(value_or_empty(key));
  out.emplace_back(std::move(reply));
}

// Returns the key, as it is kept. None if there is no room: then the value
// before stays.
const std::string* store_table::put(std::string key, std::string bytes) {
  auto value = store_value::make(budget_, std::move(bytes));
  if (!value)
    return nullptr;
  if (const auto i = entries_.find(key); i != entries_.end()) {
    i->second.value = std::move(*value);
    return &i->first;
  }
  auto charge = store_charge{budget_};
  if (!charge.grow(tree_node_cost<decltype(entries_)::value_type>()
                   + text_cost(key)))
    return nullptr;
  return &entries_
            .emplace(std::move(key),
                     entry{std::move(*value), std::move(charge)})
            .first->first;
}

void store_table::set(store_client client, std::string key, std::string bytes,
                      store_effects& out) {
  const auto* kept = put(std::move(key), std::move(bytes));
  if (kept == nullptr) {
    out.emplace_back(drop_client{client, store_is_full});
    return;
  }
  wake(waits_.on_key(*kept), out);
}

void store_table::wake(const std::vector<store_client>& clients,
                       store_effects& out) const {
  for (const auto x : clients)
    out.emplace_back(flag(x, stop_waiting));
}

// What is expected of a key that is not there is handed back, as if it were.
void store_table::compare_set(store_client client, store_request& x,
                              store_effects& out) {
  const auto& key = x.keys[0];
  auto& expected = x.values[0];
  const auto i = entries_.find(key);
  const auto is_there = i != entries_.end();
  const auto matches
    = is_there ? i->second.value.bytes() == expected : expected.empty();
  if (matches) {
    if (put(key, std::move(x.values[1])) == nullptr) {
      out.emplace_back(drop_client{client, store_is_full});
      return;
    }
    wake(waits_.on_key(key), out);
  }
  if (matches || is_there) {
    out.emplace_back(
      send_reply{.client = client, .values = {value_or_empty(key)}});
  } else if (auto value = store_value::make(budget_, std::move(expected))) {
    out.emplace_back(
      send_reply{.client = client, .values = {std::move(*value)}});
  } else {
    out.emplace_back(drop_client{client, store_is_full});
  }
}

void store_table::multi_set(store_client client, store_request& x,
                            store_effects& out) {
  assert(x.keys.size() == x.values.size());
  for (size_t i = 0; i < x.keys.size(); ++i) {
    const auto* key = put(std::move(x.keys[i]), std::move(x.values[i]));
    if (key == nullptr) {
      out.emplace_back(drop_client{client, store_is_full});
      return;
    }
    wake(waits_.on_key(*key), out);
  }
}

void store_table::append(store_client client, store_request& x,
                         store_effects& out) {
  auto& key = x.keys[0];
  const auto i = entries_.find(key);
  if (i == entries_.end())
    return set(client, std::move(key), std::move(x.values[0]), out);
  auto& value = i->second.value;
  const auto size = value.bytes().size() + x.values[0].size();
  if (size > limits_.value_size_max)
    out.emplace_back(
      drop_client{client, "APPEND makes the value of " + shown(key) + " "
                            + std::to_string(size) + " bytes long; the most is "
                            + std::to_string(limits_.value_size_max)});
  else if (!value.append(budget_, x.values[0]))
    out.emplace_back(drop_client{client, store_is_full});
}

// -- numbers ------------------------------------------------------------------

// 0 where there is none.
std::optional<int64_t> store_table::counter(const std::string& key) const {
  const auto i = entries_.find(key);
  return i == entries_.end() ? int64_t{0}
                             : leading_number(i->second.value.bytes());
}

void store_table::add(store_client client, store_request& x,
                      store_effects& out) {
  auto& key = x.keys[0];
  const auto before = counter(key);
  auto sum = int64_t{0};
  if (!before || __builtin_add_overflow(*before, x.number, &sum)) {
    out.emplace_back(drop_client{
      client, "ADD to " + shown(key)
                + (before ? " goes beyond 64 bits" : ", which is no number")});
    return;
  }
  const auto* kept = put(std::move(key), std::to_string(sum));
  if (kept == nullptr) {
    out.emplace_back(drop_client{client, store_is_full});
    return;
  }
  out.emplace_back(number(client, sum));
  wake(waits_.on_key(*kept), out);
}

// Arrivals are counted in the key of that name, which every client can read.
void store_table::barrier(store_client client, const store_request& x,
                          store_effects& out) {
  const auto& name = x.keys[0];
  const auto before = counter(name);
  auto count = int64_t{0};
  if (!before || __builtin_add_overflow(*before, 1, &count)) {
    out.emplace_back(
      drop_client{client, "BARRIER " + shown(name) + ", which is no number"});
    return;
  }
  const auto is_complete = count >= x.number;
  if (put(name, std::to_string(count)) == nullptr
      || (!is_complete && !waits_.join(client, name))) {
    out.emplace_back(drop_client{client, store_is_full});
    return;
  }
  wake(waits_.on_key(name), out);
  if (!is_complete)
    return;
  wake(waits_.on_barrier(name), out);
  out.emplace_back(flag(client, stop_waiting));
}

// -- waits and queues ---------------------------------------------------------

void store_table::wait(store_client client, store_request& x,
                       store_effects& out) {
  auto left = missing(std::move(x.keys));
  if (left.empty())
    out.emplace_back(flag(client, stop_waiting));
  else if (!waits_.wait(client, std::move(left)))
    out.emplace_back(drop_client{client, store_is_full});
}

// None if there is no room.
store_table::queue* store_table::queue_for_one_more(std::string name) {
  constexpr auto place = list_node_cost<store_value>();
  if (const auto i = queues_.find(name); i != queues_.end())
    return i->second.charge.grow(place) ? &i->second : nullptr;
  auto charge = store_charge{budget_};
  if (!charge.grow(tree_node_cost<decltype(queues_)::value_type>()
                   + text_cost(name) + place))
    return nullptr;
  return &queues_.emplace(std::move(name), queue{{}, std::move(charge)})
            .first->second;
}

void store_table::push(store_client client, store_request& x,
                       store_effects& out) {
  const auto& name = x.keys[0];
  auto value = store_value::make(budget_, std::move(x.values[0]));
  auto* into = value ? queue_for_one_more(name) : nullptr;
  if (into == nullptr) {
    out.emplace_back(drop_client{client, store_is_full});
    return;
  }
  into->values.push_back(std::move(*value));
  if (const auto first = waits_.on_queue(name))
    wake({*first}, out);
}

// How many there were, and the first of them if any.
void store_table::pop(store_client client, const std::string& name,
                      store_effects& out) {
  const auto i = queues_.find(name);
  if (i == queues_.end()) {
    out.emplace_back(number(client, 0));
    return;
  }
  auto& values = i->second.values;
  auto reply = number(client, static_cast<int64_t>(values.size()));
  reply.values.push_back(std::move(values.front()));
  values.pop_front();
  i->second.charge.shrink(list_node_cost<store_value>());
  if (values.empty())
    queues_.erase(i);
  out.emplace_back(std::move(reply));
}

void store_table::list(store_client client, store_effects& out) const {
  auto reply = number(client, static_cast<int64_t>(entries_.size()));
  auto text = std::string{};
  auto size = size_t{0};
  for (const auto& [key, value] : entries_)
    size += sizeof(uint64_t) + key.size();
  auto room = store_charge{budget_}; // Before it is made.
  if (!room.grow(text_cost(text_capacity(size)))) {
    out.emplace_back(drop_client{client, store_is_full});
    return;
  }
  text.reserve(size);
  for (const auto& [key, value] : entries_)
    text.append(bytes_of(static_cast<uint64_t>(key.size()))).append(key);
  room.reset();
  reply.tail = store_value::make(budget_, std::move(text));
  if (reply.tail)
    out.emplace_back(std::move(reply));
  else
    out.emplace_back(drop_client{client, store_is_full});
}

} // namespace actorrun::core
