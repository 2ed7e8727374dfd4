#include "cli/options/scan.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::scan_test {

using namespace actorrun::cli;

namespace {

using words = std::vector<std::string>;
using options = std::vector<given_option>;

const auto known = std::vector<spelling>{{"--max-restarts", 0, "N"},
                                         {"--tee", 't', "STREAMS"},
                                         {"--module", 'm', ""},
                                         {"--help", 'h', ""}};

scanned_words cut(const words& line, rest_rule rule = rest_rule::remainder) {
  const auto x = scan(line, known, rule);
  INFO((x ? "" : x.error().text));
  REQUIRE(x);
  return *x;
}

} // namespace

TEST_CASE("scan: an option keeps its name, its spelling and its value",
          "[cli]") {
  const auto full = std::string{"--max-restarts"};
  const auto under = std::string{"--max_restarts"};
  CHECK(cut({full, "3"}).options == options{{full, full, "3"}});
  CHECK(cut({under + "=3"}).options == options{{full, under, "3"}});
  CHECK(cut({full + "="}).options == options{{full, full, ""}});
  CHECK(cut({full + "=a=b"}).options == options{{full, full, "a=b"}});
  CHECK(cut({full, ""}).options == options{{full, full, ""}});
  CHECK(cut({full, "-"}).options == options{{full, full, "-"}});
}

TEST_CASE("scan: short options take attached values", "[cli]") {
  for (const auto& line : {words{"-t", "3"}, words{"-t3"}, words{"-t=3"}})
    CHECK(cut(line).options == options{{"--tee", "-t", "3"}});
  CHECK(cut({"-m"}).options == options{{"--module", "-m", ""}});
  CHECK_FALSE(scan({"-m3"}, known, rest_rule::remainder));
  for (const auto& line : {words{"-mt3"}, words{"-mt", "3"}, words{"-mt=3"}})
    CHECK(cut(line).options
          == options{{"--module", "-m", ""}, {"--tee", "-t", "3"}});
}

TEST_CASE("scan: only negative numbers may look like options", "[cli]") {
  CHECK(cut({"--tee", "-1"}).options.front().value == "-1");
  CHECK(cut({"--tee", "-.5"}).options.front().value == "-.5");
  for (const auto* value : {"-x", "--module", "--", "-1x"})
    CHECK_FALSE(scan({"--tee", value}, known, rest_rule::remainder));
}

TEST_CASE("scan: the remainder begins with the first word", "[cli]") {
  const auto x = cut({"-m", "a", "--tee", "-t"});
  CHECK(x.options.size() == 1);
  CHECK(x.rest == words{"a", "--tee", "-t"});
}

TEST_CASE("scan: a mixed remainder accepts options anywhere", "[cli]") {
  const auto x = cut({"a", "-m", "b", "--", "-m"}, rest_rule::mixed);
  CHECK(x.options.size() == 1);
  CHECK(x.rest == words{"a", "b", "-m"});
}

TEST_CASE("scan: words after --help are not read", "[cli]") {
  CHECK(cut({"-h", "--bogus"}).options.size() == 1);
  CHECK_FALSE(scan({"--bogus", "-h"}, known, rest_rule::remainder));
}

TEST_CASE("scan: a message names the missing or surplus word", "[cli]") {
  const auto why = [](const words& line) {
    const auto x = scan(line, known, rest_rule::remainder);
    REQUIRE_FALSE(x);
    return x.error().text;
  };
  CHECK(why({"--max_restarts"}) == "--max_restarts needs a value: N");
  CHECK(why({"-t"}) == "-t needs a value: STREAMS");
  CHECK(why({"--module=1", "a"})
        == "--module is a flag and takes no value; leave out \"=1\"");
  CHECK(why({"--MAX_RESTART", "1"})
        == "unknown option --MAX_RESTART; is --max-restarts meant?");
}

TEST_CASE("scan: all options may be asked for", "[cli]") {
  CHECK(cut({"--help=all", "--bogus"}).options
        == options{{"--help", "--help=all", ""}});
  const auto why = scan({"--help=some"}, known, rest_rule::remainder);
  REQUIRE_FALSE(why);
  CHECK(why.error().text.starts_with("--help is a flag"));
}

