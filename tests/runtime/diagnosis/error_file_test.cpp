#include "runtime/diagnosis/error_document.hpp"
#include "runtime/diagnosis/error_file.hpp"
#include "runtime/program_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/worker_files.hpp"

#include <cerrno>
#include <csignal>
#include <random>
#include <string>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace actorrun::test::error_file_test {

using namespace actorrun::detail;

namespace {

// Error files as torch's @record wrote them.
const auto of_torch = std::string{
  R"({"message": {"message": "ValueError: no data", "extraInfo": )"
  R"({"py_callstack": "Traceback (most recent call last):\n  File )"
  R"(\"train.py\", line 3, in main\nValueError: no data\n", )"
  R"("timestamp": "1785587650"}}})"};
const auto stack_of_torch = std::string{"Traceback (most recent call last):\n"
                                        "  File \"train.py\", line 3, in main\n"
                                        "ValueError: no data\n"};

struct fixture : worker_files {
  error_file_text say(const std::string& text) {
    const auto x = read_error_file(write("error.json", text));
    REQUIRE(x);
    return *x;
  }

  /// The reason why a file is refused, without its name.
  std::string fault(const error_file_text& x,
                    const std::string& name = "error.json") {
    CHECK(x.traceback == "");
    const auto start = "the error file " + path(name) + " ";
    CHECK(x.message.starts_with(start));
    return x.message.substr(std::min(start.size(), x.message.size()));
  }

  std::string fault_of(const std::string& text) { return fault(say(text)); }

  std::string fault_at(const std::string& name) {
    const auto x = read_error_file(path(name));
    REQUIRE(x);
    return fault(*x, name);
  }

  core::worker_failure failure_with(const std::string& file, int code = 1) {
    auto x = core::worker_failure{.agent = {"a"},
                                  .host = "node-a",
                                  .global_rank = 3,
                                  .pid = 4711,
                                  .code = code};
    x.details.wall_ms = 1'785'587'651'999;
    x.details.error_file = file;
    return x;
  }

  std::string own_file(const core::worker_failure& x, bool is_here = true) {
    const auto done = write_error_file(path("own.json"), x, is_here);
    REQUIRE(done);
    return read("own.json");
  }
};

} // namespace

