// Decides what kind of trouble a failure was, by the evidence that exists.
#pragma once

#include "actors/core/failure.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace actorrun::core {

/// `preemption`
std::string to_string(end_class x);

/// @returns none if there is no such class, or it is `none`
std::optional<end_class> trouble_named(std::string_view name);

struct end_finding {
  end_class what = end_class::none;
  std::string evidence{}; ///< A few words: `exit code 7`; one line.

  friend bool operator==(const end_finding&, const end_finding&) = default;
};

/// Of a worker alone. What is known of its node may outweigh it
/// (`with_node_facts`).
end_finding finding_of(const worker_failure& x);

/// A fault of the machine explains what looks like one of the program. It does not
/// explain a wrong argument, nor that the machine was wanted.
/// @param gpu_trouble Of the node's GPUs; empty: none.
/// @param unfit       What a check of the node has found; empty: nothing.
end_finding with_node_facts(end_finding x, std::string_view gpu_trouble,
                            std::string_view unfit);

} // namespace actorrun::core
