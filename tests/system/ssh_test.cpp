// Jobs that one actorrun starts through the real ssh and sshd: on loopback, and in
// two network namespaces.
#include "tests/support/catch.hpp"
#include "tests/support/skip.hpp"
#include "tests/system/log_scene.hpp"
#include "tests/system/namespaces.hpp"

#include <csignal>
#include <filesystem>
#include <optional>

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

namespace actorrun::test::ssh_test {

namespace {

namespace fs = std::filesystem;

std::string user_name() {
  const auto* entry = ::getpwuid(::getuid());
  return entry == nullptr ? "" : entry->pw_name;
}

std::string sshd_path() {
  for (const auto* path : {"/usr/sbin/sshd", "/usr/bin/sshd"})
    if (::access(path, X_OK) == 0)
      return path;
  return "";
}

/// Servers of its own: keys, configuration and port are this scene's.
struct ssh_scene : log_scene {
  /// False, with a printed reason, where there is no sshd.
  bool ready() { return has_keys() && serve({}, {"127.0.0.1", "127.0.0.2"}); }

  bool has_keys() {
    if (sshd_path().empty() || user_name().empty()) {
      actorrun::test::skip("sshd",
                           "there is no sshd, or this user has no name");
      return false;
    }
    if (::geteuid() == 0)
      ::mkdir("/run/sshd", 0755);
    for (const auto* name : {"host", "user"}) {
      auto code = 0;
      read({"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f",
            folder() + "/" + name},
           &code);
      require(code == 0, "ssh-keygen makes keys");
    }
    write("known_hosts", "* " + content_of(folder() + "/host.pub"));
    write("ssh_config", "Host *\n  Port " + std::to_string(port())
                          + "\n  IdentityFile " + folder()
                          + "/user\n  IdentitiesOnly yes\n  UserKnownHostsFile "
                          + folder() + "/known_hosts\n");
    return true;
  }

  /// Starts an sshd at these addresses.
  /// @param prefix Words in front of it.
  bool serve(words prefix, const words& addresses) {
    auto text = "HostKey " + folder() + "/host\nAuthorizedKeysFile " + folder()
                + "/user.pub\nPidFile none\nStrictModes no\nUsePAM no\n"
                  "PasswordAuthentication no\nPermitRootLogin yes\n";
    for (const auto& x : addresses)
      text += "ListenAddress " + x + ":" + std::to_string(port()) + "\n";
    const auto file = write("sshd_config." + addresses.front(), text);
    for (const auto& x : {sshd_path(), std::string{"-D"}, std::string{"-e"},
                          std::string{"-f"}, file})
      prefix.push_back(x);
    return start(prefix).says("Server listening on " + addresses.back());
  }

  words job_line(const std::string& hosts, const words& options,
                 const words& command) {
    auto line
      = words{"--hosts=" + hosts,
              "--rsh=ssh -T -o BatchMode=yes -o ServerAliveInterval=1 -F "
                + folder() + "/ssh_config",
              "--export=ACTORRUN_RUN_DIR,TMPDIR",
              "--rdzv-conf=quiet_period=300ms,join_settle=300ms"};
    line.insert(line.end(), options.begin(), options.end());
    line.emplace_back("--no-python");
    line.insert(line.end(), command.begin(), command.end());
    return line;
  }

  program& job(const std::string& hosts, const words& options,
               const words& command) {
    return run(job_line(hosts, options, command), {{"LOGLEVEL", "WARNING"}});
  }

  std::string host(int number) const {
    return user_name() + "@127.0.0." + std::to_string(number);
  }
};

/// The host with the list is one of two that a cable joins; both have an sshd.
struct two_ssh_hosts : ssh_scene {
  /// False, with a printed reason, where there are no namespaces or no sshd.
  bool ready() {
    if (!namespaces::are_possible())
      return false;
    if (!has_keys())
      return false;
    net.emplace(*this);
    return serve(net->here(), {namespaces::here_address})
           && serve(net->there(), {namespaces::there_address});
  }

  program& stamping(const words& options) {
    auto line = net->here();
    line.emplace_back(ACTORRUN_PROGRAM);
    for (auto& x : job_line(
           user_name() + "@" + namespaces::here_address + "," + user_name()
             + "@" + namespaces::there_address,
           options, {STAMPING_WORKER, "--folder=" + folder() + "/stamps"}))
      line.push_back(std::move(x));
    return start(std::move(line), {{"LOGLEVEL", "WARNING"}});
  }

