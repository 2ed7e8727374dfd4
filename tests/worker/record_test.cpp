#include "runtime/diagnosis/error_file.hpp"
#include "tests/runtime/deadline.hpp"
#include "tests/support/catch.hpp"
#include "tests/worker/record_fixture.hpp"

#include <csignal>
#include <ctime>
#include <regex>
#include <string>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

namespace actorrun::test::record_test {

namespace {

using fixture = record_fixture;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Whether the parts occur in the text in this order.
bool in_order(const std::string& text, const std::vector<std::string>& parts) {
  auto at = size_t{0};
  for (const auto& x : parts) {
    at = text.find(x, at);
    if (at == text.npos)
      return false;
  }
  return true;
}

} // namespace

// -- exceptions ---------------------------------------------------------------

TEST_CASE_METHOD(fixture, "record: an exception is recorded with its stack",
                 "[worker]") {
  const auto end = run({"throw", "no data"});
  CHECK(end.signal == SIGABRT);
  // The program ends as without the record.
  CHECK(contains(end.words, "terminate called after throwing an instance of "
                            "'std::runtime_error'\n  what():  no data"));
  CHECK(message() == "std::runtime_error: no data");
  CHECK(stack().starts_with("Traceback (most recent call last):\n  main+0x"));
  CHECK(
    in_order(stack(), {"main+0x", "record_child+0x", "child::die(int, char**)",
                       "child::throw_runtime_error(", "record_child+0x"}));
  CHECK(stack().ends_with("\nstd::runtime_error: no data\n"));
  CHECK(is_tidy());
}

TEST_CASE_METHOD(fixture, "record: the bytes are those of torch", "[worker]") {
  const auto before = std::time(nullptr);
  run({"throw", "a \"quoted\" € \xff\n\tline"});
  const auto after = std::time(nullptr);
  auto parts = std::smatch{};
  const auto text = read("error.json");
  const auto form = std::regex{
    R"x(\{"message": \{"message": "std::runtime_error: a \\"quoted\\" )x"
    R"x(\\u20ac \\ufffd\\n\\tline", "extraInfo": \{"py_callstack": )x"
    R"x("Traceback \(most recent call last\):\\n  main\+0x[0-9a-f]+, .*\\n", )x"
    R"x("timestamp": "([0-9]+)"\}\}\})x"};
  REQUIRE(std::regex_match(text, parts, form));
  CHECK(std::stoll(parts[1]) >= before);
  CHECK(std::stoll(parts[1]) <= after);
}

TEST_CASE_METHOD(fixture, "record: causes are listed", "[worker]") {
  run({"nested"});
  CHECK(message() == "std::runtime_error: the outermost");
  CHECK(stack().ends_with("\nstd::runtime_error: the outermost\n"
                          "  caused by: std::logic_error: the middle\n"
                          "  caused by: std::invalid_argument: the innermost"
                          "\n"));
}

TEST_CASE_METHOD(fixture, "record: anything can be thrown", "[worker]") {
  const std::pair<std::string, std::string> cases[] = {
    {"int", "int: 42"},
    {"cstring", "char const*: plain words"},
    {"string", "std::string: a string"},
    {"strange", "child::strange: it has no text"},
    {"terminate", "std::terminate: called without an exception"},
  };
  for (const auto& [how, expected] : cases) {
    CAPTURE(how);
    CHECK(run({how}).signal == SIGABRT);
    CHECK(message() == expected);
    CHECK(contains(stack(), "child::die"));
  }
}

TEST_CASE_METHOD(fixture,
                 "record: the stack is that of the throw, even where "
                 "nothing may be thrown",
                 "[worker]") {
  CHECK(run({"noexcept"}).signal == SIGABRT);
  CHECK(message() == "std::runtime_error: not allowed");
#ifdef __clang__ // Unwinds as far as to the function that lets nothing pass.
  CHECK(contains(stack(), "child::throw_in_silence()"));
#else
  CHECK(in_order(stack(),
                 {"child::throw_in_silence()", "child::throw_runtime_error("}));
#endif
  CHECK_FALSE(contains(stack(), "__cxa_throw"));
}

