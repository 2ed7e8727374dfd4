#include "runtime/process_group/process_plan.hpp"

#include "runtime/process_group/call_channel.hpp"
#include "runtime/process_group/entry_registry.hpp"
#include "runtime/process_group/function_worker.hpp"

#include <cassert>
#include <charconv>

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

core::epoch_plan plan_of(const process_options& options) {
  const auto count = static_cast<uint32_t>(options.args.size());
  const auto text = variable(options, "TORCHELASTIC_RESTART_COUNT", "0");
  auto restart_count = uint32_t{0}; // Stays 0 if the text is no number.
  std::from_chars(text.data(), text.data() + text.size(), restart_count);
  return {.epoch = {1},
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
        return failure{call.error().code, "local rank " + std::to_string(rank)
                                            + ": " + call.error().text};
      files.call = std::move(*call);
    }
    result.push_back(std::move(files));
  }
  return result;
}

std::vector<ports::process_spec> make_processes(
  const process_options& options, std::span<const std::string> inherited,
  const core::epoch_outputs& outputs, std::span<const call_files> files) {
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

} // namespace actorrun::detail