  std::optional<namespaces> net;
};

TEST_CASE_METHOD(ssh_scene, "ssh: a job on two hosts", "[system][ssh]") {
  if (!ready())
    return;
  const auto hosts = host(1) + ":2," + host(2);
  auto& x = job(hosts, {}, {"sh", "-c", R"(echo "$RANK $PWD it's"; exit 0)"});
  CHECK(x.wait() == 0);
  const auto end = " " + fs::canonical(folder()).string() + " it's";
  CHECK(sorted_lines(x.output())
        == words{host(1) + ": 0" + end, host(1) + ": 1" + end,
                 host(2) + ": 2" + end});
}

TEST_CASE_METHOD(ssh_scene, "ssh: a host that refuses is named",
                 "[system][ssh]") {
  if (!ready())
    return;
  auto& x = job(host(1) + "," + host(3), {}, {"true"});
  CHECK(x.wait() == 3);
  CHECK(x.output().find(host(3) + ": ssh: connect to host 127.0.0.3")
        != std::string::npos);
  CHECK(
    x.output().find(host(3) + " cannot be reached: ssh has ended with code 255")
    != std::string::npos);
}

TEST_CASE_METHOD(ssh_scene, "ssh: a failure has the code of a job by hand",
                 "[system][ssh]") {
  if (!ready())
    return;
  CHECK(job(host(1) + "," + host(2), {}, {"sh", "-c", "exit 4"}).wait() == 1);
}

TEST_CASE_METHOD(ssh_scene, "ssh: Ctrl-C ends the workers of all hosts",
                 "[system][ssh]") {
  if (!ready())
    return;
  auto& x = job(host(1) + "," + host(2), {},
                {STAMPING_WORKER, "--folder=" + folder() + "/stamps"});
  const auto workers = await_world(2);
  x.signal(SIGINT);
  CHECK(x.wait() == 130);
  CHECK(all_dead(workers));
}

TEST_CASE_METHOD(ssh_scene, "ssh: without the actorrun with the list, all ends",
                 "[system][ssh]") {
  if (!ready())
    return;
  auto& x = job(host(1) + "," + host(2), {},
                {STAMPING_WORKER, "--folder=" + folder() + "/stamps"});
  const auto workers = await_world(2);
  x.signal(SIGKILL);
  CHECK(all_dead(workers));
}

TEST_CASE_METHOD(ssh_scene,
                 "ssh: a connection that is cut costs its host, not the job",
                 "[system][ssh]") {
  if (!ready())
    return;
  auto& x = job(host(1) + "," + host(2), {"--nnodes=1:2"},
                {STAMPING_WORKER, "--folder=" + folder() + "/stamps"});
  const auto before = await_world(2);
  // The sshd of the second connection, which is the parent of that agent.
  auto connection = pid_t{0};
  for (const auto pid : descendants(x.pid())) {
    const auto words = content_of("/proc/" + std::to_string(pid) + "/cmdline");
    if (words.find("127.0.0.2") != std::string::npos)
      connection = pid;
  }
  REQUIRE(connection > 0);
  ::kill(connection, SIGKILL);
  await_world(1, before.front().generation);
  CHECK(x.says(host(2) + " is lost: "));
  order_end();
  CHECK(x.wait() == 0);
}

TEST_CASE_METHOD(two_ssh_hosts, "ssh: a job between two hosts with a cable",
                 "[netns]") {
  if (!ready())
    return;
  auto& x = stamping({});
  const auto workers = await_world(2);
  for (const auto& worker : workers)
    CHECK(worker.master_address == namespaces::here_address);
  x.signal(SIGINT);
  CHECK(x.wait() == 130);
  CHECK(all_dead(workers));
}

TEST_CASE_METHOD(two_ssh_hosts,
                 "ssh: a host that falls silent stops before others start",
                 "[netns]") {
  if (!ready())
    return;
  auto& x = stamping({"--nnodes=1:2"});
  const auto before = await_world(2);
  net->cut();
  const auto after = await_world(1, before.front().generation);
  CHECK(last_of(records_of(before)) < first_of(after));
  CHECK(all_dead(before));
  CHECK(x.says(std::string{namespaces::there_address} + " is lost: "));
  order_end();
  CHECK(x.wait() == 0);
  net->heal();
}

} // namespace

} // namespace actorrun::test::ssh_test
