#include "tests/system/program.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace actorrun::test {

namespace {

/// Children that a test waits for: `descendants` must not reap them.
std::set<pid_t>& watched() {
  static auto pids = std::set<pid_t>{};
  return pids;
}

// Orphans of the tested programs become children of this process, so that tests
// see them.
void adopt_orphans() {
  static const auto done = ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  static_cast<void>(done);
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  auto out = std::vector<char*>{};
  for (auto& x : words)
    out.push_back(x.data());
  out.push_back(nullptr);
  return out;
}

[[noreturn]] void become(const program_options& x, char** words,
                         char** environment) {
  ::setpgid(0, 0);
  const auto flags = O_CREAT | O_WRONLY | O_APPEND;
  const auto in = ::open("/dev/null", O_RDONLY);
  const auto out = ::open(x.output.c_str(), flags, 0644);
  ::dup2(in, 0);
  ::dup2(out, 1);
  ::dup2(out, 2);
  ::close_range(3, ~0U, 0);
  // The tests may have been started with these ignored, as by nohup.
  for (auto signal : {SIGHUP, SIGINT, SIGQUIT})
    ::signal(signal, SIG_DFL);
  if (::chdir(x.folder.c_str()) == 0)
    ::execvpe(words[0], words, environment);
  ::_exit(125);
}

struct process_line {
  pid_t pid = 0;
  pid_t parent = 0;
  char state = '?';
};

process_line read_process(const std::string& pid) {
  const auto text = content_of("/proc/" + pid + "/stat");
  const auto end = text.rfind(')');
  auto out = process_line{};
  if (end == text.npos)
    return out;
  auto rest = std::istringstream{text.substr(end + 1)};
  rest >> out.state >> out.parent;
  out.pid = std::stoi(pid);
  return out;
}

std::vector<process_line> all_processes() {
  auto out = std::vector<process_line>{};
  for (const auto& x : std::filesystem::directory_iterator{"/proc"}) {
    const auto name = x.path().filename().string();
    if (name.find_first_not_of("0123456789") != name.npos)
      continue;
    if (const auto line = read_process(name); line.pid != 0)
      out.push_back(line);
  }
  return out;
}

} // namespace

void breathe() {
  std::this_thread::sleep_for(2ms);
}

std::string& chronicle() {
  static auto text = std::string{};
  return text;
}

program::program(program_options options) : options_(std::move(options)) {
  adopt_orphans();
  auto settings = std::vector<std::string>{};
  for (const auto& [name, value] : options_.environment)
    settings.push_back(name + "=" + value);
  const auto arguments = pointers(options_.words);
  const auto environment = pointers(settings);
  pid_ = ::fork();
  if (pid_ == 0)
    become(options_, const_cast<char**>(arguments.data()),
           const_cast<char**>(environment.data()));
  watched().insert(pid_);
}

program::~program() {
  signal(SIGKILL);
  wait();
  auto line = std::string{};
  for (const auto& x : options_.words)
    line += " " + x;
  chronicle() += "--- pid " + std::to_string(pid_) + ":" + line + "\n--- ended "
                 + std::to_string(status_) + "\n" + output();
}

int program::wait(milliseconds limit) {
  eventually([this] { return !running(); }, limit);
  return status_;
}

bool program::running() {
  if (status_ != still_running)
    return false;
  auto status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_)
    return true;
  watched().erase(pid_);
  status_ = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  return false;
}

void program::signal(int number) {
  if (running())
    ::kill(pid_, number);
}

std::string program::output() const {
  return content_of(options_.output);
}

bool program::says(std::string_view text, milliseconds limit) {
  auto ended = false;
  auto found = false;
  eventually(
    [&] {
      ended = !running(); // Asked first: its last output counts.
      found = output().find(text) != std::string::npos;
      return found || ended;
    },
    limit);
  return found;
}

size_t count_of(std::string_view text, std::string_view part) {
  auto count = size_t{0};
  for (auto i = text.find(part); i != text.npos; i = text.find(part, i + 1))
    ++count;
  return count;
}

std::string content_of(const std::string& path) {
  auto file = std::ifstream{path, std::ios::binary};
  auto text = std::ostringstream{};
  text << file.rdbuf();
  return text.str();
}

bool alive(pid_t pid) {
  const auto line = read_process(std::to_string(pid));
  return line.pid == pid && line.state != 'Z' && line.state != 'X';
}

std::vector<pid_t> descendants(pid_t pid) {
  const auto all = all_processes();
  auto family = std::set<pid_t>{pid};
  auto out = std::vector<pid_t>{};
  for (auto grown = true; grown;) {
    grown = false;
    for (const auto& x : all)
      if (family.contains(x.parent) && family.insert(x.pid).second)
        grown = true;
  }
  for (const auto& x : all) {
    if (x.pid == pid || !family.contains(x.pid))
      continue;
    if (x.state != 'Z' && x.state != 'X')
      out.push_back(x.pid);
    else if (x.parent == ::getpid() && !watched().contains(x.pid))
      ::waitpid(x.pid, nullptr, WNOHANG);
  }
  return out;
}

bool is_warden(pid_t pid) {
  auto file = std::ifstream{"/proc/" + std::to_string(pid) + "/comm"};
  auto name = std::string{};
  return std::getline(file, name) && name.starts_with("arun-");
}

} // namespace actorrun::test
