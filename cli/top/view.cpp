#include "cli/top/view.hpp"

#include "actors/core/text.hpp"
#include "actors/translate.hpp"
#include "cli/report/journal_view.hpp"
#include "cli/report/status_view.hpp"
#include "cli/report/vitals_view.hpp"
#include "cli/top/cells.hpp"
#include "messages/formatted.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

namespace actorrun::cli::top {

namespace {

using core::time_point;

/// From so many rows on there is room for …
constexpr size_t rows_for_headings = 8;
constexpr size_t rows_for_reason = 4;
constexpr size_t rows_for_regroups = 12;
constexpr size_t rows_for_cover = 3;

constexpr size_t regroups_shown_max = 40;

/// A node's workers take more than this of its memory, in per cent.
constexpr uint64_t memory_warning_percent = 90;

bool is_bad(const std::string& state) {
  return state == "failed" || state == "away" || state == "ended";
}

bool is_doubtful(const std::string& state) {
  return state == "stopping" || state == "leaving" || state == "draining"
         || state == "stopped" || state == "blocked" || state == "starting"
         || state == "waiting" || state == "gathering" || state == "last_call";
}

style look_of(const std::string& state) {
  if (is_bad(state))
    return style::bad;
  if (is_doubtful(state))
    return style::warning;
  return state == "running" || state == "succeeded" || state == "runs"
           ? style::good
           : style::plain;
}

/// A sign beside the colour: colours are not for everyone.
std::string with_sign(const std::string& state) {
  return (is_bad(state) ? "!" : is_doubtful(state) ? "*" : " ") + state;
}

// -- columns ----------------------------------------------------------------------

struct column {
  std::string heading;
  size_t width = 0;
  bool is_right = true;
  std::string (*text)(const row& x, time_point now) = nullptr;
};

std::string span_or_dash(std::optional<uint64_t> ms) {
  return ms ? span_text(*ms) : "-";
}

/// Ages of vitals go on from when the node has answered.
std::optional<uint64_t> sampled_ago(std::optional<uint64_t> ms, const row& x,
                                    time_point now) {
  return ms ? std::optional{age_now(*ms + x.node->vitals().age_ms(), *x.job,
                                    now)}
            : std::nullopt;
}

std::string cpu_text(const row& x, time_point) {
  const auto known = cpu_of(x);
  return known ? formatted("{} %", *known) : "-";
}

std::string memory_text(const row& x, time_point) {
  const auto known = memory_of(x);
  return known ? size_text(*known) : "-";
}

std::string silence_text(const row& x, time_point now) {
  return span_or_dash(sampled_ago(silence_of(x), x, now));
}

std::string compute_text(const row& x, time_point) {
  const auto known = compute_of(x);
  return known ? core::duration_text(std::chrono::microseconds{*known}) : "-";
}

std::string since_text(const row& x, time_point now) {
  if (x.node == nullptr)
    return x.job->status
             ? span_text(age_now(x.job->status->phase_age_ms(), *x.job, now))
             : "-";
  return x.is_worker() ? span_or_dash(sampled_ago(age_of(x), x, now))
                       : span_text(age_now(x.node->since_ms(), *x.job, now));
}

std::string pid_text(const row& x, time_point) {
  return x.is_worker() ? std::to_string(x.pid) : "";
}

std::string threads_text(const row& x, time_point) {
  if (!x.is_worker())
    return "";
  return x.vitals != nullptr && x.vitals->has_thread_count()
           ? std::to_string(x.vitals->thread_count())
           : "-";
}

std::string lease_text(const row& x, time_point now) {
  if (x.node == nullptr || x.is_worker())
    return "";
  return x.node->has_lease_age_ms()
           ? formatted("{} ms", age_now(x.node->lease_age_ms(), *x.job,
                                        std::min(now, x.job->received)))
           : "-";
}

/// In order of their value: the last ones go first where there is no room.
/// @param has_compute Some worker says how long it computes.
const std::vector<column>& all_columns(bool has_compute) {
  static const auto columns = std::vector<column>{
    {"CPU", 7, true, cpu_text},        {"MEMORY", 10, true, memory_text},
    {"SILENT", 8, true, silence_text}, {"SINCE", 8, true, since_text},
    {"PID", 8, true, pid_text},        {"THREADS", 8, true, threads_text},
    {"LEASE", 8, true, lease_text},
  };
  static const auto with_compute = [] {
    auto out = columns;
    out.insert(out.begin() + 1, {"COMPUTE", 9, true, compute_text});
    return out;
  }();
  return has_compute ? with_compute : columns;
}

constexpr size_t state_width = 10;
constexpr size_t id_width_min = 8;
constexpr size_t name_width_min = 10;
constexpr size_t name_width_max = 28;
constexpr size_t note_width_min = 12;
constexpr size_t note_width_wanted = 36;
constexpr size_t columns_before_note = 4;

/// The widest names of rows, and whether one has a time to show in `COMPUTE`.
struct row_needs {
  size_t any = 0;
  size_t worker = 0;
  bool has_compute = false;
};

/// Which columns there are, and how wide the first and the last one are.
struct layout {
  size_t name = name_width_min;
  size_t state = state_width;
  bool has_compute = false;
  size_t column_count = 0;
  size_t note = 0; ///< 0: there is none.

