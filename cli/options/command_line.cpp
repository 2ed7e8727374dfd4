#include "cli/options/command_line.hpp"

#include "cli/options/spelling.hpp"
#include "cli/options/torchrun_options.hpp"
#include "cli/options/values.hpp"
#include "messages/formatted.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <utility>
#include <variant>

namespace actorrun::cli {

namespace {

/// An option, until CLI11 gets it. That takes CLI11 3 µs for each, so a line that is
/// read has those made that it needs, and a description all.
struct draft {
  CLI::App* group;
  const char* names; ///< `-r,--redirects`
  const char* value; ///< Stands for the value; empty for a flag.
  std::string help;
  value_reader read; ///< Or
  /// what CLI11 itself fills. A list takes the values of all such options.
  std::variant<std::string*, bool*, std::vector<std::string>*> target;
  std::string second_variable;
  bool has_variable = false; ///< One of its own.
  bool is_made = false;

  std::string name() const { return std::strstr(names, "--"); }
  bool is_list() const {
    return !read && std::holds_alternative<std::vector<std::string>*>(target);
  }

  spelling how() const {
    return {name(), names[1] == '-' ? '\0' : names[1], value,
            !is_torchrun_option(name())};
  }

  std::vector<std::string> variables() const {
    auto out = std::vector<std::string>{};
    if (has_variable)
      out.push_back(variable_of(name()));
    if (!second_variable.empty())
      out.push_back(second_variable);
    return out;
  }
};

/// Has what CLI11 has no place for.
class command_app : public CLI::App {
public:
  explicit command_app(command_texts texts)
    : CLI::App{texts.purpose, texts.name}, texts_{std::move(texts)} {
    set_help_flag(); // Ours is an option like every other.
  }

  const command_texts& texts() const { return texts_; }

  std::deque<draft>& drafts() { return drafts_; }

  std::vector<spelling> spellings() const {
    auto out = std::vector<spelling>{};
    for (const auto& x : drafts_)
      out.push_back(x.how());
    return out;
  }

  void make_all() const {
    for (auto& x : drafts_)
      make(x);
  }

  static void make(draft& x) {
    if (std::exchange(x.is_made, true))
      return;
    auto* option
      = x.read ? x.group->add_option(x.names, reading(x))
        : std::holds_alternative<bool*>(x.target)
          ? x.group->add_flag(x.names, *std::get<bool*>(x.target))
        : x.is_list()
          ? x.group
              ->add_option(x.names,
                           *std::get<std::vector<std::string>*>(x.target))
              ->allow_extra_args(false)
          : x.group->add_option(x.names, *std::get<std::string*>(x.target));
    // CLI11 does not find a variable with a space in its name. It would ask the
    // environment of this process itself, and take an empty one for none.
    auto variables = std::string{};
    for (const auto& name : x.variables())
      variables += ' ' + name;
    option->description(x.help)->type_name(x.value)->envname(variables);
  }

private:
  static CLI::callback_t reading(const draft& x) {
    return [&x](const CLI::results_t& values) {
      if (const auto ok = x.read(values.front()); !ok)
        throw CLI::ValidationError{x.name(), ok.error().text};
      return true;
    };
  }

