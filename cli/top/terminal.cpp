#include "cli/top/terminal.hpp"

#include "messages/formatted.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

// Its macros take names such as `erase`, `move` and `lines`.
#define NCURSES_NOMACROS 1
#include <curses.h>
#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace actorrun::cli::top {

namespace {

/// Of terminfo(5).
constexpr auto cursor_movement = "cup";

/// How long the rest of a key's sequence is waited for, in ms.
constexpr int escape_delay = 50;

/// Lines that the wheel moves by.
constexpr int wheel_lines = 3;

constexpr int ctrl_c = 3;
constexpr int ctrl_l = 12;
constexpr int ctrl_z = 26;

/// Numbers of colour pairs; 0 is the terminal's own.
enum colour_pair : short { cyan = 1, yellow, red, on_bar };

attr_t attribute_of(style x, bool has_colours) {
  const auto coloured = [has_colours](short number) {
    return has_colours ? COLOR_PAIR(number) : attr_t{0};
  };
  switch (x) {
    case style::plain:
      return A_NORMAL;
    case style::dim:
      return A_DIM;
    case style::strong:
      return A_BOLD;
    case style::good:
      return coloured(cyan);
    case style::warning:
      return coloured(yellow) | A_BOLD;
    case style::bad:
      return coloured(red) | A_BOLD;
    case style::heading:
      return A_BOLD | A_UNDERLINE;
    case style::selected:
      return A_REVERSE;
    case style::bar:
      return has_colours ? coloured(on_bar) : attr_t{A_REVERSE};
  }
  return A_NORMAL;
}

std::optional<key> key_of(int code) {
  switch (code) {
    case KEY_UP:
      return key::up;
    case KEY_DOWN:
      return key::down;
    case KEY_LEFT:
      return key::left;
    case KEY_RIGHT:
      return key::right;
    case KEY_PPAGE:
      return key::page_up;
    case KEY_NPAGE:
      return key::page_down;
    case KEY_HOME:
      return key::home;
    case KEY_END:
      return key::end;
    case KEY_ENTER:
    case '\r':
    case '\n':
      return key::enter;
    case 27:
      return key::escape;
    case KEY_BACKSPACE:
    case '\b':
    case 127:
      return key::backspace;
    default:
      return {};
  }
}

/// Without characters that the terminal has not.
std::string ascii(std::string text) {
  auto out = std::string{};
  for (const unsigned char c : text)
    if (c < 0x80)
      out += static_cast<char>(c);
    else if (c >= 0xc0)
      out += '?';
  return out;
}

} // namespace

struct terminal::members {
  SCREEN* what = nullptr;
  bool has_colours = false;
  bool is_unicode = true;
  size_t page_size = 1;
  size_t scroll_max = 0;
  bool is_covered = false;
  int wheel_left = 0; ///< Keys that a turn of the wheel still stands for.
};

terminal::terminal(std::unique_ptr<members> x) : members_(std::move(x)) {}

result<std::unique_ptr<terminal>> terminal::open(bool has_colours) {
  const auto* name = std::getenv("TERM");
  auto* what = ::newterm(nullptr, stdout, stdin);
  const auto can_move
    = what != nullptr && ::tigetstr(cursor_movement) != nullptr;
  if (what != nullptr && !can_move) {
    ::endwin();
    ::delscreen(what);
  }
  if (!can_move)
    return failure{
      errc::bad_argument,
      formatted("top cannot use this terminal: TERM is '{}', which is not known"
                " here, or cannot move its cursor; try TERM=xterm, or actorctl "
                "top --once",
                name == nullptr ? "" : name)};
  auto x = std::make_unique<members>();
  x->what = what;
  x->is_unicode = std::string_view{::nl_langinfo(CODESET)} == "UTF-8";
  ::raw();
  ::noecho();
  ::nonl();
  ::keypad(::stdscr, TRUE);
  ::nodelay(::stdscr, TRUE);
  ::set_escdelay(escape_delay);
  ::curs_set(0);
  ::mouseinterval(0);
  ::mousemask(BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, nullptr);
  if (has_colours && ::has_colors() && ::start_color() == OK) {
    ::use_default_colors();
    ::init_pair(cyan, COLOR_CYAN, -1);
    ::init_pair(yellow, COLOR_YELLOW, -1);
    ::init_pair(red, COLOR_RED, -1);
    ::init_pair(on_bar, COLOR_WHITE, COLOR_BLUE);
    x->has_colours = true;
  }
  return std::unique_ptr<terminal>{new terminal{std::move(x)}};
}

terminal::~terminal() {
  ::endwin();
  ::delscreen(members_->what);
}

size terminal::space() const {
  return {static_cast<size_t>(std::max(getmaxx(::stdscr), 1)),
          static_cast<size_t>(std::max(getmaxy(::stdscr), 1))};
}

void terminal::resize() {
  auto x = ::winsize{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &x) == 0 && x.ws_row > 0
      && x.ws_col > 0)
    ::resizeterm(x.ws_row, x.ws_col);
}

void terminal::paint(const screen& x) {
  members_->page_size = x.page_size;
  members_->scroll_max = x.scroll_max;
  members_->is_covered = x.is_covered;
  ::werase(::stdscr);
  for (size_t i = 0; i < x.lines.size(); ++i) {
    ::wmove(::stdscr, static_cast<int>(i), 0);
    for (const auto& part : x.lines[i]) {
      ::wattrset(::stdscr, static_cast<int>(
                             attribute_of(part.look, members_->has_colours)));
      const auto text = members_->is_unicode ? part.text : ascii(part.text);
      ::waddnstr(::stdscr, text.c_str(), static_cast<int>(text.size()));
    }
  }
  ::wattrset(::stdscr, A_NORMAL);
  ::wrefresh(::stdscr);
}

void terminal::forget() {
  ::clearok(::stdscr, TRUE);
}

std::optional<input> terminal::next_input() {
  const auto pressed = [this](key which, char text = 0) {
    return input{key_pressed{which, text, members_->page_size,
                             members_->scroll_max, members_->is_covered}};
  };
  if (auto& left = members_->wheel_left; left != 0) {
    const auto is_up = left < 0;
    left += is_up ? 1 : -1;
    return pressed(is_up ? key::up : key::down);
  }
  for (;;) {
    const auto code = ::wgetch(::stdscr);
    if (code == ERR)
      return {};
    if (code == ctrl_c)
      return interrupt_pressed{};
    if (code == ctrl_z)
      return suspend_pressed{};
    if (code == ctrl_l)
      return redraw_pressed{};
    if (const auto known = key_of(code))
      return pressed(*known);
    if (code >= ' ' && code < 127)
      return pressed(key::character, static_cast<char>(code));
    auto mouse = ::MEVENT{};
    if (code != KEY_MOUSE || ::getmouse(&mouse) != OK)
      continue; // A key without a meaning here.
    if ((mouse.bstate & BUTTON1_PRESSED) != 0)
      return line_clicked{static_cast<size_t>(std::max(mouse.y, 0))};
    const auto is_up = (mouse.bstate & BUTTON4_PRESSED) != 0;
    members_->wheel_left = is_up ? 1 - wheel_lines : wheel_lines - 1;
    return pressed(is_up ? key::up : key::down);
  }
}

void terminal::suspend() {
  ::endwin();
}

void terminal::resume() {
  resize();
  forget();
  ::wrefresh(::stdscr);
}

} // namespace actorrun::cli::top
