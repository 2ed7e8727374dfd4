// Owns the terminal while the live view is on it: paints lines, reads keys.
#pragma once

#include "cli/top/cells.hpp"
#include "cli/top/model.hpp"
#include "cli/top/view.hpp"
#include "messages/result.hpp"

#include <memory>
#include <optional>
#include <variant>

namespace actorrun::cli::top {

/// Ctrl-C, Ctrl-Z and Ctrl-L.
struct interrupt_pressed {};
struct suspend_pressed {};
struct redraw_pressed {};

/// A line of the picture was clicked, from 0.
struct line_clicked {
  size_t line = 0;
};

using input = std::variant<key_pressed, line_clicked, interrupt_pressed,
                           suspend_pressed, redraw_pressed>;

class terminal {
public:
  /// Takes over standard input and output.
  /// @param has_colours Else styles are shown without.
  /// @retval errc::bad_argument  TERM names no terminal that is known
  static result<std::unique_ptr<terminal>> open(bool has_colours);

  terminal(const terminal&) = delete;
  terminal& operator=(const terminal&) = delete;

  /// Gives the terminal back as it was.
  ~terminal();

  size space() const;

  /// Its size has changed.
  void resize();

  void paint(const screen& x);

  /// Paint everything anew next time.
  void forget();

  /// Does not wait. None: nothing was pressed.
  std::optional<input> next_input();

  /// Gives the terminal back until `resume`.
  void suspend();
  void resume();

private:
  struct members;
  explicit terminal(std::unique_ptr<members> x);

  std::unique_ptr<members> members_;
};

} // namespace actorrun::cli::top
