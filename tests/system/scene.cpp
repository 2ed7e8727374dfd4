#include "tests/system/scene.hpp"

#include "tests/support/catch.hpp"
#include "tests/system/carried.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace actorrun::test {

namespace {

namespace fs = std::filesystem;

// Below the ports that systems assign themselves (32768 and up), and different
// from actorrun's default.
constexpr auto port_min = 20'000;
constexpr auto port_count = 8'000;

// Short times of the rendezvous, so that tests are quick; the lease is the
// default.
constexpr auto quick = "quiet_period=300ms,join_settle=300ms";

std::string make_folder() {
  const auto base = std::getenv("TMPDIR") != nullptr
                      ? std::string{std::getenv("TMPDIR")}
                      : std::string{"/tmp"};
  auto path = base + "/actorrun-system-XXXXXX";
  scene::require(::mkdtemp(path.data()) != nullptr, "a folder in " + base);
  return path;
}

bool is_free(uint16_t port) {
  const auto fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  auto address = sockaddr_in{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  const auto ok
    = ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  ::close(fd);
  return ok;
}

uint32_t number(const std::map<std::string, std::string>& fields,
                const char* name) {
  const auto i = fields.find(name);
  return i == fields.end() || i->second.empty()
           ? 0
           : static_cast<uint32_t>(std::stoul(i->second));
}

worker_record parse_record(const std::string& text) {
  auto fields = std::map<std::string, std::string>{};
  auto lines = std::istringstream{text};
  for (auto line = std::string{}; std::getline(lines, line);)
    if (const auto sign = line.find('='); sign != line.npos)
      fields[line.substr(0, sign)] = line.substr(sign + 1);
  auto out = worker_record{};
  out.kind = fields["kind"];
  out.pid = static_cast<pid_t>(number(fields, "pid"));
  out.generation = std::stoull("0" + fields["ACTORRUN_FENCING_TOKEN"]);
  out.number = std::stoull("0" + fields["ACTORRUN_GENERATION"]);
  out.rank = number(fields, "RANK");
  out.local_rank = number(fields, "LOCAL_RANK");
  out.node_rank = number(fields, "GROUP_RANK");
  out.world_size = number(fields, "WORLD_SIZE");
  out.local_world_size = number(fields, "LOCAL_WORLD_SIZE");
  out.restart_count = number(fields, "TORCHELASTIC_RESTART_COUNT");
  out.master_address = fields["MASTER_ADDR"];
  out.master_port = static_cast<uint16_t>(number(fields, "MASTER_PORT"));
  out.job = fields["ACTORRUN_JOB_ID"];
  out.descriptors = fields["fds"];
  out.survivors = fields["survivors"];
  out.start_ns = std::stoll("0" + fields["start"]);
  out.last_ns = std::stoll("0" + fields["last"]);
  return out;
}

} // namespace

uint16_t free_port() {
  static auto next = ::getpid() * 61 % port_count;
  for (auto tried = 0; tried < port_count; ++tried) {
    next = (next + 1) % port_count;
    const auto port = static_cast<uint16_t>(port_min + next);
    if (is_free(port))
      return port;
  }
  FAIL("no port is free");
  return 0;
}

int64_t now_ns() {
  return std::chrono::nanoseconds{clock::now().time_since_epoch()}.count();
}

void scene::require(bool holds, const std::string& what) {
  INFO(what);
  REQUIRE(holds);
}

scene::scene() : folder_(make_folder()), port_(free_port()) {
  for (const auto* name : {"run", "tmp", "stamps"})
    fs::create_directory(folder_ + "/" + name);
  fs::permissions(folder_ + "/run", fs::perms::owner_all);
  const auto* path = std::getenv("PATH");
  environment_ = {{"PATH", path == nullptr ? "/usr/bin:/bin" : path},
                  {"HOME", folder_},
                  {"LANG", "C.UTF-8"},
                  {"TMPDIR", folder_ + "/tmp"},
                  {"ACTORRUN_RUN_DIR", folder_ + "/run"}};
}

scene::~scene() {
  for (auto& x : programs_)
    x.signal(SIGKILL);
  const auto nothing_left = eventually([this] {
    auto busy = !descendants(::getpid()).empty();
    for (auto& x : programs_)
      busy = x.running() || busy;
    return !busy;
  });
  CHECK(nothing_left);
  programs_.clear();
  auto ignored = std::error_code{};
  fs::remove_all(folder_, ignored);
}

std::string scene::endpoint() const {
  return "127.0.0.1:" + std::to_string(port_);
}

program& scene::start(words command,
                      const std::map<std::string, std::string>& variables) {
  auto environment = environment_;
  for (const auto& [name, value] : variables)
    environment[name] = value;
  const auto output = folder_ + "/out." + std::to_string(programs_.size());
  return programs_.emplace_back(program_options{
    std::move(command), std::move(environment), folder_, output});
}

program& scene::run(words arguments,
                    const std::map<std::string, std::string>& variables) {
  arguments.insert(arguments.begin(), ACTORRUN_PROGRAM);
  return start(std::move(arguments), variables);
}

program& scene::agent(const agent_options& x) {
  const auto host = x.host || !has_host_;
  has_host_ = true;
  // Where the job may begin at several, none is told that it hosts.
  const auto role = x.endpoint.find(',') != x.endpoint.npos ? ""
                    : host                                  ? ",is_host=1"
                                                            : ",is_host=0";
  auto command = x.prefix;
  for (const auto& word :
       {std::string{ACTORRUN_PROGRAM}, "--nnodes=" + x.nodes,
        "--nproc-per-node=" + std::to_string(x.slots),
        "--max-restarts=" + std::to_string(x.restart_count_max),
        "--rdzv-id=" + x.job,
        "--rdzv-endpoint=" + (x.endpoint.empty() ? endpoint() : x.endpoint),
        std::string{"--rdzv-conf="} + quick + role + x.conf})
    command.push_back(word);
  command.insert(command.end(), x.more.begin(), x.more.end());
  command.push_back("--no-python");
  if (x.command.empty()) {
    command.push_back(STAMPING_WORKER);
    command.push_back("--folder=" + folder_ + "/stamps");
    command.insert(command.end(), x.worker.begin(), x.worker.end());
  } else {
    command.insert(command.end(), x.command.begin(), x.command.end());
  }
  return start(std::move(command), x.environment);
}

program& scene::coordinator(const agent_options& x) {
  has_host_ = true;
  auto command = x.prefix;
  for (const auto& word :
       {std::string{ACTORCTL_PROGRAM}, std::string{"coordinator"},
        "--nnodes=" + x.nodes,
        "--max-restarts=" + std::to_string(x.restart_count_max),
        "--rdzv-id=" + x.job,
        "--rdzv-endpoint=" + (x.endpoint.empty() ? endpoint() : x.endpoint),
        std::string{"--rdzv-conf="} + quick + x.conf})
    command.push_back(word);
  command.insert(command.end(), x.more.begin(), x.more.end());
  return start(std::move(command), x.environment);
}

std::string scene::read(words command, int* code, milliseconds limit) {
  auto x = program{{std::move(command), environment_, folder_,
                    folder_ + "/read." + std::to_string(now_ns())}};
  const auto ended = x.wait(limit);
  require(ended != program::still_running, "a program ends");
  if (code != nullptr)
    *code = ended;
  return x.output();
}

json scene::status_of_all() {
  const auto text = read({ACTORCTL_PROGRAM, "status", "--json"});
  auto out = json::parse(text, nullptr, false);
  return out.is_discarded() ? json{{"unreadable", text}} : out;
}

json scene::status() {
  const auto all = status_of_all();
  const auto jobs = all.find("jobs");
  return jobs == all.end() || jobs->empty() ? json{} : jobs->front();
}

worker_records scene::records() const {
  auto out = worker_records{};
  for (const auto& x : fs::directory_iterator{folder_ + "/stamps"})
    if (x.path().filename().string().starts_with("w."))
      out.push_back(parse_record(content_of(x.path())));
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    return std::tie(a.generation, a.rank, a.pid)
           < std::tie(b.generation, b.rank, b.pid);
  });
  return out;
}

