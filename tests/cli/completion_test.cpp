#include "actorrun/cli/completion.hpp"
#include "arguments_fixture.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <cstdio>
#include <memory>

using namespace actorrun;
using namespace actorrun::cli;

namespace {

std::string script_for(const std::string& name) {
  return std::get<help>(*parse({"--print-completion", name})).text;
}

/// What bash would offer for the last of these words; empty if it fails.
std::string offered(const std::string& line) {
  auto text = script_for("bash");
  text += "COMP_WORDS=(" + line
          + ")\n"
            "COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n"
            "_actorrun\n"
            "echo \"${COMPREPLY[*]}\"\n";
  auto command = std::string{"bash --norc -c '"};
  for (const auto c : text)
    command += c == '\'' ? std::string{"'\\''"} : std::string(1, c);
  command += "'";
  const auto pipe = std::unique_ptr<FILE, int (*)(FILE*)>{
    ::popen(command.c_str(), "r"), ::pclose};
  REQUIRE(pipe);
  auto out = std::string{};
  auto some = std::array<char, 4'096>{};
  while (std::fgets(some.data(), some.size(), pipe.get()) != nullptr)
    out += some.data();
  if (out.ends_with('\n'))
    out.pop_back();
  return out;
}

} // namespace

TEST_CASE("completion: it is printed instead of anything else", "[cli]") {
  for (const auto* name : {"bash", "zsh", "fish", "tcsh"}) {
    const auto text = script_for(name);
    CHECK(text.ends_with('\n'));
    for (const auto* option : {"nproc-per-node", "rdzv-backend", "tee"})
      CHECK(has(text, option));
    CHECK_FALSE(has(text, "metrics-cfg"));
  }
  CHECK(has(refused({"--print-completion=csh"}), "bash, zsh, fish, tcsh"));
}

TEST_CASE("completion: bash completes the names of options", "[cli]") {
  CHECK(offered("actorrun --max-") == "--max-restarts");
  CHECK(offered("actorrun --standalone --nproc-per") == "--nproc-per-node");
  CHECK(offered("actorrun --role --max --max-") == "--max-restarts");
  CHECK(offered("actorrun -m --log-d") == "--log-dir");
  CHECK(offered("actorrun -r3 --log-d") == "--log-dir");
  CHECK(offered("actorrun --role = x --log-d") == "--log-dir");
  CHECK(offered("actorrun --bogus").empty());
}

TEST_CASE("completion: bash completes values that are words", "[cli]") {
  CHECK(offered("actorrun --start-method fork") == "fork forkserver");
  CHECK(offered("actorrun --rdzv-backend = st") == "static");
  CHECK(offered("actorrun --rdzv-backend '='")
        == "c10d actor static etcd etcd-v2");
  CHECK(offered("actorrun --role x").empty());
}

TEST_CASE("completion: bash completes files at the script and behind it",
          "[cli]") {
  CHECK(offered("actorrun /proc/self/stat").find("/proc/self/stat") == 0);
  CHECK(offered("actorrun train.py --nproc").empty());
  CHECK(offered("actorrun train.py /proc/self/envir") == "/proc/self/environ");
  CHECK(offered("actorrun --log-dir /proc/self/f")
        == "/proc/self/fd /proc/self/fdinfo");
}

TEST_CASE("completion: quotes and brackets of the help do no harm", "[cli]") {
  auto value = std::string{};
  const auto rules
    = option_rules{{"--odd", 'o', "a|b-2|X", "Group",
                    "it's [one]: of\\many\nmore", verbatim(value)}};
  CHECK(completion_script(shell::zsh, rules)
          .find("'--odd=[it'\\''s \\[one\\]\\: of\\\\many]:a|b-2|X:(a b-2)'")
        != std::string::npos);
  CHECK(completion_script(shell::fish, rules)
        == "# Completion of actorrun for fish.\n"
           "complete -c actorrun -l odd -s o -x -a 'a b-2' -d"
           " 'it\\'s [one]: of\\\\many'\n");
  CHECK(completion_script(shell::tcsh, rules)
        == "# Completion of actorrun for tcsh.\n"
           "complete actorrun \\\n"
           "  'n/--odd/(a b-2)/' \\\n"
           "  'c/--/(odd)/' \\\n"
           "  'p/*/f/'\n");
}
