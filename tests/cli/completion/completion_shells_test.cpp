// Runs the completion scripts in their shells.
#include "cli/completion/completion.hpp"
#include "tests/cli/completion/shells.hpp"
#include "tests/cli/options/arguments_fixture.hpp"
#include "tests/support/catch.hpp"

#include <sstream>

namespace actorrun::test::completion_shells_test {

using namespace actorrun::cli;

namespace {

/// The candidates of fish for a line, without descriptions.
words offered_by_fish(const std::string& line) {
  const auto script = script_for("fish", line.substr(0, line.find(' ')));
  auto text = std::istringstream{
    output_of("fish --no-config", script + "complete -C '" + line + "'")};
  // From version 4 on, fish also offers what has the word inside.
  const auto begun = line.substr(line.rfind(' ') + 1);
  auto out = words{};
  for (auto one = std::string{}; std::getline(text, one);)
    if (one.starts_with(begun))
      out.push_back(one.substr(0, one.find('\t')));
  return out;
}

constexpr auto zsh_setup = "autoload -U compinit; compinit -D -u\n"
                           "zstyle ':completion:*' insert-tab false\n"
                           "actorrun() { print -r -- \"got<$*>\" }\n"
                           "actorctl() { print -r -- \"got<$*>\" }\n"
                           "PROMPT='ready>'\n";

constexpr auto tcsh_setup = "alias actorrun 'echo \"got<\"\\!*\">\"'\n"
                            "alias actorctl 'echo \"got<\"\\!*\">\"'\n"
                            "set prompt = 'ready>'\n";

} // namespace

TEST_CASE("completion: fish completes options in front of the script",
          "[cli][shells]") {
  if (!has_shell("fish"))
    return;
  CHECK(offered_by_fish("actorrun --max-") == words{"--max-restarts"});
  CHECK(offered_by_fish("actorrun -m --nproc_per_node 2 --log-d")
        == words{"--log-dir"});
  CHECK(offered_by_fish("actorrun -r3 --log-d") == words{"--log-dir"});
  CHECK(offered_by_fish("actorrun train.py --log-d").empty());
  CHECK(offered_by_fish("actorrun --tee 3 train.py --log-d").empty());
  CHECK(offered_by_fish("actorrun -- --log-d").empty());
}

TEST_CASE("completion: fish completes values and files", "[cli][shells]") {
  if (!has_shell("fish"))
    return;
  CHECK(offered_by_fish("actorrun --nproc-per-node ")
        == words{"auto", "cpu", "gpu", "xpu"});
  CHECK(offered_by_fish("actorrun --numa-binding=so")
        == words{"--numa-binding=socket"});
  CHECK(offered_by_fish("actorrun -t ") == words{"0", "1", "2", "3"});
  CHECK(offered_by_fish("actorrun --signals-to-handle SIGTERM,SIGUSR1,SIGH")
        == words{"SIGTERM,SIGUSR1,SIGHUP"});
  CHECK(offered_by_fish("actorrun --rdzv-conf=is_host=1,join_t")
        == words{"--rdzv-conf=is_host=1,join_timeout="});
  CHECK(offered_by_fish("actorrun --log-dir /proc/self/fdi")
        == words{"/proc/self/fdinfo/"});
  CHECK(offered_by_fish("actorrun train.py /proc/self/envir")
        == words{"/proc/self/environ"});
}

TEST_CASE("completion: zsh completes options in front of the script",
          "[cli][shells]") {
  if (!has_shell("zsh"))
    return;
  auto uut = shell_terminal{"zsh -f", zsh_setup + script_for("zsh")};
  CHECK(uut.completed("actorrun --max-").starts_with("--max-restarts"));
  CHECK(
    has(uut.completed("actorrun -m --nproc_per_node 2 --log-d"), "--log-dir"));
  CHECK(has(uut.completed("actorrun -r3 --log-d"), "--log-dir"));
  CHECK(uut.completed("actorrun train.py --log-d") == "train.py --log-d");
  CHECK(uut.completed("actorrun --tee 3 a --log-d") == "--tee 3 a --log-d");
}

TEST_CASE("completion: zsh completes values and files", "[cli][shells]") {
  if (!has_shell("zsh"))
    return;
  auto uut = shell_terminal{"zsh -f", zsh_setup + script_for("zsh")};
  CHECK(uut.completed("actorrun --nproc-per-node x") == "--nproc-per-node xpu");
  CHECK(uut.completed("actorrun --nproc_per_node x") == "--nproc_per_node xpu");
  CHECK(uut.completed("actorrun --rdzv-backend=st") == "--rdzv-backend=static");
  CHECK(uut.completed("actorrun --signals-to-handle SIGTERM,SIGH")
        == "--signals-to-handle SIGTERM,SIGHUP");
  CHECK(uut.completed("actorrun --rdzv-conf is_host=1,join_t")
          .starts_with("--rdzv-conf is_host=1,join_timeout="));
  CHECK(uut.completed("actorrun --log-dir /proc/self/fdi")
          .starts_with("--log-dir /proc/self/fdinfo"));
  CHECK(uut.completed("actorrun train.py /proc/self/envir")
        == "train.py /proc/self/environ");
}

TEST_CASE("completion: tcsh completes options, values and files",
          "[cli][shells]") {
  if (!has_shell("tcsh"))
    return;
  auto uut = shell_terminal{"tcsh -f", tcsh_setup + script_for("tcsh")};
  CHECK(uut.completed("actorrun --max-") == "--max-restarts");
  CHECK(uut.completed("actorrun --nproc-per-node x") == "--nproc-per-node xpu");
  CHECK(uut.completed("actorrun --nproc_per_node x") == "--nproc_per_node xpu");
  CHECK(uut.completed("actorrun --rdzv-backend=st") == "--rdzv-backend=static");
  CHECK(uut.completed("actorrun --stop-signal SIGH") == "--stop-signal SIGHUP");
  CHECK(uut.completed("actorrun --log-dir /proc/self/fdi")
        == "--log-dir /proc/self/fdinfo/");
  CHECK(uut.completed("actorrun /proc/self/envir") == "/proc/self/environ");
}

TEST_CASE("completion: fish completes commands and their options",
          "[cli][shells]") {
  if (!has_shell("fish"))
    return;
  CHECK(offered_by_fish("actorctl ")
        == words{"bundle",  "check",   "coordinator", "drain",  "elect",
                 "exclude", "include", "journal",     "lead",   "loglevel",
                 "logs",    "nodes",   "replay",      "resize", "restart",
                 "secret",  "stacks",  "status",      "stop",   "time",
                 "top",     "why"});
  CHECK(offered_by_fish("actorctl --ver") == words{"--version"});
  CHECK(offered_by_fish("actorctl status --js") == words{"--json"});
  CHECK(offered_by_fish("actorctl status job1 --js") == words{"--json"});
  CHECK(offered_by_fish("actorctl coordinator --js").empty());
  CHECK(offered_by_fish("actorctl status --rdzv-backend st")
        == words{"static"});
  CHECK(offered_by_fish("actorctl coordinator --rdzv-backend st").empty());
  CHECK(offered_by_fish("actorctl status /proc/self/envir").empty());
}

TEST_CASE("completion: zsh completes commands and their options",
          "[cli][shells]") {
  if (!has_shell("zsh"))
    return;
  auto uut
    = shell_terminal{"zsh -f", zsh_setup + script_for("zsh", "actorctl")};
  CHECK(has(uut.completed("actorctl stat"), "status"));
  CHECK(has(uut.completed("actorctl --ver"), "--version"));
  CHECK(has(uut.completed("actorctl status --js"), "status --json"));
  CHECK(uut.completed("actorctl coordinator --js") == "coordinator --js");
  CHECK(has(uut.completed("actorctl coordinator --max-"), "--max-restarts"));
  CHECK(uut.completed("actorctl status --rdzv-backend=sta")
        == "status --rdzv-backend=static");
}

TEST_CASE("completion: tcsh completes commands and options", "[cli][shells]") {
  if (!has_shell("tcsh"))
    return;
  auto uut
    = shell_terminal{"tcsh -f", tcsh_setup + script_for("tcsh", "actorctl")};
  CHECK(uut.completed("actorctl stat") == "status");
  CHECK(uut.completed("actorctl status --js") == "status --json");
  CHECK(uut.completed("actorctl status --rdzv-backend=sta")
        == "status --rdzv-backend=static");
}

} // namespace actorrun::test::completion_shells_test
