// Writes the effects of a step of the core as one line of text.
#pragma once

#include <string>
#include <vector>

namespace actorrun::test {

/// The effects, joined by "; ".
template <class Effect>
std::string transcript(const std::vector<Effect>& effects) {
  auto text = std::string{};
  for (const auto& effect : effects)
    text += (text.empty() ? "" : "; ") + to_string(effect);
  return text;
}

} // namespace actorrun::test
