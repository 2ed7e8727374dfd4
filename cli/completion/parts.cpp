#include "cli/completion/parts.hpp"

#include "cli/options/rendezvous_conf.hpp"
#include "cli/options/signal_values.hpp"

#include <algorithm>
#include <cctype>

namespace actorrun::cli {

namespace {

bool is_word(std::string_view text) {
  return !text.empty()
         && std::all_of(text.begin(), text.end(), [](unsigned char c) {
              return std::islower(c) || std::isdigit(c) || c == '-';
            });
}

/// The words among the alternatives for a value: of `N|cpu|gpu`, cpu and gpu.
std::vector<std::string> words_in(const std::string& value) {
  auto out = std::vector<std::string>{};
  for (const auto part : split(value, '|'))
    if (is_word(part))
      out.emplace_back(part);
  return out;
}

std::vector<std::string> conf_words() {
  auto out = std::vector<std::string>{};
  for (const auto& key : rendezvous_conf_keys())
    out.push_back(key + "=");
  return out;
}

} // namespace

value_choice choice_of(const option_text& rule) {
  using enum value_choice::kind;
  if (rule.value == "FOLDER")
    return {folder};
  if (rule.value == "FILE")
    return {file};
  if (rule.value == "STREAMS")
    return {word, {"0", "1", "2", "3"}};
  if (rule.value == "SIGNAL")
    return {word, stop_signals()};
  if (rule.value == "SIGNALS")
    return {list, catchable_signals()};
  if (rule.value == "KEY=VALUE,...")
    return {list, conf_words()};
  auto words = words_in(rule.value);
  return words.empty() ? value_choice{} : value_choice{word, std::move(words)};
}

std::string purpose_of(const option_text& rule) {
  auto text = rule.help;
  for (const auto* end : {". ", "; "})
    text.erase(std::min(text.find(end), text.size()));
  return text;
}

std::string quoted_for_shell(std::string_view text) {
  auto out = std::string{"'"};
  for (const auto c : text)
    out += c == '\'' ? std::string{"'\\''"} : std::string(1, c);
  return out + "'";
}

std::vector<std::string> command_names(const program_guide& program) {
  auto out = std::vector<std::string>{};
  for (const auto& x : program.commands)
    out.push_back(x.name);
  return out;
}

std::vector<std::pair<std::string, option_texts>>
scopes_of(const program_guide& program) {
  auto out
    = std::vector<std::pair<std::string, option_texts>>{{"", program.options}};
  for (const auto& x : program.commands)
    out.emplace_back(x.name, x.options);
  return out;
}

} // namespace actorrun::cli
