#include "actors/core/stragglers/straggler.hpp"

#include "actors/core/text.hpp"

#include <algorithm>
#include <cassert>

namespace actorrun::core {

namespace {

/// More would not be read.
constexpr auto listed_max = size_t{4};

std::string name_of(const straggler& x) {
  return "rank " + std::to_string(x.global_rank) + " on " + x.host;
}

} // namespace

std::string sentence_of(const std::vector<straggler>& named, uint32_t count) {
  assert(!named.empty());
  const auto& worst = named.front();
  if (count <= 1)
    return name_of(worst) + " computes for " + duration_text(worst.compute)
           + " per step, the others for " + duration_text(worst.usual);
  auto out = std::to_string(count)
             + " workers compute longer per step than the others ("
             + duration_text(worst.usual) + "): ";
  const auto listed = std::min(named.size(), listed_max);
  for (size_t i = 0; i < listed; ++i)
    out += (i == 0 ? "" : ", ") + name_of(named[i]) + " ("
           + duration_text(named[i].compute) + ")";
  if (count > listed)
    out += " and " + std::to_string(count - listed) + " more";
  return out;
}

} // namespace actorrun::core
