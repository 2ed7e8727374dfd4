#include "actors/core/failure.hpp"

#include "actors/core/failure_text.hpp"
#include "actors/core/text.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <utility>

namespace actorrun::core {

namespace {

constexpr auto ellipsis = std::string_view{"…"};

// Else it would look like a path that begins there.
void shorten_path(std::string& path, size_t size_max) {
  if (path.size() > size_max)
    path = std::string{ellipsis}
           + std::string{end_of(path, size_max - ellipsis.size())};
}

using tenths_of_ms = std::chrono::duration<int64_t, std::ratio<1, 10'000>>;

/// Behind the number of lines that are missing.
constexpr auto left_out = std::string_view{" earlier lines left out]\n"};
constexpr auto left_out_max = size_t{48};

/// How many lines the first line says are missing.
uint64_t left_out_in(std::string_view text) {
  auto count = uint64_t{0};
  if (!text.starts_with('['))
    return 0;
  const auto* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + 1, end, count);
  return error == decltype(error){}
             && std::string_view{rest, size_t(end - rest)}.starts_with(left_out)
           ? std::min(count, uint64_t{1} << 40)
           : 0;
}

struct text_limits {
  size_t message;
  size_t traceback;
  size_t path;
  size_t scope;
  size_t where;
};

void keep_beginning(std::string& text, size_t size_max) {
  text.resize(beginning_of(text, size_max).size());
}

worker_failure cut(worker_failure x, const text_limits& max) {
  keep_beginning(x.details.message, max.message);
  x.details.traceback = last_whole_lines(x.details.traceback, max.traceback);
  shorten_path(x.details.subject, max.path);
  shorten_path(x.details.error_file, max.path);
  keep_beginning(x.details.scope, max.scope);
  keep_beginning(x.details.where, max.where);
  return x;
}

/// A number without the zeros that end it behind the point.
std::string decimal_text(int64_t count, int64_t per_unit) {
  auto text = std::to_string(count / per_unit);
  auto rest = count % per_unit;
  if (rest == 0)
    return text;
  text += '.';
  for (auto unit = per_unit / 10; rest > 0; unit /= 10) {
    text += static_cast<char>('0' + rest / unit);
    rest %= unit;
  }
  return text;
}

/// As it was asked for: `500 ms`, `1.25 s`, `30 s`, `5 min`, where `duration_text`
/// has one decimal.
std::string limit_text(duration x) {
  using namespace std::chrono_literals;
  if (x < 1s)
    return decimal_text(std::chrono::ceil<tenths_of_ms>(x).count(), 10) + " ms";
  if (x < 2min)
    return decimal_text(x / 1ms, 1'000) + " s";
  auto text = duration_text(x);
  for (const auto none : {std::string_view{" 0 s"}, std::string_view{" 0 min"}})
    if (text.ends_with(none))
      text.resize(text.size() - none.size());
  return text;
}

constexpr bool is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

} // namespace

// Measured on two busy cores: 4 GiB are free after 0.3 s, and after 1 s where several
// processes share them.
duration longest_teardown(uint64_t memory) {
  constexpr auto least = std::chrono::milliseconds{100};
  constexpr auto most = std::chrono::milliseconds{5'000};
  constexpr auto mebibyte = uint64_t{1} << 20;
  const auto count = std::min<uint64_t>(memory / mebibyte, most.count());
  return std::min(least + std::chrono::milliseconds{count}, most);
}

bool is_permanent(const worker_failure& x) {
  return x.kind == failure_kind::not_started
         && (x.code == ENOENT || x.code == EACCES || x.code == ENOEXEC
             || x.code == ENOTDIR || x.code == E2BIG || x.code == ELOOP);
}

worker_failure aged(worker_failure x, duration by) {
  x.age += by;
  return x;
}

std::string last_whole_lines(std::string_view text, size_t size_max) {
  if (text.size() <= size_max)
    return std::string{text};
  assert(size_max > left_out_max);
  auto kept = end_of(text, size_max - left_out_max);
  const auto line_end = kept.find('\n');
  if (line_end >= kept.size() / 2) // Or there is none.
    return std::string{end_of(text, size_max)};
  kept.remove_prefix(line_end + 1);
  const auto gone = text.substr(0, text.size() - kept.size());
  auto count = uint64_t(std::ranges::count(gone, '\n'));
  if (const auto earlier = left_out_in(gone); earlier > 0)
    count += earlier - 1; // Instead of the line that says so.
  return "[" + std::to_string(count) + std::string{left_out}
         + std::string{kept};
}

worker_failure bounded(worker_failure x) {
  return cut(std::move(x), {.message = failure_message_max,
                            .traceback = failure_traceback_max,
                            .path = failure_path_max,
                            .scope = failure_scope_max,
                            .where = failure_where_max});
}

worker_failure brief(worker_failure x) {
  return cut(std::move(x), {.message = brief_message_max,
                            .traceback = brief_traceback_max,
                            .path = brief_path_max,
                            .scope = brief_scope_max,
                            .where = brief_where_max});
}

std::string overrun_text(const death_details& x) {
  if (x.scope == hang_scope)
    return "no worker of the job had shown a sign of life for "
           + duration_text(x.limit.value_or(duration::zero()) + x.lateness);
  const auto is_known = x.limit && *x.limit > duration::zero();
  const auto is_late = !is_known || x.lateness > *x.limit / 20;
  return "scope \"" + one_line(x.scope, line_message_max) + "\" was not left "
         + (is_known ? "within " + limit_text(*x.limit) : "by its deadline")
         + (is_late ? " (" + duration_text(x.lateness) + " late)" : "");
}

std::string one_line(std::string_view text, size_t size_max) {
  // Escape sequences are left out; so a little more may be needed.
  const auto head = beginning_of(text, 4 * size_max);
  auto flat = std::string{head};
  std::replace_if(flat.begin(), flat.end(), is_blank, ' ');
  auto line = std::string{};
  for (const auto c : printable(flat))
    if (c != ' ' || (!line.empty() && line.back() != ' '))
      line += c;
  if (line.ends_with(' '))
    line.pop_back();
  if (line.size() <= size_max && head.size() == text.size())
    return line;
  return std::string{beginning_of(line, size_max - ellipsis.size())}
         + std::string{ellipsis};
}

std::string to_string(const worker_failure& x) {
  auto text = "rank " + std::to_string(x.global_rank) + " (local rank "
              + std::to_string(x.local_rank);
  if (x.pid != 0)
    text += ", pid " + std::to_string(x.pid);
  return text + ") on " + x.host + " " + what_happened(x);
}

// -- several ------------------------------------------------------------------

void collateral::add(worker_failure x) {
  if (listed.size() < other_failures_max)
    listed.push_back(std::move(x));
  else
    ++unlisted_count;
}

void collateral::add(collateral xs) {
  for (auto& x : xs.listed)
    add(std::move(x));
  unlisted_count += xs.unlisted_count;
}

collateral aged(collateral xs, duration by) {
  for (auto& x : xs.listed)
    x.age += by;
  return xs;
}

} // namespace actorrun::core
