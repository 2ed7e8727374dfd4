// Decides what the live view shows: what is known of the jobs, where the cursor is,
// how rows are sorted, folded and filtered.
#pragma once

#include "cli/top/actions.hpp"
#include "cli/top/rows.hpp"
#include "cli/top/text_page.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace actorrun::cli::top {

/// Silence of a job that is noted: it sends something every second.
inline constexpr auto silence_noted = std::chrono::milliseconds{3'000};

/// So long a message is shown; what a job has answered, longer.
inline constexpr auto message_shown = std::chrono::seconds{8};
inline constexpr auto answer_shown = std::chrono::seconds{20};

/// In bytes, of what is searched for or filtered by.
inline constexpr size_t entry_size_max = 64;

// -- what happens -----------------------------------------------------------------

struct status_came {
  std::string job; ///< The key of its picture.
  v1::JobStatus status;
  int64_t pid = 0; ///< As of `target`.
};

/// Nothing comes from a job any more; another look for it follows.
struct answer_missing {
  std::string job;
  std::string why;
  /// What its journal tells, if that has its end.
  std::optional<ended_job> end{};
};

/// No more is heard of a job, and it makes room for others.
struct job_forgotten {
  std::string job;
};

enum class key : uint8_t {
  character,
  up,
  down,
  left,
  right,
  page_up,
  page_down,
  home,
  end,
  enter,
  escape,
  backspace,
};

struct key_pressed {
  key which = key::character;
  char text = 0; ///< Of a character: ASCII.
  // Of the picture, as in `screen`.
  size_t page_size = 1;
  size_t scroll_max = 0;
  bool is_covered = false;
};

/// A row of the picture was clicked.
struct row_clicked {
  row_id row;
};

/// What a job was asked for was done, or not; for people.
struct job_answered {
  std::string text;
};

/// More of a text that was ordered.
struct text_came {
  uint64_t number = 0;
  std::vector<line> lines;
};

struct time_passed {
  /// As in `screen`: a message that covers rows stays until a key is pressed.
  bool is_covered = false;
};

using event
  = std::variant<status_came, answer_missing, job_forgotten, key_pressed,
                 row_clicked, job_answered, text_came, time_passed>;

// -- what follows -----------------------------------------------------------------

struct quit {};

/// The operator has confirmed it: `job_answered` follows.
struct steer_job {
  std::string job; ///< Its id.
  int64_t pid = 0; ///< As of `target`.
  v1::OperatorRequest request;
};

/// `text_came` with this number follows, until it is complete or closed.
struct open_text {
  uint64_t number = 0;
  verb what = verb::show_log; ///< Or a stack.
  target of;
};

/// The text that was opened last.
struct close_text {};

using effect = std::variant<quit, steer_job, open_text, close_text>;

/// Which page is shown.
enum class page : uint8_t { tree, details, job, help, text };

/// What the keys are typed into; of `question` only one key counts.
enum class entry : uint8_t { none, filter, search, level, question };

/// A key of the view itself, for the help.
struct own_key {
  std::string keys;
  std::string name;
};

const std::vector<own_key>& own_keys();

class model {
public:
  using time_point = core::time_point;

  /// @param wanted What is looked for, for people, while there is nothing to show.
  model(std::string wanted, std::vector<action> actions, time_point now);

  std::vector<effect> step(const event& x, time_point now);

  // What the picture is made of.
  const pictures& jobs() const { return shown_; }
  const tree_options& tree() const { return tree_; }
  const std::vector<action>& actions() const { return actions_; }
  const std::string& wanted() const { return wanted_; }
  page where() const { return page_; }
  entry typing() const { return entry_; }
  const std::string& typed() const { return typed_; }
  const std::string& searched() const { return searched_; }
  const std::string& message() const { return message_; }

  /// Lines of a message or a question that covers rows.
  size_t message_scrolled() const { return message_scrolled_; }
  const text_page& text() const { return text_; }

  /// What the operator is asked to confirm; empty: nothing.
  std::string question() const { return asked_ ? asked_->text : ""; }

  bool is_paused() const { return paused_.has_value(); }
  size_t scrolled() const { return scrolled_; } ///< Lines of a page.

  /// Of the picture: while it is paused, when that began.
  time_point now() const { return paused_.value_or(now_); }

  std::vector<row> rows() const { return rows_of(shown_, tree_); }

  /// The place of the cursor; 0 if there are no rows.
  size_t cursor_in(const std::vector<row>& rows) const;

  /// The job that the cursor is in; null: there is none.
  const job_picture* current(const std::vector<row>& rows) const;

private:
  using effects = std::vector<effect>;

  void on(const status_came& x, effects& out);
  void on(const answer_missing& x, effects& out);
  void on(const job_forgotten& x, effects& out);
  void on(const key_pressed& x, effects& out);
  void on(const row_clicked& x, effects& out);
  void on(const job_answered& x, effects& out);
  void on(const text_came& x, effects& out);
  void on(const time_passed& x, effects& out);
  bool scroll_message(const key_pressed& x);
  void type(const key_pressed& x);
  void end_entry();
  void press_in_question(const key_pressed& x, effects& out);
  void press_in_page(const key_pressed& x);
  void press_in_text(const key_pressed& x, effects& out);
  void press_in_tree(const key_pressed& x, effects& out);
  void press_letter(char letter, effects& out);
  void move(int64_t by);
  void move_to(size_t place, const std::vector<row>& rows);
  void fold(bool is_folded);
  void toggle_fold();
  void fold_all();
  void search(bool is_forward, bool is_new);
  void toggle_pause();
  void open(page which);
  void act(const action& x, effects& out);
  void begin(verb what, target of, effects& out);
  void show_text(verb what, target of, effects& out);
  void ask(verb what, const target& of, const std::string& level);
  const v1::JobStatus* status_of(const target& x) const;
  void say(std::string text, core::duration shown = message_shown);

  /// What awaits the operator's `y`.
  struct question_asked {
    std::string text;
    steer_job order;
  };

  std::string wanted_;
  std::vector<action> actions_;
  pictures shown_;
  pictures newest_; ///< While paused.
  tree_options tree_;
  std::optional<row_id> cursor_;
  size_t last_place_ = 0; ///< Of the cursor, for when its row is gone.
  page page_ = page::tree;
  entry entry_ = entry::none;
  std::string typed_;
  std::string searched_;
  target level_of_; ///< Whose log level is typed.
  std::optional<question_asked> asked_;
  bool awaits_answer_ = false; ///< Of a job that was steered.
  text_page text_;
  uint64_t text_number_ = 0; ///< Of the last text that was opened.
  std::string message_;
  time_point message_due_{};
  size_t message_scrolled_ = 0;
  size_t scrolled_ = 0;
  time_point now_;
  std::optional<time_point> paused_;
};

} // namespace actorrun::cli::top
