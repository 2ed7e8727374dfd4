// Lists the requests of the store's clients, and their limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace actorrun::core {

enum class store_verb : uint8_t {
  validate,     ///< number: the magic of torch from 2.2 on.
  set,          ///< key, value.
  compare_set,  ///< key; the value expected, the value desired.
  get,          ///< key.
  add,          ///< key, number.
  check,        ///< keys.
  wait,         ///< keys.
  count_keys,   ///< Nothing.
  delete_key,   ///< key.
  append,       ///< key, value.
  multi_get,    ///< keys.
  multi_set,    ///< keys and as many values.
  cancel_wait,  ///< Nothing.
  ping,         ///< number: to be sent back.
  queue_push,   ///< key, value.
  queue_pop,    ///< key.
  queue_length, ///< key.
  list_keys,    ///< Nothing.
  barrier,      ///< key, number: how many come.
};

struct store_request {
  store_verb verb = store_verb::validate;
  std::vector<std::string> keys{};
  std::vector<std::string> values{};
  int64_t number = 0;

  friend bool operator==(const store_request&, const store_request&) = default;
};

/// What one client, and all of them, may ask of the store. torch's own server
/// has 8 KiB, 8 MiB and 131,072 for the first three, and no limit of memory.
struct store_limits {
  size_t key_size_max = 64 * 1024;          ///< In bytes, 1 or more.
  size_t value_size_max = 64 * 1024 * 1024; ///< In bytes.
  size_t keys_per_request_max = 128 * 1024; ///< 1 or more.
  /// In bytes that the system gives for them: connections, keys, values, queues,
  /// waits, requests that are half read, and values that are half sent.
  size_t memory_max = size_t{1} << 30;
};

} // namespace actorrun::core
