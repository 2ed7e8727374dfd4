#include "runtime/http/page.hpp"
#include "runtime/http/ports.hpp"
#include "runtime/os/socket.hpp"
#include "tests/runtime/deadline.hpp"
#include "tests/runtime/http/client.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/log_lines.hpp"

#include <nlohmann/json.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace actorrun::test::ports_test {

using namespace actorrun::detail;
using namespace actorrun::detail::test;
using namespace std::chrono_literals;
using test_deadline::soon;

namespace {

const auto any_port = endpoint{"127.0.0.1", 0};

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// A job whose status the test sets, behind one port for metrics and one for the
/// page.
struct ports_fixture {
  ports_fixture() {
    status.set_job_id("j");
    status.set_phase("running");
    auto& agent = *status.add_agents();
    agent.set_agent_id("n1-1");
    agent.set_host("n1");
    agent.set_connected(true);
    agent.set_share(v1::SHARE_RUNNING);
    agent.set_slot_count(1);
    agent.add_pids(4711);
    auto options = http_options{};
    options.metrics = any_port;
    options.page = any_port;
    auto opened = http_ports::open(options, {});
    REQUIRE(opened);
    uut.emplace(std::move(*opened));
    serve();
    metrics_port = uut->ports().at(0);
    page_port = uut->ports().at(1);
  }

  void serve() {
    uut->serve({.job_id = "j",
                .host = "n1.example.org",
                .ask_job = [this](operator_question x) { answer(x); },
                .ask_node = [this](operator_question x) { answer(x); },
                .has_coordinator = [] { return true; },
                .limits = {.answer = 100ms, .lost = 200ms}});
  }

  void answer(const operator_question& x) {
    ++question_count;
    if (is_silent)
      return;
    auto reply = v1::OperatorReply{};
    if (x.what.has_logs()) {
      reply.mutable_logs()->add_lines()->set_text("a line");
      reply.mutable_logs()->set_is_end(true);
    } else if (x.what.has_stacks()) {
      reply.mutable_stacks()->add_workers()->set_source("kernel");
    } else {
      const auto lock = std::lock_guard{mutex};
      *reply.mutable_status() = status;
    }
    x.reply(std::move(reply));
  }

  void change(const std::function<void(v1::JobStatus&)>& fn) {
    const auto lock = std::lock_guard{mutex};
    fn(status);
  }

  std::string get(uint16_t port, const std::string& path,
                  const std::string& host = "localhost") {
    auto client = http_client{port};
    client.get(path, host);
    return client.read_reply();
  }

  std::mutex mutex;
  v1::JobStatus status;
  std::atomic<bool> is_silent = false;
  std::atomic<int> question_count = 0;
  std::optional<http_ports> uut;
  uint16_t metrics_port = 0;
  uint16_t page_port = 0;
};

} // namespace

TEST_CASE_METHOD(ports_fixture, "http ports: metrics and health are served",
                 "[runtime]") {
  const auto metrics = get(metrics_port, "/metrics");
  CHECK(metrics.starts_with("HTTP/1.1 200 "));
  CHECK(has(metrics, "text/plain; version=0.0.4"));
  CHECK(has(metrics, "actorrun_job_generation{job_id=\"j\"} 0\n"));
  CHECK(has(metrics,
            "actorrun_node_workers{job_id=\"j\",host=\"n1.example.org\"} 1\n"));
  CHECK(get(metrics_port, "/healthz").starts_with("HTTP/1.1 200 "));
  CHECK(get(metrics_port, "/readyz").starts_with("HTTP/1.1 200 "));
  CHECK(get(metrics_port, "/").starts_with("HTTP/1.1 404 "));
  CHECK(get(page_port, "/metrics").starts_with("HTTP/1.1 404 "));
}

TEST_CASE_METHOD(ports_fixture,
                 "http ports: a hundred scrapes cost a question or two",
                 "[runtime]") {
  for (auto i = 0; i < 100; ++i)
    CHECK(get(metrics_port, "/metrics").starts_with("HTTP/1.1 200 "));
  CHECK(question_count < 60); // Of both kinds; a second may pass meanwhile.
}

