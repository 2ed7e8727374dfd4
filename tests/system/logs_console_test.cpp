// Tests the workers' output on the console.
#include "tests/support/catch.hpp"
#include "tests/system/log_scene.hpp"

namespace actorrun::test::logs_console_test {

namespace {

/// The lines that begin with `prefix`, without it.
words with_prefix(const std::string& text, const std::string& prefix) {
  auto out = words{};
  for (const auto& x : lines_of(text))
    if (x.starts_with(prefix))
      out.push_back(x.substr(prefix.size()));
  return out;
}

words numbered(int count) {
  auto out = words{};
  for (auto i = 1; i <= count; ++i)
    out.push_back("line " + std::to_string(i));
  return out;
}

constexpr auto count_to
  = "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); echo line $i; done;";

} // namespace

TEST_CASE_METHOD(log_scene, "tee: stdout and stderr are kept apart", "[logs]") {
  auto& x = start({"sh", "-c",
                   "exec \"$0\" --standalone --log-dir=logs -t3 --no-python sh"
                   " -c 'echo out; echo err >&2' >console.out 2>console.err",
                   ACTORRUN_PROGRAM});
  CHECK(x.wait() == 0);
  CHECK(content_of(folder() + "/console.out") == "[default0]:out\n");
  CHECK(content_of(folder() + "/console.err") == "[default0]:err\n");
}

TEST_CASE_METHOD(log_scene, "tee: the label is the role and the local rank",
                 "[logs]") {
  const auto text = console_of({"--log-dir=" + logs(), "-t1", "--role=trainer"},
                               "echo words", 2);
  CHECK(sorted_lines(text) == words{"[trainer0]:words", "[trainer1]:words"});
}

TEST_CASE_METHOD(log_scene, "tee: a template makes the label", "[logs]") {
  auto host = read({"uname", "-n"});
  host = host.substr(0, host.find_first_of(".\n"));
  const auto text = console_of(
    {"--log-dir=" + logs(), "-t1", "--role=r",
     "--log-line-prefix-template=${hostname} ${rank}/${local_rank} $"
     "{role_name} ${none}|"},
    "echo words", 2);
  CHECK(sorted_lines(text)
        == words{host + " 0/0 r ${none}|words", host + " 1/1 r ${none}|words"});
}

TEST_CASE_METHOD(log_scene, "tee: a line is shown whole, once, in order",
                 "[logs]") {
  const auto text = console_of({"--log-dir=" + logs(), "-t1"}, count_to);
  for (auto rank = 0; rank < 4; ++rank)
    CHECK(
      difference(with_prefix(text, "[default" + std::to_string(rank) + "]:"),
                 numbered(2'000))
      == "");
  CHECK(lines_of(text).size() == 4 * 2'000);
}

TEST_CASE_METHOD(log_scene, "tee: the last lines of a killed worker are shown",
                 "[logs]") {
  const auto text = console_of(
    {"--log-dir=" + logs(), "-t3"},
    std::string{count_to} + "printf 'last words'; kill -9 $$$$", 1, 1);
  auto expected = numbered(2'000);
  expected.emplace_back("last words");
  CHECK(difference(with_prefix(text, "[default0]:"), expected) == "");
  // Before its death is reported.
  const auto last = text.find("[default0]:last words\n");
  REQUIRE(last != text.npos);
  const auto report = text.find("killed by SIGKILL");
  REQUIRE(report != text.npos);
  CHECK(last < report);
}

TEST_CASE_METHOD(log_scene, "report: it comes after the last line of a worker",
                 "[logs]") {
  const auto text = console_of({"--log-dir=" + logs(), "-t3"},
                               "echo out; echo err >&2; exit 3", 2, 1);
  const auto report = text.find("FAILED");
  REQUIRE(report != text.npos);
  CHECK(count_of(text, " FAILED\n") == 1);
  CHECK(count_of(text, "Root Cause (first observed failure):") == 1);
  // The end of the failed worker; the other may have been stopped earlier.
  const auto failed = text.find("local_rank: ", report);
  REQUIRE(failed != text.npos);
  const auto label = "[default" + text.substr(failed + 12, 1) + "]:";
  for (const auto* line : {"out\n", "err\n"}) {
    INFO(label << line);
    CHECK(text.find(label + line) < report);
  }
}

TEST_CASE_METHOD(log_scene, "filter: other local ranks leave the console",
                 "[logs]") {
  const auto text
    = console_of({"--log-dir=" + logs(), "-t1", "--local-ranks-filter=1,3"},
                 "echo out $LOCAL_RANK; echo err $LOCAL_RANK >&2");
  CHECK(sorted_lines(text)
        == words{"[default1]:out 1", "[default3]:out 3", "err 1", "err 3"});
  for (const auto* rank : {"0", "1", "2", "3"})
    CHECK(read_logs(logs())["attempt_0/" + std::string{rank} + "/stdout.log"]
          == "out " + std::string{rank} + "\n");
}

TEST_CASE_METHOD(log_scene, "filter: lines with a text go to one file, too",
                 "[logs]") {
  const auto text = console_of(
    {"--log-dir=" + logs(), "-t0:1,1:3",
     "--duplicate-stdout-filters=apple,a,,b",
     "--duplicate-stderr-filters=pear"},
    "echo one apple; echo a,b; echo nothing; echo pear >&2; echo apple >&2", 2);
  const auto tree = read_logs(logs());
  CHECK(sorted_lines(tree.at("attempt_0/filtered_stdout.log"))
        == words{"[default0]:a,b", "[default0]:one apple", "[default1]:a,b",
                 "[default1]:one apple"});
  CHECK(tree.at("attempt_0/filtered_stderr.log") == "[default1]:pear\n");
  CHECK(count_of(text, "]:nothing\n") == 2);
  CHECK(count_of(text, "]:one apple\n") == 2);
}

TEST_CASE_METHOD(log_scene, "fold: a line that all ranks print is shown once",
                 "[logs]") {
  const auto text
    = console_of({"--log-dir=" + logs(), "-t1", "--fold-identical"},
                 "echo the same; echo mine is $LOCAL_RANK", 4);
  CHECK(count_of(text, "the same\n") >= 1);
  CHECK(count_of(text, "mine is ") == 4);
  for (const auto* rank : {"0", "1", "2", "3"})
    CHECK(read_logs(logs())["attempt_0/" + std::string{rank} + "/stdout.log"]
          == "the same\nmine is " + std::string{rank} + "\n");
}

TEST_CASE_METHOD(log_scene, "rotation: the kept files have the newest bytes",
                 "[logs]") {
  // 64 KiB is the minimum; a worker writes five times as much.
  const auto text = console_of(
    {"--log-dir=" + logs(), "-t1", "--log-rotate-size=64K",
     "--log-rotate-keep=2"},
    "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); echo line $i; done", 1);
  auto expected = numbered(20'000);
  CHECK(difference(with_prefix(text, "[default0]:"), expected) == "");
  const auto tree = read_logs(logs());
  CHECK(tree.count("attempt_0/0/stdout.log.3") == 0);
  auto kept = std::string{};
  for (const auto* name : {"stdout.log.2", "stdout.log.1", "stdout.log"}) {
    const auto i = tree.find("attempt_0/0/" + std::string{name});
    kept += i == tree.end() ? "" : i->second;
  }
  auto all = std::string{};
  for (const auto& x : expected)
    all += x + "\n";
  REQUIRE_FALSE(kept.empty());
  CHECK(all.ends_with(kept));
}

} // namespace actorrun::test::logs_console_test