worker_records scene::workers_of(uint64_t generation) const {
  auto out = records();
  std::erase_if(out, [generation](const auto& x) {
    return x.generation != generation || x.kind != "worker";
  });
  return out;
}

worker_records scene::await_world(uint32_t count, uint64_t generation,
                                  milliseconds limit) {
  auto out = worker_records{};
  const auto runs = [&] {
    const auto all = records();
    out = all.empty() ? all : workers_of(all.back().generation);
    return out.size() == count && out.front().generation > generation
           && std::all_of(out.begin(), out.end(), [&](const auto& x) {
                return x.world_size == count && alive(x.pid);
              });
  };
  require(eventually(runs, limit), "a world of " + std::to_string(count)
                                     + " workers runs after generation "
                                     + std::to_string(generation));
  return out;
}

worker_record scene::record_of(pid_t pid) const {
  return parse_record(content_of(folder_ + "/stamps/w." + std::to_string(pid)));
}

worker_records scene::records_of(const worker_records& workers) const {
  auto out = worker_records{};
  for (const auto& x : workers)
    out.push_back(record_of(x.pid));
  return out;
}

void scene::order_exit(pid_t pid, int code) {
  const auto draft = write("draft", std::to_string(code));
  fs::rename(draft, folder_ + "/stamps/exit." + std::to_string(pid));
}

void scene::order_end() {
  write("stamps/end", "");
}

std::string scene::write(const std::string& name, const std::string& text,
                         bool executable) {
  const auto path = folder_ + "/" + name;
  std::ofstream{path} << text;
  if (executable)
    ::chmod(path.c_str(), 0755);
  return path;
}

bool all_dead(const worker_records& workers, milliseconds limit) {
  return eventually(
    [&] {
      return std::none_of(workers.begin(), workers.end(),
                          [](const auto& x) { return alive(x.pid); });
    },
    limit);
}

std::vector<pid_t> pids_of(const worker_records& workers) {
  auto out = std::vector<pid_t>{};
  for (const auto& x : workers)
    out.push_back(x.pid);
  return out;
}

int64_t last_of(const worker_records& workers) {
  auto out = int64_t{0};
  for (const auto& x : workers)
    out = std::max(out, x.last_ns);
  return out;
}

int64_t first_of(const worker_records& workers) {
  auto out = workers.front().start_ns;
  for (const auto& x : workers)
    out = std::min(out, x.start_ns);
  return out;
}

} // namespace actorrun::test
