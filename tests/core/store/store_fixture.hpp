// A store and its clients; the replies as text.
#pragma once

#include "actors/core/store/store.hpp"
#include "tests/support/store_bytes.hpp"

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace actorrun::test {

// -- requests that many tests make --------------------------------------------

inline core::store_request set_of(const char* key, std::string value) {
  return {
    .verb = core::store_verb::set, .keys = {key}, .values = {std::move(value)}};
}

inline core::store_request get_of(const char* key) {
  return {.verb = core::store_verb::get, .keys = {key}};
}

inline core::store_request wait_for(std::vector<std::string> keys) {
  return {.verb = core::store_verb::wait, .keys = std::move(keys)};
}

inline core::store_request compare(const char* key, const char* expected,
                                   const char* desired) {
  return {.verb = core::store_verb::compare_set,
          .keys = {key},
          .values = {expected, desired}};
}

inline core::store_request add_to(const char* key, int64_t x) {
  return {.verb = core::store_verb::add, .keys = {key}, .number = x};
}

inline core::store_request push_to(const char* queue, const char* value) {
  return {
    .verb = core::store_verb::queue_push, .keys = {queue}, .values = {value}};
}

inline core::store_request meet_at(const char* name, int64_t count) {
  return {.verb = core::store_verb::barrier, .keys = {name}, .number = count};
}

struct store_fixture {
  explicit store_fixture(const core::store_limits& limits = {}) : uut(limits) {}

  /// The replies to all clients when `client` (1..) asks; a client exists from
  /// its first request on, and speaks as torch 2.14.
  /// @returns `1: 00` per reply, in hexadecimal, and `1 is cut: why` or
  ///          `1 is refused`
  std::string ask(uint64_t client, const core::store_request& x) {
    return send(client, store_bytes(torch::v2_14, x), torch::v2_14);
  }

  std::string send(uint64_t client, std::string_view bytes, torch version) {
    if (!known[client]) {
      if (!uut.connect({client}))
        return std::to_string(client) + " is refused\n";
      known[client] = true;
      auto hello = std::string_view{"\0\xce\xf7\x85\x3c", 5};
      if (version == torch::v2_14)
        uut.receive({client}, hello);
    }
    auto out = std::string{};
    while (!bytes.empty()) {
      const auto effects = uut.receive({client}, bytes);
      out += text_of(effects);
      if (!known[client])
        break;
    }
    return out;
  }

  std::string text_of(const core::store_effects& effects) {
    auto out = std::string{};
    for (const auto& x : effects) {
      if (const auto* reply = std::get_if<core::send_reply>(&x)) {
        out += std::to_string(reply->client.value) + ": " + hex(*reply) + "\n";
        continue;
      }
      const auto& cut = std::get<core::drop_client>(x);
      out += std::to_string(cut.client.value) + " is cut: " + cut.why + "\n";
      uut.disconnect(cut.client);
      known[cut.client.value] = false;
    }
    return out;
  }

  /// Values as text in quotes, which is shorter.
  static std::string hex(const core::send_reply& x) {
    auto out = std::string{};
    for (const auto c : x.head) {
      constexpr auto digits = "0123456789abcdef";
      out += digits[static_cast<unsigned char>(c) >> 4];
      out += digits[static_cast<unsigned char>(c) & 15];
    }
    for (const auto& y : x.values)
      out += (out.empty() ? "'" : " '") + std::string{y.bytes()} + "'";
    if (x.tail)
      out += " +" + std::to_string(x.tail->bytes().size());
    return out;
  }

  core::store uut;
  std::map<uint64_t, bool> known;
};

} // namespace actorrun::test
