#include "cli/options/scan.hpp"

#include "actors/core/text.hpp"
#include "cli/options/spelling.hpp"
#include "cli/options/values.hpp"
#include "messages/formatted.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace actorrun::cli {

namespace {

std::string replaced(std::string text, char from, char to) {
  constexpr size_t dash_count = 2;
  std::replace(text.begin() + std::min(text.size(), dash_count), text.end(),
               from, to);
  return text;
}

/// An option that a word may stand for, and how it would be written in full.
struct candidate {
  const spelling* option;
  std::string form;
};

/// What a word with two dashes may stand for. torchrun knows an option with dashes
/// throughout and with underscores throughout, and nothing between. Both count, so
/// `--nproc` is ambiguous: argparse has it so.
std::vector<candidate> meanings_of(std::string_view typed,
                                   const std::vector<spelling>& known) {
  std::vector<candidate> of_torchrun, ours;
  for (const auto& x : known)
    for (auto& form : {x.name, replaced(x.name, '-', '_')}) {
      if (form == typed)
        return {{&x, form}};
      auto& out = x.is_ours ? ours : of_torchrun;
      const auto is_second = !out.empty() && out.back().form == form;
      if (form.starts_with(typed) && !is_second)
        out.push_back({&x, form});
    }
  return of_torchrun.empty() ? ours : of_torchrun;
}

/// As argparse distinguishes the value -1 from the option -1.
bool is_negative_number(std::string_view word) {
  return word.size() > 1 && word[0] == '-'
         && word.find_first_not_of("0123456789.", 1) == word.npos;
}

/// What users of mpirun and srun type.
constexpr std::pair<std::string_view, std::string_view> habits[]
  = {{"-n", "--nproc-per-node"},
     {"-np", "--nproc-per-node"},
     {"-ppn", "--nproc-per-node"},
     {"--np", "--nproc-per-node"},
     {"--nprocs", "--nproc-per-node"},
     {"--procs", "--nproc-per-node"},
     {"--num-procs", "--nproc-per-node"},
     {"--num-processes", "--nproc-per-node"},
     {"--ntasks", "--nproc-per-node"},
     {"--ntasks-per-node", "--nproc-per-node"},
     {"--gpus", "--nproc-per-node"},
     {"--num-gpus", "--nproc-per-node"},
     {"--gpus-per-node", "--nproc-per-node"},
     {"-N", "--nnodes"},
     {"--nodes", "--nnodes"},
     {"--num-nodes", "--nnodes"},
     {"--num-machines", "--nnodes"},
     {"--machine-rank", "--node-rank"},
     {"-H", "--hosts"}};

/// `--nnodes` for `–nnodes`: editors and web pages make one longer dash of hyphens.
/// Empty if the word does not begin with such a dash.
std::string with_hyphens(std::string_view word) {
  constexpr std::string_view dashes[]
    = {"-", "‐", "‑", "‒", "–", "—", "―", "−"};
  if (word.starts_with('-'))
    return "";
  auto rest = word;
  const auto begins_rest = [&](auto dash) { return rest.starts_with(dash); };
  for (;;) {
    const auto* i
      = std::find_if(std::begin(dashes), std::end(dashes), begins_rest);
    if (i == std::end(dashes))
      return rest.size() == word.size() ? "" : formatted("--{}", rest);
    rest.remove_prefix(i->size());
  }
}

class scanner {
public:
  scanner(const std::vector<std::string>& words,
          const std::vector<spelling>& known)
    : words_(words), known_(known) {}

  result<scanned_words> run(rest_rule rule) {
    while (next_ < words_.size()) {
      const auto& word = words_[next_++];
      if (word == "--") {
        take_all();
      } else if (const auto meant = with_hyphens(word); !meant.empty()) {
        return bad_argument(
          formatted("{} begins with a dash that is not a hyphen; type {}",
                    in_quotes(word), meant));
      } else if (!is_option(word)) {
        out_.rest.push_back(word);
        if (rule == rest_rule::remainder) {
          next_ += next_ < words_.size() && words_[next_] == "--";
          take_all();
        }
      } else if (auto ok = word[1] == '-' ? read_long(word) : read_short(word);
                 !ok) {
        return ok.error();
      } else if (out_.options.back().name == "--help") {
        break;
      }
    }
    return std::move(out_);
  }