  const column& column_at(size_t i) const {
    return all_columns(has_compute)[i];
  }
};

layout layout_for(size_t width, row_needs wanted) {
  const auto& columns = all_columns(wanted.has_compute);
  auto out = layout{.has_compute = wanted.has_compute};
  out.name = std::clamp(wanted.any, name_width_min, name_width_max);
  // Hosts may be cut; ranks not: all would look alike.
  out.name
    = std::min(out.name, std::max({width / 3, name_width_min, wanted.worker}));
  out.state = std::min(state_width, width - std::min(width, out.name + 1));
  auto used = out.name + 1 + out.state;
  while (out.column_count < columns.size()
         && used + 1 + columns[out.column_count].width <= width)
    used += 1 + columns[out.column_count++].width;
  const auto has_note = [&](size_t note) { return used + 2 + note <= width; };
  // A reason is worth more than the last columns.
  while (out.column_count > columns_before_note && !has_note(note_width_wanted))
    used -= 1 + columns[--out.column_count].width;
  if (has_note(note_width_min))
    out.note = width - used - 2;
  return out;
}

std::string name_of(const row& x, look with) {
  const auto fold
    = x.is_folded ? (with.unicode ? "▸ " : "+ ") : (with.unicode ? "▾ " : "- ");
  const auto indent = std::string(x.depth * 2, ' ');
  if (x.node == nullptr)
    return indent + fold + (x.job->status ? x.job->status->job_id() : x.id.job);
  if (!x.is_worker())
    return indent + fold
           + (in_generation(*x.job->status, *x.node)
                ? std::to_string(x.node->node_rank())
                : "-")
           + " " + core::printable(x.node->host());
  return indent + "  "
         + (x.rank ? formatted("rank {}", *x.rank)
                   : formatted("local {}", *x.id.local_rank));
}

/// Why a node is as it is; otherwise how it is doing.
std::string note_of(const row& x, time_point now) {
  if (x.node == nullptr && x.job->end)
    return formatted("{}: {}", x.job->end->how, x.job->end->why);
  if (x.node == nullptr)
    return x.job->trouble.empty() && x.job->status
             ? x.job->status->waiting_for()
             : x.job->trouble;
  if (x.is_worker()) {
    if (x.vitals == nullptr || !x.vitals->has_timer_age_ms())
      return "";
    return formatted(
      "timer {} {} ago", x.vitals->timer_scope(),
      span_or_dash(sampled_ago(x.vitals->timer_age_ms(), x, now)));
  }
  if (!x.node->reason().empty() && x.node->has_drain_asked_age_ms())
    return formatted(
      "{}, {} ago", x.node->reason(),
      span_text(age_now(x.node->drain_asked_age_ms(), *x.job, now)));
  if (!x.node->reason().empty())
    return x.node->reason();
  for (const auto& gpu : x.node->gpus())
    if (!gpu.trouble().empty())
      return formatted("GPU {}: {}", gpu.index(),
                       core::printable(gpu.trouble()));
  const auto& vitals = x.node->vitals();
  auto out = std::string{};
  if (vitals.has_load_1_percent())
    out += formatted("load {}.{:02}", vitals.load_1_percent() / 100,
                     vitals.load_1_percent() % 100);
  if (vitals.has_memory_total() && vitals.has_memory_available())
    out += formatted("{}{} free of {}", out.empty() ? "" : ", ",
                     size_text(vitals.memory_available()),
                     size_text(vitals.memory_total()));
  return out;
}

style note_look(const row& x) {
  if (x.node == nullptr || x.is_worker())
    return style::dim;
  const auto& vitals = x.node->vitals();
  const auto is_full
    = vitals.memory_total() > 0
      && vitals.memory_available()
           < vitals.memory_total() / 100 * (100 - memory_warning_percent);
  return !x.node->reason().empty() || is_full ? style::warning : style::dim;
}

line line_of(const row& x, const layout& how, time_point now, look with) {
  const auto state = state_of(x);
  auto out = line{{fitted(name_of(x, with), how.name) + " ",
                   x.is_worker() ? style::plain : style::strong},
                  {fitted(with_sign(state.empty() ? "-" : state), how.state),
                   look_of(state)}};
  for (size_t i = 0; i < how.column_count; ++i) {
    const auto& y = how.column_at(i);
    out.push_back({" " + fitted(y.text(x, now), y.width, y.is_right)});
  }
  if (how.note > 0)
    out.push_back({"  " + fitted(note_of(x, now), how.note), note_look(x)});
  return out;
}

line heading_line(const layout& how, order by) {
  auto text = fitted("NODE", how.name) + " " + fitted(" STATE", how.state);
  for (size_t i = 0; i < how.column_count; ++i)
    text
      += " " + fitted(how.column_at(i).heading, how.column_at(i).width, true);
  if (how.note > 0)
    text += "  "
            + fitted(by == order::rank ? "NOTE"
                                       : "NOTE (by " + to_string(by) + ")",
                     how.note);
  return {{text, style::heading}};
}

// -- head and foot ----------------------------------------------------------------

std::string nodes_text(const v1::JobStatus& x) {
  const auto min = x.settings().agent_count_min();
  const auto max = x.settings().agent_count_max();
  const auto asked
    = min == max ? std::to_string(min) : formatted("{}:{}", min, max);
  return formatted("nodes {} of {}", x.agents_size(), asked);
}

/// What the operator has chosen.
std::string flags_of(const model& x) {
  auto out = std::string{};
  if (x.is_paused())
    out += "  PAUSED";
  if (!x.tree().filter.empty())
    out += formatted("  filter: {}", x.tree().filter);
  if (x.tree().by != order::rank)
    out += formatted("  by {}", to_string(x.tree().by));
  return out;
}

/// What comes first is what is still there on a narrow terminal: a long id is cut
/// so that the phase has room.
line title_line(const model& x, const job_picture* job, size_t width) {
  if (job == nullptr || !job->status)
    return {{" " + x.wanted() + flags_of(x), style::bar}};
  const auto& status = *job->status;
  const auto phase = phase_of(*job);
  const auto is_degraded = !status.is_healthy() && phase == "running";
  const auto id_width = width - std::min(width, phase.size() + 4);
  const auto id
    = std::min(width_of(status.job_id()), std::max(id_width, id_width_min));
  auto text = formatted(" {}  {}{}{}", fitted(status.job_id(), id), phase,
                        is_degraded ? " (degraded)" : "", flags_of(x));
  if (status.generation() != 0)
    text += formatted("  generation {}",
                      to_string(generation_id{status.generation()}));
  text += formatted("  {}  workers {}  restarts {} of {}", nodes_text(status),
                    status.world_size(), status.restart_count(),
                    status.settings().restart_count_max());
  return {{std::move(text), style::bar}};
}

std::string node_states(const v1::JobStatus& x) {
  auto out = std::string{};
  for (const auto& node : x.agents())
    if (!node.connected() || node.leaving())
      out += formatted("{}{} is {}", out.empty() ? "" : ", ", node.host(),
                       node.state());
  return out;
}

/// The last generation that has ended; null: none has.
const v1::GenerationStatus* last_ended(const v1::JobStatus& x) {
  for (auto i = x.generations_size(); i-- > 0;)
    if (!x.generations(i).end_reason().empty())
      return &x.generations(i);
  return nullptr;
}

/// As its journal tells, so also of a job that was not seen to end.
line end_line(const ended_job& x) {
  return {{formatted(" the job has ended at {}: {}{}{}", clock_text(x.ended_ms),
                     x.how, x.why.empty() ? "" : ": ", x.why),
           x.how == core::to_string(core::outcome::verdict::succeeded)
             ? style::good
             : style::bad}};
}

/// The most urgent thing about a job, in one line.
line reason_line(const job_picture* job, time_point now) {
  if (job == nullptr)
    return {{" looking for a job ...", style::dim}};
  const auto silence = now - job->received;
  const auto is_over = job->status && job->status->has_outcome();
  if (job->end)
    return end_line(*job->end);
  if (job->status && !is_over
      && (!job->trouble.empty() || silence >= silence_noted))
    return {
      {formatted(" ! no answer since {} s{}",
                 std::chrono::floor<std::chrono::seconds>(silence).count(),
                 job->trouble.empty() ? "" : ": " + job->trouble),
       style::bad}};
  if (!job->status)
    return {{" " + job->trouble, style::warning}};
  const auto& x = *job->status;
  if (is_over)
    return {{formatted(" the job has ended: {}: {}",
                       core::to_string(from_wire(x.outcome()).kind),
                       core::printable(x.outcome().reason())),
             x.is_healthy() ? style::good : style::bad}};
  if (!x.waiting_for().empty()) {
    auto text = formatted(" {}, for {}", x.waiting_for(),
                          ms_text(age_now(x.waiting_age_ms(), *job, now)));
    if (x.has_waiting_left_ms()) {
      const auto passed = age_now(0, *job, now);
      const auto left = x.waiting_left_ms();
      text += formatted(", at most {} more",
                        ms_text(left - std::min(left, passed)));
    }
    return {{std::move(text), style::warning}};
  }
  if (!x.hang().empty())
    return {{formatted(" hangs for {}: {}",
                       ms_text(age_now(x.hang_age_ms(), *job, now)), x.hang()),
             style::bad}};
  if (!x.slow().empty())
    return {{" slow: " + x.slow(), style::warning}};
  const auto states = node_states(x);
  if (!states.empty())
    return {{" degraded: " + states, style::warning}};
  auto text = formatted(" {} for {}", x.phase(),
                        span_text(age_now(x.phase_age_ms(), *job, now)));
  const auto* before = last_ended(x);
  if (before != nullptr)
    text += formatted("; generation {} ended: {}",
                      to_string(generation_id{before->generation()}),
                      before->end_reason());
  return {{std::move(text), style::plain}};
}

line regroup_line(const v1::JobStatus& x, size_t width, look with) {
  auto values = std::vector<uint64_t>{};
  for (const auto& generation : x.generations())
    if (generation.has_regroup_us())
      values.push_back(generation.regroup_us());
  if (values.empty())
    return {{" no regroup yet", style::dim}};
  const auto shown
    = std::min(regroups_shown_max, std::max<size_t>(width / 3, 1));
  return {
    {" regroups ", style::dim},
    {sparkline(values, shown, with), style::good},
    {formatted(" last {}, longest {}", regroup_text(values.back()),
               regroup_text(*std::max_element(values.begin(), values.end()))),
     style::dim}};
}

/// What is being typed, with a cursor; empty: nothing is.
std::string typed_of(const model& x) {
  switch (x.typing()) {
    case entry::filter:
      return "filter: " + x.typed() + "_";
    case entry::search:
      return "search: " + x.typed() + "_";
    case entry::level:
      return "log level: " + x.typed() + "_";
    default:
      return "";
  }
}

/// What the operator should read or answer; empty: nothing.
std::string prompt_of(const model& x) {
  if (x.typing() == entry::question)
    return "y/n  " + x.question(); // In front: it must not be cut off.
  if (x.typing() == entry::level)
    return typed_of(x) + "  (debug, info, warning, error, critical)";
  return x.typing() == entry::none ? x.message() : typed_of(x);
}

std::string keys_of(const model& x, size_t count) {
  if (x.where() == page::text)
    return x.text().is_held() ? "q, Esc: back  End: go on" : "q, Esc: back";
  if (x.where() != page::tree)
    return "Enter, Esc: back";
  return count == 0 ? "? help  q quit"
                    : "? help  q quit  Enter details  l log  t stack  s sort"
                      "  f filter  / search";
}

/// The last lines of a picture.
struct foot {
  std::vector<line> lines{};
  bool is_covering = false; ///< As in `screen`.
  size_t scroll_max = 0;    ///< Likewise, of what covers.
};

/// The end of what is typed: that is where the operator looks. ASCII.
line entry_line(const model& x, size_t width) {
  const auto text = " " + typed_of(x);
  if (text.size() <= width)
    return {{text}};
  return {{"~" + text.substr(text.size() - (width - 1))}};
}

/// A text that does not fit below the rows takes as much of the screen as it
/// needs; what is longer than that is moved by keys.
foot cover(const model& x, size_t height, std::vector<line> text) {
  const auto asks = !x.question().empty();
  auto out = foot{.lines = std::move(text), .is_covering = true};
  if (out.lines.size() + (asks ? 0 : 1) > height) {
    const auto shown = height - 1;
    out.scroll_max = out.lines.size() - shown;
    const auto first = out.lines.begin()
                       + static_cast<std::ptrdiff_t>(
                         std::min(x.message_scrolled(), out.scroll_max));
    out.lines = {first, first + static_cast<std::ptrdiff_t>(shown)};
    out.lines.push_back({{asks ? " up down  y/n" : " up down  Esc: back"}});
  } else if (!asks) {
    out.lines.push_back({{" Esc: back"}});
  }
  return out;
}

/// @param height_min Of a terminal that has room for it; a question is there
///                   however low it is.
foot foot_of(const model& x, size space, size_t height_min, size_t count) {
  constexpr size_t share = 6;
  constexpr size_t line_count_max = 3;
  if (space.height <= height_min && x.question().empty())
    return {};
  const auto prompt = prompt_of(x);
  const auto text = prompt.empty() ? keys_of(x, count) : prompt;
  const auto room = std::clamp<size_t>(space.height / share, 1, line_count_max);
  auto lines = wrapped({{" "}, {text}}, space.width);
  auto out = foot{};
  if (!prompt.empty() && lines.size() <= room)
    out.lines = std::move(lines);
  else if (!typed_of(x).empty())
    out.lines = {entry_line(x, space.width)};
  else if (prompt.empty() || space.height < rows_for_cover)
    out.lines = {{{fitted(" " + text, space.width)}}};
  else
    out = cover(x, space.height, std::move(lines));
  for (auto& y : out.lines)
    for (auto& part : y)
      part.look = style::bar;
  return out;
}

// -- putting it together
// ------------------------------------------------------------

/// Collects the lines of a picture above its foot.
class painter {
public:
  painter(size space, foot below) : space_(space), below_(std::move(below)) {}