TEST_CASE("scan: a unique beginning of an option is that option", "[cli]") {
  for (const auto* typed : {"--max-", "--max-r", "--max_", "--max_restart"})
    CHECK(cut({typed, "3"}).options == options{{"--max-restarts", typed, "3"}});
  CHECK(cut({"--te=3"}).options == options{{"--tee", "--te", "3"}});
  CHECK(cut({"--mo"}).options == options{{"--module", "--mo", ""}});
  CHECK(cut({"--he", "--bogus"}).options.size() == 1);
}

TEST_CASE("scan: an ambiguous beginning is refused", "[cli]") {
  const auto why = scan({"--m", "3"}, known, rest_rule::remainder);
  REQUIRE_FALSE(why);
  CHECK(why.error().text
        == "--m could be more than one option; write one of --max-restarts,"
           " --max_restarts, --module");
  // Both spellings of one option count, as in argparse.
  CHECK_FALSE(scan({"--max", "3"}, known, rest_rule::remainder));
}

TEST_CASE("scan: options that only actorrun has do not make it ambiguous",
          "[cli]") {
  auto more = known;
  more.push_back({"--tee-times", 0, "N", true});
  more.push_back({"--own", 0, "", true});
  const auto first = [&](const std::string& typed) {
    const auto x = scan({typed + "=1"}, more, rest_rule::remainder);
    REQUIRE(x);
    return x->options.front().name;
  };
  CHECK(first("--te") == "--tee");
  CHECK(first("--tee") == "--tee");
  CHECK(first("--tee-") == "--tee-times");
  CHECK(scan({"--ow"}, more, rest_rule::remainder));
}

TEST_CASE("scan: a sentence may begin with a dash", "[cli]") {
  CHECK(cut({"--tee", "-a note"}).options.front().value == "-a note");
  CHECK(cut({"--tee", "--a note"}).options.front().value == "--a note");
  CHECK(cut({"-a note", "-t"}).rest == words{"-a note", "-t"});
  CHECK_FALSE(scan({"--tee", "--tee=a b"}, known, rest_rule::remainder));
  CHECK_FALSE(scan({"--tee", "-m b"}, known, rest_rule::remainder));
}

TEST_CASE("scan: U10 a dash that is not a hyphen is named", "[cli]") {
  for (const auto* word : {"–max_restarts=2", "—max_restarts=2",
                           "–-max_restarts=2", "−−max_restarts=2"}) {
    INFO(word);
    const auto x = scan({word}, known, rest_rule::remainder);
    REQUIRE_FALSE(x);
    CHECK(x.error().text
          == std::string{"\""} + word
               + "\" begins with a dash that is not a hyphen; type"
                 " --max_restarts=2");
  }
  CHECK(cut({"a", "–b"}).rest == words{"a", "–b"});
  CHECK(cut({"--", "–b"}).rest == words{"–b"});
  CHECK(cut({"--tee", "–b"}).options.front().value == "–b");
}

TEST_CASE("scan: P14 what users of mpirun type gets a hint", "[cli]") {
  const auto why
    = [](const std::string& word, const std::vector<spelling>& options) {
        const auto x = scan({word, "4"}, options, rest_rule::remainder);
        REQUIRE_FALSE(x);
        return x.error().text;
      };
  const auto launcher
    = std::vector<spelling>{{"--nproc-per-node", 0, "N"}, {"--nnodes", 0, "N"}};
  for (const auto* word : {"-n", "-np", "-n4", "-ppn"})
    CHECK(why(word, launcher).ends_with("; is --nproc-per-node meant?"));
  CHECK(why("-N", launcher) == "unknown option -N; is --nnodes meant?");
  CHECK(why("-n", known) == "unknown option -n");
}

TEST_CASE("scan: of a line with mistakes it has what is right", "[cli]") {
  const auto in
    = [](const words& line) { return scan_what_is_right(line, known); };
  CHECK(in({"--nonsense", "-Z", "--max-restarts=3", "--tee"})
        == options{{"--max-restarts", "--max-restarts", "3"}});
  CHECK(in({"--module=x", "-mt3"})
        == options{{"--module", "-m", ""}, {"--tee", "-t", "3"}});
  CHECK(in({"--nonsense", "4", "--tee=3"}).empty());
  CHECK(in({"a", "--tee=3"}).empty());
  CHECK(in({"--", "--tee=3"}).empty());
}

} // namespace actorrun::test::scan_test
