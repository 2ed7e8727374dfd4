#include "cli/options/check_options.hpp"

#include "actors/core/checks/built_in.hpp"
#include "cli/options/values.hpp"
#include "messages/formatted.hpp"

#include <algorithm>
#include <string>

namespace actorrun::cli {

namespace {

constexpr auto interval_prefix = std::string_view{"every:"};

} // namespace

result<core::check_moments> parse_check_moments(const std::string& text) {
  auto out = core::check_moments{.join = false, .failure = false};
  for (const auto part : split(text, ',')) {
    const auto word = trimmed(part);
    if (word == "join")
      out.join = true;
    else if (word == "failure")
      out.failure = true;
    else if (word == "restart")
      out.restart = true;
    else if (word.starts_with(interval_prefix)) {
      const auto every
        = parse_span(std::string{word.substr(interval_prefix.size())},
                     check_interval_min, check_interval_max);
      if (!every)
        return every.error();
      out.every = *every;
    } else
      return bad_argument(formatted(
        "{} is no moment for a check: join, failure, restart and every:TIME "
        "are, with commas between them",
        in_quotes(word)));
  }
  return out;
}

void add_check_options(CLI::App& app, run_settings& out) {
  auto add = option_adder{app, "Checks of this node"};
  add("--check", "COMMAND",
      "clock, disk [FOLDER…], gpu-quick or gpu, which are built in, or any "
      "command for the shell that ends with 0 if this node can take part; "
      "otherwise the node stands by, is named with the last line that the "
      "command has written, and is checked again after a pause; may be given "
      "several times (default: none)",
      out.checks.commands);
  add("--check-when", "MOMENTS",
      "before what the node is checked: join (its first generation), failure "
      "(the next one, if a worker here was the root cause), restart (each next "
      "one), every:TIME (beside its workers) (default: join,failure)",
      into(out.check_moments, parse_check_moments));
  add("--check-timeout", "TIME",
      "a command that has not ended within this time is killed, and has failed "
      "(default: 60s)",
      into(out.check_limit, [](const std::string& text) {
        return parse_span(text, check_limit_min, check_limit_max);
      }));
}

result<void> settle_checks(const run_settings& settings,
                           const host_facts& world, run_arguments& out) {
  auto& checks = out.agent.checks;
  checks = settings.checks;
  if (std::ranges::any_of(checks.commands, [](const auto& x) {
        return core::built_in_of(x).has_value();
      })) {
    auto file = world.own_file();
    if (!file)
      return file.error();
    checks.built_in = {*std::move(file), node_check_word};
  }
  if (settings.check_moments)
    checks.when = *settings.check_moments;
  if (settings.check_limit)
    checks.limit = *settings.check_limit;
  const auto* given = settings.check_moments ? "--check-when"
                      : settings.check_limit ? "--check-timeout"
                                             : nullptr;
  if (checks.commands.empty() && given != nullptr)
    return bad_argument(
      formatted("{} needs a command: --check=COMMAND", given));
  return {};
}

} // namespace actorrun::cli