TEST_CASE_METHOD(fixture, "record: other threads are recorded, too",
                 "[worker]") {
  CHECK(run({"thread", "elsewhere"}).signal == SIGABRT);
  CHECK(message() == "std::runtime_error: elsewhere");
  CHECK(contains(stack(), "child::throw_runtime_error("));
}

TEST_CASE_METHOD(fixture, "record: long texts are cut", "[worker]") {
  const auto type = std::string{"std::runtime_error: "};
  constexpr auto longest = size_t{8} * 1'024;
  run({"long", std::to_string(longest - type.size())});
  CHECK(message() == type + std::string(longest - type.size(), 'x'));
  run({"long", "1000000"});
  CHECK(message() == type + std::string(longest - type.size(), 'x'));
}

TEST_CASE_METHOD(fixture, "record: an exception whose text crashes is a crash",
                 "[worker]") {
  CHECK(run({"slippery"}).signal == SIGSEGV);
  CHECK(message() == "SIGSEGV: Segmentation fault at 0x0");
  CHECK(contains(stack(), "slippery"));
}

// -- signals ------------------------------------------------------------------

TEST_CASE_METHOD(fixture, "record: a fault is recorded with its stack",
                 "[worker]") {
  const auto end = run({"segv"});
  CHECK(end.signal == SIGSEGV);
  CHECK(end.words == "");
  CHECK(message() == "SIGSEGV: Segmentation fault at 0x0");
  CHECK(in_order(stack(), {"Traceback (most recent call last):\n  main+0x",
                           "_ZN5child3dieEiPPc+0x", "record_child+0x",
                           "_ZN5child13write_nowhereEv+0x"}));
  CHECK(stack().ends_with("\nSIGSEGV: Segmentation fault at 0x0\n"));
  CHECK(is_tidy());
}

TEST_CASE_METHOD(fixture,
                 "record: each fatal signal is recorded, and takes its "
                 "course",
                 "[worker]") {
  struct row {
    std::string how;
    int signal;
    std::string message;
    std::string function;
  };
  const row rows[] = {
    {"fpe", SIGFPE,
     "SIGFPE: Floating point exception: an integer was divided by zero",
     "divide"},
    {"ill", SIGILL, "SIGILL: Illegal instruction", "die"},
    {"bus", SIGBUS, "SIGBUS: Bus error at 0x", "read_beyond_file"},
    {"abort", SIGABRT, "SIGABRT: Aborted", "abort"},
    {"assert", SIGABRT, "SIGABRT: Aborted: record_child: ", "child3die"},
    {"null-call", SIGSEGV, "SIGSEGV: Segmentation fault at 0x0",
     "call_nowhere"},
    {"destroyed", SIGSEGV, "SIGSEGV: Segmentation fault", "destroy_stack"},
  };
  for (const auto& x : rows) {
    CAPTURE(x.how);
    CHECK(run({x.how}).signal == x.signal);
    CHECK(message().starts_with(x.message));
    CHECK(contains(stack(), x.function));
  }
}

TEST_CASE_METHOD(fixture, "record: an assertion is recorded with its text",
                 "[worker]") {
  run({"assert"});
  CHECK(contains(message(), "Assertion `zero == 1' failed."));
}

TEST_CASE_METHOD(fixture,
                 "record: a jump to an invalid address has its callers",
                 "[worker]") {
  run({"null-call"});
  CHECK(in_order(stack(), {"main+0x", "_ZN5child3dieEiPPc+0x",
                           "_ZN5child12call_nowhereEv+0x", "\n  0x0\n"}));
}

