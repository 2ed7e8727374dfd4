#include "options.hpp"

#include "fail.hpp"
#include "parse.hpp"

#include <cstdlib>
#include <functional>
#include <iostream>
#include <limits>
#include <string_view>
#include <vector>

namespace training {

namespace {

/// One option: its name, its description, and how to parse its value.
struct option {
  std::string name;
  std::string help;
  std::function<bool(const std::string&)> take;
};

option path(std::string name, std::string help, std::string& target) {
  return {std::move(name), std::move(help), [&target](const auto& value) {
            target = value;
            return !value.empty();
          }};
}

template <class T>
option number(std::string name, std::string help, T& target, T min, T max) {
  return {std::move(name), std::move(help),
          [&target, min, max](const auto& value) {
            const auto parsed = parse_number<T>(value, min, max);
            target = parsed.value_or(target);
            return parsed.has_value();
          }};
}

std::vector<option> options_into(options& x) {
  constexpr auto any = std::numeric_limits<uint64_t>::max();
  return {
    path("--text", "file to learn from", x.text),
    path("--checkpoint", "file to save to and resume from", x.checkpoint),
    path("--progress",
         "file to append 'generation step world loss restarts' to", x.progress),
    number<uint64_t>("--steps", "steps in all", x.steps, 1, steps_max),
    number<uint64_t>("--checkpoint-every", "steps from save to save",
                     x.checkpoint_every, 1, steps_max),
    number<uint64_t>("--progress-every", "steps from line to line",
                     x.progress_every, 1, steps_max),
    number<uint32_t>("--batch", "samples of a step, over all workers", x.batch,
                     1, batch_max),
    number<float>("--learning-rate", "0.000001 to 1", x.learning_rate, 1e-6F,
                  1.0F),
    number<uint32_t>("--steps-per-second", "upper limit, 0 for none",
                     x.steps_per_second, 0, 100'000),
    number<uint64_t>("--seed", "of the first parameters and the samples",
                     x.seed, 0, any),
  };
}

[[noreturn]] void print_help(const std::vector<option>& known) {
  std::cout << "elastic_training: one worker of a small language model\n";
  for (const auto& x : known)
    std::cout << "  " << x.name << "=VALUE  " << x.help << "\n";
  std::cout.flush();
  std::exit(EXIT_SUCCESS);
}

void apply(const std::vector<option>& known, const std::string& argument) {
  const auto equals = argument.find('=');
  for (const auto& x : known) {
    if (x.name != argument.substr(0, equals))
      continue;
    if (equals == std::string::npos)
      fail(x.name + " needs a value: " + x.name + "=VALUE",
           exit_status::bad_usage);
    if (!x.take(argument.substr(equals + 1)))
      fail("'" + argument + "': no value for " + x.name + " (" + x.help + ")",
           exit_status::bad_usage);
    return;
  }
  fail("unknown argument '" + argument + "'; --help lists them",
       exit_status::bad_usage);
}

} // namespace

options parse_options(int argc, char** argv) {
  auto result = options{};
  const auto known = options_into(result);
  for (auto i = 1; i < argc; ++i) {
    const auto argument = std::string{argv[i]};
    if (argument == "--help" || argument == "-h")
      print_help(known);
    apply(known, argument);
  }
  return result;
}

} // namespace training
