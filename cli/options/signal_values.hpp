// Reads the names of signals, and checks what they can be used for.
#pragma once

#include "messages/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace actorrun::cli {

/// `SIGTERM,SIGUSR1`: signals that a program can wait for, by name, in any case
/// and with or without SIG. Numbers are refused, for they differ between
/// systems, and so are real-time signals.
/// @returns each once, in the order in which they were typed; none for an empty
///          text
/// @retval errc::bad_argument  a name is unknown, or what it names cannot be
///         caught or means something else to us; the text says which
result<std::vector<int>> parse_signals(std::string_view text);

/// What a list of signals asks for, as far as that can be done.
struct signal_choice {
  std::vector<int>
    signals; ///< Each once, in the order in which they were typed.
  std::vector<std::string> left_out; ///< Why, for each of the others.
};

/// Reads a list like `parse_signals`, and leaves out what that would refuse.
signal_choice parse_known_signals(std::string_view text);

/// One signal that can ask a worker to end, or make it abort.
/// @retval errc::bad_argument  as above, or the signal would not end a worker
result<int> parse_stop_signal(std::string_view text);

/// The names that `parse_signals` and `parse_stop_signal` take, in the order of
/// their numbers.
std::vector<std::string> catchable_signals();
std::vector<std::string> stop_signals();

/// `SIGTERM,SIGINT`
std::string signal_names(const std::vector<int>& signals);

} // namespace actorrun::cli
