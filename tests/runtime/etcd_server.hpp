// A real etcd for one test case, which is gone with its data afterwards.
#pragma once

#include "runtime/folders.hpp"
#include "runtime/patience.hpp"

#include <csignal>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace actorrun::detail {

class etcd_server {
public:
  using words = std::vector<std::string>;

  /// What is wrong with tests of etcd on this machine; empty if nothing is.
  static std::string obstacle() {
    return ::access(program, X_OK) == 0
             ? ""
             : std::string{"SKIPPED: "} + program
                 + " is not installed (Debian's etcd-server)";
  }

  /// Serves on loopback. Fails the test case if it does not come up.
  /// @param more More words of its command line.
  explicit etcd_server(words more = {}, bool is_secure = false)
    : more_(std::move(more)), is_secure_(is_secure), port_(free_port()),
      peer_port_(free_port()) {
    start();
  }

  etcd_server(const etcd_server&) = delete;
  etcd_server& operator=(const etcd_server&) = delete;
  ~etcd_server() { kill(); }

  uint16_t port() const { return port_; }
  std::string endpoint() const { return "127.0.0.1:" + std::to_string(port_); }
  pid_t pid() const { return pid_; }
  const std::string& folder() const { return folder_.path(); }

  /// With SIGKILL; its data stay.
  void kill() {
    if (pid_ <= 0)
      return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

  /// Comes back without its data.
  void forget() {
    kill();
    auto ignored = std::error_code{};
    std::filesystem::remove_all(folder_ / "data", ignored);
    start();
  }

  /// Again, with the same ports and data.
  void start() {
    const auto log = folder_ / ("log" + std::to_string(++start_count_));
    pid_ = spawn(command(), log);
    INFO("etcd says: " << test_folders::content_of(log));
    REQUIRE(test_patience::soon([&] {
      return test_folders::content_of(log).find("serving client")
             != std::string::npos;
    }));
  }

private:
  static constexpr auto program = "/usr/bin/etcd";

  static uint16_t free_port() {
    const auto fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    auto address = sockaddr_in{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto size = socklen_t{sizeof address};
    auto* x = reinterpret_cast<sockaddr*>(&address);
    REQUIRE(::bind(fd, x, size) == 0);
    REQUIRE(::getsockname(fd, x, &size) == 0);
    ::close(fd);
    return ntohs(address.sin_port);
  }

  words command() const {
    const auto client = (is_secure_ ? "https://" : "http://") + endpoint();
    const auto peer = "http://127.0.0.1:" + std::to_string(peer_port_);
    auto out = words{
      program, "--data-dir=" + (folder_ / "data"),
      "--listen-client-urls=" + client, "--advertise-client-urls=" + client,
      "--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer,
      "--initial-cluster=default=" + peer, "--logger=zap",
      // One member elects itself: it need not wait for others.
      "--heartbeat-interval=10", "--election-timeout=100"};
    out.insert(out.end(), more_.begin(), more_.end());
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
    const auto error
      = ::posix_spawn(&pid, program, &actions, nullptr, argv.data(), ::environ);
    ::posix_spawn_file_actions_destroy(&actions);
    REQUIRE(error == 0);
    return pid;
  }

  words more_;
  bool is_secure_;
  test_folders::folder folder_;
  uint16_t port_;
  uint16_t peer_port_;
  pid_t pid_ = 0;
  uint32_t start_count_ = 0;
};

} // namespace actorrun::detail
