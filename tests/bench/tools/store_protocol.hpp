// The requests to a store that the load uses, in the dialect of torch 1.13 and
// 2.0.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace actorrun::bench::store_protocol {

enum class opcode : char { set = 0, get = 2, add = 3, wait = 5 };

inline constexpr size_t number_size = sizeof(uint64_t);

/// Size of every value: like an address of NCCL or Gloo.
inline constexpr size_t value_size = 128;

/// A client that sets many values counts them under this key at the end.
inline constexpr auto count_key = "/count";

/// A part of all keys that clients wait for before they are set.
inline constexpr auto late_key = "/late/";

/// Least significant byte first, as on this machine.
inline std::string number(uint64_t x) {
  return {reinterpret_cast<const char*>(&x), sizeof x};
}

inline std::string text(std::string_view x) {
  return number(x.size()) + std::string{x};
}

inline std::string request_of(opcode x) {
  return {static_cast<char>(x)};
}

inline std::string get_of(std::string_view key) {
  return request_of(opcode::get) + text(key);
}

inline std::string add_one(std::string_view key) {
  return request_of(opcode::add) + text(key) + number(1);
}

inline std::string wait_for(std::string_view key) {
  return request_of(opcode::wait) + number(1) + text(key);
}

inline std::string set_to(std::string_view key, std::string_view value) {
  return request_of(opcode::set) + text(key) + text(value);
}

} // namespace actorrun::bench::store_protocol