TEST_CASE_METHOD(ports_fixture,
                 "http ports: health fails while the actor is silent, and"
                 " readiness while no worker runs",
                 "[runtime]") {
  change([](auto& x) { x.mutable_agents(0)->set_share(v1::SHARE_STOPPING); });
  CHECK(get(metrics_port, "/healthz").starts_with("HTTP/1.1 200 "));
  const auto reply = get(metrics_port, "/readyz");
  CHECK(reply.starts_with("HTTP/1.1 503 "));
  CHECK(reply.ends_with("the workers of this node are being stopped\n"));
  is_silent = true;
  CHECK(soon([this] {
    return get(metrics_port, "/healthz").starts_with("HTTP/1.1 503 ");
  }));
  CHECK(get(metrics_port, "/readyz").starts_with("HTTP/1.1 503 "));
  const auto metrics = get(metrics_port, "/metrics");
  CHECK(has(metrics, "actor=\"agent\"} 0\n"));
  is_silent = false;
  CHECK(soon([this] {
    return get(metrics_port, "/healthz").starts_with("HTTP/1.1 200 ");
  }));
}

TEST_CASE_METHOD(ports_fixture,
                 "http ports: the page is one document, and runs nothing else",
                 "[runtime]") {
  change([](auto& x) { x.set_waiting_for("</script><script>alert(1)"); });
  const auto page = get(page_port, "/");
  CHECK(page.starts_with("HTTP/1.1 200 "));
  CHECK(has(page, "Content-Security-Policy: default-src 'none'; script-src "
                  "'sha256-"));
  CHECK(has(page, "frame-ancestors 'none'"));
  CHECK_FALSE(has(page, "unsafe"));
  const auto body = page.substr(page.find("\r\n\r\n"));
  CHECK(has(body, "\"pid\":4711")); // The first status.
  CHECK(has(body, "\\u003c/script>"));
  CHECK(has(body, "</html>"));
  CHECK_FALSE(has(body, "page.css"));
  CHECK_FALSE(has(body, "page.js"));
  CHECK_FALSE(has(body, "<script>alert"));
  CHECK_FALSE(has(body, "/* status */"));
  for (const auto* x :
       {"http://", "https://", "src=", "@import", "innerHTML", "outerHTML",
        "insertAdjacent", "document.write", "eval", " style=", "onclick="}) {
    INFO(x);
    CHECK_FALSE(has(body, x));
  }
}

TEST_CASE_METHOD(ports_fixture,
                 "http ports: the page gets what actorctl status --json prints",
                 "[runtime]") {
  const auto reply = get(page_port, "/status.json");
  CHECK(has(reply, "application/json"));
  const auto document
    = nlohmann::json::parse(reply.substr(reply.find("\r\n\r\n")));
  CHECK(document["jobs"][0]["agents"][0]["workers"][0]["pid"] == 4711);
}

TEST_CASE_METHOD(ports_fixture,
                 "http ports: a name that a foreign site has chosen is refused",
                 "[runtime]") {
  for (const auto* path : {"/", "/events", "/status.json"})
    CHECK(get(page_port, path, "evil.example").starts_with("HTTP/1.1 421 "));
  CHECK(get(metrics_port, "/metrics", "evil.example:80")
          .starts_with("HTTP/1.1 421 "));
  CHECK(get(page_port, "http://evil.example/", "localhost")
          .starts_with("HTTP/1.1 421 "));
  CHECK(get(page_port, "/", "n1:80").starts_with("HTTP/1.1 200 "));
  CHECK(get(page_port, "http://n1/", "n1").starts_with("HTTP/1.1 200 "));
}

TEST_CASE_METHOD(ports_fixture,
                 "http ports: where the page shares a port with metrics, those "
                 "may be asked for under any name",
                 "[runtime]") {
  const auto free_port = [] {
    const auto x = open_listening(*numeric_address("0.0.0.0", 0));
    return port_of(*local_address_of(x->get()));
  }();
  auto options = http_options{};
  options.metrics = options.page = endpoint{"0.0.0.0", free_port};
  auto opened = http_ports::open(options, {});
  REQUIRE(opened);
  uut.emplace(std::move(*opened));
  serve();
  for (const auto* path : {"/metrics", "/healthz", "/readyz"})
    CHECK(get(free_port, path, "metrics.example").starts_with("HTTP/1.1 200 "));
  CHECK(get(free_port, "/", "metrics.example").starts_with("HTTP/1.1 421 "));
}

