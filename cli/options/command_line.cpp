#include "cli/options/command_line.hpp"

#include "cli/options/spelling.hpp"
#include "cli/options/torchrun_options.hpp"
#include "cli/options/values.hpp"
#include "messages/formatted.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <forward_list>
#include <functional>
#include <map>

namespace actorrun::cli {

namespace {

/// Has what CLI11 has no place for. Readers are here because CLI11 copies callbacks.
class command_app : public CLI::App {
public:
  explicit command_app(command_texts texts)
    : CLI::App{texts.purpose, texts.name}, texts_{std::move(texts)} {
    set_help_flag(); // Ours is an option like every other.
  }

  const command_texts& texts() const { return texts_; }

  /// A callback that hands an option's value to `read`.
  auto reading(const char* names, value_reader read) {
    return [name = std::strstr(names, "--"),
            &kept = readers_.emplace_front(std::move(read))](
             const CLI::results_t& values) {
      if (const auto ok = kept(values.front()); !ok)
        throw CLI::ValidationError{name, ok.error().text};
      return true;
    };
  }

private:
  command_texts texts_;
  std::forward_list<value_reader> readers_;
};

command_app& own(CLI::App& app) {
  return static_cast<command_app&>(app);
}

std::string long_name(const CLI::Option& x) {
  return "--" + x.get_lnames().front();
}

bool is_flag(const CLI::Option& x) {
  return x.get_items_expected_max() == 0;
}

/// CLI11's apps without a name are groups of options.
bool is_command(const CLI::App* x) {
  return !x->get_name().empty();
}

/// Calls `f` with each option and the heading that it stands below.
template <class App, class F>
void for_each_option(App& app, F f) {
  for (auto* group : app.get_subcommands(std::not_fn(is_command)))
    for (auto* option : group->get_options())
      f(*option, group->get_group());
}

/// CLI11 does not find a variable whose name begins with a space. It would ask the
/// environment of this process itself, and one name for each option only, and take
/// an empty one for none.
constexpr auto hidden = ' ';

std::vector<std::string> variables_of(const CLI::Option& x) {
  auto out = std::vector<std::string>{};
  const auto names = x.get_envname();
  for (const auto name : split(names, hidden))
    if (!name.empty())
      out.emplace_back(name);
  return out;
}

spelling spelling_of(const CLI::Option& x) {
  const auto name = long_name(x);
  const auto& letters = x.get_snames();
  return {name, letters.empty() ? '\0' : letters.front().front(),
          is_flag(x) ? "" : x.get_type_name(), !is_torchrun_option(name)};
}

std::vector<spelling> spellings_of(const CLI::App& app) {
  auto out = std::vector<spelling>{};
  for_each_option(app, [&](const CLI::Option& x, const std::string&) {
    out.push_back(spelling_of(x));
  });
  return out;
}

// -- reading ------------------------------------------------------------------

/// The value of one option, and its source for messages.
struct setting {
  std::string source;
  std::string value;
};

/// An empty value that is refused is probably a mistake in a script.
std::string remark_on_empty(const setting& x) {
  if (!trimmed(x.value).empty())
    return "";
  return x.source.starts_with('-')
           ? "; the value is empty, maybe a variable of the shell is not set"
           : "; it is set and empty: unset it, or give it a value";
}

std::vector<std::string> command_names(const CLI::App& program) {
  auto out = std::vector<std::string>{};
  for (const auto* x : program.get_subcommands(is_command))
    out.push_back(x->get_name());
  return out;
}

/// Makes the words that CLI11 parses of those that were typed, and has it parse.
class reader {
public:
  reader(CLI::App& program, const variable_lookup& variable)
    : program_(program), variable_(variable) {}

  result<command_line> run(const std::vector<std::string>& words) {
    if (auto ok = take(program_, words, rest_rule::remainder); !ok)
      return ok.error();
    const auto names = command_names(program_);
    if (!names.empty() && !asks_ && !out_.rest.empty())
      if (auto ok = take_command(names); !ok)
        return ok.error();
    std::reverse(words_.begin(), words_.end()); // CLI11 takes them from behind.
    try {
      program_.parse(std::move(words_));
    } catch (const CLI::ParseError& error) {
      return refused(error.what());
    }
    return std::move(out_);
  }

private:
  result<void> take(CLI::App& app, const std::vector<std::string>& words,
                    rest_rule rule) {
    auto typed = scan(words, spellings_of(app), rule);
    if (!typed)
      return typed.error();
    static_cast<scanned_words&>(out_) = *std::move(typed);
    for (const auto* name : {"--help", "--version"})
      asks_ = asks_ || contains(out_.options, name);
    auto ok = result<void>{};
    for_each_option(app, [&](const CLI::Option& x, const std::string&) {
      if (ok)
        ok = take_option(x);
    });
    return ok;
  }

  result<void> take_command(const std::vector<std::string>& names) {
    const auto words = std::exchange(out_.rest, {});
    const auto& name = out_.command = words.front();
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      const auto meant = guess(name, names);
      return bad_argument(formatted(
        "unknown command {}{}", in_quotes(name),
        meant.empty() ? formatted("; {} are known", listed_commands(program_))
                      : meant));
    }
    words_.push_back(name);
    return take(*program_.get_subcommand(name),
                {words.begin() + 1, words.end()}, rest_rule::mixed);
  }

