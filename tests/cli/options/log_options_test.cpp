#include "cli/options/log_options.hpp"
#include "tests/cli/options/arguments_fixture.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::log_options_test {

using namespace actorrun::cli;
using core::std_streams;

namespace {

/// A command line with eight workers.
words eight(words line) {
  line.insert(line.begin(), "--nproc-per-node=8");
  return with_script(std::move(line));
}

std::string only_warning(const words& line, const variables& environment = {}) {
  const auto x = accepted(line, environment);
  REQUIRE(x.warnings.size() == 1);
  return x.warnings.front();
}

/// A command line whose first option has no effect.
struct ineffective_line {
  words line;
  const char* part; ///< Part of the message about it.
};

std::string name_of(const ineffective_line& x) {
  return x.line[0].substr(0, x.line[0].find('='));
}

} // namespace

TEST_CASE("logs: without options all output stays on the console", "[cli]") {
  CHECK(accepted({"a"}).agent.logs == core::log_options{});
}

TEST_CASE("logs: streams have a short form, apart or attached", "[cli]") {
  for (const auto& line : {words{"-r", "3"}, words{"-r3"}, words{"-r=3"}})
    CHECK(accepted(with_script(line)).agent.logs.redirects.of(0)
          == std_streams::all);
  for (const auto& line : {words{"-t", "0:1,7:2"}, words{"-t0:1,7:2"}}) {
    const auto tees = accepted(eight(line)).agent.logs.tees;
    CHECK(tees.of(0) == std_streams::out);
    CHECK(tees.of(1) == std_streams::none);
    CHECK(tees.of(7) == std_streams::err);
  }
  CHECK(refused({"-r4", "a"}).starts_with("-r: \"4\""));
}

TEST_CASE("logs: a rank that does not exist is reported, with the count",
          "[cli]") {
  for (const auto& name : words{"--redirects", "--tee"}) {
    CHECK(accepted(eight({name, "0:3,7:3"})).warnings.empty());
    CHECK(accepted(eight({name, "0:3,8:3,9:1"})).warnings
          == words{name
                   + ": there is no local rank 9; --nproc-per-node is 8, so"
                     " there are 0..7"});
  }
  CHECK(accepted(eight({"--local-ranks-filter=7"})).warnings.empty());
  CHECK(has(only_warning(eight({"--local-ranks-filter=7,8"})),
            "--local-ranks-filter: there is no local rank 8"));
  CHECK(has(only_warning({"-t1:3", "a"}), "is 1, so there is 0 only"));
  CHECK(has(only_warning({"a"}, {{"PET_TEE", "1:3"}}), "--tee: there is no"));
  // At any place of the command line.
  CHECK(accepted({"-r11:3", "--nproc-per-node=cpu", "a"}).warnings.empty());
  CHECK(has(only_warning({"-r12:3", "--nproc-per-node=cpu", "a"}), "is 12,"));
}

TEST_CASE("logs: a rank that does not exist has no streams", "[cli]") {
  const auto logs
    = accepted(eight({"-r7:1,8:3", "-t8:3", "--local-ranks-filter=8"}))
        .agent.logs;
  CHECK(logs.redirects.by_rank
        == std::map<uint32_t, std_streams>{{7, std_streams::out}});
  CHECK(logs.tees.by_rank.empty());
  CHECK(logs.shown_ranks == std::set<uint32_t>{}); // No existing rank.
}

TEST_CASE("logs: torchrun's second variable for the prefix counts", "[cli]") {
  const auto second = std::string{"TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE"};
  const auto prefix = [](const words& line, const variables& environment) {
    return accepted(line, environment).agent.logs.prefix_template;
  };
  CHECK(prefix({"-t3", "a"}, {{second, "x"}}) == "x");
  CHECK(
    prefix({"-t3", "a"}, {{second, "x"}, {"PET_LOG_LINE_PREFIX_TEMPLATE", "y"}})
    == "y");
  CHECK(prefix({"-t3", "--log_line_prefix_template=z", "a"}, {{second, "x"}})
        == "z");
}

TEST_CASE("logs: ineffective options of torchrun get a warning with a remedy",
          "[cli]") {
  const ineffective_line cases[] = {
    {{"--duplicate-stdout-filters=x"}, "add --tee=1 or --tee=3"},
    {{"--duplicate-stdout-filters=x", "--tee=2"}, "add --tee=1 or --tee=3"},
    {{"--duplicate-stdout-filters=x", "-r3"}, "add --tee=1 or --tee=3"},
    {{"--duplicate-stderr-filters=x", "--tee=1"}, "add --tee=2 or --tee=3"},
    {{"--duplicate-stderr-filters=x", "-t1:2", "--local-ranks-filter=0"},
     "no local rank is both in --tee"},
    {{"--duplicate-stdout-filters=x", "-t3", "--log-dir=/dev/null"},
     "--log-dir=/dev/null leaves the output alone"},
  };
  for (const auto& x : cases) {
    const auto warnings = accepted(eight(x.line)).warnings;
    REQUIRE_FALSE(warnings.empty());
    INFO(warnings.back());
    CHECK(warnings.back().starts_with(name_of(x) + ": "));
    CHECK(has(warnings.back(), x.part));
  }
}