  size_t width() const { return space_.width; }

  size_t left() const {
    const auto taken = out_.lines.size() + below_.lines.size();
    return space_.height - std::min(space_.height, taken);
  }

  void add(line x, std::optional<row_id> id = {}) {
    if (left() > 0)
      put(std::move(x), std::move(id));
  }

  /// @param page_size, scroll_max As in `screen`, unless the foot covers rows.
  screen take(size_t page_size, size_t scroll_max = 0) {
    while (left() > 0)
      add({});
    if (below_.is_covering) {
      page_size = below_.lines.size() - 1;
      scroll_max = below_.scroll_max;
    }
    for (auto& x : below_.lines)
      put(std::move(x), {});
    out_.page_size = std::max<size_t>(page_size, 1);
    out_.scroll_max = scroll_max;
    out_.is_covered = below_.is_covering;
    return std::move(out_);
  }

private:
  void put(line x, std::optional<row_id> id) {
    out_.lines.push_back(fitted(std::move(x), space_.width));
    out_.rows.push_back(std::move(id));
  }

  size space_;
  foot below_;
  screen out_;
};

line marked(line x) {
  for (auto& y : x)
    y.look = style::selected;
  return x;
}

/// Shows a part of some lines below what is there already.
/// @param first_of The first one, given by how many lines it can be moved.
template <class FirstOf>
screen page_below(painter out, const std::vector<line>& all, FirstOf first_of) {
  auto lines = std::vector<line>{};
  for (const auto& y : all)
    for (auto& part : wrapped(y, out.width()))
      lines.push_back(std::move(part));
  const auto room = out.left();
  const auto scroll_max = lines.size() - std::min(lines.size(), room);
  const auto first = first_of(scroll_max);
  for (size_t i = first; i < lines.size() && i < first + room; ++i)
    out.add(std::move(lines[i]));
  return out.take(room, scroll_max);
}

screen page_view(const model& x, size space, const std::vector<line>& all) {
  return page_below(
    painter{space, foot_of(x, space, 2, 0)}, all,
    [&](size_t scroll_max) { return std::min(x.scrolled(), scroll_max); });
}

screen text_view(const model& x, size space) {
  auto out = painter{space, foot_of(x, space, 2, 0)};
  if (space.height > 1)
    out.add({{" " + x.text().title(), style::bar}});
  const auto nothing = std::vector<line>{{{" nothing yet ...", style::dim}}};
  const auto& lines = x.text().lines();
  return page_below(
    std::move(out), lines.empty() ? nothing : lines,
    [&](size_t scroll_max) { return x.text().place(scroll_max); });
}

row_needs needs_of(const std::vector<row>& rows, look with) {
  auto out = row_needs{};
  for (const auto& x : rows) {
    const auto width = width_of(name_of(x, with));
    out.any = std::max(out.any, width);
    if (x.is_worker())
      out.worker = std::max(out.worker, width);
    out.has_compute = out.has_compute || compute_of(x).has_value();
  }
  return out;
}

screen tree_view(const model& x, size space, const std::vector<row>& rows,
                 look with) {
  auto out = painter{space, foot_of(x, space, 3, rows.size())};
  const auto* job = x.current(rows);
  const auto how = layout_for(space.width, needs_of(rows, with));
  const auto add_marked = [&](line y) {
    for (auto& part : y)
      part.text = fitted(part.text, space.width);
    out.add(std::move(y));
  };
  if (space.height > 1)
    add_marked(title_line(x, job, space.width));
  if (space.height >= rows_for_reason)
    add_marked(reason_line(job, x.now()));
  if (space.height >= rows_for_regroups && job != nullptr && job->status)
    out.add(regroup_line(*job->status, space.width, with));
  if (space.height >= rows_for_headings)
    out.add(heading_line(how, x.tree().by));
  const auto room = out.left();
  const auto cursor = x.cursor_in(rows);
  // The cursor in the middle, but no empty lines.
  const auto last = rows.size() - std::min(rows.size(), room);
  const auto first = std::min(cursor - std::min(cursor, room / 2), last);
  for (size_t i = first; i < rows.size() && i < first + room; ++i) {
    auto shown = fitted(line_of(rows[i], how, x.now(), with), space.width);
    out.add(i == cursor ? marked(std::move(shown)) : std::move(shown),
            rows[i].id);
  }
  if (rows.empty() && job != nullptr && job->status)
    out.add({{x.tree().filter.empty() ? "   there are no nodes"
                                      : "   no row has that text",
              style::dim}});
  return out.take(room);
}

} // namespace

uint64_t age_now(uint64_t age_ms, const job_picture& x, time_point now) {
  const auto passed
    = std::chrono::duration_cast<std::chrono::milliseconds>(now - x.received);
  return age_ms + static_cast<uint64_t>(std::max<int64_t>(passed.count(), 0));
}

std::string sparkline(const std::vector<uint64_t>& values, size_t count_max,
                      look with) {
  static constexpr auto bars
    = std::array{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static constexpr auto letters
    = std::array{"_", ".", ":", "-", "=", "+", "*", "#"};
  const auto count = std::min(values.size(), count_max);
  if (count == 0)
    return {};
  const auto first = values.end() - static_cast<std::ptrdiff_t>(count);
  const auto largest
    = std::max<uint64_t>(*std::max_element(first, values.end()), 1);
  auto out = std::string{};
  for (auto i = first; i != values.end(); ++i) {
    const auto share = static_cast<double>(*i) / static_cast<double>(largest);
    const auto height = std::min(static_cast<size_t>(share * 8), size_t{7});
    out += with.unicode ? bars[height] : letters[height];
  }
  return out;
}

screen view(const model& x, size space, look with) {
  space.width = std::max<size_t>(space.width, 1);
  space.height = std::max<size_t>(space.height, 1);
  const auto rows = x.rows();
  if (x.where() == page::help)
    return page_view(x, space, help_of(x));
  if (x.where() == page::text)
    return text_view(x, space);
  if (x.where() == page::tree)
    return tree_view(x, space, rows, with);
  const auto* job = x.current(rows);
  if (job == nullptr)
    return tree_view(x, space, rows, with);
  const auto is_about_job = x.where() == page::job || rows.empty()
                            || rows[x.cursor_in(rows)].node == nullptr;
  return page_view(x, space,
                   is_about_job ? details_of(*job, x.now(), with)
                                : details_of(rows[x.cursor_in(rows)], x.now()));
}

} // namespace actorrun::cli::top
