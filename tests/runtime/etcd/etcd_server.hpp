// A real etcd for one test case, of one member or of three; removed afterwards
// with its data.
#pragma once

#include "tests/runtime/deadline.hpp"
#include "tests/runtime/etcd/http_parrot.hpp"
#include "tests/runtime/folders.hpp"
#include "tests/support/skip.hpp"

#include <csignal>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace actorrun::detail {

struct etcd_server_options {
  std::vector<std::string> more{}; ///< More options.
  bool is_secure = false;          ///< Clients speak TLS; `more` has the files.
  std::string address = "127.0.0.1"; ///< Where clients find it.
  std::vector<std::string> prefix{}; ///< In front of its command line.
  bool starts = true;
};

class etcd_server {
public:
  using words = std::vector<std::string>;

  /// Why etcd cannot be tested on this machine; empty if it can.
  static std::string obstacle() {
    return ::access(program, X_OK) == 0
             ? ""
             : std::string{program}
                 + " is not installed (Debian's etcd-server)";
  }

  /// Returns whether etcd can be tested, and warns once if not.
  static bool is_here() {
    const auto why = obstacle();
    if (!why.empty())
      actorrun::test::skip("etcd", why);
    return why.empty();
  }

  /// Fails the test case if it does not start.
  explicit etcd_server(etcd_server_options options = {})
    : options_(std::move(options)), port_(free_port()) {
    do // The system may offer the port that it has just got back.
      peer_port_ = free_port();
    while (peer_port_ == port_);
    if (options_.starts)
      start();
  }

  etcd_server(const etcd_server&) = delete;
  etcd_server& operator=(const etcd_server&) = delete;
  ~etcd_server() { kill(); }

  uint16_t port() const { return port_; }
  std::string endpoint() const {
    return options_.address + ":" + std::to_string(port_);
  }
  /// Where other members find it: `http://127.0.0.1:2380`.
  std::string peer_url() const {
    return "http://127.0.0.1:" + std::to_string(peer_port_);
  }
  pid_t pid() const { return pid_; }
  const std::string& folder() const { return folder_.path(); }

  /// Kills it with SIGKILL; keeps its data.
  void kill() {
    if (pid_ <= 0)
      return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

  /// Starts it again without its data.
  void forget() {
    kill();
    auto ignored = std::error_code{};
    std::filesystem::remove_all(folder_ / "data", ignored);
    start();
  }

  /// Starts it again with the same ports and data.
  void start() {
    launch();
    await();
  }

  /// Begins the start of a member that waits for others.
  void launch(const words& more = {}) {
    options_.more.insert(options_.more.end(), more.begin(), more.end());
    log_ = folder_ / ("log" + std::to_string(++start_count_));
    pid_ = spawn(command(), log_);
  }

  /// Waits until the start is complete.
  void await() const {
    const auto serves = test_deadline::soon([&] {
      return test_folders::content_of(log_).find("serving client")
             != std::string::npos;
    });
    INFO("etcd says: " << test_folders::content_of(log_));
    REQUIRE(serves);
  }

private:
  static constexpr auto program = "/usr/bin/etcd";

  static uint16_t free_port() { return test_http::mute_server{}.port(); }

  words command() const {
    const auto client
      = (options_.is_secure ? "https://" : "http://") + endpoint();
    auto out = options_.prefix;
    for (const auto& x :
         {std::string{program}, "--data-dir=" + (folder_ / "data"),
          "--listen-client-urls=" + client, "--advertise-client-urls=" + client,
          "--listen-peer-urls=" + peer_url(),
          "--initial-advertise-peer-urls=" + peer_url(),
          "--initial-cluster=default=" + peer_url(),
          std::string{"--logger=zap"},
          // A single member elects itself: it need not wait for others.
          std::string{"--heartbeat-interval=10"},
          std::string{"--election-timeout=100"}})
      out.push_back(x);
    out.insert(out.end(), options_.more.begin(), options_.more.end());
    return out;
  }

  static pid_t spawn(const words& command, const std::string& log) {
    auto argv = std::vector<char*>{};
    for (const auto& x : command)
      argv.push_back(const_cast<char*>(x.c_str()));
    argv.push_back(nullptr);
    auto actions = posix_spawn_file_actions_t{};
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, 1, log.c_str(),
                                       O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::posix_spawn_file_actions_adddup2(&actions, 1, 2);
    auto pid = pid_t{0};
    const auto error = ::posix_spawnp(&pid, argv.front(), &actions, nullptr,
                                      argv.data(), ::environ);
    ::posix_spawn_file_actions_destroy(&actions);
    REQUIRE(error == 0);
    return pid;
  }

  etcd_server_options options_;
  test_folders::folder folder_;
  std::string log_;
  uint16_t port_;
  uint16_t peer_port_ = 0;
  pid_t pid_ = 0;
  uint32_t start_count_ = 0;
};

/// Three members, two of which are enough.
class etcd_cluster {
public:
  etcd_cluster() {
    auto peers = std::string{};
    for (auto i = 0; i < 3; ++i) {
      const auto& x
        = members_.emplace_back(etcd_server_options{.starts = false});
      peers += (i == 0 ? "" : ",") + name_of(i) + "=" + x.peer_url();
    }
    for (auto i = 0; i < 3; ++i)
      member(i).launch({"--name=" + name_of(i), "--initial-cluster=" + peers,
                        "--heartbeat-interval=50", "--election-timeout=500"});
    for (const auto& x : members_)
      x.await();
  }

  etcd_server& member(int index) { return members_.at(size_t(index)); }

  /// `127.0.0.1:1,127.0.0.1:2,127.0.0.1:3`
  std::string endpoints() const {
    auto out = std::string{};
    for (const auto& x : members_)
      out += (out.empty() ? "" : ",") + x.endpoint();
    return out;
  }

private:
  static std::string name_of(int index) { return "m" + std::to_string(index); }

  std::deque<etcd_server> members_;
};

} // namespace actorrun::detail