TEST_CASE(
  "logs: ineffective options of actorrun alone are refused with a remedy",
  "[cli]") {
  const ineffective_line cases[] = {
    {{"--fold-identical"}, "add --tee=3"},
    {{"--fold-identical", "-r3"}, "add --tee=3"},
    {{"--fold-identical", "-t3", "--log-dir=/dev/null"}, "choose a folder"},
    {{"--log-rotate-size=64K"}, "add --redirects=3 or --tee=3"},
    {{"--log-rotate-size=64K", "-r0", "-t0:0"}, "add --redirects=3"},
    {{"--log-rotate-size=64K", "-r3", "--log-dir=/dev/null"},
     "choose a folder"},
    {{"--log-rotate-keep=2", "-r3"}, "without --log-rotate-size"},
    {{"--log-rotate-keep=2", "--log-rotate-size=0", "-r3"},
     "without --log-rotate-size"},
  };
  for (const auto& x : cases) {
    const auto why = refused(eight(x.line));
    INFO(why);
    CHECK(why.starts_with(name_of(x) + ": "));
    CHECK(has(why, x.part));
  }
}

TEST_CASE("logs: an option with an effect on one rank is effective", "[cli]") {
  for (const auto& line :
       {words{"--duplicate-stdout-filters=x", "-t7:1"},
        words{"--duplicate-stderr-filters=x", "-t7:2",
              "--local-ranks-filter=7"},
        words{"--fold-identical", "-t0:2,1:2"},
        words{"--log-rotate-size=64K", "-r5:1"},
        words{"--log-rotate-size=64K", "-t5:1", "--log-rotate-keep=9"},
        words{"--log-line-prefix-template=x", "-t5:1"}, words{"--log-dir=x"},
        words{"--local-ranks-filter=0"}})
    CHECK(accepted(eight(line)).warnings.empty());
}

TEST_CASE("logs: an ineffective variable gets a warning", "[cli]") {
  const auto x = accepted({"a"}, {{"PET_DUPLICATE_STDOUT_FILTERS", "x"},
                                  {"PET_FOLD_IDENTICAL", "1"},
                                  {"PET_LOG_ROTATE_KEEP", "5"}});
  REQUIRE(x.warnings.size() == 3);
  CHECK(x.warnings[0].starts_with("--duplicate-stdout-filters: "));
  CHECK(x.warnings[1].starts_with("--fold-identical: "));
  CHECK(x.warnings[2].starts_with("--log-rotate-keep: "));
}

TEST_CASE("logs: a label without shown lines gets a warning", "[cli]") {
  const auto typed = accepted({"--log-line-prefix-template=x", "a"});
  REQUIRE(typed.warnings.size() == 1);
  CHECK(has(typed.warnings[0], "add --tee=3"));
  CHECK(
    accepted({"a"}, {{"PET_LOG_LINE_PREFIX_TEMPLATE", "x"}}).warnings.empty());
}

TEST_CASE("logs: without files streams are unchanged, with a warning",
          "[cli]") {
  const auto x = accepted(eight({"--log-dir=/dev/null", "-t3", "-r0:1"}));
  CHECK(x.agent.logs.folder == "/dev/null");
  REQUIRE(x.warnings.size() == 2);
  CHECK(has(x.warnings[0], "--tee: with --log-dir=/dev/null"));
  CHECK(has(x.warnings[1], "--redirects: with --log-dir=/dev/null"));
  CHECK(accepted({"--log-dir=/dev/null", "a"}).warnings.empty());
}

TEST_CASE("logs: texts are bounded", "[cli]") {
  const auto path = std::string(log_folder_length_max, 'x');
  CHECK(accepted({"--log-dir=" + path, "a"}).agent.logs.folder == path);
  CHECK(has(refused({"--log-dir=x" + path, "a"}), "the log folder"));
  CHECK(has(refused({"-t3", "--log-line-prefix-template=a\nb", "a"}),
            "the prefix template"));
  CHECK(has(refused({"-t3", "--duplicate-stdout-filters=a\nb", "a"}),
            "the filters of stdout"));
}

} // namespace actorrun::test::log_options_test
