#include "cli/compatibility/ledger.hpp"

namespace actorrun::cli {

namespace {

constexpr auto intro
  = "<!-- Made by the target compatibility_ledger from the tables in"
    " cli/compatibility_*.cpp:\n"
    "     change those. A test compares. -->\n"
    "# Compatibility with torchrun\n"
    "\n"
    "What torchrun 2.14 has, entry by entry, and what becomes of it here: the"
    " *same*; *better*, where\n"
    "nothing can depend on what torchrun does instead; *different*, where a"
    " script could notice;\n"
    "*refused*, with what to use instead; *added*, where torchrun has nothing"
    " of the kind. How the options\n"
    "are used is told in [operations.md](operations.md).\n"
    "\n"
    "torchrun's and actorrun's agents cannot take part in one job.\n";

void add_table(std::string& out, std::string_view title,
               std::string_view column, ledger_entries entries, bool as_code) {
  out += "\n## ";
  out += title;
  out += "\n\n| ";
  out += column;
  out += " | here | |\n|---|---|---|\n";
  for (const auto& x : entries) {
    const auto* quote = as_code ? "`" : "";
    out += "| ";
    out += quote;
    out += x.subject;
    out += quote;
    out += " | ";
    out += to_string(x.is);
    out += " | ";
    out += x.text;
    out += x.text.empty() ? "|\n" : " |\n";
  }
}

} // namespace

std::string_view to_string(verdict x) {
  switch (x) {
    case verdict::same:
      return "same";
    case verdict::better:
      return "better";
    case verdict::different:
      return "different";
    case verdict::refused:
      return "refused";
    case verdict::added:
      break;
  }
  return "added";
}

std::string compatibility_page() {
  auto out = std::string{intro};
  add_table(out, "Options", "option", option_entries(), true);
  add_table(out, "Variables that are read", "variable", read_variable_entries(),
            true);
  add_table(out, "Variables that workers get", "variable",
            given_variable_entries(), true);
  add_table(out, "Files and processes", "what", file_entries(), false);
  add_table(out, "Behaviour", "what", behaviour_entries(), false);
  return out;
}

} // namespace actorrun::cli
