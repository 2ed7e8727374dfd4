#include "cli/top/model.hpp"

#include "actors/core/failure.hpp"
#include "actors/core/text.hpp"
#include "actors/job_status.hpp"
#include "cli/options/values.hpp"
#include "cli/report/status_view.hpp"

#include <algorithm>
#include <limits>

namespace actorrun::cli::top {

namespace {

/// In bytes.
constexpr size_t message_size_max = 400;

bool is_on(const action_scope& on, const row& x) {
  return x.node == nullptr ? on.jobs : x.is_worker() ? on.workers : on.nodes;
}

std::vector<uint32_t> ranks_of(const row& x) {
  if (x.rank)
    return {*x.rank};
  auto out = std::vector<uint32_t>{};
  if (!x.is_worker() && in_generation(*x.job->status, *x.node))
    for (uint32_t i = 0; i < x.node->slot_count(); ++i)
      out.push_back(global_rank(*x.node, i));
  return out;
}

target target_of(const row& x) {
  auto out = target{.job = x.job->status ? x.job->status->job_id() : x.id.job,
                    .pid = x.job->pid};
  if (x.node == nullptr)
    return out;
  out.agent = x.node->agent_id();
  out.host = x.node->host();
  if (in_generation(*x.job->status, *x.node))
    out.node_rank = x.node->node_rank();
  out.local_rank = x.id.local_rank;
  out.ranks = ranks_of(x);
  return out;
}

/// What a key is about: the row, or the node or job that the row is part of. None:
/// the key is for rows further down.
std::optional<target> target_for(const action_scope& on, const row& x) {
  if (is_on(on, x))
    return target_of(x);
  if (on.nodes && x.node != nullptr) {
    auto node = x;
    node.id.local_rank.reset();
    node.rank.reset();
    return target_of(node);
  }
  if (on.jobs)
    return target{.job = target_of(x).job, .pid = x.job->pid};
  return {};
}

/// Characters of UTF-8 end together.
void cut_last(std::string& text) {
  while (!text.empty()
         && (static_cast<unsigned char>(text.back()) & 0xc0) == 0x80)
    text.pop_back();
  if (!text.empty())
    text.pop_back();
}

} // namespace

const std::vector<own_key>& own_keys() {
  static const auto keys = std::vector<own_key>{
    {"up down PgUp PgDn Home End", "move (also j, k, g, G, the mouse)"},
    {"Enter", "show the details of this row, and go back"},
    {"Space left right", "fold and unfold this node; z: all nodes"},
    {"s S", "sort: rank, CPU, memory, silence, compute, age"},
    {"f", "filter: show only rows with a text; Esc ends it"},
    {"/ n N", "search for a text; the next one, the one before"},
    {"p", "pause: keep this picture"},
    {"w", "the details of the job: its generations, who is gone"},
    {"h ?", "this help"},
    {"q", "quit (also Ctrl-C)"},
  };
  return keys;
}

model::model(std::string wanted, std::vector<action> actions, time_point now)
  : wanted_(std::move(wanted)), actions_(std::move(actions)), now_(now) {}

std::vector<effect> model::step(const event& x, time_point now) {
  now_ = now;
  auto out = effects{};
  std::visit([&](const auto& y) { on(y, out); }, x);
  return out;
}

size_t model::cursor_in(const std::vector<row>& rows) const {
  if (rows.empty())
    return 0;
  const auto i = std::ranges::find_if(
    rows, [this](const auto& x) { return cursor_ == x.id; });
  return i != rows.end() ? static_cast<size_t>(i - rows.begin())
                         : std::min(last_place_, rows.size() - 1);
}

const job_picture* model::current(const std::vector<row>& rows) const {
  if (!rows.empty())
    return rows[cursor_in(rows)].job;
  return shown_.empty() ? nullptr : &shown_.begin()->second;
}

// -- news -------------------------------------------------------------------------

void model::on(const status_came& x, effects&) {
  auto& to = is_paused() ? newest_ : shown_;
  to[x.job] = {x.status, x.pid, now_};
}

void model::on(const answer_missing& x, effects&) {
  auto& to = is_paused() ? newest_ : shown_;
  auto& picture = to[x.job];
  picture.trouble = core::one_line(x.why, message_size_max);
  picture.end = x.end;
}

void model::on(const job_forgotten& x, effects&) {
  auto& to = is_paused() ? newest_ : shown_;
  to.erase(x.job);
}

void model::on(const job_answered& x, effects&) {
  awaits_answer_ = false;
  say(core::one_line(x.text, message_size_max), answer_shown);
}

void model::on(const text_came& x, effects&) {
  if (page_ == page::text && x.number == text_number_)
    text_.add(x.lines);
}

void model::on(const time_passed& x, effects&) {
  if (!x.is_covered && now_ >= message_due_)
    message_.clear();
}

void model::say(std::string text, core::duration shown) {
  message_ = std::move(text);
  message_due_ = now_ + shown;
  message_scrolled_ = 0;
}

// -- keys -------------------------------------------------------------------------

void model::on(const key_pressed& x, effects& out) {
  if (x.is_covered && x.scroll_max > 0 && scroll_message(x))
    return;
  if (entry_ == entry::question)
    press_in_question(x, out);
  else if (x.is_covered)
    message_.clear(); // What the key means for the rows below was not seen.
  else if (entry_ != entry::none)
    type(x);
  else if (page_ == page::text)
    press_in_text(x, out);
  else if (page_ != page::tree)
    press_in_page(x);
  else
    press_in_tree(x, out);
}

/// @returns whether it is a key that moves
bool model::scroll_message(const key_pressed& x) {
  const auto page_size = static_cast<int64_t>(x.page_size);
  const auto letter = x.which == key::character ? x.text : '\0';
  auto by = int64_t{0};
  if (x.which == key::up || letter == 'k')
    by = -1;
  else if (x.which == key::down || letter == 'j')
    by = 1;
  else if (x.which == key::page_up)
    by = -page_size;
  else if (x.which == key::page_down || letter == ' ')
    by = page_size;
  else if (x.which == key::home || letter == 'g')
    by = -static_cast<int64_t>(message_scrolled_);
  else if (x.which == key::end || letter == 'G')
    by = static_cast<int64_t>(x.scroll_max);
  else
    return false;
  message_scrolled_ = static_cast<size_t>(
    std::clamp<int64_t>(static_cast<int64_t>(message_scrolled_) + by, 0,
                        static_cast<int64_t>(x.scroll_max)));
  return true;
}

void model::type(const key_pressed& x) {
  switch (x.which) {
    case key::character:
      if (typed_.size() < entry_size_max)
        typed_ += x.text;
      break;
    case key::backspace:
      cut_last(typed_);
      break;
    case key::escape:
      if (entry_ == entry::filter)
        tree_.filter.clear();
      entry_ = entry::none;
      return;
    default: // Every other key ends the entry.
      return end_entry();
  }
  if (entry_ == entry::filter)
    tree_.filter = typed_;
}

void model::end_entry() {
  const auto ended = std::exchange(entry_, entry::none);
  if (ended == entry::search) {
    searched_ = core::lowered(typed_);
    search(true, true);
  }
  if (ended != entry::level)
    return;
  if (const auto level = parse_log_level(typed_))
    ask(verb::log_level, level_of_, *level);
  else
    say(level.error().text);
}

// Only a `y` does it: a slip must not.
void model::press_in_question(const key_pressed& x, effects& out) {
  entry_ = entry::none;
  auto order = std::move(asked_->order);
  asked_.reset();
  if (x.which != key::character || (x.text != 'y' && x.text != 'Y'))
    return say("nothing was done");
  awaits_answer_ = true;
  say("asking job " + core::one_line(order.job, message_size_max) + " ...",
      core::duration::max() / 2);
  out.emplace_back(std::move(order));
}

void model::press_in_text(const key_pressed& x, effects& out) {
  constexpr auto far = std::numeric_limits<int64_t>::max() / 2;
  const auto page_size = static_cast<int64_t>(x.page_size);
  const auto letter = x.which == key::character ? x.text : '\0';
  const auto scroll = [&](int64_t by) { text_.scroll(by, x.scroll_max); };
  if (x.which == key::up || letter == 'k')
    scroll(-1);
  else if (x.which == key::down || letter == 'j')
    scroll(1);
  else if (x.which == key::page_up)
    scroll(-page_size);
  else if (x.which == key::page_down || letter == ' ')
    scroll(page_size);
  else if (x.which == key::home || letter == 'g')
    scroll(-far);
  else if (x.which == key::end || letter == 'G')
    scroll(far);
  else if (x.which == key::escape || letter == 'q') {
    page_ = page::tree;
    text_ = {};
    out.emplace_back(close_text{});
  }
}

void model::press_in_page(const key_pressed& x) {
  const auto scroll = [&](int64_t by) {
    scrolled_ = static_cast<size_t>(
      std::clamp<int64_t>(static_cast<int64_t>(scrolled_) + by, 0,
                          static_cast<int64_t>(x.scroll_max)));
  };
  const auto is_letter = x.which == key::character;
  if (x.which == key::up || (is_letter && x.text == 'k'))
    scroll(-1);
  else if (x.which == key::down || (is_letter && x.text == 'j'))
    scroll(1);
  else if (x.which == key::page_up)
    scroll(-static_cast<int64_t>(x.page_size));
  else if (x.which == key::page_down)
    scroll(static_cast<int64_t>(x.page_size));
  else if (x.which == key::home)
    scrolled_ = 0;
  else if (x.which == key::end)
    scrolled_ = x.scroll_max;
  else if (is_letter && x.text == 'p')
    toggle_pause();
  else
    page_ = page::tree;
}

void model::press_in_tree(const key_pressed& x, effects& out) {
  constexpr auto far = std::numeric_limits<int64_t>::max() / 2;
  const auto page_size = static_cast<int64_t>(x.page_size);
  switch (x.which) {
    case key::up:
      return move(-1);
    case key::down:
      return move(1);
    case key::page_up:
      return move(-page_size);
    case key::page_down:
      return move(page_size);
    case key::home:
      return move(-far);
    case key::end:
      return move(far);
    case key::left:
      return fold(true);
    case key::right:
      return fold(false);
    case key::enter:
      return open(page::details);
    case key::escape:
      tree_.filter.clear();
      return;
    case key::backspace:
      return;
    case key::character:
      return press_letter(x.text, out);
  }
}

void model::press_letter(char letter, effects& out) {
  constexpr auto far = std::numeric_limits<int64_t>::max() / 2;
  const auto next_order = [this](size_t by) {
    tree_.by
      = static_cast<order>((static_cast<size_t>(tree_.by) + by) % order_count);
  };
  switch (letter) {
    case 'q':
      out.emplace_back(quit{});
      return;
    case 'k':
      return move(-1);
    case 'j':
      return move(1);
    case 'g':
      return move(-far);
    case 'G':
      return move(far);
    case ' ':
      return toggle_fold();
    case 'z':
      return fold_all();
    case 's':
      return next_order(1);
    case 'S':
      return next_order(order_count - 1);
    case 'f':
      entry_ = entry::filter;
      typed_ = tree_.filter;
      return;
    case '/':
      entry_ = entry::search;
      typed_.clear();
      return;
    case 'n':
      return search(true, false);
    case 'N':
      return search(false, false);
    case 'p':
      return toggle_pause();
    case 'h':
    case '?':
      return open(page::help);
    case 'w':
      return open(page::job);
    default:
      break;
  }
  for (const auto& x : actions_)
    if (x.key == letter)
      return act(x, out);
}

void model::open(page which) {
  page_ = which;
  scrolled_ = 0;
}

void model::act(const action& x, effects& out) {
  const auto all = rows();
  if (all.empty())
    return;
  if (auto of = target_for(x.on, all[cursor_in(all)]))
    return begin(x.what, std::move(*of), out);
  say(x.on.workers ? "this is for a worker: move to one"
                   : "this is for a node: move to one");
}

void model::begin(verb what, target of, effects& out) {
  if (!is_steering(what))
    return show_text(what, std::move(of), out);
  if (awaits_answer_)
    return say("a job was asked and has not answered yet",
               core::duration::max() / 2);
  if (what != verb::log_level)
    return ask(what, of, "");
  level_of_ = std::move(of);
  entry_ = entry::level;
  typed_.clear();
}

void model::show_text(verb what, target of, effects& out) {
  const auto is_log = what == verb::show_log;
  if (of.agent && of.ranks.empty())
    return say(name_of(of) + " has no place in the job, and so no "
               + (is_log ? "log" : "stack"));
  text_ = {(is_log ? "log of " : "stack of ") + name_of(of), is_log};
  open(page::text);
  out.emplace_back(open_text{++text_number_, what, std::move(of)});
}

// Of now, also while an older picture is kept.
const v1::JobStatus* model::status_of(const target& x) const {
  for (const auto& [key, picture] : is_paused() ? newest_ : shown_)
    if (picture.status && picture.pid == x.pid
        && picture.status->job_id() == x.job)
      return &*picture.status;
  return nullptr;
}

void model::ask(verb what, const target& of, const std::string& level) {
  asked_ = {purpose_of(what, of, level, status_of(of)),
            {of.job, of.pid, request_of(what, of, level)}};
  entry_ = entry::question;
  message_scrolled_ = 0;
}

// -- the cursor -------------------------------------------------------------------

void model::on(const row_clicked& x, effects&) {
  if (page_ == page::text || entry_ == entry::question)
    return; // A key ends these.
  if (page_ != page::tree) {
    page_ = page::tree;
    return;
  }
  const auto all = rows();
  const auto is_again = !all.empty() && all[cursor_in(all)].id == x.row;
  const auto i
    = std::ranges::find_if(all, [&](const auto& y) { return y.id == x.row; });
  if (i == all.end())
    return;
  move_to(static_cast<size_t>(i - all.begin()), all);
  if (is_again)
    toggle_fold();
}

void model::move(int64_t by) {
  const auto all = rows();
  if (all.empty())
    return;
  const auto place = static_cast<int64_t>(cursor_in(all)) + by;
  move_to(static_cast<size_t>(std::clamp<int64_t>(
            place, 0, static_cast<int64_t>(all.size()) - 1)),
          all);
}

void model::move_to(size_t place, const std::vector<row>& all) {
  last_place_ = place;
  cursor_ = all[place].id;
}

/// Of a worker: its node.
void model::fold(bool is_folded) {
  const auto all = rows();
  if (all.empty())
    return;
  auto what = all[cursor_in(all)].id;
  what.local_rank.reset();
  if (!is_folded) {
    tree_.folded.erase(what);
    return;
  }
  tree_.folded.insert(what);
  cursor_ = what;
}

void model::toggle_fold() {
  const auto all = rows();
  if (all.empty())
    return;
  const auto& where = all[cursor_in(all)];
  fold(where.is_worker() || !where.is_folded);
}

void model::fold_all() {
  const auto shown = rows();
  const auto some_are = std::ranges::any_of(shown, &row::is_folded);
  tree_.folded.clear(); // Also of nodes that have left.
  if (some_are)
    return;
  for (const auto& x : shown)
    if (x.node != nullptr && !x.is_worker())
      tree_.folded.insert(x.id);
  const auto all = rows();
  if (cursor_ && !all.empty()) {
    cursor_->local_rank.reset();
    move_to(cursor_in(all), all);
  }
}

void model::search(bool is_forward, bool is_new) {
  const auto all = rows();
  if (searched_.empty() || all.empty())
    return;
  const auto count = all.size();
  const auto begin = cursor_in(all);
  for (size_t i = is_new ? 0 : 1; i <= count; ++i) {
    const auto place = (begin + (is_forward ? i : count - i % count)) % count;
    if (text_of(all[place]).find(searched_) != std::string::npos)
      return move_to(place, all);
  }
  say("nothing here has '" + searched_ + "'");
}

void model::toggle_pause() {
  if (paused_) {
    paused_.reset();
    shown_ = std::move(newest_);
    newest_.clear();
    return;
  }
  paused_ = now_;
  newest_ = shown_;
}

} // namespace actorrun::cli::top
