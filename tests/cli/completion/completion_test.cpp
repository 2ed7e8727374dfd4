#include "cli/completion/completion.hpp"
#include "tests/cli/completion/shells.hpp"
#include "tests/cli/options/arguments_fixture.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::completion_test {

using namespace actorrun::cli;

namespace {

/// The candidates of bash for the last of these words; empty if it fails.
std::string offered(const std::string& line) {
  const auto program = line.substr(0, line.find(' '));
  auto text = script_for("bash", program);
  text += "COMP_WORDS=(" + line
          + ")\n"
            "COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_"
          + program
          + "\n"
            "echo \"${COMPREPLY[*]}\"\n";
  auto out = output_of("bash --norc", text);
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
  CHECK(has(refused({"--print-completion=csh"}), "bash, zsh, fish and tcsh"));
}

TEST_CASE("completion: bash completes the names of options", "[cli]") {
  CHECK(offered("actorrun --max-") == "--max-restarts");
  CHECK(offered("actorrun --standalone --nproc-per") == "--nproc-per-node");
  CHECK(offered("actorrun --role --max --max-") == "--max-restarts");
  CHECK(offered("actorrun -m --log-d") == "--log-dir");
  CHECK(offered("actorrun -r3 --log-d") == "--log-dir");
  CHECK(offered("actorrun --role = x --log-d") == "--log-dir");
  CHECK(offered("actorrun --no_python --log-d") == "--log-dir");
  CHECK(offered("actorrun --bogus").empty());
}

TEST_CASE("completion: bash completes values that are words", "[cli]") {
  CHECK(offered("actorrun --start-method fork") == "fork forkserver");
  CHECK(offered("actorrun --rdzv-backend = st") == "static");
  CHECK(offered("actorrun --rdzv-backend '='")
        == "c10d actor static etcd etcd-v2");
  CHECK(offered("actorrun --nproc_per_node ''") == "cpu gpu xpu auto");
  CHECK(offered("actorrun --numa-binding ex") == "exclusive");
  CHECK(offered("actorrun -t ''") == "0 1 2 3");
  CHECK(offered("actorrun --stop-signal SIGUSR") == "SIGUSR1 SIGUSR2");
  CHECK(offered("actorrun --role x").empty());
}

TEST_CASE("completion: bash completes the last word of a list", "[cli]") {
  CHECK(offered("actorrun --signals-to-handle SIGT")
        == "SIGTERM SIGTSTP SIGTTIN SIGTTOU");
  CHECK(offered("actorrun --signals-to-handle SIGINT,SIGH") == "SIGINT,SIGHUP");
  CHECK(offered("actorrun --signals-to-forward = SIGINT,SIGUSR1")
        == "SIGINT,SIGUSR1");
}

TEST_CASE("completion: bash completes files for the script and its arguments",
          "[cli]") {
  CHECK(offered("actorrun /proc/self/stat").find("/proc/self/stat") == 0);
  CHECK(offered("actorrun train.py --nproc").empty());
  CHECK(offered("actorrun train.py /proc/self/envir") == "/proc/self/environ");
  CHECK(offered("actorrun --log-dir /proc/self/f")
        == "/proc/self/fd /proc/self/fdinfo");
}

TEST_CASE("completion: quotes and brackets of the help are harmless", "[cli]") {
  auto program = program_guide{};
  program.name = "tool";
  program.options
    = {{"--odd", 'o', "a|b-2|X", "Group", "it's [one]: of\\many more; less"},
       {"--hidden", 0, "", "", ""}};
  CHECK(has(completion_script(shell::zsh, program),
            "'--odd=[it'\\''s \\[one\\]\\: of\\\\many more]:a|b-2|X:(a b-2)'"));
  CHECK(completion_script(shell::fish, program)
          .ends_with("complete -c tool -n __tool_at_options -l odd -s o"
                     " -x -a 'a b-2' -d 'it\\'s [one]: of\\\\many more'\n"));
  CHECK(completion_script(shell::tcsh, program)
        == "# Completion of tool for tcsh.\n"
           "complete tool \\\n"
           "  'c/--odd=/(a b-2)/' \\\n"
           "  'n/--odd/(a b-2)/' \\\n"
           "  'n/-o/(a b-2)/' \\\n"
           "  'c/--/(odd)/' \\\n"
           "  'p/*/f/'\n");
}

TEST_CASE("completion: the description of an option is its first sentence",
          "[cli]") {
  auto rule = option_text{};
  rule.help = "one, two. Three";
  CHECK(purpose_of(rule) == "one, two");
  rule.help = "one; two";
  CHECK(purpose_of(rule) == "one");
  rule.help = "one.two";
  CHECK(purpose_of(rule) == "one.two");
}

TEST_CASE("completion: candidates depend on the help's name for a value",
          "[cli]") {
  const auto choice = [](const char* value) {
    auto rule = option_text{};
    rule.value = value;
    return choice_of(rule);
  };
  using enum value_choice::kind;
  CHECK(choice("FILE").is == file);
  CHECK(choice("FOLDER").is == folder);
  CHECK(choice("N").is == anything);
  CHECK(choice("N|MIN:MAX").is == anything);
  CHECK(choice("N|cpu|x-1").words == words{"cpu", "x-1"});
  CHECK(choice("SIGNALS").is == list);
  CHECK(choice("KEY=VALUE,...").words.front() == "join_timeout=");
}

TEST_CASE("completion: bash completes the commands of actorctl", "[cli]") {
  CHECK(offered("actorctl ''")
        == "status top why journal replay time bundle logs stacks nodes check "
           "drain resize "
           "restart "
           "stop exclude include lead elect loglevel coordinator secret");
  CHECK(offered("actorctl st") == "status stacks stop");
  CHECK(offered("actorctl --ver") == "--version");
  CHECK(offered("actorctl --json").empty());
  CHECK(offered("actorctl --print-completion = f") == "fish");
  CHECK(offered("actorctl bogus --").empty());
}

TEST_CASE("completion: bash completes the options of each command", "[cli]") {
  CHECK(offered("actorctl status --js") == "--json");
  CHECK(offered("actorctl status job1 --js") == "--json");
  CHECK(offered("actorctl coordinator --js").empty());
  CHECK(offered("actorctl coordinator --nn") == "--nnodes");
  CHECK(offered("actorctl status --rdzv-backend = st") == "static");
  CHECK(offered("actorctl coordinator --rdzv_backend st").empty());
  CHECK(offered("actorctl coordinator --rdzv-id st --max-")
        == "--max-restarts");
  CHECK(offered("actorctl status --secret-file /proc/self/envir")
        == "/proc/self/environ");
  CHECK(offered("actorctl status /proc/self/envir").empty());
}

} // namespace actorrun::test::completion_test
