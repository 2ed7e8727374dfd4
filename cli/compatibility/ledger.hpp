// Lists what torchrun has, entry by entry, and what becomes of it here. docs/torchrun-compatibility.md is made of it.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace actorrun::cli {

enum class verdict {
  same,      ///< As torchrun.
  better,    ///< As torchrun, and more; nothing can depend on the difference.
  different, ///< A script could notice; the text says why it is so.
  refused,   ///< An error, or a warning; the text says what to use instead.
  added,     ///< torchrun has no such thing.
};

std::string_view to_string(verdict x);

struct ledger_entry {
  std::string_view subject; ///< An option with dashes, a variable, a sentence.
  verdict is;
  std::string_view text; ///< May be empty for `same`. Markdown, one line.
};

using ledger_entries = std::span<const ledger_entry>;

/// All options of torchrun 2.14, then ours: each once.
ledger_entries option_entries();

/// Variables that torchrun itself reads.
ledger_entries read_variable_entries();

/// Variables that workers are given.
ledger_entries given_variable_entries();

ledger_entries file_entries();
ledger_entries behaviour_entries();

/// The whole page, with a line end at its end.
std::string compatibility_page();

} // namespace actorrun::cli
