#include "cli/bundle_command.hpp"

#include "actors/core/text.hpp"
#include "cli/commands.hpp"
#include "cli/options/values.hpp"
#include "cli/program.hpp"
#include "cli/report/diagnostics.hpp"
#include "cli/report/exit_code.hpp"
#include "cli/report/journal_view.hpp"
#include "cli/report/log_places_view.hpp"
#include "messages/formatted.hpp"
#include "runtime/journal.hpp"
#include "runtime/past_logs.hpp"
#include "runtime/status.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace actorrun::cli {

namespace {

namespace fs = std::filesystem;

// In bytes.
constexpr size_t output_size_max = size_t{2} << 20U;
constexpr size_t logs_size_max = size_t{8} << 20U;
constexpr size_t journal_bytes_max = size_t{8} << 20U;
constexpr size_t error_file_size_max = size_t{64} << 10U;
constexpr size_t kernel_text_max = size_t{256} << 10U;

constexpr size_t bundled_journals_max = 4;
constexpr size_t bundled_errors_max = 64;

/// Timeout for one command.
constexpr auto command_limit = std::chrono::seconds{15};

/// Of each output of a worker, if no other number is asked for.
constexpr uint32_t usual_tail = 200;

// -- secrets ------------------------------------------------------------------

bool names_secret(std::string_view name) {
  const auto lowered = core::lowered(std::string{name});
  for (const auto* part :
       {"secret", "token", "passw", "credential", "api_key", "apikey",
        "api-key", "access_key", "access-key", "private_key", "auth"})
    if (lowered.find(part) != std::string::npos)
      return true;
  return false;
}

/// Of variables that say how a job runs, and of no others.
bool is_of_interest(std::string_view name) {
  for (const auto* prefix :
       {"PET_", "ACTORRUN_", "TORCH", "NCCL_", "CUDA_", "OMP_", "SLURM_JOB",
        "SLURM_STEP", "SLURM_NNODES", "SLURM_NTASKS", "MASTER_", "LOGLEVEL",
        "PYTHON", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "TMPDIR"})
    if (name.starts_with(prefix))
      return true;
  return false;
}

/// What stands between the zeros of a file of the kernel.
std::vector<std::string> words_of(const std::string& path) {
  auto file = std::ifstream{path, std::ios::binary};
  auto out = std::vector<std::string>{};
  auto size = size_t{0};
  for (auto word = std::string{}; std::getline(file, word, '\0');) {
    size += word.size();
    if (size > kernel_text_max)
      break;
    out.push_back(word);
  }
  return out;
}

std::string text_of(const std::string& path) {
  auto file = std::ifstream{path, std::ios::binary};
  auto out = std::string(kernel_text_max, '\0');
  file.read(out.data(), static_cast<std::streamsize>(out.size()));
  out.resize(static_cast<size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return out;
}

// -- commands -----------------------------------------------------------------

struct command_result {
  std::string text{};
  bool is_cut = false;  ///< There was more.
  bool is_late = false; ///< It was ended.
  int code = -1;
};

/// Runs a program, and reads what it writes to both outputs.
command_result output_of(const std::vector<std::string>& words, size_t size_max,
                         std::optional<int> to = {}) {
  auto out = command_result{};
  auto ends = std::array<int, 2>{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return out;
  auto actions = posix_spawn_file_actions_t{};
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null",
                                     O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, to ? *to : ends[1],
                                     STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  auto pointers = std::vector<char*>{};
  auto copies = words;
  for (auto& x : copies)
    pointers.push_back(x.data());
  pointers.push_back(nullptr);
  auto pid = pid_t{0};
  const auto error = ::posix_spawnp(&pid, pointers[0], &actions, nullptr,
                                    pointers.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (error != 0) {
    ::close(ends[0]);
    out.text = formatted("{}: {}\n", words.front(), core::error_text(error));
    return out;
  }
  const auto due = std::chrono::steady_clock::now() + command_limit;
  auto buffer = std::array<char, 65'536>{};
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      due - std::chrono::steady_clock::now());
    auto readable = pollfd{.fd = ends[0], .events = POLLIN, .revents = 0};
    const auto ready = left.count() > 0
                         ? ::poll(&readable, 1, static_cast<int>(left.count()))
                         : 0;
    if (ready < 0 && errno == EINTR)
      continue;
    if (ready <= 0) {
      out.is_late = true;
      ::kill(pid, SIGKILL);
      break;
    }
    const auto count = ::read(ends[0], buffer.data(), buffer.size());
    if (count <= 0)
      break;
    const auto room = size_max - out.text.size();
    out.is_cut = out.is_cut || static_cast<size_t>(count) > room;
    out.text.append(buffer.data(), std::min(static_cast<size_t>(count), room));
  }
  ::close(ends[0]);
  auto status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  out.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return out;
}

// -- the folder ---------------------------------------------------------------

/// What goes into the file, before it is packed.
class bundle_folder {
public:
  explicit bundle_folder(fs::path path) : path_(std::move(path)) {}

  ~bundle_folder() {
    auto error = std::error_code{};
    fs::remove_all(path_.parent_path(), error);
  }

  bundle_folder(const bundle_folder&) = delete;
  bundle_folder& operator=(const bundle_folder&) = delete;

  const fs::path& path() const { return path_; }

  void add(const std::string& name, const std::string& text,
           const std::string& what) {
    auto file = std::ofstream{path_ / name, std::ios::binary};
    file << text << std::flush;
    if (!file)
      leave_out(name, "it cannot be written");
    else
      contents_ += formatted("  {:<24} {}\n", name, what);
  }

  void leave_out(const std::string& what, const std::string& why) {
    left_out_ += formatted("  {}: {}\n", what, why);
  }

  /// The last bytes of a file, from the beginning of a line on.
  void add_end_of(const std::string& name, const std::string& path,
                  size_t size_max, const std::string& what) {
    auto file = std::ifstream{path, std::ios::binary | std::ios::ate};
    const auto size = static_cast<size_t>(
      std::max<std::streamoff>(file ? std::streamoff{file.tellg()} : 0, 0));
    const auto skipped = size > size_max ? size - size_max : 0;
    file.seekg(static_cast<std::streamoff>(skipped));
    auto text = std::string(size - skipped, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (!file)
      return leave_out(path, "it cannot be read");
    if (skipped > 0) {
      text.erase(0, text.find('\n') + 1);
      leave_out(path, formatted("its first {} bytes", size - text.size()));
    }
    add(name, text, what);
  }

  void add_readme(const std::string& head) {
    add("README.txt",
        head + "\nWhat is here:\n" + contents_
          + (left_out_.empty() ? "" : "\nWhat was left out:\n" + left_out_),
        "this list");
  }

private:
  fs::path path_;
  std::string contents_{};
  std::string left_out_{};
};

/// What an own command prints.
struct bundled_command {
  std::string name;
  std::vector<std::string> words;
  std::string what;
  size_t size_max = output_size_max;
};

void add_output(bundle_folder& to, const bundled_command& x) {
  auto words = std::vector<std::string>{"/proc/self/exe"};
  words[0] = fs::read_symlink(words[0]).string();
  words.insert(words.end(), x.words.begin(), x.words.end());
  auto shown = std::string{"actorctl"};
  for (const auto& word : x.words)
    shown += " " + word;
  const auto seen = output_of(words, x.size_max);
  if (seen.is_cut)
    to.leave_out(shown, formatted("all after {} bytes", x.size_max));
  if (seen.is_late)
    to.leave_out(
      shown, formatted("what had not come after {} s", command_limit.count()));
  to.add(x.name, seen.text,
         formatted("{}: {} (exit code {})", x.what, shown, seen.code));
}

void add_journals(bundle_folder& to, const std::string& folder,
                  const std::string& job) {
  auto count = size_t{0};
  for (const auto& x : list_journals(folder)) {
    if (x.job.value != job)
      continue;
    if (++count <= bundled_journals_max)
      to.add_end_of(
        formatted("journal-{}.jsonl", count), x.path, journal_bytes_max,
        formatted("{}, of the coordinator on {} that began at {}", x.path,
                  core::printable(x.host), date_text(x.began_ms)));
  }
  if (count == 0)
    to.leave_out("the journal", "there is none in " + folder
                                  + "; it is on the host of the coordinator");
  if (count > bundled_journals_max)
    to.leave_out(
      "older journals",
      formatted("{} more in {}", count - bundled_journals_max, folder));
}

/// What workers have written when they failed.
void add_error_files(bundle_folder& to, const std::string& folder,
                     const std::string& job) {
  auto count = size_t{0};
  for (const auto& x : list_log_places(folder)) {
    if (x.job.value != job || x.folder.empty())
      continue;
    if (!x.is_here) {
      to.leave_out("error files in " + place_text(x), "they are on that host");
      continue;
    }
    auto error = std::error_code{};
    auto all = fs::recursive_directory_iterator{x.folder, error};
    for (; !error && all != fs::recursive_directory_iterator{};
         all.increment(error)) {
      const auto name = all->path().filename().string();
      const auto is_it = (name.starts_with("error") && name.ends_with(".json"))
                         || name.starts_with("stuck");
      if (!is_it
          || fs::symlink_status(all->path()).type() != fs::file_type::regular)
        continue;
      if (++count <= bundled_errors_max)
        to.add_end_of(
          formatted("error-{}{}", count, all->path().extension().string()),
          all->path().string(), error_file_size_max, all->path().string());
    }
  }
  if (count > bundled_errors_max)
    to.leave_out("error files",
                 formatted("{} more", count - bundled_errors_max));
}

void add_host(bundle_folder& to, const std::string& job) {
  auto text = std::string{};
  for (const auto* path : {"/proc/version", "/etc/os-release", "/proc/loadavg",
                           "/proc/driver/nvidia/version", "/proc/self/limits",
                           "/proc/self/cgroup"})
    if (const auto content = text_of(path); !content.empty())
      text += formatted("== {}\n{}\n", path, content);
  auto memory = text_of("/proc/meminfo");
  memory.resize(std::min(memory.find("Buffers"), memory.size()));
  text += "== /proc/meminfo\n" + memory;
  const auto jobs = find_local_jobs();
  for (const auto& x : jobs ? *jobs : std::vector<local_job>{}) {
    if (!is_of_job(x, job))
      continue;
    text += formatted("\n== process {}\n", x.pid);
    auto follows_name = false;
    for (const auto& word : words_of(formatted("/proc/{}/cmdline", x.pid))) {
      text += follows_name && !word.starts_with('-')
                ? std::string{"(left out)\n"}
                : core::printable(without_secret(word)) + "\n";
      follows_name = word.starts_with('-')
                     && word.find('=') == std::string::npos
                     && names_secret(word);
    }
    text += "-- its environment, as far as it is about jobs\n";
    for (const auto& word : words_of(formatted("/proc/{}/environ", x.pid)))
      if (is_of_interest(word))
        text += core::printable(without_secret(word)) + "\n";
  }
  to.add("host.txt", text,
         "this host, and the command lines of the job's processes here");
}

/// The job that is meant, if none is named.
std::string only_job(const bundle_arguments& arguments) {
  if (!arguments.job.empty())
    return arguments.job;
  const auto here = ask_local_jobs("", status_limit);
  if (here && here->heard.size() == 1)
    return here->heard.front().status.job_id();
  if (here && here->heard.size() > 1)
    return {};
  const auto all = list_journals(arguments.journal_folder);
  if (!all.empty())
    return all.front().job.value;
  const auto places = list_log_places(arguments.journal_folder);
  return places.empty() ? std::string{} : places.front().job.value;
}

bool is_known(const std::string& job, const std::string& folder) {
  const auto jobs = find_local_jobs();
  const auto is_it = [&](const local_job& x) { return is_of_job(x, job); };
  return (jobs && std::ranges::any_of(*jobs, is_it))
         || std::ranges::any_of(
           list_journals(folder),
           [&](const auto& x) { return x.job.value == job; })
         || std::ranges::any_of(list_log_places(folder), [&](const auto& x) {
              return x.job.value == job;
            });
}

std::string plain_name(const std::string& job) {
  constexpr size_t size_max = 64;
  auto out = job.substr(0, size_max);
  std::ranges::replace_if(
    out, [](unsigned char c) { return std::isalnum(c) == 0 && c != '-'; }, '_');
  return out;
}

/// `20261130-031005`
std::string time_stamp() {
  const auto now = std::time(nullptr);
  auto parts = std::tm{};
  ::localtime_r(&now, &parts);
  auto text = std::array<char, 32>{};
  return {text.data(),
          std::strftime(text.data(), text.size(), "%Y%m%d-%H%M%S", &parts)};
}

result<fs::path> make_place(const std::string& name) {
  const auto* temporary = std::getenv("TMPDIR");
  auto place
    = std::string{temporary != nullptr && *temporary != '\0' ? temporary
                                                             : "/tmp"}
      + "/actorctl_XXXXXX";
  if (::mkdtemp(place.data()) == nullptr)
    return core::system_failure("no temporary folder can be made: " + place,
                                errno);
  const auto out = fs::path{place} / name;
  auto error = std::error_code{};
  fs::create_directory(out, error);
  if (error)
    return core::system_failure("no folder can be made in " + place,
                                error.value());
  return out;
}

int fail_to_write(const std::string& path, const std::string& why) {
  return fail({errc::system_failure, path + ": " + why}, operator_program);
}

} // namespace

std::string without_secret(const std::string& word) {
  const auto sign = word.find('=');
  if (sign == std::string::npos || !names_secret(word))
    return word;
  if (names_secret(word.substr(0, sign)))
    return word.substr(0, sign) + "=(left out)";
  // `--rdzv-conf=a=1,password=x` has names behind the first sign, too.
  auto out = std::string{};
  auto rest = std::string_view{word};
  while (!rest.empty()) {
    const auto part = rest.substr(0, rest.find(','));
    const auto at = part.rfind('=');
    const auto hides = at != part.npos && names_secret(part.substr(0, at));
    out += hides ? std::string{part.substr(0, at)} + "=(left out)"
                 : std::string{part};
    rest.remove_prefix(std::min(part.size(), rest.size()));
    if (rest.starts_with(',')) {
      out += ',';
      rest.remove_prefix(1);
    }
  }
  return out;
}

int make_bundle(const bundle_arguments& arguments) {
  const auto job = only_job(arguments);
  if (job.empty() || !is_known(job, arguments.journal_folder)) {
    std::cerr << error_line(
      job.empty()
        ? "which job is not clear: there is none here, or several"
        : formatted("no job {} is known on this host", in_quotes(job)),
      operator_program)
              << "  try: actorctl status, which lists them, and actorctl bundle"
                 " JOB\n";
    return static_cast<int>(exit_code_of(errc::connection_refused));
  }
  const auto name = "actorrun-" + plain_name(job) + "-" + time_stamp();
  const auto path
    = arguments.output.empty() ? name + ".tar.gz" : arguments.output;
  const auto to = ::open(
    path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (to < 0)
    return fail_to_write(path, core::error_text(errno));
  const auto discard = [&] {
    ::close(to);
    ::unlink(path.c_str());
  };
  const auto place = make_place(name);
  if (!place) {
    discard();
    return fail(place.error(), operator_program);
  }
  auto folder = bundle_folder{*place};
  const auto at = "--journal=" + arguments.journal_folder;
  const auto tail
    = "--tail=" + std::to_string(arguments.tail.value_or(usual_tail));
  const bundled_command commands[] = {
    {"version.txt", {"--version"}, "the version"},
    {"why.txt", {"why", "--all", at, job}, "why generations ended"},
    {"status.txt", {"status", "-o", "wide", at, job}, "its nodes and workers"},
    {"status.json", {"status", "--json", at, job}, "the same for programs"},
    {"journal.txt", {"journal", at, job}, "what has happened"},
    {"time.txt", {"time", at, job}, "where its time went"},
    {"stacks.txt", {"stacks", job}, "where its workers are"},
    {"logs.txt",
     {"logs", tail, at, job},
     "the last lines of its workers",
     logs_size_max}};
  for (const auto& x : commands)
    add_output(folder, x);
  add_journals(folder, arguments.journal_folder, job);
  add_error_files(folder, arguments.journal_folder, job);
  add_host(folder, job);
  folder.add_readme(formatted(
    "What actorctl bundle knew of job {} at {}.\n\n"
    "Secrets of the job are in none of these files, and values of options and\n"
    "variables that are called secret, token, password and the like are left\n"
    "out. The lines of workers are as they wrote them, and the command lines "
    "of\n"
    "the script as they were typed: read them before you send this.\n",
    core::printable(job), date_text(std::time(nullptr) * int64_t{1'000})));
  const auto packed
    = output_of({"tar", "-cz", "-C", place->parent_path().string(), "--", name},
                output_size_max, to);
  struct stat facts {};
  if (packed.code != 0 || ::fstat(to, &facts) != 0 || ::fsync(to) != 0) {
    discard();
    return fail_to_write(
      path, "tar failed: " + core::one_line(packed.text, output_size_max));
  }
  ::close(to);
  std::cout << formatted(
    "wrote {} ({} KiB). README.txt in it lists what is there and what was left"
    " out; read the lines of the workers before you send it\n",
    path, (facts.st_size + 1'023) / 1'024);
  return 0;
}

} // namespace actorrun::cli
