#include "cli/options/signal_values.hpp"

#include "actors/core/text.hpp"
#include "cli/options/values.hpp"
#include "messages/formatted.hpp"

#include <algorithm>
#include <cctype>
#include <csignal>
#include <optional>
#include <utility>

namespace actorrun::cli {

namespace {

/// Above are real-time signals, which have no names of their own.
constexpr int named_signal_max = 31;

/// Upper case, without white space and SIG.
std::string bare_name(std::string_view text) {
  auto out = std::string{trimmed(text)};
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return std::toupper(c); });
  return out.starts_with("SIG") ? out.substr(3) : out;
}

std::optional<int> signal_called(std::string_view bare) {
  static constexpr std::pair<std::string_view, std::string_view> aliases[]
    = {{"CLD", "CHLD"}, {"IO", "POLL"}, {"IOT", "ABRT"}};
  for (const auto& [alias, name] : aliases)
    if (bare == alias)
      bare = name;
  for (auto x = 1; x <= named_signal_max; ++x)
    if (core::signal_name(x) == "SIG" + std::string{bare})
      return x;
  return std::nullopt;
}

bool is_number(std::string_view text) {
  return !text.empty()
         && std::all_of(text.begin(), text.end(),
                        [](unsigned char c) { return std::isdigit(c); });
}

/// Why a signal cannot be handled or forwarded; nothing if it can.
std::optional<std::string> objection(int signal) {
  switch (signal) {
    case SIGKILL:
    case SIGSTOP:
      return "cannot be caught by any program";
    case SIGCHLD:
      return "is sent by the system when a child process ends";
    case SIGPIPE:
      return "is sent by the system when a pipe has no reader, and is ignored";
    case SIGILL:
    case SIGTRAP:
    case SIGABRT:
    case SIGBUS:
    case SIGFPE:
    case SIGSEGV:
    case SIGSYS:
      return "means that a program is broken, and always ends it";
    default:
      return std::nullopt;
  }
}

/// What to write instead of a number.
std::string name_instead(const std::string& digits) {
  const auto number = parse_count(digits, 1, named_signal_max);
  if (!number || objection(static_cast<int>(*number)))
    return "";
  return "; write " + core::signal_name(static_cast<int>(*number));
}

failure not_a_name(std::string_view typed, const std::string& bare) {
  if (is_number(bare))
    return bad_argument(
      formatted("{} is a number, and those differ between systems{}",
                in_quotes(typed), name_instead(bare)));
  if (bare.starts_with("RT"))
    return bad_argument(
      formatted("{} is a real-time signal, which is not supported; SIGUSR1 and "
                "SIGUSR2 are free for use",
                in_quotes(typed)));
  return bad_argument(formatted(
    "{} is not the name of a signal such as SIGUSR1", in_quotes(typed)));
}

result<int> parse_signal(std::string_view typed) {
  typed = trimmed(typed);
  if (typed.empty())
    return bad_argument("the name of a signal is missing");
  const auto bare = bare_name(typed);
  if (const auto x = signal_called(bare))
    return *x;
  return not_a_name(typed, bare);
}

template <class Parse>
std::vector<std::string> names_taken_by(Parse parse) {
  auto out = std::vector<std::string>{};
  for (auto x = 1; x <= named_signal_max; ++x)
    if (const auto name = core::signal_name(x); parse(name))
      out.push_back(name);
  return out;
}

} // namespace

signal_choice parse_known_signals(std::string_view text) {
  auto out = signal_choice{};
  if (trimmed(text).empty())
    return out;
  for (const auto item : split(text, ',')) {
    const auto one = parse_signals(item);
    if (!one) {
      out.left_out.push_back(one.error().text);
    } else if (one->empty()) {
      out.left_out.emplace_back("the name of a signal is missing");
    } else if (std::find(out.signals.begin(), out.signals.end(), one->front())
               == out.signals.end()) {
      out.signals.push_back(one->front());
    }
  }
  return out;
}

result<std::vector<int>> parse_signals(std::string_view text) {
  auto out = std::vector<int>{};
  if (trimmed(text).empty())
    return out;
  for (const auto item : split(text, ',')) {
    const auto x = parse_signal(item);
    if (!x)
      return bad_argument(
        (item == text ? "" : formatted("in {}, ", in_quotes(text)))
        + x.error().text);
    if (const auto why = objection(*x))
      return bad_argument(core::signal_name(*x) + " " + *why);
    if (std::find(out.begin(), out.end(), *x) == out.end())
      out.push_back(*x);
  }
  return out;
}

result<int> parse_stop_signal(std::string_view text) {
  const auto x = parse_signal(text);
  if (!x || *x == SIGABRT) // Ends the worker with a core, which some want.
    return x;
  if (*x == SIGKILL)
    return bad_argument(
      "SIGKILL gives a worker no time to end; --shutdown-timeout=0 kills"
      " at once");
  if (*x == SIGSTOP || *x == SIGTSTP || *x == SIGTTIN || *x == SIGTTOU
      || *x == SIGCONT)
    return bad_argument(
      formatted("{} suspends or resumes a worker and does not end it",
                core::signal_name(*x)));
  if (const auto why = objection(*x))
    return bad_argument(core::signal_name(*x) + " " + *why);
  return x;
}

std::vector<std::string> catchable_signals() {
  return names_taken_by([](const auto& x) { return parse_signals(x); });
}

std::vector<std::string> stop_signals() {
  return names_taken_by([](const auto& x) { return parse_stop_signal(x); });
}

std::string signal_names(const std::vector<int>& signals) {
  auto out = std::string{};
  for (auto x : signals)
    out += (out.empty() ? "" : ",") + core::signal_name(x);
  return out;
}

} // namespace actorrun::cli
