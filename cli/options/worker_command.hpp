// Makes the command that workers execute: an interpreter with a script or a module,
// or a program. Checks that it exists.
#pragma once

#include "messages/result.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace actorrun::cli {

/// What the command line asks to run.
struct worker_program {
  /// A script's file, a module, or with `no_python` a program.
  std::string name;
  std::vector<std::string> arguments; ///< Verbatim.
  bool is_module = false;             ///< `name` is for `python -m`.
  bool no_python = false;             ///< `name` is executed itself.
  /// `$PYTHON_EXEC`: path or name of the interpreter; empty: that of the
  /// environment of Python in which actorrun was called, or else python3, or else
  /// python.
  std::string interpreter;
  /// The interpreter runs `name` by `runpy.run_path`, as `__main__`.
  bool by_runpy = false;

  friend bool operator==(const worker_program&, const worker_program&)
    = default;
};

/// What reports call the program: with `no_python` the script of an interpreter of
/// Python, as in `python3 -u train.py`, else what it is.
std::string title_of(const worker_program& program);

/// What is at a path.
struct file_facts {
  bool exists = false;
  bool is_directory = false;
  bool is_readable = false;   ///< By this process.
  bool is_executable = false; ///< By this process; never of a directory.
  bool is_elf = false;        ///< Begins as Linux programs do.
};

/// What finding programs needs to know of the machine.
struct program_files {
  std::function<file_facts(const std::string& path)> examine;
  /// `$PATH`; nothing if it is not set.
  std::optional<std::string> search_path;
  /// The path by which this program was executed, which may be a link in an
  /// environment of Python; empty: not known.
  std::string executed_as{};
};

/// The files of this machine, and `$PATH` of this process.
program_files files_of_this_machine();

/// The words to execute, never empty; `${local_rank}` stays in them. The first
/// is to be looked up in `$PATH` unless it has a slash.
///
/// A script becomes `<interpreter> -u <script> <arguments>`, or with `by_runpy`
/// `<interpreter> -u -c <a line of Python> <script> <arguments>`. A script that is
/// an ELF file cannot be Python and is executed itself. Names with a `$` in
/// them are not checked: they differ from worker to worker.
/// @retval errc::program_not_found       interpreter, script or program is not
///         there; the text says what was looked for and where
/// @retval errc::program_not_executable  it is there and cannot be executed,
///         or the script not be read
/// @pre at most one of `is_module`, `no_python` and `by_runpy`
result<std::vector<std::string>> worker_command(const worker_program& program,
                                                const program_files& files);

} // namespace actorrun::cli