  std::vector<given_option> run_past_mistakes() {
    while (next_ < words_.size()) {
      const auto& word = words_[next_++];
      if (!is_option(word) || word == "--")
        break;
      if (word[1] == '-')
        (void)read_long(word);
      else
        (void)read_short(word);
    }
    return std::move(out_.options);
  }

private:
  void take_all() {
    out_.rest.insert(out_.rest.end(),
                     words_.begin() + static_cast<ptrdiff_t>(next_),
                     words_.end());
    next_ = words_.size();
  }

  // As argparse: a sentence in quotes is no option that was misspelled.
  bool is_option(const std::string& word) const {
    if (word.size() < 2 || word[0] != '-')
      return false;
    return word.find(' ') == word.npos
           || (word[1] == '-'
                 ? !meanings_of(word.substr(0, word.find('=')), known_).empty()
                 : with_letter(word[1]) != nullptr);
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
    if (x.name == "--help" && word.substr(sign) == "=all")
      return add(x, std::string{help_on_all}, "");
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
    const auto is_flag = x && x->value.empty();
    if (!x || (is_flag && !attached.empty() && !with_letter(attached[0])))
      return unknown(word.substr(0, word.find('=')));
    if (!is_flag)
      return attached.empty()
               ? take_value(*x, typed)
               : add(*x, typed, attached.substr(attached[0] == '=' ? 1 : 0));
    add(*x, typed, "");
    return attached.empty() ? result<void>{} : read_short("-" + attached);
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

  failure unknown(const std::string& typed) const {
    auto names = std::vector<std::string>{};
    for (const auto& x : known_)
      names.push_back(x.name);
    const auto usual = value_of(
      replaced(typed.substr(0, typed.find_first_of("0123456789")), '_', '-'),
      habits);
    if (usual && std::find(names.begin(), names.end(), *usual) != names.end())
      return bad_argument(
        formatted("unknown option {}; is {} meant?", typed, *usual));
    return bad_argument(
      formatted("unknown option {}{}", typed,
                guess(replaced(core::lowered(typed), '_', '-'), names)));
  }

  static failure ambiguous(const std::string& typed,
                           const std::vector<candidate>& xs) {
    constexpr size_t shown_max = 4;
    auto forms = std::vector<std::string>{};
    for (size_t i = 0; i < std::min(xs.size(), shown_max); ++i)
      forms.push_back(xs[i].form);
    const auto is_one = std::ranges::all_of(
      xs, [&](const auto& x) { return x.option == xs.front().option; });
    if (is_one)
      return bad_argument(
        formatted("{} is no option; write {}", typed, xs.front().form));
    return bad_argument(
      formatted("{} could be more than one option; write one of {}{}", typed,
                joined_with(forms, ", "), xs.size() > shown_max ? ", …" : ""));
  }

  const spelling* with_letter(char letter) const {
    const auto i
      = std::find_if(known_.begin(), known_.end(),
                     [&](const auto& x) { return x.letter == letter; });
    return i == known_.end() ? nullptr : &*i;
  }

  const std::vector<std::string>& words_;
  const std::vector<spelling>& known_;
  size_t next_ = 0; ///< The first word that has not been read.
  scanned_words out_;
};

} // namespace

result<scanned_words> scan(const std::vector<std::string>& words,
                           const std::vector<spelling>& known, rest_rule rule) {
  return scanner{words, known}.run(rule);
}

std::vector<given_option>
scan_what_is_right(const std::vector<std::string>& words,
                   const std::vector<spelling>& known) {
  return scanner{words, known}.run_past_mistakes();
}

} // namespace actorrun::cli