TEST_CASE_METHOD(ports_fixture,
                 "http ports: a probe of HTTP/1.0 need not name a host",
                 "[runtime]") {
  auto probe = http_client{metrics_port};
  probe.send("GET /healthz HTTP/1.0\r\n\r\n");
  CHECK(probe.read_reply().starts_with("HTTP/1.1 200 "));
  CHECK(probe.is_closed());
}

TEST_CASE_METHOD(
  ports_fixture,
  "http ports: an open page gets each change, and ages in between",
  "[runtime]") {
  auto page = http_client{page_port};
  page.get("/events");
  CHECK(has(page.read_to("\n\n"), "text/event-stream"));
  // The head ends as an event does.
  const auto first = page.read_to("\n\n");
  CHECK(first.starts_with("event: status\ndata: {"));
  CHECK(has(first, "4711"));
  change([](auto& x) { x.mutable_agents(0)->set_pids(0, 4712); });
  auto text = std::string{};
  while (!has(text, "4712")) {
    text = page.read_to("\n\n");
    REQUIRE(!text.empty());
  }
  CHECK(page.read_to("\n\n").starts_with("event: status\n")); // After 1 s.
  is_silent = true;
  while (!text.starts_with("event: trouble")) {
    text = page.read_to("\n\n");
    REQUIRE(!text.empty());
  }
  is_silent = false;
  while (!text.starts_with("event: status")) {
    text = page.read_to("\n\n");
    REQUIRE(!text.empty());
  }
}

TEST_CASE_METHOD(ports_fixture,
                 "http ports: a hundred pages are served or told to come back",
                 "[runtime]") {
  auto pages = std::vector<std::unique_ptr<http_client>>{};
  auto served = 0;
  auto refused = 0;
  for (auto i = 0; i < 100; ++i) {
    pages.push_back(std::make_unique<http_client>(page_port));
    pages.back()->get("/events");
    const auto head = pages.back()->read_to("\r\n\r\n");
    served += head.starts_with("HTTP/1.1 200 ");
    refused += head.starts_with("HTTP/1.1 503 ");
  }
  CHECK(served == static_cast<int>(http_limits{}.stream_count));
  CHECK(served + refused == 100);
  CHECK(get(page_port, "/status.json").starts_with("HTTP/1.1 200 "));
}

TEST_CASE("http ports: a port that is taken is named with its option",
          "[runtime]") {
  const auto held = open_listening(*numeric_address("127.0.0.1", 0));
  REQUIRE(held);
  const auto taken
    = endpoint{"127.0.0.1", port_of(*local_address_of(held->get()))};
  const auto lines = actorrun::test::log_lines{};
  CHECK(http_ports::open({.metrics = taken, .page = taken, .health = taken},
                         lines.writer()));
  const auto told = lines.told();
  for (const auto* name :
       {"--metrics-port", "--dashboard-port", "TORCHELASTIC_HEALTH_CHECK_PORT"})
    CHECK(told.find(std::string{name} + ": another program") != told.npos);
  const auto elsewhere
    = http_ports::open({.metrics = endpoint{"192.0.2.1", 9400}}, {});
  REQUIRE_FALSE(elsewhere);
  CHECK(elsewhere.error().text.starts_with("--metrics-port: "));
}

TEST_CASE("http ports: what is at the same address shares a port",
          "[runtime]") {
  auto free = open_listening(*numeric_address("127.0.0.1", 0));
  REQUIRE(free);
  const auto where
    = endpoint{"127.0.0.1", port_of(*local_address_of(free->get()))};
  free->reset();
  const auto uut
    = http_ports::open({.metrics = where, .page = where, .health = where}, {});
  REQUIRE(uut);
  CHECK(uut->ports() == std::vector<uint16_t>{where.port});
}

// That others get nothing is seen by `system_http`, which runs as another user.
TEST_CASE_METHOD(ports_fixture,
                 "http ports: the page's user can read logs and stacks",
                 "[runtime]") {
  const auto log = get(page_port, "/log.json?rank=0");
  CHECK(log.starts_with("HTTP/1.1 200 "));
  CHECK(has(log, "a line"));
  CHECK(has(get(page_port, "/stacks.json?rank=0"), "kernel"));
  CHECK(get(page_port, "/log.json").starts_with("HTTP/1.1 400 "));
  CHECK(get(metrics_port, "/log.json?rank=0").starts_with("HTTP/1.1 404 "));
}

} // namespace actorrun::test::ports_test
