// A terminal for a program that draws: what would be on its screen.
#pragma once

#include "runtime/os/unique_fd.hpp"
#include "tests/bench/moment.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace actorrun::bench {

/// Understands what ncurses writes for `vt100`. What is no ASCII is a `?`.
class terminal {
public:
  static constexpr auto variable = "TERM=vt100";

  static result<terminal> open(size_t columns, size_t rows);

  /// The program's end; close it afterwards.
  int program_end() const { return program_end_.get(); }
  void close_program_end() { program_end_.reset(); }

  /// Reads until one of the rows contains both texts.
  /// @returns that moment, as in `stamp_now`
  result<int64_t> await(std::string_view text, std::string_view more = {});

  /// Reads what is there.
  void read_pending();

  /// The rows, each with a line feed.
  std::string picture() const;

private:
  terminal(detail::unique_fd own_end, detail::unique_fd program_end,
           size_t columns, size_t rows);

  enum class state { text, escape, sequence, character_set };

  bool has(std::string_view text, std::string_view more) const;
  bool read_some(int timeout_ms);
  void take(unsigned char x);
  void take_escape(char x);
  void run(char command);
  void print(char x);
  void feed();
  void erase(size_t row, size_t from, size_t to);

  detail::unique_fd own_end_;
  detail::unique_fd program_end_;
  size_t columns_;
  std::vector<std::string> rows_;
  size_t row_ = 0;
  size_t column_ = 0;
  size_t top_ = 0;    ///< The first row that scrolls …
  size_t bottom_ = 0; ///< … and the last.
  state state_ = state::text;
  std::string parameters_;
};

} // namespace actorrun::bench
