#include "actors/core/failure.hpp"

#include "actors/core/text.hpp"

#include <algorithm>
#include <array>
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

std::string signal_text(int signal) {
  const auto name = signal_name(signal);
  const auto number = "signal " + std::to_string(signal);
  return name.empty() ? number : name + " (" + number + ")";
}

std::string why_not_started(const worker_failure& x) {
  const auto message = one_line(x.details.message, line_message_max);
  const auto subject = one_line(x.details.subject, line_message_max);
  return (subject.empty() ? "" : subject + ": ")
         + (message.empty() ? error_text(x.code) : message);
}

constexpr char to_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// What sockets, gloo, NCCL, MPI and Python say when the other side has gone.
constexpr auto lost_peer_words = std::array{
  std::string_view{"connection closed"},
  std::string_view{"connection reset"},
  std::string_view{"connection aborted"},
  std::string_view{"connection was closed"},
  std::string_view{"connection refused"},
  std::string_view{"connection lost"},
  std::string_view{"closed by peer"},
  std::string_view{"closed by remote"},
  std::string_view{"reset by peer"},
  std::string_view{"broken pipe"},
  std::string_view{"remote process exited"},
  std::string_view{"remote process has terminated"},
  std::string_view{"socket closed"},
  std::string_view{"peer has closed"},
};

bool tells_of_lost_peer(std::string_view text) {
  auto lower = std::string{text};
  std::ranges::transform(lower, lower.begin(), to_lower);
  return std::ranges::any_of(lost_peer_words, [&](auto x) {
    return lower.find(x) != std::string::npos;
  });
}

} // namespace

std::string what_happened(const worker_failure& x) {
  auto text = std::string{"failed"};
  switch (x.kind) {
    case failure_kind::exited:
      text = "exited with code " + std::to_string(x.code);
      break;
    case failure_kind::signalled:
      text = "was killed by " + signal_text(x.code)
             + (x.dumped ? ", core dumped" : "");
      break;
    case failure_kind::not_started:
      return "could not be started: " + why_not_started(x);
    case failure_kind::timer_expired:
      text = "was killed by its timer: " + overrun_text(x.details);
      break;
    case failure_kind::unkillable:
      text = "outlived SIGKILL: it hangs in the kernel";
      if (!x.details.scope.empty())
        text += ", and was killed by its timer: " + overrun_text(x.details);
      break;
  }
  const auto message = one_line(x.details.message, line_message_max);
  if (x.kind == failure_kind::signalled && x.details.out_of_memory)
    return "was killed by the kernel for memory"
           + (message.empty() ? "" : " (" + message + ")");
  return text + (message.empty() ? "" : ": " + message);
}

bool misses_peer(const worker_failure& x) {
  return x.kind == failure_kind::exited
         && (tells_of_lost_peer(x.details.message)
             || tells_of_lost_peer(x.details.traceback));
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
