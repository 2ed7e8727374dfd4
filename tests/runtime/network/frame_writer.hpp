// Writes frames of CAF's protocol by hand, good ones and others.
#pragma once

#include "runtime/network/caf_frame.hpp"

#include <cstdint>
#include <string>

namespace actorrun::detail::test {

inline std::string network_order(uint64_t x, size_t size) {
  auto out = std::string(size, '\0');
  for (auto i = size; i > 0; x >>= 8)
    out[--i] = static_cast<char>(x & 0xff);
  return out;
}

/// The number of a message that wants no answer.
inline constexpr uint64_t normal_message = 0x1000'0000'0000'0000;

struct frame_fields {
  frame_kind kind = frame_kind::direct_message;
  uint8_t flags = 0;
  uint64_t operation_data = 0;
  uint64_t source = 0;
  uint64_t destination = 0;
  std::string content{};
};

/// @param x A message without a number gets a normal one.
inline std::string write_frame(frame_fields x) {
  if (x.kind == frame_kind::direct_message && x.operation_data == 0)
    x.operation_data = normal_message;
  return std::string{static_cast<char>(x.kind), '\0', '\0',
                     static_cast<char>(x.flags)}
         + network_order(x.content.size(), 4)
         + network_order(x.operation_data, 8) + network_order(x.source, 8)
         + network_order(x.destination, 8) + x.content;
}

/// The name of a system; all begin alike.
inline std::string node(char x) {
  return std::string{"\0\0\x3e\x9a\xab\x9b\xac\x79", 8} + std::string(24, x);
}

/// Behind its size, in groups of seven bits, the lowest first, as CAF writes it.
inline std::string counted(const std::string& x) {
  auto out = std::string{};
  auto size = x.size();
  for (; size > 0x7f; size >>= 7)
    out += static_cast<char>(0x80 | (size & 0x7f));
  return out + static_cast<char>(size) + x;
}

/// A message of this type, with the bytes that Protobuf has made of it.
inline std::string content_of(const std::string& type,
                              const std::string& bytes = {}) {
  return std::string(3, '\0') + counted("@<>+" + type) + counted(bytes);
}

inline std::string server_greeting(char name, uint64_t actor) {
  return write_frame({.kind = frame_kind::server_handshake,
                      .operation_data = 3,
                      .content = node(name) + "\x01"
                                 + counted("generic-caf-app")
                                 + network_order(actor, 8) + '\0'});
}

inline std::string client_greeting(char name, uint8_t flags = 0) {
  return write_frame({.kind = frame_kind::client_handshake,
                      .flags = flags,
                      .content = node(name)});
}

} // namespace actorrun::detail::test
