#include "cli/options/worker_command.hpp"
#include "tests/support/catch.hpp"

#include <filesystem>
#include <fstream>
#include <map>

#include <unistd.h>

namespace actorrun::test::worker_command_test {

using namespace actorrun::cli;

namespace {

using words = std::vector<std::string>;

constexpr auto directory = file_facts{true, true, true, false, false};
constexpr auto text_file = file_facts{true, false, true, false, false};
constexpr auto unreadable = file_facts{true, false, false, false, false};
constexpr auto runnable = file_facts{true, false, true, true, false};
constexpr auto elf = file_facts{true, false, true, true, true};
constexpr auto dull_elf = file_facts{true, false, true, false, true};

program_files machine(std::map<std::string, file_facts> files,
                      std::optional<std::string> path = "/a:/b",
                      std::string executed_as = {}) {
  return {[files](const std::string& name) {
            const auto i = files.find(name);
            return i == files.end() ? file_facts{} : i->second;
          },
          std::move(path), std::move(executed_as)};
}

worker_program script(const std::string& name) {
  return {name, {"x", "${local_rank}"}, false, false, ""};
}

worker_program program(const std::string& name) {
  return {name, {"x", "${local_rank}"}, false, true, ""};
}

words found(const worker_program& what, const program_files& files) {
  const auto x = worker_command(what, files);
  INFO((x ? "" : x.error().text));
  REQUIRE(x);
  return *x;
}

failure missed(const worker_program& what, const program_files& files) {
  const auto x = worker_command(what, files);
  REQUIRE_FALSE(x);
  return x.error();
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("worker command: a script runs unbuffered in python3", "[cli]") {
  const auto files
    = machine({{"train.py", text_file}, {"/b/python3", runnable}});
  CHECK(found(script("train.py"), files)
        == words{"python3", "-u", "train.py", "x", "${local_rank}"});
}

TEST_CASE("worker command: python is used when there is no python3", "[cli]") {
  const auto files
    = machine({{"train.py", text_file}, {"/a/python", runnable}});
  CHECK(found(script("train.py"), files).front() == "python");
}

TEST_CASE(
  "worker command: U7 a link in an environment of Python means the Python"
  " there",
  "[cli]") {
  const auto called_as
    = [](const std::string& path, std::map<std::string, file_facts> more) {
        more.insert({{"train.py", text_file},
                     {"/a/python3", runnable},
                     {"/v/bin/python", runnable}});
        return found(script("train.py"), machine(std::move(more), "/a", path))
          .front();
      };
  CHECK(called_as("/v/bin/torchrun", {{"/v/bin/../pyvenv.cfg", text_file}})
        == "/v/bin/python");
  CHECK(called_as("/v/bin/torchrun", {{"/v/bin/../pyvenv.cfg", text_file},
                                      {"/v/bin/python3", runnable}})
        == "/v/bin/python3");
  CHECK(called_as("/v/bin/actorrun", {{"/v/bin/../conda-meta", directory}})
        == "/v/bin/python");
  // Any other folder has a Python by chance, or none.
  CHECK(called_as("/v/bin/torchrun", {}) == "python3");
  CHECK(called_as("actorrun", {}) == "python3");
  CHECK(called_as("/c/bin/torchrun", {{"/c/bin/../pyvenv.cfg", text_file}})
        == "python3");
}

TEST_CASE("worker command: the interpreter may be named", "[cli]") {
  const auto files = machine(
    {{"train.py", text_file}, {"/opt/py", runnable}, {"/b/pypy", runnable}});
  auto what = script("train.py");
  for (const auto* name : {"/opt/py", "pypy"}) {
    what.interpreter = name;
    CHECK(found(what, files).front() == name);
  }
  what.interpreter = "/opt/none";
  CHECK(missed(what, files).code == errc::program_not_found);
  CHECK(has(missed(what, files).text, "PYTHON_EXEC"));
}

TEST_CASE(
  "worker command: without an interpreter the error lists the searched places",
  "[cli]") {
  const auto why
    = missed(script("train.py"), machine({{"train.py", text_file}}));
  CHECK(why.code == errc::program_not_found);
  CHECK(has(why.text, "PATH=/a:/b"));
  CHECK(has(why.text, "--no-python"));
}

TEST_CASE("worker command: a module is not searched as a file", "[cli]") {
  auto what = script("pkg.main");
  what.is_module = true;
  CHECK(found(what, machine({{"/a/python3", runnable}}))
        == words{"python3", "-u", "-m", "pkg.main", "x", "${local_rank}"});
}

TEST_CASE("worker command: a folder, standard input and a macro are scripts",
          "[cli]") {
  const auto files = machine({{"/a/python3", runnable}, {"app", directory}});
  for (const auto* name : {"app", "-", "train_${local_rank}.py"})
    CHECK(found(script(name), files)[2] == name);
}

TEST_CASE("worker command: an ELF file runs by itself", "[cli]") {
  const auto files = machine({{"a.out", elf}, {"/x/a.out", elf}});
  CHECK(found(script("/x/a.out"), files)
        == words{"/x/a.out", "x", "${local_rank}"});
  CHECK(found(script("a.out"), files).front() == "./a.out");
}

TEST_CASE("worker command: a script may be run by its path", "[cli]") {
  const auto files = machine(
    {{"/a.py", text_file}, {"/x/a.out", elf}, {"/a/python3", runnable}});
  auto what = script("/a.py");
  what.by_runpy = true;
  const auto command = found(what, files);
  REQUIRE(command.size() == 7);
  CHECK(words{command.begin(), command.begin() + 3}
        == words{"python3", "-u", "-c"});
  CHECK(has(command[3], "runpy.run_path"));
  CHECK_FALSE(has(command[3], "$")); // It would be expanded as a macro.
  CHECK(words{command.begin() + 4, command.end()}
        == words{"/a.py", "x", "${local_rank}"});
  what.name = "/x/a.out"; // Python reports the error.
  CHECK(found(what, files)[4] == "/x/a.out");
  what.name = "/none.py";
  CHECK(missed(what, files).code == errc::program_not_found);
}

TEST_CASE("worker command: a file that may not be executed or read is refused",
          "[cli]") {
  const auto files = machine(
    {{"a.out", dull_elf}, {"train.py", unreadable}, {"/a/python3", runnable}});
  for (const auto* name : {"a.out", "train.py"})
    CHECK(missed(script(name), files).code == errc::program_not_executable);
}

TEST_CASE("worker command: a missing script may be a program in PATH",
          "[cli]") {
  const auto files = machine({{"/a/python3", runnable}, {"/b/ls", elf}});
  const auto plain = missed(script("train.py"), files);
  CHECK(plain.code == errc::program_not_found);
  CHECK(has(plain.text, "\"train.py\""));
  CHECK_FALSE(has(plain.text, "--no-python"));
  const auto hint = missed(script("ls"), files);
  CHECK(has(hint.text, "\"/b/ls\", add --no-python"));
}

TEST_CASE("worker command: a program is looked up as execvp does", "[cli]") {
  const auto files = machine({{"/a/tool", text_file},
                              {"/b/tool", runnable},
                              {"/a/data", text_file},
                              {"/a/folder", directory},
                              {"./here", runnable}});
  CHECK(found(program("tool"), files) == words{"tool", "x", "${local_rank}"});
  CHECK(missed(program("data"), files).code == errc::program_not_executable);
  CHECK(missed(program("folder"), files).code == errc::program_not_executable);
  const auto none = missed(program("nothing"), files);
  CHECK(none.code == errc::program_not_found);
  CHECK(has(none.text, "\"nothing\" in PATH=/a:/b"));
  CHECK(missed(program("here"), files).code == errc::program_not_found);
  CHECK(found(program("./here"), files).front() == "./here");
  CHECK(found(program("run_${local_rank}"), files).front()
        == "run_${local_rank}");
  CHECK_FALSE(has(missed(program("./none"), files).text, "PATH"));
}

TEST_CASE("worker command: empty places in PATH are the working directory",
          "[cli]") {
  for (const auto* path : {"", ":/a", "/a:", "/a::/b"})
    CHECK(found(program("here"), machine({{"./here", runnable}}, path)).front()
          == "here");
}

TEST_CASE("worker command: without PATH the system's folders are searched",
          "[cli]") {
  const auto files = machine({{"/usr/bin/tool", runnable}}, std::nullopt);
  CHECK(found(program("tool"), files).front() == "tool");
}

TEST_CASE("worker command: the real machine distinguishes kinds of files",
          "[cli]") {
  auto name
    = (std::filesystem::temp_directory_path() / "actorrun-XXXXXX").string();
  REQUIRE(::mkdtemp(name.data()));
  const auto file = name + "/train.py";
  std::ofstream{file} << "print()\n";
  const auto examine = files_of_this_machine().examine;
  const auto script_facts = examine(file);
  CHECK(script_facts.exists);
  CHECK(script_facts.is_readable);
  CHECK_FALSE(script_facts.is_executable);
  CHECK_FALSE(script_facts.is_elf);
  CHECK(examine(name).is_directory);
  CHECK_FALSE(examine(name).is_executable);
  CHECK_FALSE(examine(name + "/none").exists);
  const auto self = examine("/proc/self/exe");
  CHECK(self.is_elf);
  CHECK(self.is_executable);
  std::filesystem::remove_all(name);
}

TEST_CASE("worker command: T6 a report names the script, not its interpreter",
          "[cli]") {
  const auto title
    = [](const std::string& name, std::vector<std::string> arguments) {
        auto x = worker_program{};
        x.name = name;
        x.arguments = std::move(arguments);
        x.no_python = true;
        return title_of(x);
      };
  CHECK(title("python3", {"-u", "s.py", "x.py"}) == "s.py");
  CHECK(title("/usr/bin/python3.12", {"-m", "train"}) == "train");
  CHECK(title("python3", {"-u"}) == "python3");
  CHECK(title("python3", {}) == "python3");
  CHECK(title("./a.out", {"s.py"}) == "./a.out");
  auto script = worker_program{};
  script.name = "python.py";
  script.arguments = {"x"};
  CHECK(title_of(script) == "python.py");
}

} // namespace actorrun::test::worker_command_test