// A thread that holds the lock of malloc must not allocate memory.
TEST_CASE_METHOD(fixture, "record: a broken heap does not matter", "[worker]") {
  CHECK(run({"free-twice"}).signal == SIGABRT);
  CHECK(message().starts_with("SIGABRT: Aborted: free(): double free"));
}

TEST_CASE_METHOD(fixture, "record: a full stack does not matter", "[worker]") {
  CHECK(run({"overflow"}).signal == SIGSEGV);
  CHECK(message().starts_with("SIGSEGV: Segmentation fault at 0x"));
  CHECK(message().ends_with(": the stack is full"));
  CHECK(in_order(stack(), {"last):\n  ...\n", "_ZN5child7recurseEi+0x",
                           "  [the same ", " times more]\n"}));
}

TEST_CASE_METHOD(fixture,
                 "record: a signal of another process is recorded as such",
                 "[worker]") {
  const auto pid
    = start({RECORD_CHILD, "function", "wait"}, path("error.json"));
  REQUIRE(detail::test_deadline::soon([&] { return read("stderr") != ""; }));
  REQUIRE(::kill(pid, SIGFPE) == 0);
  CHECK(await(pid).signal == SIGFPE);
  CHECK(message()
        == "SIGFPE: Floating point exception, sent by process "
             + std::to_string(::getpid()));
}

TEST_CASE_METHOD(fixture, "record: an earlier handler is called", "[worker]") {
  const auto end = run({"segv"}, "earlier");
  CHECK(end.code == 42);
  CHECK(end.words == "earlier handler\n");
  CHECK(message() == "SIGSEGV: Segmentation fault at 0x0");
}

TEST_CASE_METHOD(fixture, "record: of many failing threads one is recorded",
                 "[worker]") {
  for (int i = 0; i < 20; ++i) {
    std::filesystem::remove(path("error.json"));
    const auto end = run({"threads", "16"});
    CHECK(end.signal != 0);
    CHECK(end.signal != SIGALRM);
    CHECK(record()["message"]["message"].is_string());
    CHECK(contains(stack(), "Traceback"));
    CHECK(is_tidy());
  }
}

// -- ends that are no failure of the program ----------------------------------

TEST_CASE_METHOD(fixture, "record: exit codes pass through", "[worker]") {
  for (const auto code : {0, 1, 7, 255}) {
    for (const auto* entry : {"function", "lambda", "exits"})
      CHECK(run({"exit", std::to_string(code)}, entry).code == code);
    CHECK_FALSE(has_record());
  }
}

TEST_CASE_METHOD(fixture, "record: a forked child's death is its own",
                 "[worker]") {
  CHECK(run({"crash-in-fork"}).code == 0);
  CHECK_FALSE(has_record());
}

TEST_CASE_METHOD(fixture, "record: a forked child may record for itself",
                 "[worker]") {
  CHECK(run({"record-in-fork", path("child.json")}).code == 0);
  CHECK_FALSE(has_record());
  CHECK(contains(read("child.json"), "std::runtime_error: in a fork"));
}

TEST_CASE_METHOD(fixture, "record: without the variable it does nothing",
                 "[worker]") {
  auto end = await(start({RECORD_CHILD, "function", "throw", "x"}, ""));
  CHECK(end.signal == SIGABRT);
  CHECK(contains(end.words, "what():  x"));
  CHECK_FALSE(contains(end.words, "actorrun"));
  end = await(start({RECORD_CHILD, "function", "exit", "3"}, ""));
  CHECK(end.code == 3);
}

// -- entries ------------------------------------------------------------------

TEST_CASE_METHOD(fixture, "record: all entries do the same", "[worker]") {
  for (const auto* entry : {"function", "lambda", "c"}) {
    CAPTURE(entry);
    std::filesystem::remove(path("error.json"));
    CHECK(run({"throw", "x"}, entry).signal == SIGABRT);
    CHECK(message() == "std::runtime_error: x");
    CHECK(contains(stack(), "child::throw_runtime_error("));
  }
}

