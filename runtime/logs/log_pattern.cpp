#include "runtime/logs/log_pattern.hpp"

#include "actors/core/logs/log_selection.hpp"

#include <array>

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

  regex_t regex{};
  bool is_valid = false;
};

result<log_pattern> log_pattern::parse(const std::string& text) {
  if (auto ok = core::check_pattern(text); !ok)
    return ok.error();
  auto x = std::make_shared<compiled>();
  const auto error = ::regcomp(&x->regex, text.c_str(), REG_EXTENDED);
  if (error != 0) {
    auto why = std::array<char, 128>{};
    ::regerror(error, &x->regex, why.data(), why.size());
    return failure{errc::bad_argument,
                   "the expression cannot be used: " + std::string{why.data()}};
  }
  x->is_valid = true;
  auto out = log_pattern{};
  out.compiled_ = std::move(x);
  return out;
}

bool log_pattern::matches(std::string_view line) const {
  auto whole = regmatch_t{0, static_cast<regoff_t>(line.size())};
  return ::regexec(&compiled_->regex, line.data(), 1, &whole, REG_STARTEND)
         == 0;
}

} // namespace actorrun::detail
