// The files that a job leaves on disk.
#include "tests/support/catch.hpp"
#include "tests/system/log_scene.hpp"

#include <algorithm>
#include <filesystem>

#include <sys/stat.h>

namespace actorrun::test::logs_layout_test {

namespace {

constexpr auto both = "echo out $LOCAL_RANK; echo err $LOCAL_RANK >&2";

bool has_out(int mask) {
  return (mask & 1) != 0;
}

bool has_err(int mask) {
  return (mask & 2) != 0;
}

/// The console's lines of a stream of four workers.
void expect(words& lines, const std::string& stream, bool teed,
            bool redirected) {
  if (redirected && !teed)
    return;
  for (auto rank = 0; rank < 4; ++rank) {
    const auto number = std::to_string(rank);
    lines.push_back((teed ? "[default" + number + "]:" : "") + stream + " "
                    + number);
  }
}

} // namespace

TEST_CASE_METHOD(log_scene, "logs: every choice of streams has its files",
                 "[logs]") {
  for (auto redirects = 0; redirects <= 3; ++redirects) {
    for (auto tees = 0; tees <= 3; ++tees) {
      INFO("-r " << redirects << " -t " << tees);
      const auto base = logs() + std::to_string(redirects * 10 + tees);
      const auto text
        = console_of({"--log-dir=" + base, "-r" + std::to_string(redirects),
                      "-t", std::to_string(tees)},
                     both);
      auto expected = words{};
      expect(expected, "out", has_out(tees), has_out(redirects));
      expect(expected, "err", has_err(tees), has_err(redirects));
      std::sort(expected.begin(), expected.end());
      CHECK(sorted_lines(text) == expected);
      auto tree = log_tree{{"attempt_0/", ""}};
      for (auto rank = 0; rank < 4; ++rank) {
        const auto number = std::to_string(rank);
        const auto place = "attempt_0/" + number + "/";
        tree[place] = "";
        if (has_out(redirects | tees))
          tree[place + "stdout.log"] = "out " + number + "\n";
        if (has_err(redirects | tees))
          tree[place + "stderr.log"] = "err " + number + "\n";
      }
      CHECK(read_logs(base) == tree);
    }
  }
}

TEST_CASE_METHOD(log_scene, "logs: a run has a folder of its own", "[logs]") {
  console_of({"--log-dir=" + logs(), "-r3"}, both);
  console_of({"--log-dir=" + logs(), "-r3"}, both);
  const auto runs = runs_in(logs());
  REQUIRE(runs.size() == 2);
  for (const auto& x : runs) {
    INFO(x);
    CHECK(x.starts_with("job_"));
    CHECK(x.size() == 4 + 8);
    struct stat facts {};
    REQUIRE(::stat((logs() + "/" + x).c_str(), &facts) == 0);
    CHECK((facts.st_mode & 0777) == 0700);
  }
}

TEST_CASE_METHOD(log_scene, "logs: a folder is made with its parents",
                 "[logs]") {
  console_of({"--log-dir=a/b/c", "-r1"}, both);
  CHECK(read_logs(folder() + "/a/b/c")["attempt_0/3/stdout.log"] == "out 3\n");
}

TEST_CASE_METHOD(log_scene, "logs: a link to a folder is accepted", "[logs]") {
  std::filesystem::create_directory(folder() + "/target");
  std::filesystem::create_directory_symlink("target", folder() + "/link");
  console_of({"--log-dir=link", "-r1"}, both, 1);
  CHECK(read_logs(folder() + "/target")["attempt_0/0/stdout.log"] == "out 0\n");
}

TEST_CASE_METHOD(log_scene, "logs: streams are chosen by rank", "[logs]") {
  const auto text
    = console_of({"--log-dir=" + logs(), "-r", "1:3,11:2", "-t0:2"}, both, 12);
  const auto tree = read_logs(logs());
  CHECK(tree.count("attempt_0/0/stdout.log") == 0);
  CHECK(tree.at("attempt_0/0/stderr.log") == "err 0\n");
  CHECK(tree.at("attempt_0/1/stdout.log") == "out 1\n");
  CHECK(tree.at("attempt_0/1/stderr.log") == "err 1\n");
  CHECK(tree.at("attempt_0/11/stderr.log") == "err 11\n");
  CHECK(tree.count("attempt_0/11/stdout.log") == 0);
  CHECK(tree.count("attempt_0/2/") == 1);
  CHECK(count_of(text, "out 0\n") == 1);
  CHECK(count_of(text, "[default0]:err 0\n") == 1);
  CHECK(count_of("\n" + text, "\nout 1\n") == 0);
  CHECK(count_of("\n" + text, "\nerr 11\n") == 0);
  CHECK(count_of("\n" + text, "\nout 11\n") == 1);
  CHECK(count_of("\n" + text, "\nerr 2\n") == 1);
}

TEST_CASE_METHOD(log_scene, "logs: workers know the path of their error file",
                 "[logs]") {
  console_of({"--log-dir=logs"},
             "printf '{\"message\": \"m\"}' > $TORCHELASTIC_ERROR_FILE;"
             "echo $TORCHELASTIC_ERROR_FILE > path.$LOCAL_RANK");
  const auto tree = read_logs(logs());
  for (auto rank = 0; rank < 4; ++rank) {
    const auto number = std::to_string(rank);
    const auto end = "/attempt_0/" + number + "/error.json\n";
    const auto path = content_of(folder() + "/path." + number);
    INFO(path);
    // Absolute, as workers may change folders.
    CHECK(path.starts_with(logs() + "/job_"));
    CHECK(path.ends_with(end));
    CHECK(tree.count("attempt_0/" + number + "/error.json") == 1);
  }
}

TEST_CASE_METHOD(log_scene, "logs: a job id of any form has a folder",
                 "[logs]") {
  for (const auto& id : {std::string(255, 'x'), std::string{"a/b"},
                         std::string{".."}, std::string{"two words"}}) {
    INFO(id);
    const auto base = logs() + std::to_string(id.size());
    auto& x = run({"--standalone", "--rdzv-id=" + id, "--log-dir=" + base,
                   "-r1", "--no-python", "echo", "hello"});
    CHECK(x.wait() == 0);
    CHECK(read_logs(base)["attempt_0/0/stdout.log"] == "hello\n");
  }
}

TEST_CASE_METHOD(log_scene, "logs: each restart has a folder of its own",
                 "[logs]") {
  const auto text
    = console_of({"--log-dir=" + logs(), "-t3", "--max-restarts=2"},
                 "echo try $TORCHELASTIC_RESTART_COUNT;"
                 "[ $TORCHELASTIC_RESTART_COUNT = 2 ] || exit 3",
                 1);
  const auto tree = read_logs(logs());
  for (const auto* number : {"0", "1", "2"})
    CHECK(tree.at("attempt_" + std::string{number} + "/0/stdout.log")
          == "try " + std::string{number} + "\n");
  CHECK(tree.count("attempt_3/") == 0);
  for (const auto* line :
       {"[default0]:try 0\n", "[default0]:try 1\n", "[default0]:try 2\n"})
    CHECK(count_of(text, line) == 1);
}

TEST_CASE_METHOD(log_scene, "logs: a change of members keeps earlier output",
                 "[logs]") {
  const auto options
    = agent_options{.nodes = "1:2",
                    .slots = 1,
                    .more = {"--log-dir=" + logs() + "A", "-r3"},
                    .worker = {"--say=words of the worker"}};
  auto& a = agent(options);
  const auto alone = await_world(1);
  auto second = options;
  second.more = {"--log-dir=" + logs() + "B", "-r3"};
  auto& b = agent(second);
  await_world(2, alone[0].generation);
  order_end();
  CHECK(a.wait() == 0);
  CHECK(b.wait() == 0);
  auto files = 0;
  for (const auto& [path, content] : read_logs(logs() + "A"))
    if (path.ends_with("stdout.log")) {
      ++files;
      CHECK(content == "words of the worker\n");
    }
  CHECK(files == 2); // From the generations with one node and with two.
  CHECK(read_logs(logs() + "A").count("attempt_0/0/stdout.log") == 1);
}

TEST_CASE_METHOD(log_scene, "logs: without files no folder is made", "[logs]") {
  const auto text = console_of(
    {"--log-dir=/dev/null", "-r1", "-t2"},
    std::string{both} + "; echo error file: \"$TORCHELASTIC_ERROR_FILE\"", 1);
  CHECK(count_of(text, "actorrun: warning: ") == 2);
  CHECK(count_of("\n" + text, "\nout 0\n") == 1);
  CHECK(count_of("\n" + text, "\nerr 0\n") == 1);
  CHECK(count_of(text, "error file: \n") == 1);
  CHECK(runs_in(folder() + "/tmp").empty());
}

} // namespace actorrun::test::logs_layout_test