TEST_CASE("error document: damage is refused or harmless", "[runtime]") {
  auto random = std::mt19937{20'261'123};
  auto read_count = 0;
  for (auto round = 0; round < 20'000; ++round) {
    auto text = of_torch;
    for (auto i = random() % 4; i > 0; --i) {
      const auto at = random() % text.size();
      if (random() % 3 == 0)
        text.insert(at, 1 + random() % 40, "[{\"\\,:0"[random() % 7]);
      else
        text[at] = static_cast<char>(random());
    }
    const auto x = parse_error_document(
      text.substr(0, random() % 4 == 0 ? random() % text.size() : text.size()));
    if (!x)
      continue;
    ++read_count;
    const auto again = parse_error_document(to_text(*x));
    REQUIRE(again);
    REQUIRE(*again == *x);
  }
  CHECK(read_count > 1'000);
}

TEST_CASE_METHOD(fixture, "error file: torch's form is understood",
                 "[runtime]") {
  const auto x = say(of_torch);
  CHECK(x.message == "ValueError: no data");
  CHECK(x.traceback == stack_of_torch);
}

TEST_CASE_METHOD(fixture, "error file: the plain form is understood",
                 "[runtime]") {
  auto x = say(R"({"message": "out of\nluck", "timestamp": 12})");
  CHECK(x.message == "out of");
  CHECK(x.traceback == "out of\nluck");
  x = say(R"( {"message": "out of luck"} )");
  CHECK(x.message == "out of luck");
  CHECK(x.traceback == "out of luck");
}

TEST_CASE_METHOD(fixture, "error file: missing fields are harmless",
                 "[runtime]") {
  auto x = say(R"({"message": {"message": "E: x"}})");
  CHECK(x.message == "E: x");
  CHECK(x.traceback == "E: x");
  x = say(R"({"message": {"message": "E: x", "extraInfo": 7}})");
  CHECK(x.traceback == "E: x");
  x = say(R"({"message": {"extraInfo": {"py_callstack": "s"}}})");
  CHECK(x.message == "");
  CHECK(x.traceback == "s");
  x = say(R"({"message": {"message": 1, "extraInfo": {"py_callstack": 2}}})");
  CHECK(x.message == "");
  CHECK(x.traceback == "");
}

TEST_CASE_METHOD(fixture, "error file: a missing file is no failure",
                 "[runtime]") {
  CHECK_FALSE(read_error_file(""));
  CHECK_FALSE(read_error_file(path("missing.json")));
  CHECK_FALSE(read_error_file(path("no/such/folder/error.json")));
  write("file", "");
  CHECK_FALSE(read_error_file(path("file/error.json")));
}

TEST_CASE_METHOD(fixture, "error file: a truncated file is reported",
                 "[runtime]") {
  CHECK(fault_of("") == "is empty");
  CHECK(fault_of(" \n") == "is empty");
  for (size_t size = 1; size < of_torch.size(); ++size) {
    CAPTURE(size);
    CHECK(fault_of(of_torch.substr(0, size)) == "ends too early");
  }
}

TEST_CASE_METHOD(fixture, "error file: a file of another format is reported",
                 "[runtime]") {
  CHECK(fault_of("Segmentation fault") == "is not JSON");
  CHECK(fault_of("{\"message\": \"x\"} y") == "is not JSON");
  CHECK(fault_of("{\"message\": \"\xff\"}") == "is not JSON");
  CHECK(fault_of(std::string(100, '\0')) == "is not JSON");
  CHECK(fault_of("{\"message\": \"x\", \"seed\": 1e999}")
        == "has a number in it that is too large");
  CHECK(
    fault_of("{\"message\": \"x\", \"seed\": 1" + std::string(400, '0') + "}")
    == "has a number in it that is too large");
  CHECK(fault_of("[]") == "has no message in it");
  CHECK(fault_of("7") == "has no message in it");
  CHECK(fault_of("null") == "has no message in it");
  CHECK(fault_of("{\"massage\": \"x\"}") == "has no message in it");
  CHECK(fault_of("{\"message\": [\"x\"]}") == "has no message in it");
}

TEST_CASE_METHOD(fixture, "error file: a huge file is not read", "[runtime]") {
  const auto frame = std::string{"{\"message\": \"\"}"};
  auto text = frame;
  text.insert(text.size() - 2, error_file_size_max - text.size(), 'x');
  CHECK(say(text).message == std::string(core::failure_message_max, 'x'));
  CHECK(say(text).traceback == std::string(core::failure_traceback_max, 'x'));
  text.insert(text.size() - 2, 1, 'x');
  CHECK(fault_of(text) == "is larger than 1 MiB");
  // Neither is a huge sparse file.
  REQUIRE(::truncate(path("error.json").c_str(), off_t{1} << 40) == 0);
  CHECK(fault_at("error.json") == "is larger than 1 MiB");
}

TEST_CASE_METHOD(fixture, "error file: a deep or wide document is reported",
                 "[runtime]") {
  const auto nested = [](int depth) {
    return "{\"message\": \"x\", \"y\": " + std::string(depth - 1, '[')
           + std::string(depth - 1, ']') + "}";
  };
  CHECK(say(nested(error_document_depth_max)).message == "x");
  CHECK(fault_of(nested(error_document_depth_max + 2))
        == "has too many parts to be one");
  CHECK(fault_of(nested(400'000)) == "has too many parts to be one");
  auto wide = std::string{"{\"message\": \"x\""};
  for (int i = 0; i < 100'000; ++i)
    wide += ",\"" + std::to_string(i) + "\":0";
  CHECK(fault_of(wide + "}") == "has too many parts to be one");
}

TEST_CASE_METHOD(fixture, "error file: other kinds of files are not opened",
                 "[runtime]") {
  REQUIRE(::mkfifo(path("fifo").c_str(), 0600) == 0);
  CHECK(fault_at("fifo") == "cannot be used: it is a FIFO");
  REQUIRE(::mkdir(path("folder").c_str(), 0700) == 0);
  CHECK(fault_at("folder") == "cannot be used: it is a directory");
  REQUIRE(::symlink("/dev/zero", path("link").c_str()) == 0);
  CHECK(fault_at("link") == "cannot be used: it is a symbolic link");
  const auto device = read_error_file("/dev/zero");
  REQUIRE(device);
  CHECK(device->message
        == "the error file /dev/zero cannot be used: it is a device");
  const auto socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  auto address = sockaddr_un{};
  address.sun_family = AF_UNIX;
  path("socket").copy(address.sun_path, sizeof address.sun_path - 1);
  REQUIRE(::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address)
          == 0);
  CHECK(fault_at("socket") == "cannot be used: it is a socket");
  ::close(socket);
}

TEST_CASE_METHOD(fixture, "error file: an unreadable file is reported",
                 "[runtime]") {
  write("error.json", of_torch);
  const auto too_long = read_error_file(path(std::string(300, 'x')));
  REQUIRE(too_long);
  CHECK(too_long->message.ends_with(
    "cannot be used: it cannot be read: File name too long"));
  if (::geteuid() == 0) {
    REQUIRE(::chown(path("error.json").c_str(), 12'345, 12'345) == 0);
    CHECK(fault_at("error.json")
          == "cannot be used: it belongs to another user");
  } else {
    REQUIRE(::chmod(path("error.json").c_str(), 0) == 0);
    CHECK(fault_at("error.json")
          == "cannot be used: it cannot be read: Permission denied");
  }
}

TEST_CASE_METHOD(fixture,
                 "error file: of long texts the most useful part is kept",
                 "[runtime]") {
  const auto most = std::string(core::failure_message_max, 'm');
  const auto stack = std::string(core::failure_traceback_max, 's');
  const auto text = [](const std::string& message, const std::string& frames) {
    return error_document{
      {"message",
       {{"message", message}, {"extraInfo", {{"py_callstack", frames}}}}}}
      .dump();
  };
  auto x = say(text(most, stack));
  CHECK(x.message == most);
  CHECK(x.traceback == stack);
  x = say(text(most + "n", "r" + stack));
  CHECK(x.message == most);
  CHECK(x.traceback == stack);
}

TEST_CASE_METHOD(fixture, "error file: texts are made readable", "[runtime]") {
  const auto x
    = say(R"({"message": {"message": "E: \u001b[1mbold\r\nmore",)"
          R"("extraInfo": {"py_callstack": "a\u0007\u001b[0m\n"}}})");
  CHECK(x.message == "E: bold");
  CHECK(x.traceback == "a\\x07\n");
}

TEST_CASE_METHOD(fixture, "error file: lone surrogates of Python are accepted",
                 "[runtime]") {
  CHECK(say(R"({"message": "caf\udce9 \\ud800 \ud83d\ude00 \ud800"})").message
        == "caf\ufffd \\ud800 \U0001F600 \ufffd");
  CHECK(say(R"({"message": "\ud800\u0041\\"})").message == "\ufffdA\\");
  CHECK(fault_of(R"({"message": "\ud8"})") == "is not JSON");
}

TEST_CASE_METHOD(fixture, "error file: names of C++ are demangled",
                 "[runtime]") {
  CHECK(say(R"x({"message": "  ./train(_Z4stepRSt6vectorIiSaIiEE+0x12)"})x")
          .traceback
        == "  ./train(step(std::vector<int, std::allocator<int> >&)+0x12)");
}

// -- the launcher's own error file --------------------------------------------

TEST_CASE_METHOD(
  fixture, "own error file: it is a copy of the worker's, with the exit code",
  "[runtime]") {
  const auto file = write("error.json", of_torch);
  auto with_code = of_torch;
  with_code.insert(with_code.size() - 2, ", \"errorCode\": 7");
  CHECK(own_file(failure_with(file, 7)) == with_code);
  auto killed = failure_with(file, SIGTERM);
  killed.kind = core::failure_kind::signalled;
  with_code = of_torch;
  with_code.insert(with_code.size() - 2, ", \"errorCode\": -15");
  CHECK(own_file(killed) == with_code);
  // A code that the worker has written is replaced.
  write("error.json", R"({"message": {"errorCode": 1, "message": "E: x"}})");
  CHECK(own_file(failure_with(file, 7))
        == R"({"message": {"errorCode": 7, "message": "E: x"}})");
}

TEST_CASE_METHOD(fixture, "own error file: the plain form is left as it is",
                 "[runtime]") {
  const auto text
    = std::string{R"({"message": "caf\u00e9 \"x\"", "timestamp": 12})"};
  CHECK(own_file(failure_with(write("error.json", text), 7)) == text);
}

TEST_CASE_METHOD(fixture, "own error file: a remote worker's text is kept",
                 "[runtime]") {
  const auto file = write("error.json", of_torch);
  auto x = failure_with(file);
  x.details.message = "E: \u20ac";
  x.details.traceback = "stack\nE: \u20ac\n";
  const auto expected = std::string{
    R"({"message": {"message": "E: \u20ac", "extraInfo": )"
    R"({"py_callstack": "stack\nE: \u20ac\n", "timestamp": "1785587651"}, )"
    R"("errorCode": 1}})"};
  CHECK(own_file(x, false) == expected);
  // It does not matter whether the local file is gone or invalid.
  x.details.error_file = path("missing.json");
  CHECK(own_file(x) == expected);
  x.details.error_file = write("error.json", "{");
  CHECK(own_file(x) == expected);
}

TEST_CASE_METHOD(
  fixture, "own error file: without the worker's file it describes the end",
  "[runtime]") {
  CHECK(
    own_file(failure_with("", 7))
    == R"({"message": {"message": "WorkerFailed: rank 3 (local rank 0, pid )"
       R"(4711) on node-a exited with code 7", "extraInfo": {"py_callstack": )"
       R"("To enable traceback see: )"
       R"(https://pytorch.org/docs/stable/elastic/errors.html", )"
       R"("timestamp": "1785587651"}, "errorCode": 7}})");
  auto x = failure_with("", 7);
  x.details.traceback = "last words";
  x.details.is_from_stderr = true;
  CHECK(own_file(x).find(R"("py_callstack": "last words")")
        != std::string::npos);
}

TEST_CASE_METHOD(fixture, "own error file: any bytes can be written",
                 "[runtime]") {
  auto x = failure_with("");
  x.details.message = "E: \xff";
  x.details.traceback = "\xc3";
  CHECK(own_file(x).find(R"("message": "E: \ufffd")") != std::string::npos);
}

TEST_CASE_METHOD(fixture,
                 "own error file: failures of the launcher have the same form",
                 "[runtime]") {
  REQUIRE(write_error_file(path("own.json"), "RendezvousFailed: alone", 1'999));
  CHECK(read("own.json")
        == R"({"message": {"message": "RendezvousFailed: alone", )"
           R"("extraInfo": {"py_callstack": "RendezvousFailed: alone", )"
           R"("timestamp": "1"}}})");
}

TEST_CASE_METHOD(fixture, "own error file: an existing file is replaced",
                 "[runtime]") {
  write("own.json", std::string(100'000, 'x'));
  CHECK(own_file(failure_with("")).starts_with("{\"message\""));
  // No temporary file is left.
  auto count = 0;
  for (const auto& x : std::filesystem::directory_iterator{folder})
    count += x.path().filename() == "own.json" ? 1 : 100;
  CHECK(count == 1);
}

TEST_CASE_METHOD(fixture,
                 "own error file: a file that cannot be written is an error",
                 "[runtime]") {
  const auto x = failure_with("");
  const auto why = [&](const std::string& where) {
    const auto done = write_error_file(where, x, true);
    REQUIRE_FALSE(done);
    CHECK(done.error().code == errc::log_failed);
    CHECK(done.error().text.starts_with("the error file " + where
                                        + " cannot be written: "));
    return done.error().text.substr(done.error().text.rfind(": ") + 2);
  };
  CHECK(why(path("no/own.json")) == "No such file or directory");
  CHECK(why("/dev/null") == "it is not a regular file");
  CHECK(why(folder) == "it is not a regular file");
  CHECK(std::filesystem::is_character_file("/dev/null"));
}

} // namespace actorrun::test::error_file_test
