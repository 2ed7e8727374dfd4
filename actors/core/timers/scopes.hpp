// Stores the names of timers, each once for all workers that use it.
#pragma once

#include "actors/core/timers/index.hpp"
#include "actors/core/timers/slab.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace actorrun::core {

/// Bytes of a scope's name: what fits into one line of the FIFO.
inline constexpr size_t scope_text_max = 4096;

/// Names that are counted by their users and vanish with the last of them. A
/// name of up to 30 bytes costs 40, a longer one its length on top.
class timer_scopes {
public:
  static constexpr uint32_t none = no_record;

  /// @param long_text_max Bytes of all names above 30 bytes together.
  explicit timer_scopes(size_t long_text_max) : long_text_max_(long_text_max) {}

  timer_scopes(const timer_scopes&) = delete;
  timer_scopes& operator=(const timer_scopes&) = delete;
  ~timer_scopes();

  /// The number of a name that is held; `none` if it is not held. O(length).
  uint32_t find(std::string_view text) const;

  /// Counts one more user of a name. O(length) amortised.
  /// @returns its number, the same as long as the name is held; `none` if the
  ///          name is longer than `scope_text_max` or there is no room.
  uint32_t hold(std::string_view text);

  /// Counts one user less; a name without users vanishes. O(1).
  void drop(uint32_t number);

  /// @pre the name is held
  std::string_view text(uint32_t number) const { return names_[number].text(); }

  /// Different names held.
  size_t size() const { return index_.size(); }

  /// Bytes of all names above 30 bytes.
  size_t long_text_size() const { return long_text_size_; }

private:
  struct name {
    uint32_t link = 0; ///< How many use it.
    uint32_t hash = 0;
    uint16_t length = 0;
    std::array<char, 30> place{}; ///< The text, or where it is.

    bool is_long() const { return length > place.size(); }
    std::string_view text() const;
  };

  static uint32_t hash_of(std::string_view text);
  uint32_t find(std::string_view text, uint32_t hash) const;
  bool write(name& x, std::string_view text);
  void erase(name& x);

  size_t long_text_max_;
  size_t long_text_size_ = 0;
  timer_slab<name> names_;
  timer_index index_;
};

} // namespace actorrun::core
