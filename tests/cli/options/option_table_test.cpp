#include "cli/options/option_table.hpp"
#include "cli/options/values.hpp"
#include "tests/support/catch.hpp"

#include <map>

using namespace actorrun;
using namespace actorrun::cli;

namespace {

using variables = std::map<std::string, std::string>;

struct fixture {
  std::string text;
  uint32_t count = 0;
  bool on = false;
  option_rules rules = {
    {"--text", 't', "TEXT", "Group", "a text", verbatim(text), {"A", "B"}},
    {"--some-count", 0, "N", "", "",
     into(count, [](const std::string& x) { return parse_count(x, 1, 5); })},
    {"--on", 0, "", "Group", "a flag", switch_on(on), {"C"}},
  };

  result<void> read(const std::vector<given_option>& given,
                    const variables& environment = {}) {
    return read_options(
      rules, given, [&](const std::string& name) -> std::optional<std::string> {
        const auto i = environment.find(name);
        if (i == environment.end())
          return std::nullopt;
        return i->second;
      });
  }
};

} // namespace

TEST_CASE_METHOD(fixture, "options: values arrive as they were typed",
                 "[cli]") {
  for (const auto* value : {"", "a b", "-x", "--text", "--", "[a,b]", "{}",
                            "%%", "\"q\"", "'q'", "a,b", "=", "@file"}) {
    INFO(value);
    text = "before";
    REQUIRE(read({{"--text", "-t", value}}));
    CHECK(text == value);
  }
}

TEST_CASE_METHOD(fixture, "options: the first variable that is set counts",
                 "[cli]") {
  REQUIRE(read({}, {{"A", "1"}, {"B", "2"}}));
  CHECK(text == "1");
  REQUIRE(read({}, {{"B", "2"}}));
  CHECK(text == "2");
  REQUIRE(read({}, {{"A", ""}, {"B", "2"}}));
  CHECK(text.empty());
  REQUIRE(read({{"--text", "-t", "3"}}, {{"A", "1"}}));
  CHECK(text == "3");
}

TEST_CASE_METHOD(fixture,
                 "options: options that are not given keep their values",
                 "[cli]") {
  text = "before";
  REQUIRE(read({}, {{"C", "0"}}));
  CHECK(text == "before");
  CHECK_FALSE(on);
}

TEST_CASE_METHOD(fixture, "options: errors begin with the typed option",
                 "[cli]") {
  const auto done = read({{"--some-count", "--some_count", "6"}});
  REQUIRE_FALSE(done);
  CHECK(done.error()
        == failure{errc::bad_argument, "--some_count: \"6\" is not in"
                                       " 1..5"});
  rules.push_back({"--more", 0, "N", "", "", rules[1].read});
  CHECK(read({{"--more", "--more", "7"}, {"--some-count", "-n", "8"}}).error()
        == failure{errc::bad_argument, "-n: \"8\" is not in 1..5"});
  const auto flag = read({}, {{"C", "yes"}});
  REQUIRE_FALSE(flag);
  CHECK(flag.error().text.starts_with("C: "));
}

TEST_CASE("options: variables are named as torchrun names them", "[cli]") {
  CHECK(variable_of("--nnodes") == "PET_NNODES");
  CHECK(variable_of("--max-restarts") == "PET_MAX_RESTARTS");
}
