#include "cli/options/scan.hpp"

#include "cli/options/spelling.hpp"
#include "cli/options/values.hpp"
#include "messages/formatted.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

namespace actorrun::cli {

namespace {

std::string with_dashes(std::string_view name) {
  auto out = std::string{name};
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

/// torchrun knows an option with dashes throughout and with underscores
/// throughout, and nothing between.
std::vector<std::string> forms_of(const spelling& x) {
  auto underscores = x.name;
  std::replace(underscores.begin() + 2, underscores.end(), '-', '_');
  if (underscores == x.name)
    return {x.name};
  return {x.name, std::move(underscores)};
}

/// An option that a word may stand for, and how it would be written in full.
struct candidate {
  const spelling* option;
  std::string form;
};

using candidates = std::vector<candidate>;

/// Both spellings of an option count, so `--nproc` is ambiguous: argparse has
/// it so.
candidates beginning_with(std::string_view typed,
                          const std::vector<spelling>& known, bool ours) {
  auto out = candidates{};
  for (const auto& x : known)
    for (auto& form : forms_of(x))
      if (x.is_ours == ours && form.starts_with(typed))
        out.push_back({&x, std::move(form)});
  return out;
}

/// What a word with two dashes may stand for.
candidates meanings_of(std::string_view typed,
                       const std::vector<spelling>& known) {
  for (const auto& x : known)
    for (auto& form : forms_of(x))
      if (form == typed)
        return {{&x, std::move(form)}};
  auto out = beginning_with(typed, known, false);
  return out.empty() ? beginning_with(typed, known, true) : out;
}

/// As argparse distinguishes the value -1 from the option -1.
bool is_negative_number(std::string_view word) {
  return word.size() > 1 && word[0] == '-'
         && std::all_of(word.begin() + 1, word.end(), [](unsigned char c) {
              return std::isdigit(c) || c == '.';
            });
}

class scanner {
public:
  scanner(const std::vector<std::string>& words,
          const std::vector<spelling>& known, rest_rule rule)
    : words_(words), known_(known), rule_(rule) {}

  result<scanned_words> run() {
    while (next_ < words_.size()) {
      const auto& word = words_[next_++];
      if (word == "--") {
        take_all();
      } else if (!is_option(word)) {
        out_.rest.push_back(word);
        if (rule_ == rest_rule::remainder)
          take_remainder();
      } else if (auto ok = word[1] == '-' ? read_long(word) : read_short(word);
                 !ok) {
        return ok.error();
      } else if (out_.options.back().name == "--help") {
        break;
      }
    }
    return out_;
  }

private:
  void take_all() {
    out_.rest.insert(out_.rest.end(), words_.begin() + position(),
                     words_.end());
    next_ = words_.size();
  }

  void take_remainder() {
    if (next_ < words_.size() && words_[next_] == "--")
      ++next_;
    take_all();
  }

  ptrdiff_t position() const { return static_cast<ptrdiff_t>(next_); }

  // As argparse: a sentence in quotes is no option that was misspelled.
  bool is_option(const std::string& word) const {
    if (word.size() < 2 || word[0] != '-')
      return false;
    return word.find(' ') == word.npos || is_known(word);
  }

  bool is_known(const std::string& word) const {
    return word[1] == '-'
             ? !meanings_of(word.substr(0, word.find('=')), known_).empty()
             : with_letter(word[1]) != nullptr;
  }

  result<void> read_long(const std::string& word) {
    const auto sign = word.find('=');
    const auto typed = word.substr(0, sign);
    const auto meanings = meanings_of(typed, known_);
    if (meanings.empty())
      return unknown(typed);
    if (meanings.size() > 1)
      return ambiguous(typed, meanings);
    const auto& x = *meanings.front().option;
    if (sign == word.npos)
      return x.value.empty() ? add(x, typed, "") : take_value(x, typed);
    if (x.value.empty())
      return bad_argument(
        formatted("{} is a flag and takes no value; leave out {}", typed,
                  in_quotes(word.substr(sign))));
    return add(x, typed, word.substr(sign + 1));
  }

  result<void> read_short(const std::string& word) {
    const auto* x = with_letter(word[1]);
    const auto typed = word.substr(0, 2);
    const auto attached = word.substr(2);
    if (!x)
      return unknown(word.substr(0, word.find('=')));
    if (x->value.empty()) {
      if (!attached.empty() && !with_letter(attached[0]))
        return unknown(word.substr(0, word.find('=')));
      add(*x, typed, "");
      return attached.empty() ? result<void>{} : read_short("-" + attached);
    }
    if (attached.empty())
      return take_value(*x, typed);
    return add(*x, typed, attached.substr(attached[0] == '=' ? 1 : 0));
  }

  result<void> take_value(const spelling& x, const std::string& typed) {
    if (next_ == words_.size())
      return bad_argument(formatted("{} needs a value: {}", typed, x.value));
    const auto& value = words_[next_];
    if (is_option(value) && !is_negative_number(value))
      return bad_argument(formatted("{} needs a value, and {} looks like an "
                                    "option; write {}={} if it is the value",
                                    typed, in_quotes(value), typed, value));
    ++next_;
    return add(x, typed, value);
  }

  result<void> add(const spelling& x, const std::string& typed,
                   std::string value) {
    out_.options.push_back({x.name, typed, std::move(value)});
    return {};
  }

  result<void> unknown(const std::string& typed) const {
    auto names = std::vector<std::string>{};
    for (const auto& x : known_)
      names.push_back(x.name);
    return bad_argument(formatted("unknown option {}{}", typed,
                                  guess(with_dashes(lowered(typed)), names)));
  }

  static failure ambiguous(const std::string& typed, const candidates& xs) {
    constexpr size_t shown_max = 4;
    auto text = typed + " is short for more than one option: ";
    for (size_t i = 0; i < std::min(xs.size(), shown_max); ++i)
      text += (i == 0 ? "" : ", ") + xs[i].form;
    return bad_argument(formatted("{}{}; write more of it", text,
                                  xs.size() > shown_max ? ", …" : ""));
  }

  const spelling* with_letter(char letter) const {
    const auto i
      = std::find_if(known_.begin(), known_.end(),
                     [&](const auto& x) { return x.letter == letter; });
    return i == known_.end() ? nullptr : &*i;
  }

  const std::vector<std::string>& words_;
  const std::vector<spelling>& known_;
  rest_rule rule_;
  size_t next_ = 0; ///< The first word that has not been read.
  scanned_words out_;
};

} // namespace

result<scanned_words> scan(const std::vector<std::string>& words,
                           const std::vector<spelling>& known, rest_rule rule) {
  return scanner{words, known, rule}.run();
}

} // namespace actorrun::cli
