#include "actors/core/checks/built_in.hpp"

#include <algorithm>

namespace actorrun::core {

namespace {

/// For the shell, in which only the quote itself is special within quotes.
std::string shell_word(std::string_view text) {
  auto out = std::string{"'"};
  for (const auto c : text)
    if (c == '\'')
      out += R"('\'')";
    else
      out += c;
  return out + "'";
}

} // namespace

std::string_view to_string(built_in_check x) {
  switch (x) {
    case built_in_check::clock:
      return "clock";
    case built_in_check::disk:
      return "disk";
    case built_in_check::gpu_quick:
      return "gpu-quick";
    case built_in_check::gpu:
      return "gpu";
  }
  return "unknown";
}

std::optional<built_in_check> find_built_in(std::string_view name) {
  const auto i = std::ranges::find(built_in_checks, name,
                                   [](auto x) { return to_string(x); });
  return i == built_in_checks.end() ? std::nullopt : std::optional{*i};
}

// The shell is to find one command in it.
std::optional<built_in_check> built_in_of(std::string_view command) {
  constexpr auto special = std::string_view{";&|<>()`#\n"};
  const auto end = command.find(' ');
  const auto out = find_built_in(command.substr(0, end));
  const auto is_plain = command.find_first_of(special) == command.npos;
  if (end == command.npos || (out == built_in_check::disk && is_plain))
    return out;
  return {};
}

bool disturbs_workers(built_in_check x) {
  return x == built_in_check::gpu;
}

// The shell becomes the program: what ends it is what the agent sees.
std::string command_of(std::string_view command,
                       std::span<const std::string> program,
                       std::span<const std::string> folders) {
  auto out = std::string{"exec"};
  for (const auto& word : program)
    out += ' ' + shell_word(word);
  out += ' ' + std::string{command};
  if (built_in_of(command) == built_in_check::disk)
    for (const auto& folder : folders)
      out += ' ' + shell_word(folder);
  return out;
}

} // namespace actorrun::core
