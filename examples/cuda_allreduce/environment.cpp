#include "environment.hpp"

#include <charconv>
#include <cstdio>
#include <cstdlib>

namespace {

template <class T>
T parse(const std::string& text, const char* what) {
  auto out = T{0};
  const auto* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, out);
  if (error != std::errc{} || stop != end || out < T{0}) {
    std::fprintf(stderr, "%s: \"%s\" is no number\n", what, text.c_str());
    std::exit(2);
  }
  return out;
}

} // namespace

std::string variable(const char* name) {
  const auto* value = std::getenv(name);
  if (value == nullptr) {
    std::fprintf(stderr, "%s is not set: start this with actorrun\n", name);
    std::exit(2);
  }
  return value;
}

int number_from(const std::string& text, const char* what) {
  return parse<int>(text, what);
}

worker_identity read_identity() {
  const auto number
    = [](const char* name) { return number_from(variable(name), name); };
  constexpr auto generation = "ACTORRUN_GENERATION";
  return {number("RANK"), number("WORLD_SIZE"), number("LOCAL_RANK"),
          parse<std::uint64_t>(variable(generation), generation)};
}
