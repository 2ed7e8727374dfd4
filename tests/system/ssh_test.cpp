// Jobs that one actorrun starts through the real ssh and sshd, on loopback.
#include "tests/support/catch.hpp"
#include "tests/support/skip.hpp"
#include "tests/system/log_scene.hpp"

#include <csignal>
#include <filesystem>

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

namespace actorrun::test {

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

/// An sshd of its own: keys, configuration and port are this scene's.
struct ssh_scene : log_scene {
  /// False, with a printed reason, where there is no sshd.
  bool ready() {
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
    const auto address = ":" + std::to_string(port());
    write("sshd_config",
          "ListenAddress 127.0.0.1" + address + "\nListenAddress 127.0.0.2"
            + address + "\nHostKey " + folder() + "/host\nAuthorizedKeysFile "
            + folder()
            + "/user.pub\nPidFile none\nStrictModes no\nUsePAM no\n"
              "PasswordAuthentication no\nPermitRootLogin yes\n");
    write("known_hosts", "* " + content_of(folder() + "/host.pub"));
    write("ssh_config", "Host *\n  Port " + std::to_string(port())
                          + "\n  IdentityFile " + folder()
                          + "/user\n  IdentitiesOnly yes\n  UserKnownHostsFile "
                          + folder() + "/known_hosts\n");
    sshd = &start({sshd_path(), "-D", "-e", "-f", folder() + "/sshd_config"});
    return sshd->says("Server listening on 127.0.0.2");
  }

  program& job(const std::string& hosts, words options, const words& command) {
    auto line
      = words{"--hosts=" + hosts,
              "--rsh=ssh -T -o BatchMode=yes -F " + folder() + "/ssh_config",
              "--export=ACTORRUN_RUN_DIR,TMPDIR",
              "--rdzv-conf=quiet_period=300ms,join_settle=300ms"};
    line.insert(line.end(), options.begin(), options.end());
    line.emplace_back("--no-python");
    line.insert(line.end(), command.begin(), command.end());
    return run(std::move(line), {{"LOGLEVEL", "WARNING"}});
  }

  std::string host(int number) const {
    return user_name() + "@127.0.0." + std::to_string(number);
  }

  program* sshd = nullptr;
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
  await_world(1, before.front().epoch);
  CHECK(x.says(host(2) + " is lost: "));
  order_end();
  CHECK(x.wait() == 0);
}

} // namespace

} // namespace actorrun::test
