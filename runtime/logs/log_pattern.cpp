#include "runtime/logs/log_pattern.hpp"

#include "actors/core/logs/log_selection.hpp"

#include <array>
#include <utility>

#include <regex.h>

namespace actorrun::detail {

struct log_pattern::compiled {
  compiled() = default;
  compiled(const compiled&) = delete;
  compiled& operator=(const compiled&) = delete;
  ~compiled() {
    if (is_valid)
      ::regfree(&regex);
  }

  /// @returns an error of `regcomp`; 0: none
  int compile() {
    if (std::exchange(is_valid, false))
      ::regfree(&regex);
    seen = 0;
    const auto error = ::regcomp(&regex, text.c_str(), REG_EXTENDED);
    is_valid = error == 0;
    return error;
  }

  std::string text;
  bool may_grow = false; ///< With what it has seen.
  size_t seen = 0;       ///< In bytes, since it was compiled.
  regex_t regex{};
  bool is_valid = false;
};

result<log_pattern> log_pattern::parse(const std::string& text) {
  if (auto ok = core::check_pattern(text); !ok)
    return ok.error();
  auto x = std::make_shared<compiled>();
  x->text = text;
  x->may_grow = text.find_first_of("*+{") != text.npos;
  const auto error = x->compile();
  if (error != 0) {
    auto why = std::array<char, 128>{};
    ::regerror(error, &x->regex, why.data(), why.size());
    return failure{errc::bad_argument,
                   "the expression cannot be used: " + std::string{why.data()}};
  }
  auto out = log_pattern{};
  out.compiled_ = std::move(x);
  return out;
}

bool log_pattern::matches(std::string_view line) {
  auto& x = *compiled_;
  if (x.may_grow) {
    line = line.substr(0, pattern_line_max);
    if (x.seen + line.size() > pattern_line_max)
      x.compile();
    x.seen += line.size();
  }
  if (!x.is_valid) // There is no memory for it.
    return false;
  auto whole = regmatch_t{0, static_cast<regoff_t>(line.size())};
  return ::regexec(&compiled_->regex, line.data(), 1, &whole, REG_STARTEND)
         == 0;
}

} // namespace actorrun::detail