  command_texts texts_;
  mutable std::deque<draft> drafts_; ///< What is made of them is the same.
};

command_app& own(CLI::App& app) {
  return static_cast<command_app&>(app);
}

const command_app& own(const CLI::App& app) {
  return static_cast<const command_app&>(app);
}

/// CLI11's apps without a name are groups of options.
bool is_command(const CLI::App* x) {
  return !x->get_name().empty();
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
    if (auto ok = take(own(program_), words, rest_rule::remainder); !ok)
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
  result<void> take(command_app& app, const std::vector<std::string>& words,
                    rest_rule rule) {
    auto typed = scan(words, app.spellings(), rule);
    if (!typed)
      return typed.error();
    static_cast<scanned_words&>(out_) = *std::move(typed);
    ignores_variables_
      = ignores_variables_ || contains(out_.options, no_variables_option);
    for (const auto* name : {"--help", "--version"})
      asks_ = asks_ || contains(out_.options, name);
    for (auto& x : app.drafts())
      if (auto ok = take_option(x); !ok)
        return ok;
    return {};
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
    return take(own(*program_.get_subcommand(name)),
                {words.begin() + 1, words.end()}, rest_rule::mixed);
  }

  result<void> take_option(draft& x) {
    const auto name = x.name();
    if (asks_ && name != "--help" && name != "--version")
      return {};
    const auto& typed = out_.options;
    if (x.is_list() && contains(typed, name)) {
      for (const auto& y : typed)
        if (y.name == name)
          if (auto ok = put(x, {y.source, y.value}); !ok)
            return ok;
      return {};
    }
    // The last one that was typed counts.
    const auto i = std::find_if(typed.rbegin(), typed.rend(),
                                [&](const auto& y) { return y.name == name; });
    if (i != typed.rend())
      return put(x, {i->source, i->value});
    // The first variable that is set counts, even if it turns a flag off.
    for (const auto& variable : x.variables())
      if (const auto value = value_of_variable(variable))
        return put(x, {variable, *value});
    return {};
  }

  std::optional<std::string>
  value_of_variable(const std::string& variable) const {
    const auto is_ignored
      = ignores_variables_ && variable.starts_with(option_variable_prefix);
    return is_ignored ? std::nullopt : variable_(variable);
  }

  // A value is a word of its own, so CLI11 takes it whatever it looks like.
  result<void> put(draft& x, setting from) {
    const auto is_flag = *x.value == '\0';
    if (is_flag && !from.source.starts_with('-')) {
      const auto is_on = parse_flag_variable(from.value);
      if (!is_on)
        return bad_argument(from.source + ": " + is_on.error().text);
      if (!*is_on)
        return {};
    }
    command_app::make(x);
    words_.push_back(x.name());
    if (!is_flag)
      words_.push_back(from.value);
    sources_[x.name()] = std::move(from);
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
  bool ignores_variables_ = false; ///< Those of options.
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
  own(*group_->get_parent())
    .drafts()
    .push_back(
      {group_, name, value, std::move(help), std::move(read), {}, variable});
}

void option_adder::operator()(const char* name, const char* value,
                              std::string help, std::string& target,
                              const char* variable) {
  own(*group_->get_parent())
    .drafts()
    .push_back({group_, name, value, std::move(help), {}, &target, variable});
}

void option_adder::operator()(const char* name, const char* value,
                              std::string help,
                              std::vector<std::string>& target) {
  own(*group_->get_parent())
    .drafts()
    .push_back({group_, name, value, std::move(help), {}, &target, ""});
}

void option_adder::operator()(const char* name, std::string help, bool& target,
                              const char* variable) {
  own(*group_->get_parent())
    .drafts()
    .push_back({group_, name, "", std::move(help), {}, &target, variable});
}

std::string variable_of(const std::string& name) {
  auto out = std::string{option_variable_prefix};
  for (const auto c : name.substr(2))
    out += c == '-' ? '_' : static_cast<char>(std::toupper(c));
  return out;
}

void name_variables(CLI::App& program, bool (*has_one)(std::string_view name)) {
  for (auto& x : own(program).drafts())
    x.has_variable = has_one(x.name());
}

// -- explaining ---------------------------------------------------------------

std::vector<std::string> names_of(const option_text& option) {
  if (option.letter == 0)
    return {option.name};
  return {std::string{'-', option.letter}, option.name};
}

command_description describe(const CLI::App& app) {
  own(app).make_all();
  auto out = command_description{own(app).texts()};
  for (const auto* group : app.get_subcommands(std::not_fn(is_command)))
    for (const auto* x : group->get_options()) {
      const auto& letters = x->get_snames();
      const auto is_flag = x->get_items_expected_max() == 0;
      const auto variables = x->get_envname();
      auto& option = out.options.emplace_back();
      option.name = "--" + x->get_lnames().front();
      option.letter = letters.empty() ? '\0' : letters.front().front();
      option.value = is_flag ? "" : x->get_type_name();
      option.group = group->get_group();
      option.help = x->get_description();
      for (const auto name : split(variables, ' '))
        if (!name.empty())
          option.variables.emplace_back(name);
    }
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

std::string value_if_any(CLI::App& program,
                         const std::vector<std::string>& words,
                         std::string_view name) {
  const auto options = scan_what_is_right(words, own(program).spellings());
  const auto i = std::find_if(options.rbegin(), options.rend(),
                              [&](const auto& x) { return x.name == name; });
  return i == options.rend() ? std::string{} : i->value;
}

} // namespace actorrun::cli
