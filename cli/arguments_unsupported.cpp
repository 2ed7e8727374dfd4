// Options of torchrun that we refuse, so that nobody believes they are obeyed.
#include "actorrun/cli/arguments_run.hpp"

namespace actorrun::cli {

namespace {

/// Accepts what asks for nothing: torchrun's default.
value_reader only(const std::string& its_default) {
  return [its_default](const std::string& text) -> std::optional<failure> {
    if (text == its_default)
      return std::nullopt;
    return bad_argument("not supported yet");
  };
}

value_reader nothing() {
  return [](const std::string&) -> std::optional<failure> {
    return bad_argument("not supported yet");
  };
}

option_rule option(const std::string& name,
                   const std::string& its_default = "") {
  return {name, 0, "VALUE", "", "", only(its_default), {variable_of(name)}};
}

option_rule flag(const std::string& name) {
  return {name, 0, "", "", "", nothing(), {variable_of(name)}};
}

option_rule without_variable(const std::string& name) {
  return {name, 0, "VALUE", "", "", nothing()};
}

} // namespace

option_rules unsupported_rules() {
  return {
    option("--start-method", "spawn"),
    option("--event-log-handler", "null"),
    option("--node-rank", "0"),
    option("--master-addr", "127.0.0.1"),
    option("--master-port"),
    flag("--run-path"),
    flag("--virtual-local-rank"),
    without_variable("--logs-specs"),
    without_variable("--numa-binding"),
    without_variable("--print-completion"),
  };
}

} // namespace actorrun::cli
