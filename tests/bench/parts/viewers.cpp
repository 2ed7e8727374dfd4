// Measures what those who watch a job see when, and what they cost it.

#include "tests/bench/free_port.hpp"
#include "tests/bench/log_launchers.hpp"
#include "tests/bench/parts/parts.hpp"
#include "tests/bench/restarted_group.hpp"
#include "tests/bench/terminal.hpp"
#include "tests/bench/viewer_group.hpp"

#include <atomic>
#include <csignal>
#include <filesystem>
#include <memory>
#include <thread>

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace actorrun::bench::viewers_part {

namespace {

constexpr uint32_t worker_count = 4;

/// Longest delay from an event to the screen, in milliseconds.
constexpr double screen_delay_max = 150;

/// Minimum share of the throughput of lines that remains with viewers.
constexpr double throughput_min = 0.99;

constexpr size_t shown_worker_count = 8;

/// Lines of each worker: 4 GB in total.
constexpr uint64_t line_count = 5'000'000;

constexpr std::chrono::milliseconds scrape_interval{1'000};

constexpr size_t columns = 120;
constexpr size_t rows = 40;

size_t kill_count(const setting& s) {
  return s.quick() ? 3 : 100;
}

// -- how soon -----------------------------------------------------------------

measured measure_delay(setting& s) {
  constexpr auto job = "bench-screen";
  auto group
    = start_group(s,
                  {s.tool("actorrun"), "--max-restarts=1000",
                   std::string{"--rdzv-id="} + job, "--rdzv-backend=c10d",
                   "--rdzv-endpoint=127.0.0.1:" + std::to_string(free_port()),
                   "--nproc-per-node=" + std::to_string(worker_count),
                   "--no-python", s.tool("stamp")},
                  worker_count);
  if (!group)
    return group.error();
  auto screen = terminal::open(columns, rows);
  if (!screen)
    return screen.error();
  auto top = start_top(s, *screen, {"--job", job});
  if (!top)
    return top.error();
  if (const auto seen = screen->await("running", "  generation 1 "); !seen)
    return seen.error();
  auto x
    = row{.what = "worker dies → next generation on the screen of top, p99",
          .unit = "ms",
          .goal = "p99 ≤ 150 ms"};
  for (size_t i = 0; i < kill_count(s); ++i) {
    const auto victim = group->newest[i % worker_count].pid;
    const auto regroup
      = kill_and_await(victim, group->tracker, group->newest, worker_count);
    if (!regroup)
      return regroup.error();
    // `running (degraded)` before long: so many failures in a row are a loop.
    const auto seen
      = screen->await("running", "  generation " + std::to_string(i + 2) + " ");
    if (!seen)
      return seen.error();
    x.ours.add(*regroup
               + milliseconds_between(last_start(group->newest), *seen));
    x.limit.add(*regroup);
  }
  auto worst = row{.what = x.what, .unit = "ms", .goal = x.goal};
  worst.ours.add(x.ours.quantile(0.99));
  worst.limit.add(x.limit.quantile(0.99));
  worst.met = worst.ours.max() <= screen_delay_max;
  x.what = "  all; limit: the last worker of that generation has started";
  x.goal.clear();
  print(worst);
  print(x);
  return {};
}

// -- at what cost -------------------------------------------------------------

/// A browser or a scraper: asks for a path and reads the answer to its end.
class web_reader {
public:
  web_reader(uint16_t port, std::string path)
    : thread_([this, port, path = std::move(path)] { run(port, path); }) {}

  web_reader(const web_reader&) = delete;
  web_reader& operator=(const web_reader&) = delete;

  ~web_reader() {
    ends_ = true;
    thread_.join();
  }

  uint64_t byte_count() const { return byte_count_; }

private:
  void run(uint16_t port, const std::string& path) {
    while (!ends_) {
      read_once(port, path);
      // Soon again until the launcher listens.
      const auto pause = byte_count_ == 0 ? poll_interval : scrape_interval;
      for (auto left = pause / poll_interval; left > 0 && !ends_; --left)
        std::this_thread::sleep_for(poll_interval);
    }
  }

  void read_once(uint16_t port, const std::string& path) {
    auto fd
      = detail::unique_fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    auto to = sockaddr_in{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const auto limit = timeval{.tv_sec = 0, .tv_usec = 100'000};
    ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    const auto question = "GET " + path + " HTTP/1.1\r\nHost: 127.0.0.1:"
                          + std::to_string(port) + "\r\n\r\n";
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to)
          != 0
        || ::write(fd.get(), question.data(), question.size()) < 0)
      return;
    char buffer[65'536];
    while (!ends_) {
      const auto count = ::read(fd.get(), buffer, sizeof buffer);
      if (count == 0 || (count < 0 && errno != EAGAIN))
        return;
      byte_count_ += count > 0 ? uint64_t(count) : 0;
      if (path == "/metrics" && count < 0)
        return; // The answer is whole; the connection stays.
    }
  }

  static constexpr std::chrono::milliseconds poll_interval{20};

  std::atomic<bool> ends_ = false;
  std::atomic<uint64_t> byte_count_ = 0;
  std::thread thread_; ///< Last: it uses the others.
};

constexpr auto watched_job = "bench-watched";

const log_launcher watched{
  "actorrun --tee", [](setting& s, const std::string& folder, size_t count,
                       std::vector<std::string> worker) {
    auto out = our_tee.arguments(s, folder, count, std::move(worker));
    out.insert(out.begin() + 1, std::string{"--rdzv-id="} + watched_job);
    return out;
  }};

/// `top`, `logs -f`, a scraper and a browser.
class watchers {
public:
  static result<std::unique_ptr<watchers>>
  start(setting& s, uint16_t metrics_port, uint16_t page_port) {
    auto screen = terminal::open(columns, rows);
    if (!screen)
      return screen.error();
    auto top = start_top(s, *screen, {"--job", watched_job});
    if (!top)
      return top.error();
    auto follow = s.command(
      {s.tool("actorctl"), "logs", "-f", "--job", watched_job, "--tail=10"});
    auto logs = program::start(follow);
    if (!logs)
      return logs.error();
    return std::unique_ptr<watchers>{
      new watchers{std::move(*screen), std::move(*top), std::move(*logs),
                   follow.output, metrics_port, page_port}};
  }

  void read_screen() { screen_.read_pending(); }

  /// Returns when each has been answered.
  measured await_all() {
    const auto due = deadline();
    while (!are_answered()) {
      if (clock::now() > due)
        return unmeasured("the watched job does not answer its viewers");
      std::this_thread::sleep_for(std::chrono::milliseconds{10});
      read_screen();
    }
    return {};
  }

private:
  watchers(terminal screen, program top, program logs, std::string shown_logs,
           uint16_t metrics_port, uint16_t page_port)
    : screen_(std::move(screen)), top_(std::move(top)), logs_(std::move(logs)),
      shown_logs_(std::move(shown_logs)), scraper_(metrics_port, "/metrics"),
      browser_(page_port, "/events") {}

  bool are_answered() const {
    auto ignored = std::error_code{};
    const auto size = std::filesystem::file_size(shown_logs_, ignored);
    return scraper_.byte_count() > 0 && browser_.byte_count() > 0
           && screen_.picture().find("generation 1") != std::string::npos
           && !ignored && size > 0;
  }

  terminal screen_;
  program top_;
  program logs_;
  std::string shown_logs_;
  web_reader scraper_;
  web_reader browser_;
};

/// Lines are written once all workers run and all viewers watch: how both start
/// is not meant.
result<line_account> account_with(setting& s, uint64_t count, bool is_watched) {
  settle();
  const auto go = s.new_file();
  if (::mkfifo(go.c_str(), S_IRUSR | S_IWUSR) != 0)
    return unmeasured("no FIFO");
  const auto metrics = free_port();
  const auto page = free_port();
  // The ports are in the environment, because a launcher has no state.
  auto ports = std::vector<std::string>{};
  if (is_watched)
    ports = {"PET_METRICS_PORT=" + std::to_string(metrics),
             "PET_DASHBOARD_PORT=" + std::to_string(page)};
  auto run
    = start(s, watched, shown_worker_count,
            {s.tool("line_writer"), "fast", std::to_string(count), go}, ports);
  if (!run)
    return run.error();
  if (const auto ready = run->console.await_lines(shown_worker_count); !ready)
    return ready.error();
  auto viewers = std::unique_ptr<watchers>{};
  if (is_watched) {
    auto started = watchers::start(s, metrics, page);
    if (!started)
      return started.error();
    viewers = std::move(*started);
    if (const auto done = viewers->await_all(); !done)
      return done.error();
  }
  const auto started = detail::unique_fd{::open(go.c_str(), O_WRONLY)};
  auto account = run->console.read(count, [&](uint64_t) {
    if (viewers)
      viewers->read_screen();
  });
  if (account && !run->launcher.wait(deadline()))
    return unmeasured("the watched job does not end");
  return account;
}

measured measure_cost(setting& s) {
  const auto count = s.quick() ? line_count / 50 : line_count;
  auto x
    = row{.what = "labelled lines of 8 with top, logs -f, metrics and page;"
                  " limit: alone",
          .unit = "MB/s",
          .goal = "≥ 0.99 × limit"};
  for (size_t i = 0; i < s.stream_repetitions(); ++i) {
    const auto alone = account_with(s, count, false);
    if (!alone)
      return alone.error();
    const auto seen = account_with(s, count, true);
    if (!seen)
      return seen.error();
    x.limit.add(alone->megabytes_per_second());
    x.ours.add(seen->megabytes_per_second());
  }
  x.met = ratio(x.ours, x.limit) >= throughput_min;
  print(x);
  return {};
}

} // namespace

measured measure(setting& s) {
  if (const auto done = measure_delay(s); !done)
    return done;
  return measure_cost(s);
}

} // namespace actorrun::bench::viewers_part
