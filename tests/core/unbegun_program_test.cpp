// Tests with the words of CPython 3.8 to 3.13 for programs that it does not begin, but
// for the folders.
#include "actors/core/failure_text.hpp"
#include "actors/core/unbegun_program.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <vector>

namespace actorrun::test::unbegun_program_test {

using namespace actorrun::core;

namespace {

worker_failure exited(const std::string& last_words, int code = 1) {
  auto x = worker_failure{.kind = failure_kind::exited, .code = code};
  x.details.traceback = last_words;
  x.details.is_from_stderr = true;
  return x;
}

std::string why(const std::string& last_words, int code = 1) {
  return why_not_begun(exited(last_words, code));
}

const auto invalid_syntax = std::string{"  File \"/x/bad.py\", line 3\n"
                                        "    def f(:\n"
                                        "          ^\n"
                                        "SyntaxError: invalid syntax\n"};

const auto of_import
  = std::string{"Traceback (most recent call last):\n"
                "  File \"/x/train.py\", line 1, in <module>\n"
                "    import bad\n"}
    + invalid_syntax;

/// `python -m bad`, from 3.11 on.
const auto of_module = std::string{
  "Traceback (most recent call last):\n"
  "  File \"<frozen runpy>\", line 189, in _run_module_as_main\n"
  "  File \"<frozen runpy>\", line 159, in _get_module_details\n"
  "  File \"<frozen importlib._bootstrap_external>\", line 1074, in get_code\n"
  "  File \"<frozen importlib._bootstrap_external>\", line 1004, in "
  "source_to_code\n"
  "  File \"<frozen importlib._bootstrap>\", line 241, in "
  "_call_with_frames_removed\n"};

/// The same up to 3.10.
const auto of_older_module = std::string{
  "Traceback (most recent call last):\n"
  "  File \"/usr/lib/python3.9/runpy.py\", line 188, in _run_module_as_main\n"
  "    mod_name, mod_spec, code = _get_module_details(mod_name, _Error)\n"
  "  File \"/usr/lib/python3.9/runpy.py\", line 158, in _get_module_details\n"
  "    code = loader.get_code(mod_name)\n"
  "  File \"<frozen importlib._bootstrap_external>\", line 983, in get_code\n"
  "  File \"<frozen importlib._bootstrap_external>\", line 913, in "
  "source_to_code\n"
  "  File \"<frozen importlib._bootstrap>\", line 228, in "
  "_call_with_frames_removed\n"};

} // namespace

TEST_CASE("unbegun program: an error that Python finds before the first line is"
          " named (U17)",
          "[core]") {
  CHECK(why(invalid_syntax) == "SyntaxError: invalid syntax (bad.py, line 3)");
  CHECK(why("  File \"ind.py\", line 2\n    y = 2\n    ^\n"
            "IndentationError: unexpected indent\n")
        == "IndentationError: unexpected indent (ind.py, line 2)");
  CHECK(why("  File \"/x/ind.py\", line 2\n    y = 2\n"
            "IndentationError: unexpected indent\n")
        == "IndentationError: unexpected indent (ind.py, line 2)");
  CHECK(
    why("  File \"/x/tab.py\", line 3\n    y=2\n"
        "TabError: inconsistent use of tabs and spaces in indentation")
    == "TabError: inconsistent use of tabs and spaces in indentation (tab.py, "
       "line 3)");
  // 3.8 and 3.9 quote the end of the file.
  for (const auto* quoted : {"    \n    ^\n", "\n         ^\n"})
    CHECK(why(std::string{"  File \"/x/open.py\", line 3\n"} + quoted
              + "SyntaxError: unexpected EOF while parsing\n")
          == "SyntaxError: unexpected EOF while parsing (open.py, line 3)");
  CHECK(
    why("  File \"/x/nul.py\", line 1\n    x\n"
        "SyntaxError: source code cannot contain null bytes\n")
    == "SyntaxError: source code cannot contain null bytes (nul.py, line 1)");
  CHECK(why("  File \"<string>\", line 1\n    x=(\n      ^\n"
            "SyntaxError: '(' was never closed\n\n")
        == "SyntaxError: '(' was never closed (<string>, line 1)");
}

TEST_CASE("unbegun program: a script that is not UTF-8 is named (U17)",
          "[core]") {
  const auto error
    = std::string{"SyntaxError: Non-UTF-8 code starting with '\\xff' in file "
                  "/x/e.py on line 1, "
                  "but no encoding declared; see "
                  "https://peps.python.org/pep-0263/ for details"};
  CHECK(why(error + "\n") == error);
  CHECK(why("  File \"/x/e.py\", line 1\n" + error + "\n")
        == error + " (e.py, line 1)");
  CHECK(why("Traceback (most recent call last):\n"
            "  File \"/x/train.py\", line 1, in <module>\n    import e\n"
            + error)
        == "");
}

TEST_CASE("unbegun program: with -m the traceback is Python's own (U17)",
          "[core]") {
  const auto expected
    = std::string{"SyntaxError: invalid syntax (bad.py, line 3)"};
  CHECK(why(of_module + invalid_syntax) == expected);
  CHECK(why(of_older_module + invalid_syntax) == expected);
  CHECK(why("something else\n" + of_module + invalid_syntax) == expected);
  // The package of the module has begun.
  CHECK(why(of_module
            + "  File \"/x/pkg/__init__.py\", line 1, in <module>\n"
              "    from . import bad\n"
            + invalid_syntax)
        == "");
}

TEST_CASE("unbegun program: other words may stand in front (U17)", "[core]") {
  CHECK(why("conda: activated\n" + invalid_syntax)
        == "SyntaxError: invalid syntax (bad.py, line 3)");
  // From 3.12 on.
  CHECK(why("/x/bad.py:1: SyntaxWarning: invalid escape sequence '\\d'\n"
            "  x = \"\\d\"\n"
            + invalid_syntax)
        == "SyntaxError: invalid syntax (bad.py, line 3)");
  // 3.13 with FORCE_COLOR.
  CHECK(why("  File \x1b[35m\"/x/bad.py\"\x1b[0m, line \x1b[35m3\x1b[0m\n"
            "    def f(\x1b[1;31m:\x1b[0m\n"
            "          \x1b[1;31m^\x1b[0m\n"
            "\x1b[1;35mSyntaxError\x1b[0m: \x1b[35minvalid syntax\x1b[0m\n")
        == "SyntaxError: invalid syntax (bad.py, line 3)");
}

TEST_CASE("unbegun program: an error while a program runs is not taken for it"
          " (U17)",
          "[core]") {
  CHECK(why(of_import) == "");
  CHECK(why("Traceback (most recent call last):\n" + invalid_syntax) == "");
  // The end of a long traceback.
  CHECK(why(of_import.substr(of_import.find('\n') + 1)) == "");
  CHECK(why("[7 earlier lines left out]\n" + invalid_syntax) == "");
  CHECK(why("[7 earlier lines left out]\n    import bad\n" + invalid_syntax)
        == "");
  CHECK(why("ValueError: no data\n") == "");
  CHECK(why("SyntaxError: invalid syntax\n") == "");
  CHECK(why("  File \"/x/bad.py\", line 3, in f\nSyntaxError: no\n") == "");
  CHECK(why("  File \"/x/bad.py\", line 3\n    a\n    b\n    c\n"
            "SyntaxError: no\n")
        == "");
  CHECK(why(invalid_syntax + "and more\n") == "");
  CHECK(why("") == "");
  CHECK(why("\n \n") == "");
}

TEST_CASE("unbegun program: only an exit with Python's code counts (U17)",
          "[core]") {
  for (const auto code : {2, 7, 120, 127})
    CHECK(why(invalid_syntax, code) == "");
  auto x = exited(invalid_syntax);
  x.kind = failure_kind::signalled;
  CHECK(why_not_begun(x) == "");
  x = exited(invalid_syntax);
  x.details.is_from_stderr = false;
  CHECK(why_not_begun(x) == "");
  x = exited(invalid_syntax);
  x.details.message = "no space is left on the disk of its log files";
  CHECK(why_not_begun(x) == "");
}

TEST_CASE("unbegun program: a script that is not there is named (U17)",
          "[core]") {
  const auto python = std::string{"/usr/bin/python3: "};
  const auto no_file
    = python + "can't open file '/x/t.py': [Errno 2] No such file or directory";
  CHECK(why(no_file + "\n", 2) == no_file);
  CHECK(why(no_file, 1) == "");
  for (const auto* said :
       {"No module named none", "can't find '__main__' module in '/x/d'",
        "No module named d.__main__; 'd' is a package and cannot be directly "
        "executed",
        "Error while finding module specification for 'a.b' "
        "(ModuleNotFoundError: No module named 'a')"}) {
    CHECK(why(python + said + "\n") == python + said);
    CHECK(why(python + said, 2) == "");
  }
  CHECK(why("ModuleNotFoundError: No module named 'torch'") == "");
  CHECK(why("train: can't open file 'data'", 2) == "");
}

TEST_CASE("unbegun program: a library that is missing is named (U17)",
          "[core]") {
  const auto said = std::string{
    "./train: error while loading shared libraries: libnccl.so.2: cannot open "
    "shared object file: No such file or directory"};
  CHECK(why(said + "\n", 127) == said);
  CHECK(why(said, 1) == "");
}

TEST_CASE("unbegun program: what has happened says so, in one line (U17)",
          "[core]") {
  auto x = exited(invalid_syntax);
  CHECK(what_happened(x)
        == "exited with code 1, probably before its program began: "
           "SyntaxError: invalid "
           "syntax (bad.py, line 3)");
  CHECK_FALSE(is_permanent(x)); // Restarts as asked.
  x.details.traceback
    = "  File \"/x/b.py\", line 1\nSyntaxError: " + std::string(500, 'x');
  CHECK(why_not_begun(x).size() <= line_message_max);
}

} // namespace actorrun::test::unbegun_program_test
