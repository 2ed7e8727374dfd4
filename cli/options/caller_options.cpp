#include "cli/options/caller_options.hpp"

#include "cli/options/values.hpp"
#include "messages/formatted.hpp"

#include <algorithm>
#include <cctype>
#include <limits>
#include <utility>

namespace actorrun::cli {

namespace {

/// The standard streams are those of the workers, too.
constexpr auto descriptor_min = uint32_t{3};
constexpr auto descriptor_max = uint32_t{std::numeric_limits<int>::max()};

result<int> parse_descriptor(const std::string& text) {
  const auto x = parse_count(text, descriptor_min, descriptor_max);
  if (!x)
    return x.error();
  return static_cast<int>(*x);
}

result<std::string> parse_report_file(const std::string& text) {
  if (text.empty())
    return bad_argument("no file is named");
  return text;
}

result<std::string> parse_entry_name(const std::string& text) {
  if (text.empty())
    return bad_argument("no name is given");
  if (text.size() > label_length_max)
    return bad_argument(
      formatted("the name is longer than {} bytes", label_length_max));
  if (std::ranges::any_of(text, [](unsigned char c) { return c < 0x20; }))
    return bad_argument(in_quotes(text) + " is not one line of plain text");
  return parse_text(text);
}

failure refuse(const char* option, int descriptor, const char* why) {
  return bad_argument(
    formatted("{}: descriptor {} {}; actorrun inherits it from the program that"
              " starts it",
              option, descriptor, why));
}

result<void> check_parent(int descriptor, const host_facts& world) {
  const auto x = world.descriptor(descriptor);
  if (!x.is_open)
    return refuse("--parent-fd", descriptor, "is not open");
  if (!x.is_pipe)
    return refuse("--parent-fd", descriptor, "is neither a pipe nor a socket");
  if (!x.is_readable)
    return refuse("--parent-fd", descriptor, "is the writing end of a pipe");
  return {};
}

result<void> check_events(int descriptor, const host_facts& world) {
  const auto x = world.descriptor(descriptor);
  if (!x.is_open)
    return refuse("--event-log-fd", descriptor, "is not open");
  if (!x.is_writable)
    return refuse("--event-log-fd", descriptor, "is open for reading only");
  return {};
}

bool is_option_variable(std::string_view name) {
  return name.starts_with(option_variable_prefix);
}

} // namespace

void add_caller_options(CLI::App& app, run_settings& out) {
  auto add = option_adder{app, "For programs that start actorrun"};
  add("--report-file", "FILE",
      "write how this node's part has ended as JSON to this file, whatever the "
      "exit code is (default: none)",
      into(out.report_file, parse_report_file));
  add("--no-report", "print no failure report", out.prints_no_report);
  add("--entry-name", "NAME",
      "what the failure report and events call the program (default: the "
      "script, module or program)",
      into(out.entry_name, parse_entry_name));
  add("--event-log-fd", "N",
      "write each event as a line of JSON to this descriptor, which actorrun "
      "has inherited; the job does not wait for its reader (default: none)",
      into(out.event_descriptor, parse_descriptor));
  add("--parent-fd", "N",
      "stop the job, as on SIGTERM, when the other side closes this pipe or "
      "socket, which actorrun has inherited (default: none)",
      into(out.parent_descriptor, parse_descriptor));
  add(no_variables_option,
      "read no variables PET_*, and hide them from the workers",
      out.ignores_variables);
}

bool caller_option_has_variable(std::string_view name) {
  return name != "--report-file" && name != "--event-log-fd"
         && name != "--parent-fd" && name != no_variables_option;
}

result<void> settle_caller(const run_settings& settings,
                           const host_facts& world, run_arguments& out) {
  if (settings.parent_descriptor)
    if (auto ok = check_parent(*settings.parent_descriptor, world); !ok)
      return ok;
  if (settings.event_descriptor)
    if (auto ok = check_events(*settings.event_descriptor, world); !ok)
      return ok;
  if (settings.event_descriptor
      && settings.event_descriptor == settings.parent_descriptor)
    return bad_argument("--event-log-fd and --parent-fd name one descriptor");
  out.parent_descriptor = settings.parent_descriptor;
  out.event_descriptor = settings.event_descriptor;
  out.report_file = settings.report_file;
  out.prints_report = !settings.prints_no_report;
  out.hides_variables = settings.ignores_variables;
  out.agent.entry_name = settings.entry_name;
  out.title
    = settings.entry_name.empty() ? title_of(out.program) : settings.entry_name;
  return {};
}

result<void> settle_caller(const run_settings& settings,
                           const host_facts& world, hosts_arguments& out) {
  if (!settings.report_file.empty())
    return bad_argument(
      "--report-file does not go with a list of hosts: each agent would write"
      " it on its own host; start the agents yourself, or read the journal:"
      " actorctl why --json");
  if (settings.event_descriptor)
    return bad_argument(
      "--event-log-fd does not go with a list of hosts: the agents, which have"
      " the events, are on other hosts; --event-log-handler=console brings them"
      " here");
  if (settings.parent_descriptor)
    if (auto ok = check_parent(*settings.parent_descriptor, world); !ok)
      return ok;
  out.parent_descriptor = settings.parent_descriptor;
  return {};
}

host_facts without_option_variables(host_facts world) {
  world.variable = [ask = std::move(world.variable)](
                     const std::string& name) -> std::optional<std::string> {
    return is_option_variable(name) ? std::nullopt : ask(name);
  };
  world.variables = [ask = std::move(world.variables)] {
    auto out = ask ? ask() : std::vector<std::string>{};
    std::erase_if(out, is_option_variable);
    return out;
  };
  return world;
}

} // namespace actorrun::cli
