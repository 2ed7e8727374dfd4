#include "cli/options/worker_command.hpp"

#include "messages/formatted.hpp"

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

namespace actorrun::cli {

namespace {

/// Where execvp(3) looks when there is no PATH.
constexpr std::string_view default_search_path = "/bin:/usr/bin";

/// What `python -c` runs to run a script by its path. The script is then as it
/// is in a process that torchrun forks for `--run-path`: `__main__`, with its own
/// arguments.
constexpr auto run_by_path
  = "import runpy, sys; del sys.argv[0];"
    " runpy.run_path(sys.argv[0], run_name='__main__')";

std::string in_quotes(const std::string& text) {
  return formatted("\"{}\"", text);
}

bool has_slash(const std::string& name) {
  return name.find('/') != std::string::npos;
}

std::string search_path_of(const program_files& files) {
  return files.search_path.value_or(std::string{default_search_path});
}

/// The paths execvp(3) would try for a name without a slash.
std::vector<std::string> candidates(const std::string& name,
                                    const std::string& search_path) {
  std::vector<std::string> out;
  for (size_t start = 0; start <= search_path.size();) {
    const auto colon = search_path.find(':', start);
    const auto end = colon == std::string::npos ? search_path.size() : colon;
    const auto folder = search_path.substr(start, end - start);
    out.push_back((folder.empty() ? "." : folder) + "/" + name);
    start = end + 1;
  }
  return out;
}

/// The path that execvp(3) would execute.
result<std::string> find_program(const std::string& name,
                                 const program_files& files) {
  const auto search_path = search_path_of(files);
  const auto paths = has_slash(name) ? std::vector<std::string>{name}
                                     : candidates(name, search_path);
  std::optional<failure> denied;
  for (const auto& path : paths) {
    const auto facts = files.examine(path);
    if (facts.is_executable)
      return path;
    if (facts.exists && !denied)
      denied
        = failure{errc::program_not_executable,
                  in_quotes(path)
                    + (facts.is_directory ? " is a directory, not a program"
                                          : " may not be executed")};
  }
  if (denied)
    return *denied;
  return failure{errc::program_not_found,
                 formatted("there is no program {}{}", in_quotes(name),
                           has_slash(name) ? "" : " in PATH=" + search_path)};
}

/// Who types the path of a program in an environment of Python (venv, conda) means
/// the Python there, whether the environment is activated or not.
std::optional<std::string> interpreter_beside(const program_files& files) {
  const auto slash = files.executed_as.rfind('/');
  if (slash == std::string::npos)
    return {};
  const auto folder = files.executed_as.substr(0, slash);
  const auto is_environment
    = files.examine(folder + "/../pyvenv.cfg").exists
      || files.examine(folder + "/../conda-meta").is_directory;
  if (is_environment)
    for (const auto* name : {"/python3", "/python"})
      if (files.examine(folder + name).is_executable)
        return folder + name;
  return {};
}

result<std::string> interpreter_of(const worker_program& program,
                                   const program_files& files) {
  if (!program.interpreter.empty()) {
    auto found = find_program(program.interpreter, files);
    if (!found)
      return failure{found.error().code, "PYTHON_EXEC: " + found.error().text};
    return program.interpreter;
  }
  if (auto found = interpreter_beside(files))
    return *found;
  for (const auto* name : {"python3", "python"})
    if (find_program(name, files))
      return std::string{name};
  return failure{
    errc::program_not_found,
    formatted("there is neither python3 nor python in PATH={}; PYTHON_EXEC can "
              "name an interpreter, and --no-python runs a program without one",
              search_path_of(files))};
}

/// The missing script may be a program that was to be run without Python.
failure missing_script(const std::string& name, const program_files& files) {
  auto text = "there is no script " + in_quotes(name);
  if (!has_slash(name))
    text += " in the working directory";
  if (const auto found = find_program(name, files); found && !has_slash(name))
    text += formatted("; to run the program {}, add --no-python",
                      in_quotes(*found));
  return {errc::program_not_found, text};
}

result<void> check_script(const std::string& name, const file_facts& facts,
                          const program_files& files) {
  if (!facts.exists)
    return missing_script(name, files);
  if (facts.is_elf && !facts.is_executable)
    return failure{errc::program_not_executable,
                   in_quotes(name) + " is a program and may not be executed"};
  if (!facts.is_elf && !facts.is_readable)
    return failure{errc::program_not_executable,
                   in_quotes(name) + " may not be read"};
  return {};
}

std::vector<std::string> joined(std::vector<std::string> head,
                                const std::vector<std::string>& arguments) {
  head.insert(head.end(), arguments.begin(), arguments.end());
  return head;
}

bool begins_as_elf(const std::string& path) {
  constexpr std::string_view magic{"\x7f"
                                   "ELF"};
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  const auto fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return false;
  char head[magic.size()];
  const auto n = ::pread(fd, head, sizeof(head), 0);
  ::close(fd);
  return n == static_cast<ssize_t>(sizeof(head))
         && std::memcmp(head, magic.data(), sizeof(head)) == 0;
}

file_facts examine_file(const std::string& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0)
    return {};
  auto out = file_facts{};
  const auto may = [&](int mode) {
    return ::faccessat(AT_FDCWD, path.c_str(), mode, AT_EACCESS) == 0;
  };
  out.exists = true;
  out.is_directory = S_ISDIR(facts.st_mode);
  out.is_readable = may(R_OK);
  out.is_executable = S_ISREG(facts.st_mode) && may(X_OK);
  out.is_elf = S_ISREG(facts.st_mode) && begins_as_elf(path);
  return out;
}

} // namespace

std::string title_of(const worker_program& program) {
  const auto file = program.name.substr(program.name.rfind('/') + 1);
  if (!program.no_python || !file.starts_with("python"))
    return program.name;
  const auto script
    = std::ranges::find_if(program.arguments, [](const std::string& x) {
        return !x.empty() && !x.starts_with('-');
      });
  return script == program.arguments.end() ? program.name : *script;
}

program_files files_of_this_machine() {
  const auto* path = std::getenv("PATH");
  const auto* name = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
  return {examine_file, path ? std::optional<std::string>{path} : std::nullopt,
          name ? name : ""};
}

result<std::vector<std::string>> worker_command(const worker_program& program,
                                                const program_files& files) {
  assert(program.is_module + program.no_python + program.by_runpy <= 1);
  const auto& name = program.name;
  const auto is_macro = name.find('$') != std::string::npos;
  if (program.no_python) {
    if (auto found = find_program(name, files); !is_macro && !found)
      return found.error();
    return joined({name}, program.arguments);
  }
  // Python reads the script "-" from its standard input.
  if (!program.is_module && !is_macro && name != "-") {
    const auto facts = files.examine(name);
    if (auto ok = check_script(name, facts, files); !ok)
      return ok.error();
    if (facts.is_elf && !program.by_runpy)
      return joined({has_slash(name) ? name : "./" + name}, program.arguments);
  }
  auto interpreter = interpreter_of(program, files);
  if (!interpreter)
    return interpreter.error();
  auto head = std::vector<std::string>{*interpreter, "-u"};
  if (program.is_module)
    head.emplace_back("-m");
  if (program.by_runpy)
    head.insert(head.end(), {"-c", run_by_path});
  head.push_back(name);
  return joined(std::move(head), program.arguments);
}

} // namespace actorrun::cli
