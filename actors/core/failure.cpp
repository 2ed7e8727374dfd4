#include "actors/core/failure.hpp"

#include "actors/core/failure_text.hpp"
#include "actors/core/text.hpp"

#include <algorithm>
#include <cerrno>
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
  auto& traceback = x.details.traceback;
  traceback.erase(0,
                  traceback.size() - end_of(traceback, max.traceback).size());
  shorten_path(x.details.subject, max.path);
  shorten_path(x.details.error_file, max.path);
  keep_beginning(x.details.scope, max.scope);
  keep_beginning(x.details.where, max.where);
  return x;
}

constexpr bool is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

} // namespace

bool is_permanent(const worker_failure& x) {
  return x.kind == failure_kind::not_started
         && (x.code == ENOENT || x.code == EACCES || x.code == ENOEXEC
             || x.code == ENOTDIR || x.code == E2BIG || x.code == ELOOP);
}

worker_failure aged(worker_failure x, duration by) {
  x.age += by;
  return x;
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
  return "scope \"" + one_line(x.scope, line_message_max) + "\" overran by "
         + duration_text(x.lateness);
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
