// Compares the store with a model that is simple enough to be right.
#include "tests/core/store/store_fixture.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <vector>

namespace actorrun::test::store_model_test {

using namespace actorrun::core;

namespace {

using enum store_verb;

constexpr auto client_count = 6U;

std::string hex_of(const std::string& bytes) {
  return store_fixture::hex({.client = {}, .head = bytes});
}

/// Searches waits one by one, in the order in which they came.
class model {
public:
  std::string ask(uint64_t who, const store_request& x) {
    out_.clear();
    cancel(who);
    const auto& key = x.keys.empty() ? none_ : x.keys[0];
    switch (x.verb) {
      case set:
        put(key, x.values[0]);
        break;
      case get:
        tell(who, "'" + value(key) + "'");
        break;
      case add:
        put(key, std::to_string(number(key) + x.number),
            [&] { tell(who, hex_of(store_int(number(key)))); });
        break;
      case compare_set:
        swap(who, key, x.values[0], x.values[1]);
        break;
      case check:
        tell(who, missing(x.keys).empty() ? "00" : "01");
        break;
      case wait:
        if (missing(x.keys).empty())
          tell(who, "00");
        else
          waits_.push_back({who, missing(x.keys), {}});
        break;
      case delete_key:
        tell(who, hex_of(store_int(int64_t(values_.erase(key)))));
        break;
      case cancel_wait:
        tell(who, "01");
        break;
      case queue_push:
        push(key, x.values[0]);
        break;
      case queue_pop:
        pop(who, key);
        break;
      case barrier:
        meet(who, key, x.number);
        break;
      default:
        FAIL("not in the model");
    }
    return out_;
  }

private:
  struct waiting {
    uint64_t who = 0;
    std::set<std::string> keys;
    std::string barrier;
  };

  void tell(uint64_t who, const std::string& what) {
    out_ += std::to_string(who) + ": " + what + "\n";
  }

  void cancel(uint64_t who) {
    std::erase_if(waits_, [&](const auto& x) { return x.who == who; });
  }

  std::string value(const std::string& key) const {
    const auto i = values_.find(key);
    return i == values_.end() ? "" : i->second;
  }

  int64_t number(const std::string& key) const {
    return values_.contains(key) ? std::stoll(value(key)) : 0;
  }

  std::set<std::string> missing(const std::vector<std::string>& keys) const {
    auto out = std::set<std::string>{keys.begin(), keys.end()};
    std::erase_if(out, [&](const auto& x) {
      return values_.contains(x) || queues_.contains(x);
    });
    return out;
  }

  void put(const std::string& key, const std::string& to) {
    put(key, to, [] {});
  }

  template <class Reply>
  void put(const std::string& key, const std::string& to, Reply reply) {
    values_[key] = to;
    reply();
    for (auto& x : waits_)
      if (x.keys.erase(key) > 0 && x.keys.empty())
        tell(x.who, "00");
    sweep();
  }

  void sweep() {
    std::erase_if(waits_, [](const auto& x) {
      return x.keys.empty() && x.barrier.empty();
    });
  }

  void swap(uint64_t who, const std::string& key, const std::string& expected,
            const std::string& desired) {
    const auto there = values_.contains(key);
    if (value(key) != expected || (!there && !expected.empty())) {
      tell(who, "'" + (there ? value(key) : expected) + "'");
      return;
    }
    put(key, desired);
    tell(who, "'" + desired + "'");
  }

  void push(const std::string& name, const std::string& item) {
    queues_[name].push_back(item);
    for (auto& x : waits_) {
      if (x.keys.erase(name) == 0 || !x.keys.empty())
        continue;
      tell(x.who, "00");
      break;
    }
    sweep();
  }

  void pop(uint64_t who, const std::string& name) {
    auto i = queues_.find(name);
    if (i == queues_.end())
      return tell(who, hex_of(store_int(int64_t{0})));
    tell(who, hex_of(store_int(int64_t(i->second.size()))) + " '"
                + i->second.front() + "'");
    i->second.pop_front();
    if (i->second.empty())
      queues_.erase(i);
  }

  void meet(uint64_t who, const std::string& name, int64_t count) {
    put(name, std::to_string(number(name) + 1));
    if (number(name) < count) {
      waits_.push_back({who, {}, name});
      return;
    }
    for (const auto& x : waits_)
      if (x.barrier == name)
        tell(x.who, "00");
    std::erase_if(waits_, [&](const auto& x) { return x.barrier == name; });
    tell(who, "00");
  }

  const std::string none_;
  std::map<std::string, std::string> values_;
  std::map<std::string, std::deque<std::string>> queues_;
  std::vector<waiting> waits_;
  std::string out_;
};

store_request any_request(std::mt19937& random) {
  const auto pick = [&](size_t n) { return random() % n; };
  // Numbers under one kind of key, anything under the others.
  const auto text = "k" + std::to_string(pick(4));
  const auto number = "n" + std::to_string(pick(3));
  const auto queue = "q" + std::to_string(pick(2));
  const auto value = std::to_string(pick(3));
  auto several = std::vector<std::string>{};
  for (auto n = pick(4); n > 0; --n)
    several.push_back(std::vector{text, number, queue}[pick(3)]
                      + (pick(2) == 0 ? "" : std::to_string(pick(2))));
  switch (pick(12)) {
    case 0:
      return {.verb = set, .keys = {text}, .values = {value}};
    case 1:
      return {.verb = get, .keys = {text}};
    case 2:
      return {.verb = add, .keys = {number}, .number = int64_t(pick(9)) - 4};
    case 3:
      return {.verb = compare_set,
              .keys = {text},
              .values = {pick(2) == 0 ? "" : value, std::to_string(pick(3))}};
    case 4:
      return {.verb = check, .keys = several};
    case 5:
    case 6:
      return {.verb = wait, .keys = several};
    case 7:
      return {.verb = delete_key, .keys = {pick(2) == 0 ? text : number}};
    case 8:
      return {.verb = cancel_wait};
    case 9:
      return {.verb = queue_push, .keys = {queue}, .values = {value}};
    case 10:
      return {.verb = queue_pop, .keys = {queue}};
    default:
      return {.verb = barrier, .keys = {number}, .number = int64_t(pick(5))};
  }
}

} // namespace

TEST_CASE("store: agrees with a simple model", "[core]") {
  for (auto seed = 1U; seed <= 40; ++seed) {
    auto random = std::mt19937{seed};
    auto uut = store_fixture{};
    auto expected = model{};
    for (auto step = 0; step < 1'000; ++step) {
      const auto who = 1 + random() % client_count;
      const auto request = any_request(random);
      INFO("seed " << seed << ", step " << step);
      REQUIRE(uut.ask(who, request) == expected.ask(who, request));
    }
  }
}

TEST_CASE("store: removed clients and keys leave nothing behind", "[core]") {
  auto random = std::mt19937{7};
  auto uut = store_fixture{};
  auto keys = std::set<std::string>{};
  for (auto step = 0; step < 5'000; ++step) {
    const auto request = any_request(random);
    keys.insert(request.keys.begin(), request.keys.end());
    uut.ask(1 + random() % client_count, request);
  }
  for (const auto& key : keys) {
    uut.ask(1, {.verb = delete_key, .keys = {key}});
    const auto pop = store_request{.verb = queue_pop, .keys = {key}};
    while (uut.ask(1, pop).find('\'') != std::string::npos) {
    }
  }
  for (auto who = 1U; who <= client_count; ++who)
    uut.uut.disconnect({who});
  CHECK(uut.uut.memory() == 0);
}

} // namespace actorrun::test::store_model_test
