#include "actors/core/failure_text.hpp"

#include "actors/core/text.hpp"
#include "actors/core/unbegun_program.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <string_view>

namespace actorrun::core {

namespace {

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
      text = std::string{x.details.scope == hang_scope
                           ? "was killed because the job hung: "
                           : "was killed by its timer: "}
             + overrun_text(x.details);
      break;
    case failure_kind::unkillable:
      text = "outlived SIGKILL: it hangs in the kernel";
      if (!x.details.scope.empty())
        text += ", and was killed by its timer: " + overrun_text(x.details);
      break;
  }
  const auto message = one_line(x.details.message, line_message_max);
  const auto meanwhile
    = std::string{x.while_stopped ? " while it was being stopped" : ""};
  if (x.kind == failure_kind::signalled && x.details.out_of_memory)
    return "was killed by the kernel for memory"
           + (message.empty() ? "" : " (" + message + ")") + meanwhile;
  if (const auto why = why_not_begun(x); !why.empty())
    return text + meanwhile + ", probably before its program began: " + why;
  return text + meanwhile + (message.empty() ? "" : ": " + message);
}

// Exceptions that nothing catches, of gloo and NCCL for example, abort.
bool misses_peer(const worker_failure& x) {
  const auto is_signalled = x.kind == failure_kind::signalled;
  if (is_signalled && x.code == SIGPIPE)
    return true;
  return (x.kind == failure_kind::exited || (is_signalled && x.code == SIGABRT))
         && (tells_of_lost_peer(x.details.message)
             || tells_of_lost_peer(x.details.traceback));
}

} // namespace actorrun::core