TEST_CASE_METHOD(fixture, "record: an exception can mean exit code 1",
                 "[worker]") {
  auto end = run({"throw", "x"}, "exits");
  CHECK(end.code == 1);
  CHECK(end.words == stack());
  CHECK(message() == "std::runtime_error: x");
  // With or without an error file.
  end = await(start({RECORD_CHILD, "exits", "throw", "x"}, ""));
  CHECK(end.code == 1);
  CHECK(end.words.ends_with("\nstd::runtime_error: x\n"));
  CHECK(run({"segv"}, "exits").signal == SIGSEGV);
}

// -- the file -----------------------------------------------------------------

TEST_CASE_METHOD(fixture, "record: an existing file is replaced", "[worker]") {
  write("error.json", std::string(1'000'000, 'x'));
  run({"throw", "x"});
  CHECK(message() == "std::runtime_error: x");
  CHECK(is_tidy());
}

TEST_CASE_METHOD(fixture, "record: a file that cannot be written is reported",
                 "[worker]") {
  const auto words_for = [this](const std::string& file, const char* how) {
    const auto end = await(start({RECORD_CHILD, "function", how, "x"}, file));
    CHECK(end.signal != 0);
    return end.words;
  };
  const auto note = [](const std::string& file, const std::string& why) {
    return "actorrun: warning: the error file " + file
           + " cannot be written: " + why + "\n";
  };
  const auto missing = path("no/error.json");
  CHECK(words_for(missing, "segv")
        == note(missing, "No such file or directory"));
  CHECK(words_for(missing, "throw")
          .starts_with(note(missing, "No such file or directory")));
  CHECK(words_for(folder, "segv") == note(folder, "it is no regular file"));
  CHECK(words_for("/dev/null", "segv")
        == note("/dev/null", "it is no regular file"));
  CHECK(std::filesystem::is_character_file("/dev/null"));
  const auto fifo = path("fifo");
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  CHECK(words_for(fifo, "segv") == note(fifo, "it is no regular file"));
}

TEST_CASE_METHOD(
  fixture, "record: a relative path starts at the first working directory",
  "[worker]") {
  const auto present = std::filesystem::current_path();
  std::filesystem::current_path(folder);
  const auto end = await(
    start({RECORD_CHILD, "function", "chdir-throw", "x"}, "error.json"));
  std::filesystem::current_path(present);
  CHECK(end.signal == SIGABRT);
  CHECK(message() == "std::runtime_error: x");
}

// -- both ends ----------------------------------------------------------------

TEST_CASE_METHOD(fixture, "record: the launcher reads it with plain names",
                 "[worker]") {
  run({"segv"});
  const auto x = detail::read_error_file(path("error.json"));
  REQUIRE(x);
  CHECK(x->message == "SIGSEGV: Segmentation fault at 0x0");
  CHECK(in_order(x->traceback, {"  child::die(int, char**)+0x",
                                "  child::write_nowhere()+0x"}));
  CHECK_FALSE(contains(x->traceback, "_ZN5child"));
}

TEST_CASE_METHOD(fixture, "record: the example fails as documented",
                 "[worker]") {
  const auto file = path("error.json");
  CHECK(await(start({RECORD_EXAMPLE, "work"}, file)).code == 0);
  CHECK_FALSE(has_record());
  CHECK(await(start({RECORD_EXAMPLE, "throw"}, file)).signal == SIGABRT);
  CHECK(message() == "std::runtime_error: shard 3 has no header");
  // Without optimisation there are more frames.
  CHECK(in_order(stack(),
                 {"last):\n", "  train(int, char**)+0x", "load_batch(int)"}));
  CHECK(await(start({RECORD_EXAMPLE, "crash"}, file)).signal == SIGSEGV);
  CHECK(message() == "SIGSEGV: Segmentation fault at 0x0");
}

} // namespace actorrun::test::record_test
