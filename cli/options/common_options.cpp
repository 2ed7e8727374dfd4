#include "cli/options/common_options.hpp"

#include "cli/options/values.hpp"

#include <utility>

namespace actorrun::cli {

result<shell> parse_shell(std::string_view text) {
  static constexpr std::pair<std::string_view, shell> names[]
    = {{"bash", shell::bash},
       {"zsh", shell::zsh},
       {"fish", shell::fish},
       {"tcsh", shell::tcsh}};
  if (const auto x = value_of(text, names))
    return *x;
  return bad_argument(in_quotes(text)
                      + " is not a known shell; bash, zsh, fish and tcsh are");
}

void add_help(option_adder& add, shown_instead& out) {
  add("-h,--help", "print this help", out.help);
}

void add_brief_help(option_adder& add, shown_instead& out) {
  add("-h,--help", "print a short help; --help=all: with all options",
      out.help);
}

void add_common_options(option_adder& add, const std::string& program,
                        shown_instead& out) {
  program == "actorrun" ? add_brief_help(add, out) : add_help(add, out);
  add("--version", "print the version", out.version);
  add("--print-completion", "bash|zsh|fish|tcsh",
      "print a completion script for this shell: source <(" + program
        + " --print-completion=bash)",
      into(out.completion, parse_shell));
}

} // namespace actorrun::cli
