// Tests the ports for metrics, health and the page as their users see them.
#include "tests/runtime/http/client.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/skip.hpp"
#include "tests/system/scene.hpp"

#include <array>
#include <csignal>
#include <cstdio>
#include <string>

#include <unistd.h>

namespace actorrun::test::http_test {

namespace {

using detail::test::http_client;

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::string get(uint16_t port, const std::string& path) {
  auto client = http_client{port};
  client.get(path);
  return client.read_reply();
}

/// The status that the page gets; null if there is none.
json status_at(uint16_t port) {
  const auto reply = get(port, "/status.json");
  const auto end = reply.find("\r\n\r\n");
  if (!reply.starts_with("HTTP/1.1 200 ") || end == std::string::npos)
    return {};
  return json::parse(reply.substr(end))["jobs"][0];
}

std::string option(const char* name, uint16_t port) {
  return std::string{name} + "=" + std::to_string(port);
}

/// Shared objects that a process has loaded.
size_t library_count(pid_t pid) {
  return count_of(content_of("/proc/" + std::to_string(pid) + "/maps"),
                  " r-xp");
}

} // namespace

TEST_CASE_METHOD(scene,
                 "http: a node serves metrics, health and the page, and nothing"
                 " to other hosts",
                 "[http]") {
  const auto metrics = free_port();
  const auto page = free_port();
  auto& job
    = run({"--standalone", "--nproc-per-node=2", "--max-restarts=1",
           option("--metrics-port", metrics), option("--dashboard-port", page),
           "--no-python", "sleep", "1000"});
  REQUIRE(eventually([&] {
    return http_client{metrics}.is_connected()
           && get(metrics, "/readyz").starts_with("HTTP/1.1 200 ");
  }));
  CHECK(get(metrics, "/readyz").ends_with("2 workers run in generation 1\n"));
  CHECK(get(metrics, "/healthz").starts_with("HTTP/1.1 200 "));
  const auto text = get(metrics, "/metrics");
  CHECK(has(text, "actorrun_job_phase{job_id="));
  CHECK(has(text, ",phase=\"running\"} 1\n"));
  CHECK(has(text, "actorrun_worker_memory_bytes{"));
  CHECK(has(text, ",actor=\"coordinator\"} 1\n"));
  const auto before = status_at(page);
  REQUIRE(before.is_object());
  ::kill(before["agents"][0]["workers"][1]["pid"].get<pid_t>(), SIGKILL);
  CHECK(eventually([&] {
    const auto now = status_at(page);
    return now.is_object() && now["restarts"] == 1 && now["phase"] == "running"
           && now["agents"][0]["workers"].size() == 2
           && now["agents"][0]["workers"][1]["pid"]
                != before["agents"][0]["workers"][1]["pid"];
  }));
  CHECK(eventually([&] {
    const auto now = get(metrics, "/metrics");
    const auto i = now.find("actorrun_job_restarts_total{");
    return i != std::string::npos && has(now.substr(i, 120), "} 1\n");
  }));
  const auto listening = read({"sh", "-c", "cat /proc/net/tcp /proc/net/tcp6"});
  for (const auto port : {metrics, page}) {
    auto hex = std::array<char, 16>{};
    std::snprintf(hex.data(), hex.size(), ":%04X", port);
    CHECK(has(listening, "0100007F" + std::string{hex.data()} + " 00000000"));
    CHECK_FALSE(has(listening, " 00000000" + std::string{hex.data()}
                                 + " 00000000:0000 0A"));
  }
  job.signal(SIGTERM);
  CHECK(job.wait() == 128 + SIGTERM);
}

TEST_CASE_METHOD(scene,
                 "http: a node without the coordinator serves its own metrics,"
                 " and a page of the whole job",
                 "[http]") {
  const auto first = free_port();
  const auto second = free_port();
  const auto page = free_port();
  agent({.more = {option("--metrics-port", first)}});
  agent({.more = {option("--metrics-port", second),
                  option("--dashboard-port", page)}});
  await_world(4);
  CHECK(eventually(
    [&] { return has(get(second, "/metrics"), "actorrun_worker_info{"); }));
  CHECK_FALSE(has(get(second, "/metrics"), "actorrun_job_"));
  const auto text = get(first, "/metrics");
  CHECK(has(text, "actorrun_job_world_size{job_id=\"job\"} 4\n"));
  CHECK(count_of(text, "actorrun_worker_info{") == 2);
  CHECK(count_of(text, "actorrun_job_node_connected{") == 2);
  CHECK(status_at(page)["agents"].size() == 2);
}

TEST_CASE_METHOD(scene,
                 "http: P14 a port that is taken is no reason not to train",
                 "[http]") {
  const auto port = free_port();
  auto& first = run({"--standalone", option("--metrics-port", port),
                     "--no-python", "sleep", "1000"});
  REQUIRE(eventually([&] { return http_client{port}.is_connected(); }));
  for (const auto* name : {"--dashboard-port", "--metrics-port"}) {
    auto& second
      = run({"--standalone", option(name, port), "--no-python", "true"});
    CHECK(second.wait() == 0);
    CHECK(
      has(second.output(), std::string{name} + ": another program listens on"));
    CHECK(has(second.output(), "the job goes on without that port"));
  }
  auto& third = run({"--standalone", "--no-python", "true"},
                    {{"TORCHELASTIC_HEALTH_CHECK_PORT", std::to_string(port)}});
  CHECK(third.wait() == 0);
  CHECK(has(third.output(), "TORCHELASTIC_HEALTH_CHECK_PORT: another program"));
  first.signal(SIGTERM);
  CHECK(first.wait() == 128 + SIGTERM);
}

TEST_CASE_METHOD(scene, "http: torchrun's variable asks for health alone",
                 "[http]") {
  const auto port = free_port();
  auto& job = run({"--standalone", "--no-python", "sleep", "1000"},
                  {{"TORCHELASTIC_HEALTH_CHECK_PORT", std::to_string(port)}});
  REQUIRE(eventually([&] { return http_client{port}.is_connected(); }));
  CHECK(get(port, "/healthz").starts_with("HTTP/1.1 200 "));
  CHECK(get(port, "/metrics").starts_with("HTTP/1.1 404 "));
  job.signal(SIGTERM);
  job.wait();
}

TEST_CASE_METHOD(scene, "http: without these options nothing more is loaded",
                 "[http]") {
  const auto port = free_port();
  auto& with = run({"--standalone", option("--metrics-port", port),
                    "--no-python", "sleep", "1000"});
  auto& without = run({"--standalone", "--no-python", "sleep", "1000"});
  REQUIRE(eventually([&] { return http_client{port}.is_connected(); }));
  REQUIRE(get(port, "/metrics").starts_with("HTTP/1.1 200 "));
  REQUIRE(eventually([&] { return library_count(without.pid()) > 5; }));
  CHECK(library_count(with.pid()) == library_count(without.pid()));
}

TEST_CASE_METHOD(scene,
                 "http: a worker's log and stack are for the job's user alone",
                 "[http]") {
  const auto port = free_port();
  run({"--standalone", "--nproc-per-node=2", "-r3",
       "--log-dir=" + folder() + "/logs", option("--dashboard-port", port),
       "--no-python", "sh", "-c",
       "echo I am $RANK; echo oh >&2; exec sleep 1000"});
  REQUIRE(eventually([&] { return http_client{port}.is_connected(); }));
  CHECK(eventually([&] {
    const auto log = get(port, "/log.json?rank=1");
    return has(log, "\"text\":\"I am 1\"") && has(log, "\"text\":\"oh\"")
           && !has(log, "I am 0");
  }));
  CHECK(has(get(port, "/stacks.json?rank=0"), "\"rank\":0"));
  CHECK(get(port, "/log.json?rank=2").starts_with("HTTP/1.1 404 "));
  if (::geteuid() != 0)
    return skip("root", "only root can become another user");
  const auto as_another = [&](const std::string& path) {
    return read(
      {"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "bash",
       "-c",
       "exec 3<>/dev/tcp/127.0.0.1/" + std::to_string(port) + "; printf 'GET "
         + path + " HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n' >&3; cat <&3"});
  };
  CHECK(as_another("/status.json").starts_with("HTTP/1.1 200 "));
  for (const auto* path :
       {"/log.json?rank=1&output=out", "/stacks.json?rank=1"}) {
    const auto reply = as_another(path);
    CHECK(reply.starts_with("HTTP/1.1 403 "));
    CHECK_FALSE(has(reply, "I am"));
  }
}

TEST_CASE_METHOD(scene, "http: a browser shows the workers of a job",
                 "[http]") {
  if (::access("/usr/bin/chromium", X_OK) != 0)
    return skip("chromium", "there is no chromium");
  const auto port = free_port();
  auto& job
    = run({"--standalone", "--nproc-per-node=2", "--max-restarts=1",
           option("--dashboard-port", port), "--no-python", "sleep", "1000"});
  REQUIRE(eventually([&] { return http_client{port}.is_connected(); }));
  const auto look = [&] {
    return read({"timeout", "60", "/usr/bin/chromium", "--headless",
                 "--no-sandbox", "--disable-gpu", "--disable-quic",
                 "--no-first-run", "--disable-background-networking",
                 "--disable-component-update", "--disable-sync",
                 "--user-data-dir=" + folder() + "/browser", "--dump-dom",
                 "http://127.0.0.1:" + std::to_string(port)});
  };
  auto before = json{};
  REQUIRE(eventually([&] {
    before = status_at(port);
    return before.is_object() && before["phase"] == "running"
           && before["agents"][0]["workers"].size() == 2;
  }));
  const auto pid = before["agents"][0]["workers"][1]["pid"].get<pid_t>();
  const auto shown = look();
  CHECK(has(shown, "rank 0"));
  CHECK(has(shown, ">" + std::to_string(pid) + "<"));
  CHECK(has(shown, " running<"));
  ::kill(pid, SIGKILL);
  CHECK(eventually([&] {
    const auto now = status_at(port);
    return now.is_object() && now["phase"] == "running" && now["restarts"] == 1;
  }));
  const auto later = look();
  CHECK_FALSE(has(later, ">" + std::to_string(pid) + "<"));
  CHECK(has(later, "Last failure: "));
  CHECK(has(later, "1 of 1"));
  job.signal(SIGTERM);
  job.wait();
}

} // namespace actorrun::test::http_test
