#include "actors/core/shortage.hpp"

#include "actors/core/text.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

namespace actorrun::core {

namespace {

// The text of EMFILE is the beginning of that of ENFILE.
constexpr auto shortages = std::array{EAGAIN, ENFILE, EMFILE, ENOMEM};

} // namespace

bool is_shortage(int error) {
  return std::ranges::find(shortages, error) != shortages.end();
}

int shortage_in(std::string_view text) {
  for (const auto x : shortages)
    if (text.find(error_text(x)) != text.npos)
      return x;
  return 0;
}

} // namespace actorrun::core