  result<void> take_option(const CLI::Option& x) {
    const auto name = long_name(x);
    if (asks_ && name != "--help" && name != "--version")
      return {};
    // The last one that was typed counts.
    const auto& typed = out_.options;
    const auto i = std::find_if(typed.rbegin(), typed.rend(),
                                [&](const auto& y) { return y.name == name; });
    if (i != typed.rend())
      return put(x, {i->source, i->value});
    // The first variable that is set counts, even if it turns a flag off.
    for (const auto& variable : variables_of(x))
      if (const auto value = variable_(variable))
        return put(x, {variable, *value});
    return {};
  }

  // A value is a word of its own, so CLI11 takes it whatever it looks like.
  result<void> put(const CLI::Option& x, setting from) {
    const auto name = long_name(x);
    if (is_flag(x) && !from.source.starts_with('-')) {
      const auto is_on = parse_flag_variable(from.value);
      if (!is_on)
        return bad_argument(from.source + ": " + is_on.error().text);
      if (!*is_on)
        return {};
    }
    words_.push_back(name);
    if (!is_flag(x))
      words_.push_back(from.value);
    sources_[name] = std::move(from);
    return {};
  }

  /// @param text The name of the option, a colon, and what is wrong.
  failure refused(std::string_view text) const {
    const auto end = std::min(text.find(": "), text.size());
    const auto i = sources_.find(std::string{text.substr(0, end)});
    if (i == sources_.end())
      return bad_argument(std::string{text});
    return bad_argument(formatted("{}{}{}", i->second.source, text.substr(end),
                                  remark_on_empty(i->second)));
  }

  CLI::App& program_;
  const variable_lookup& variable_;
  command_line out_;
  bool asks_ = false;              ///< For help or the version, nothing else.
  std::vector<std::string> words_; ///< For CLI11.
  std::map<std::string, setting> sources_; ///< By the names of options.
};

} // namespace

// -- describing ---------------------------------------------------------------

std::shared_ptr<CLI::App> make_program(command_texts texts) {
  return std::make_shared<command_app>(std::move(texts));
}

CLI::App& add_command(CLI::App& program, command_texts texts) {
  return *program.add_subcommand(
    std::make_shared<command_app>(std::move(texts)));
}

option_adder::option_adder(CLI::App& app, const std::string& heading)
  : group_(app.add_option_group(heading)) {}

void option_adder::operator()(const char* name, const char* value,
                              std::string help, value_reader read,
                              const char* variable) {
  group_
    ->add_option(name,
                 own(*group_->get_parent()).reading(name, std::move(read)))
    ->description(std::move(help))
    ->type_name_fn([value] { return std::string{value}; })
    ->envname(variable);
}

void option_adder::operator()(const char* name, const char* value,
                              std::string help, std::string& target,
                              const char* variable) {
  group_->add_option(name, target)
    ->description(std::move(help))
    ->type_name_fn([value] { return std::string{value}; })
    ->envname(variable);
}

void option_adder::operator()(const char* name, std::string help, bool& target,
                              const char* variable) {
  group_->add_flag(name, target)
    ->description(std::move(help))
    ->envname(variable);
}

std::string variable_of(const std::string& name) {
  std::string out = "PET_";
  for (const auto c : name.substr(2))
    out += c == '-' ? '_' : static_cast<char>(std::toupper(c));
  return out;
}

void name_variables(CLI::App& program, bool (*has_one)(std::string_view name)) {
  for_each_option(program, [&](CLI::Option& x, const std::string&) {
    const auto name = long_name(x);
    if (has_one(name))
      x.envname(hidden + variable_of(name) + hidden + x.get_envname());
  });
}

// -- explaining ---------------------------------------------------------------

std::vector<std::string> names_of(const option_text& option) {
  if (option.letter == 0)
    return {option.name};
  return {std::string{'-', option.letter}, option.name};
}

command_description describe(const CLI::App& app) {
  auto out = command_description{static_cast<const command_app&>(app).texts()};
  for_each_option(app, [&](const CLI::Option& x, const std::string& heading) {
    auto how = spelling_of(x);
    out.options.push_back({std::move(how.name), how.letter,
                           std::move(how.value), heading, x.get_description(),
                           variables_of(x)});
  });
  return out;
}

std::string listed_commands(const CLI::App& program) {
  auto names = command_names(program);
  const auto last = std::move(names.back());
  names.pop_back();
  return formatted("{} and {}", joined_with(names, ", "), last);
}

std::vector<command_description> describe_commands(const CLI::App& program) {
  auto out = std::vector<command_description>{};
  for (const auto* x : program.get_subcommands(is_command))
    out.push_back(describe(*x));
  return out;
}

// -- reading ------------------------------------------------------------------

bool contains(const std::vector<given_option>& typed, std::string_view name) {
  return std::any_of(typed.begin(), typed.end(),
                     [&](const auto& x) { return x.name == name; });
}

result<command_line> read_words(CLI::App& program,
                                const std::vector<std::string>& words,
                                const variable_lookup& variable) {
  return reader{program, variable}.run(words);
}

} // namespace actorrun::cli
