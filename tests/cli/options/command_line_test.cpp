#include "cli/options/command_line.hpp"
#include "cli/options/values.hpp"
#include "tests/support/catch.hpp"

#include <map>

namespace actorrun::test::command_line_test {

using namespace actorrun::cli;

namespace {

using words = std::vector<std::string>;
using variables = std::map<std::string, std::string>;

/// A program that reads one line.
struct tool {
  std::string text;
  std::string plain;
  uint32_t count = 0;
  bool on = false;
  std::shared_ptr<CLI::App> app = make_program({"tool", "", "", {}});

  tool() {
    auto add = option_adder{*app, "Group"};
    add("-t,--some-text", "TEXT", "a text", verbatim(text), "B");
    add("--plain", "TEXT", "a text", plain);
    option_adder{*app, ""}("--some-count", "N", "",
                           into(count, count_parser(1, 5)));
    add("--on", "a flag", on);
    name_variables(*app, [](std::string_view name) {
      return name == "--some-text" || name == "--on";
    });
  }

  result<command_line> read(const words& line,
                            const variables& environment = {}) {
    return read_words(
      *app, line, [&](const std::string& name) -> std::optional<std::string> {
        const auto i = environment.find(name);
        if (i == environment.end())
          return std::nullopt;
        return i->second;
      });
  }
};

/// The text after a line is read.
std::string text_after(const words& line, const variables& environment = {}) {
  auto x = tool{};
  x.text = "before";
  REQUIRE(x.read(line, environment));
  return x.text;
}

std::string refusal(const words& line, const variables& environment = {}) {
  const auto done = tool{}.read(line, environment);
  REQUIRE_FALSE(done);
  CHECK(done.error().code == errc::bad_argument);
  return done.error().text;
}

} // namespace

TEST_CASE("options: values arrive as they were typed", "[cli]") {
  for (const auto* value : {"", "a b", "-x", "--text", "--", "[a,b]", "{}",
                            "%%", "\"q\"", "'q'", "a,b", "=", "@file"}) {
    INFO(value);
    CHECK(text_after({"--some-text=" + std::string{value}}) == value);
    CHECK(text_after({}, {{"B", value}}) == value);
    auto x = tool{};
    x.plain = "before";
    REQUIRE(x.read({"--plain=" + std::string{value}}));
    CHECK(x.plain == value);
  }
}

TEST_CASE("options: the first variable that is set counts", "[cli]") {
  CHECK(text_after({}, {{"PET_SOME_TEXT", "1"}, {"B", "2"}}) == "1");
  CHECK(text_after({}, {{"B", "2"}}) == "2");
  CHECK(text_after({}, {{"PET_SOME_TEXT", ""}, {"B", "2"}}).empty());
  CHECK(text_after({"-t", "3"}, {{"PET_SOME_TEXT", "1"}}) == "3");
}

TEST_CASE("options: the last one that was typed counts", "[cli]") {
  CHECK(text_after({"-t1", "--some_text=2"}) == "2");
}

TEST_CASE("options: those that are not given keep their values", "[cli]") {
  CHECK(text_after({}, {{"PET_ON", "0"}}) == "before");
  auto x = tool{};
  REQUIRE(x.read({}, {{"PET_ON", "0"}, {"PET_PLAIN", "no variable"}}));
  CHECK_FALSE(x.on);
  CHECK(x.plain.empty());
  auto y = tool{};
  REQUIRE(y.read({}, {{"PET_ON", "1"}}));
  CHECK(y.on);
}

TEST_CASE("options: the environment of this process is not asked", "[cli]") {
  ::setenv("PET_ON", "1", 1);
  auto x = tool{};
  REQUIRE(x.read({}));
  CHECK_FALSE(x.on);
  ::unsetenv("PET_ON");
}

TEST_CASE("options: errors begin with the typed option", "[cli]") {
  CHECK(refusal({"--some_count=6"}) == "--some_count: \"6\" is not in 1..5");
  CHECK(refusal({"--some-c", "7"}) == "--some-c: \"7\" is not in 1..5");
  CHECK(refusal({}, {{"PET_ON", "yes"}}).starts_with("PET_ON: "));
  CHECK(refusal({"--some-count="})
          .ends_with("maybe a variable of the shell is"
                     " not set"));
}

TEST_CASE("options: variables are named as torchrun names them", "[cli]") {
  CHECK(variable_of("--nnodes") == "PET_NNODES");
  CHECK(variable_of("--max-restarts") == "PET_MAX_RESTARTS");
}

TEST_CASE("options: a program is described as it was put together", "[cli]") {
  auto x = tool{};
  add_command(*x.app, {"go", "move", "Moves.", {"tool go"}});
  const auto options = describe(*x.app).options;
  REQUIRE(options.size() == 4);
  CHECK(names_of(options[0]) == words{"-t", "--some-text"});
  CHECK(options[0].value == "TEXT");
  CHECK(options[0].group == "Group");
  CHECK(options[0].variables == words{"PET_SOME_TEXT", "B"});
  CHECK(options[2].name == "--on");
  CHECK(options[2].value.empty());
  CHECK(options[3].group.empty());
  const auto commands = describe_commands(*x.app);
  REQUIRE(commands.size() == 1);
  CHECK(commands.front().purpose == "move");
  CHECK(commands.front().usage == words{"tool go"});
}

} // namespace actorrun::test::command_line_test
