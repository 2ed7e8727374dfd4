// Reads one client's bytes as requests to the store: torch's TCPStore protocol
// in the three dialects of its clients.
#pragma once

#include "actors/core/store/request.hpp"
#include "actors/core/store/value.hpp"
#include "messages/result.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace actorrun::core {

/// Which torch the client has. From 2.2 on it says so at once; earlier it does
/// not, and 2.1 gave the numbers from 7 on another meaning.
enum class store_dialect : uint8_t {
  unknown,  ///< Nothing has come.
  upto_2_1, ///< It has said nothing that only one of the next two would say.
  upto_2_0, ///< 8 deletes a key; there is nothing above.
  only_2_1, ///< 7 deletes a key, 8 appends.
  from_2_2, ///< Begins with VALIDATE, which moves all numbers up.
};

/// Feed it what comes from the client; it keeps what is no whole request yet.
/// Every byte is looked at once, however the bytes are cut.
/// @see docs/store.md for the bytes.
class store_parser {
public:
  store_parser(const store_limits& limits,
               std::shared_ptr<store_budget> budget);

  /// Takes bytes from the front of `input` up to the end of the next request.
  /// @returns the request; nothing if `input` ended before it did
  /// @retval errc::bad_argument  the client speaks another protocol or goes
  ///         beyond a limit; the text says which. The parser is of no more use.
  result<std::optional<store_request>> next(std::string_view& input);

  /// Number 8 and a key have come and nothing behind it. Torch 2.1 sends the
  /// bytes to append without delay; 2.0 and before want the key deleted, and
  /// wait for the answer.
  bool is_undecided() const;

  /// Says that nothing has come behind it for long enough.
  /// @pre `is_undecided()`
  store_request decide_delete();

  store_dialect dialect() const { return dialect_; }

private:
  enum class stage : uint8_t { opcode, count, length, text, number, done };

  /// What follows an opcode: once, or as often as a count says that is first.
  struct grammar {
    store_verb verb;
    bool is_counted;
    std::string_view pieces; ///< k: key, v: value, n: 64 bits, m: 32 bits.
  };

  static const grammar* grammar_of(store_verb verb);
  std::optional<store_verb> verb_of(uint8_t opcode);
  std::optional<store_verb> old_verb_of(uint8_t opcode);
  result<void> begin(uint8_t opcode);
  result<void> take(std::string_view& input);
  result<void> take_count();
  result<void> take_length();
  result<void> take_text(std::string_view& input);
  result<void> take_number();
  bool make_place(std::vector<std::string>& texts);
  bool fill(std::string_view& input, size_t size);
  uint64_t scratch_value() const;
  bool is_magic() const;
  void expect_next();
  void finish_text();
  store_request finish();

  store_limits limits_;
  store_charge charge_; ///< For what is kept of a request.
  store_dialect dialect_ = store_dialect::unknown;
  stage stage_ = stage::opcode;
  const grammar* grammar_ = nullptr;
  size_t piece_ = 0;
  uint64_t rounds_ = 0; ///< How often the pieces are still to come.
  std::array<char, 8> scratch_{};
  size_t scratch_size_ = 0;
  bool is_probing_ = false; ///< The first bytes may be the magic of 2.2.
  std::string text_;
  size_t text_left_ = 0;
  store_request request_;
};

} // namespace actorrun::core
