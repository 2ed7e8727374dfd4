#include "actors/core/workers/worker_settings.hpp"

#include <string_view>

namespace actorrun::core {

namespace {

constexpr auto macro = std::string_view{"${local_rank}"};
constexpr auto bare_macro = std::string_view{"$local_rank"};

bool continues_name(std::string_view text, size_t at) {
  if (at >= text.size())
    return false;
  const auto c = static_cast<unsigned char>(text[at]);
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z')
         || (c >= 'A' && c <= 'Z');
}

} // namespace

std::string expand(std::string_view text, uint32_t local_rank) {
  auto result = std::string{};
  for (size_t i = 0; i < text.size();) {
    const auto rest = text.substr(i);
    if (rest.starts_with("$$")) {
      result += '$';
      i += 2;
    } else if (rest.starts_with(macro)) {
      result += std::to_string(local_rank);
      i += macro.size();
    } else if (rest.starts_with(bare_macro)
               && !continues_name(rest, bare_macro.size())) {
      result += std::to_string(local_rank);
      i += bare_macro.size();
    } else {
      result += text[i++];
    }
  }
  return result;
}

std::vector<std::string> command_of(const worker_settings& spec,
                                    uint32_t local_rank) {
  auto result = std::vector<std::string>{};
  result.reserve(spec.command.size());
  for (const auto& argument : spec.command)
    result.push_back(expand(argument, local_rank));
  return result;
}

} // namespace actorrun::core
