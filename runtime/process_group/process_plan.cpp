#include "runtime/process_group/process_plan.hpp"

#include "actors/core/generation.hpp"
#include "messages/formatted.hpp"
#include "runtime/options.hpp"
#include "runtime/process_group/call_channel.hpp"
#include "runtime/process_group/entry_registry.hpp"
#include "runtime/process_group/function_worker.hpp"

#include <algorithm>
#include <cassert>
#include <cctype>
#include <charconv>
#include <string_view>

namespace actorrun::detail {

namespace {

/// Works when the program's file has been replaced or removed, too.
constexpr auto this_program = "/proc/self/exe";

// Numbers and booleans; the check has seen to the rest.
std::string text_of(const nlohmann::json& argument) {
  return argument.is_string() ? argument.get<std::string>() : argument.dump();
}

std::string variable(const process_options& options, const char* name,
                     std::string otherwise) {
  const auto& env = options.envs.at(0);
  const auto i = env.find(name);
  return i == env.end() || i->second.empty() ? std::move(otherwise) : i->second;
}

ports::process_spec program_process(const std::string& program,
                                    const argument_list& arguments) {
  auto result = ports::process_spec{.arguments = {program}};
  for (const auto& x : arguments)
    result.arguments.push_back(text_of(x));
  return result;
}

ports::process_spec function_process(const std::string& function,
                                     const argument_list& arguments,
                                     start_method method,
                                     const call_files& files) {
  auto result = ports::process_spec{.descriptors = {files.returned.get()}};
  if (method == start_method::fork) {
    auto entry = find_entry_point(function);
    assert(entry);
    result.arguments = {function};
    result.method = ports::start_method::fork;
    result.body = [function, arguments, f = std::move(*entry)] {
      return run_function(function, f, arguments);
    };
    return result;
  }
  result.descriptors.push_back(files.call.get());
  if (method == start_method::fork_server) {
    result.arguments = {this_program, function};
    result.method = ports::start_method::fork_server;
  } else {
    result.arguments = own_arguments();
    result.arguments.resize(std::max<size_t>(result.arguments.size(), 1));
    result.arguments[0] = this_program;
  }
  return result;
}

} // namespace

std::vector<std::string>
process_environment(std::span<const std::string> inherited,
                    const environment_map& own, const std::string& error_file) {
  auto env = environment_map{};
  for (const auto& x : inherited) {
    const auto equals = x.find('=');
    if (equals != x.npos && equals > 0)
      env.insert_or_assign(x.substr(0, equals), x.substr(equals + 1));
  }
  for (const auto& [name, value] : own)
    env.insert_or_assign(name, value);
  // Torch's @record takes the empty text for none.
  env.insert_or_assign("TORCHELASTIC_ERROR_FILE", error_file);
  auto result = std::vector<std::string>{};
  result.reserve(env.size());
  for (const auto& [name, value] : env)
    result.push_back(name + "=" + value);
  return result;
}

std::string run_id_of(const process_options& options) {
  return variable(options, "TORCHELASTIC_RUN_ID", options.name);
}

core::generation_plan plan_of(const process_options& options) {
  const auto count = static_cast<uint32_t>(options.args.size());
  const auto text = variable(options, "TORCHELASTIC_RESTART_COUNT", "0");
  auto restart_count = uint32_t{0}; // Stays 0 if the text is no number.
  std::from_chars(text.data(), text.data() + text.size(), restart_count);
  return {.generation = {1},
          .own = {.agent = {options.name},
                  .node_rank = 0,
                  .slot_count = count,
                  .first_global_rank = 0,
                  .first_role_rank = 0,
                  .role_world_size = count},
          .node_count = 1,
          .world_size = count,
          .master_address = {},
          .master_port = 0,
          .restart_count = restart_count};
}

result<std::vector<call_files>>
make_call_files(const process_options& options) {
  auto result = std::vector<call_files>{};
  const auto* function = std::get_if<entry_point>(&options.entrypoint);
  if (function == nullptr)
    return result;
  result.reserve(options.args.size());
  for (const auto& [rank, arguments] : options.args) {
    auto files = call_files{};
    auto returned = make_return_file();
    if (!returned)
      return returned.error();
    files.returned = std::move(*returned);
    if (options.method != start_method::fork) {
      auto call = write_call({function->name(), arguments});
      if (!call)
        return failure{call.error().code,
                       formatted("local rank {}: {}", rank, call.error().text)};
      files.call = std::move(*call);
    }
    result.push_back(std::move(files));
  }
  return result;
}

std::vector<ports::process_spec> make_processes(
  const process_options& options, std::span<const std::string> inherited,
  const core::generation_outputs& outputs, std::span<const call_files> files) {
  auto result = std::vector<ports::process_spec>{};
  result.reserve(options.args.size());
  for (const auto& [rank, arguments] : options.args) {
    auto own = options.envs.at(rank);
    auto spec = ports::process_spec{};
    if (const auto* program = std::get_if<std::string>(&options.entrypoint)) {
      spec = program_process(*program, arguments);
    } else {
      const auto& name = std::get<entry_point>(options.entrypoint).name();
      spec = function_process(name, arguments, options.method, files[rank]);
      if (options.method == start_method::spawn)
        own[function_variable] = name;
    }
    spec.local_rank = rank;
    spec.environment
      = process_environment(inherited, own, outputs.workers[rank].error_file);
    result.push_back(std::move(spec));
  }
  return result;
}

namespace {

std::string of_rank(uint32_t rank, const std::string& text) {
  return formatted("local rank {}: {}", rank, text);
}

bool has_nul(std::string_view text) {
  return text.find('\0') != text.npos;
}

result<void> check_name(const std::string& name) {
  if (name.size() > label_length_max)
    return bad_argument(
      formatted("the name is longer than {} bytes", label_length_max));
  if (std::any_of(name.begin(), name.end(),
                  [](unsigned char c) { return std::iscntrl(c) != 0; }))
    return bad_argument("the name has control characters in it");
  return {};
}

template <class T>
std::set<uint32_t> keys_of(const std::map<uint32_t, T>& map) {
  auto result = std::set<uint32_t>{};
  for (const auto& [rank, value] : map)
    result.insert(rank);
  return result;
}

std::set<uint32_t> ranks_below(size_t count) {
  auto result = std::set<uint32_t>{};
  for (uint32_t rank = 0; rank < count; ++rank)
    result.insert(result.end(), rank);
  return result;
}

result<void> check_keys(const char* what, const std::set<uint32_t>& keys,
                        size_t count) {
  const auto expected = ranks_below(count);
  if (keys == expected)
    return {};
  return bad_argument(
    formatted("{}: the local ranks do not match, expected: {}, actual: {}",
              what, ranks_text(expected), ranks_text(keys)));
}

result<void> check_ranks(const process_options& x) {
  const auto count = x.args.size();
  if (count < 1 || count > core::slots_per_agent_max)
    return bad_argument(formatted("args has {} local ranks, not 1..{}", count,
                                  core::slots_per_agent_max));
  if (auto ok = check_keys("args", keys_of(x.args), count); !ok)
    return ok;
  if (auto ok = check_keys("envs", keys_of(x.envs), count); !ok)
    return ok;
  for (const auto& [rank, prefix] : x.log_line_prefixes) {
    if (rank >= count)
      return bad_argument(
        formatted("log_line_prefixes: there is no local rank {} in {}", rank,
                  ranks_text(ranks_below(count))));
    if (prefix.find_first_of(std::string_view{"\0\r\n", 3}) != prefix.npos)
      return bad_argument(
        of_rank(rank, "its prefix has a line end or NUL in it"));
  }
  return {};
}

result<void> check_variables(const process_options& x) {
  for (const auto& [rank, env] : x.envs)
    for (const auto& [name, value] : env) {
      if (name.empty() || has_nul(name) || name.find('=') != name.npos)
        return bad_argument(
          of_rank(rank, formatted("\"{}\" cannot name a variable", name)));
      if (has_nul(value))
        return bad_argument(
          of_rank(rank, formatted("the variable {} has a NUL", name)));
    }
  return {};
}

result<void> check_program(const process_options& x,
                           const std::string& program) {
  if (program.empty() || has_nul(program))
    return bad_argument(program.empty()
                          ? "there is no program to start"
                          : "the name of the program has a NUL in it");
  for (const auto& [rank, arguments] : x.args)
    for (size_t i = 0; i < arguments.size(); ++i) {
      const auto& value = arguments[i];
      const auto is_text = value.is_string();
      if (!is_text && !value.is_number() && !value.is_boolean())
        return bad_argument(
          of_rank(rank, formatted("argument {} of a program must be text, a "
                                  "number or a boolean, not {}",
                                  i + 1, value.type_name())));
      if (is_text && has_nul(value.get_ref<const std::string&>()))
        return bad_argument(
          of_rank(rank, formatted("argument {} has a NUL in it", i + 1)));
    }
  return {};
}

result<void> check_function(const process_options& x, const std::string& name) {
  const auto function = find_entry_point(name);
  if (!function)
    return function.error();
  if (x.method != start_method::fork && !can_run_as_worker())
    return bad_argument(
      formatted("\"{}\" cannot be reached in a process of its own: main must "
                "call actorrun::run_as_worker(argc, argv) before all else",
                name));
  for (const auto& [rank, arguments] : x.args)
    if (const auto problem = function->complaint(arguments))
      return bad_argument(
        of_rank(rank, formatted("entry point \"{}\": {}", name, *problem)));
  return {};
}

result<void> check_entrypoint(const process_options& x) {
  if (is_astray())
    return bad_argument(
      "this process is a worker itself, and its main has not called "
      "actorrun::run_as_worker(argc, argv), the first thing to do");
  if (const auto* program = std::get_if<std::string>(&x.entrypoint))
    return check_program(x, *program);
  return check_function(x, std::get<entry_point>(x.entrypoint).name());
}

/// What a job asks for, too.
result<void> check_rest(const process_options& x) {
  auto options = agent_options{};
  options.workers.command = {"none"};
  options.workers.slot_count = static_cast<uint32_t>(x.args.size());
  options.workers.stop_signal = x.stop_signal;
  options.workers.grace_period = x.grace_period;
  options.logs = x.logs;
  return validate(options);
}

} // namespace

std::string ranks_text(const std::set<uint32_t>& ranks) {
  auto text = std::string{};
  for (auto i = ranks.begin(); i != ranks.end();) {
    const auto first = *i;
    auto last = first;
    while (++i != ranks.end() && *i == last + 1)
      last = *i;
    text += (text.empty() ? "" : ", ") + std::to_string(first);
    if (last > first)
      text += (last > first + 1 ? "-" : ", ") + std::to_string(last);
  }
  return "{" + text + "}";
}

result<void> check(const process_options& options) {
  for (const auto part :
       {check_ranks, check_variables, check_entrypoint, check_rest})
    if (auto ok = part(options); !ok)
      return ok;
  return check_name(options.name);
}

} // namespace actorrun::detail
