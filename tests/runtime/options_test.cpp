#include "actors/core/generation.hpp"
#include "runtime/options.hpp"
#include "tests/support/catch.hpp"

#include <functional>

namespace actorrun::test::options_test {

using namespace std::chrono_literals;

namespace {

job_options networked() {
  auto x = job_options{};
  x.rendezvous = endpoint{"node1", 29'400};
  x.agent_count_max = 4;
  return x;
}

agent_options running() {
  auto x = agent_options{};
  x.workers.command = {"true"};
  return x;
}

/// The verdict on options after a change: empty if they are valid.
std::string verdict(const std::function<void(job_options&)>& change) {
  auto x = networked();
  change(x);
  const auto ok = validate(x);
  if (ok)
    return "";
  CHECK(ok.error().code == errc::bad_argument);
  return ok.error().text;
}

std::string
verdict_on_agent(const std::function<void(agent_options&)>& change) {
  auto x = running();
  change(x);
  const auto ok = validate(x);
  if (ok)
    return "";
  CHECK(ok.error().code == errc::bad_argument);
  return ok.error().text;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("options: an endpoint is shown as it is typed", "[runtime]") {
  CHECK(to_string(endpoint{"node1", 5}) == "node1:5");
  CHECK(to_string(endpoint{"10.0.0.1"}) == "10.0.0.1:29400");
  CHECK(to_string(endpoint{"::1", 5}) == "[::1]:5");
}

TEST_CASE("options: hosts are names or addresses", "[runtime]") {
  for (const auto* host :
       {"a", "node-1.example.org", "n_1", "10.0.0.1", "::1", "fe80::1%eth0",
        "fe80::1%eth0.100", "node1.", "::ffff:10.0.0.1", "_", "1a", "0xg"}) {
    INFO(host);
    CHECK(is_host(host));
  }
  for (const auto* host : {"", "a b", "a/b", "[::1]", "n1%eth0", "fe80::1%",
                           "fe80::1%a%b", "%eth0", "a\n", ".", "a..b", ".a",
                           "-a", "a.-b", "a:b", ":::", "1:2", "a@b"}) {
    INFO(host);
    CHECK_FALSE(is_host(host));
  }
  CHECK(is_host(std::string(label_length_max, 'a')));
  CHECK_FALSE(is_host(std::string(label_length_max + 1, 'a')));
}

TEST_CASE("options: U14 a number is no name of a host", "[runtime]") {
  for (const auto* host :
       {"30000", "127.1", "10.0.0", "10.0.0.256", "1.2.3.4.5", "1.2.3.4.",
        "0x7f000001", "0X7F.1", "0x", "a.7", "010.0.0.1"}) {
    INFO(host);
    CHECK_FALSE(is_host(host));
  }
}

TEST_CASE("options: defaults are valid except for the command", "[runtime]") {
  CHECK(validate(job_options{}));
  CHECK_FALSE(validate(agent_options{}));
  CHECK(validate(networked()));
  CHECK(validate(running()));
}

TEST_CASE("options: node counts are bounded", "[runtime]") {
  const auto nodes = [](uint32_t min, uint32_t max) {
    return verdict([=](auto& x) {
      x.agent_count_min = min;
      x.agent_count_max = max;
    });
  };
  CHECK(nodes(1, 1).empty());
  CHECK(nodes(100'000, 100'000).empty());
  CHECK(has(nodes(0, 1), "the minimum of nodes is 0"));
  CHECK(has(nodes(3, 2), "the maximum of nodes is 2, not 3..100000"));
  CHECK(has(nodes(1, 100'001), "the maximum of nodes is 100001"));
  CHECK(has(nodes(100'001, 100'001), "the minimum of nodes"));
  CHECK(has(verdict([](auto& x) { x.rendezvous.reset(); }), "one node, not 4"));
}

TEST_CASE("options: job id and secret are bounded", "[runtime]") {
  const auto job = [](const std::string& id) {
    return verdict([&](auto& x) { x.job.value = id; });
  };
  CHECK(job(std::string(label_length_max, 'x')).empty());
  CHECK(has(job(std::string(label_length_max + 1, 'x')), "longer than 255"));
  CHECK(has(job(""), "the job id is empty"));
  CHECK(has(job("a\tb"), "control characters"));
  CHECK(has(job("a\xff"), "the job id is not UTF-8"));
  CHECK(job("ä").empty());
  const auto secret = [](size_t size) {
    return verdict([=](auto& x) { x.secret = std::string(size, 'x'); });
  };
  CHECK(secret(secret_length_max).empty());
  CHECK(has(secret(secret_length_max + 1), "longer than 4096"));
}

TEST_CASE("options: the endpoint is complete", "[runtime]") {
  CHECK(has(verdict([](auto& x) { x.rendezvous->port = 0; }), "port is 0"));
  CHECK(has(verdict([](auto& x) { x.rendezvous->host = "a b"; }), "\"a b\""));
  CHECK(has(verdict([](auto& x) { x.rendezvous->host = ""; }), "host"));
}

TEST_CASE("options: every timeout is positive and bounded", "[runtime]") {
  using t = core::timeouts;
  const std::pair<const char*, t::ms t::*> fields[] = {
    {"join_timeout", &t::join},
    {"last_call_timeout", &t::last_call},
    {"quiet_period", &t::quiet},
    {"join_settle", &t::join_settle},
    {"rejoin_backoff", &t::rejoin_backoff},
    {"read_timeout", &t::seek},
    {"heartbeat_timeout", &t::connect},
    {"close_timeout", &t::close},
    {"keep_alive_interval", &t::keep_alive_interval},
    {"fence_guard", &t::fence_guard},
  };
  for (const auto& [name, field] : fields) {
    const auto with = [to = field](t::ms value) {
      return verdict([=](auto& x) { x.timeouts.*to = value; });
    };
    CHECK(with(1ms).empty());
    // A successor waits for the longest lease that there can be.
    const auto is_of_lease
      = field == &t::keep_alive_interval || field == &t::fence_guard;
    CHECK(with(is_of_lease ? t::ms{30s} : timeout_max).empty());
    CHECK(has(with(timeout_max), name) == is_of_lease);
    for (const auto wrong : {t::ms{0}, t::ms{-1}, timeout_max + 1ms})
      CHECK(has(with(wrong), name));
  }
}

TEST_CASE("options: keep-alive attempts are bounded", "[runtime]") {
  const auto attempts = [](uint32_t n) {
    return verdict([=](auto& x) { x.timeouts.keep_alive_attempts = n; });
  };
  CHECK(attempts(1).empty());
  CHECK(attempts(keep_alive_attempts_max).empty());
  CHECK(has(attempts(0), "keep_alive_max_attempt"));
  CHECK(has(attempts(keep_alive_attempts_max + 1), "keep_alive_max_attempt"));
}

TEST_CASE("options: workers have a program, a role and slots", "[runtime]") {
  CHECK(has(verdict_on_agent([](auto& x) { x.workers.command.clear(); }),
            "no program"));
  CHECK(has(verdict_on_agent([](auto& x) {
              x.workers.command = {"", "a"};
            }),
            "no program"));
  CHECK(has(verdict_on_agent([](auto& x) { x.workers.role = "a\nb"; }),
            "the role"));
  CHECK(verdict_on_agent([](auto& x) { x.workers.role = ""; }).empty());
  const auto slots = [](uint32_t n) {
    return verdict_on_agent([=](auto& x) { x.workers.slot_count = n; });
  };
  CHECK(slots(1).empty());
  CHECK(slots(core::slots_per_agent_max).empty());
  CHECK(has(slots(0), "workers per node is 0"));
  CHECK(has(slots(core::slots_per_agent_max + 1), "workers per node"));
}

TEST_CASE("options: stopping has a signal and a grace period", "[runtime]") {
  const auto with_signal = [](int n) {
    return verdict_on_agent([=](auto& x) { x.workers.stop_signal = n; });
  };
  CHECK(with_signal(1).empty());
  CHECK(with_signal(64).empty());
  CHECK(has(with_signal(0), "stop signal"));
  CHECK(has(with_signal(65), "stop signal"));
  const auto grace = [](std::chrono::milliseconds span) {
    return verdict_on_agent([=](auto& x) { x.workers.grace_period = span; });
  };
  CHECK(grace(0ms).empty());
  CHECK(grace(timeout_max).empty());
  CHECK(has(grace(-1ms), "grace period"));
  CHECK(has(grace(timeout_max + 1ms), "grace period"));
  const auto timeout = [](std::chrono::milliseconds span) {
    return verdict_on_agent([=](auto& x) { x.workers.kill_timeout = span; });
  };
  CHECK(timeout(0ms).empty());
  CHECK(timeout(timeout_max).empty());
  CHECK(has(timeout(-1ms), "timeout after SIGKILL"));
  CHECK(has(timeout(timeout_max + 1ms), "timeout after SIGKILL"));
}

TEST_CASE("options: a local address may be left out", "[runtime]") {
  CHECK(verdict_on_agent([](auto& x) { x.local_address = "::1"; }).empty());
  CHECK(has(verdict_on_agent([](auto& x) { x.local_address = "a b"; }),
            "local address"));
}

TEST_CASE("options: local ranks of log options exist", "[runtime]") {
  using core::std_streams;
  const auto with = [](auto change) {
    return verdict_on_agent([&](auto& x) {
      x.workers.slot_count = 4;
      change(x.logs);
    });
  };
  for (uint32_t rank : {0u, 3u, 4u}) {
    const auto redirects
      = with([&](auto& x) { x.redirects.by_rank[rank] = std_streams::all; });
    const auto tees
      = with([&](auto& x) { x.tees.by_rank[rank] = std_streams::none; });
    const auto shown = with([&](auto& x) { x.shown_ranks = {0u, rank}; });
    if (rank < 4) {
      CHECK((redirects + tees + shown).empty());
      continue;
    }
    CHECK(redirects
          == "the redirects name local rank 4, and the workers of this node"
             " are 0..3");
    CHECK(has(tees, "the tees name local rank 4"));
    CHECK(has(shown, "the shown ranks name local rank 4"));
  }
  CHECK(with([](auto& x) { x.shown_ranks.emplace(); }).empty());
}

TEST_CASE("options: texts of log options are bounded", "[runtime]") {
  const auto with = [](auto change) {
    return verdict_on_agent([&](auto& x) { change(x.logs); });
  };
  const auto folder = [&](const std::string& path) {
    return with([&](auto& x) { x.folder = path; });
  };
  CHECK(folder(std::string(log_folder_length_max, 'x')).empty());
  CHECK(has(folder(std::string(log_folder_length_max + 1, 'x')),
            "the log folder is longer than 4095 bytes"));
  CHECK(folder("a\nb").empty()); // Odd, but a valid name.
  CHECK(has(folder(std::string{"a\0b", 3}), "the log folder has a"));
  const auto prefix = [&](const std::string& text) {
    return with([&](auto& x) { x.prefix_template = text; });
  };
  CHECK(prefix(std::string(prefix_template_length_max, 'x')).empty());
  CHECK(has(prefix(std::string(prefix_template_length_max + 1, 'x')),
            "the prefix template is longer than 1024"));
  CHECK(prefix("\x1b[1m${rank}\t").empty()); // Colour is allowed.
  for (const auto* text : {"a\n", "\r"})
    CHECK(has(prefix(text), "the prefix template has a line end"));
}

TEST_CASE("options: filters are bounded", "[runtime]") {
  const std::pair<const char*, std::vector<std::string> core::log_options::*>
    fields[] = {{"the filters of stdout", &core::log_options::stdout_filters},
                {"the filters of stderr", &core::log_options::stderr_filters}};
  for (const auto& [name, field] : fields) {
    const auto with = [to = field](const std::vector<std::string>& filters) {
      return verdict_on_agent([&](auto& x) { x.logs.*to = filters; });
    };
    const auto longest = std::string(filter_length_max, 'x');
    CHECK(with(std::vector<std::string>(filter_count_max, longest)).empty());
    CHECK(has(with(std::vector<std::string>(filter_count_max + 1, "x")), name));
    CHECK(has(with({"a", longest + "x"}), name));
    CHECK(has(with({"a", ""}), "is empty"));
    CHECK(has(with({"a\nb"}), "has a line end"));
  }
}

TEST_CASE("options: rotation is bounded", "[runtime]") {
  const auto size = [](uint64_t n) {
    return verdict_on_agent([=](auto& x) { x.logs.rotate_size = n; });
  };
  CHECK(size(0).empty());
  CHECK(size(core::rotate_size_min).empty());
  CHECK(size(rotate_size_max).empty());
  for (const auto n :
       {uint64_t{1}, core::rotate_size_min - 1, rotate_size_max + 1})
    CHECK(has(size(n), "the size to rotate at is " + std::to_string(n)));
  const auto keep = [](uint32_t n) {
    return verdict_on_agent([=](auto& x) { x.logs.rotate_keep = n; });
  };
  CHECK(keep(1).empty());
  CHECK(keep(core::rotate_keep_max).empty());
  CHECK(has(keep(0), "rotated files kept is 0"));
  CHECK(has(keep(core::rotate_keep_max + 1), "rotated files kept is 1001"));
}

TEST_CASE("options: the signals to handle are a label", "[runtime]") {
  const auto with = [](const std::string& text) {
    return verdict_on_agent([&](auto& x) { x.signals_to_handle = text; });
  };
  CHECK(with("").empty());
  CHECK(with(std::string(label_length_max, 'x')).empty());
  CHECK(has(with(std::string(label_length_max + 1, 'x')), "signals to handle"));
  CHECK(has(with("SIGTERM\n"), "signals to handle"));
}

TEST_CASE("options: the name of the program is a label", "[runtime]") {
  const auto with = [](const std::string& text) {
    return verdict_on_agent([&](auto& x) { x.entry_name = text; });
  };
  CHECK(with("").empty());
  CHECK(with(std::string(label_length_max, 'x')).empty());
  CHECK(has(with(std::string(label_length_max + 1, 'x')),
            "the name of the program"));
}

TEST_CASE("options: with virtual ranks there is a device for each worker",
          "[runtime]") {
  const auto with = [](bool is_virtual, size_t device_count) {
    return verdict_on_agent([&](auto& x) {
      x.workers.slot_count = 2;
      x.virtual_local_rank = is_virtual;
      x.visible_devices.assign(device_count, "0");
    });
  };
  CHECK(with(true, 0).empty()); // By number, or as inherited.
  CHECK(has(with(true, 1), "1 devices for 2 workers"));
  CHECK(with(true, 2).empty());
  CHECK(with(true, 3).empty());
  CHECK(with(false, 1).empty());
}

TEST_CASE("options: notices have a path and a command in bounds", "[runtime]") {
  const auto path = [](const std::string& text) {
    return verdict_on_agent([&](auto& x) { x.notices.file = text; });
  };
  CHECK(path(std::string(notice_path_length_max, 'x')).empty());
  CHECK(has(path(std::string(notice_path_length_max + 1, 'x')),
            "the path of the notice file is longer than"));
  CHECK(has(path(std::string{"a\0b", 3}), "the path of the notice file has"));
  const auto command = [](const std::string& text) {
    return verdict_on_agent([&](auto& x) { x.notices.command = text; });
  };
  CHECK(command(std::string(notice_command_length_max, 'x')).empty());
  CHECK(has(command(std::string(notice_command_length_max + 1, 'x')),
            "the notice command is longer than"));
  CHECK(has(command(std::string{"a\0b", 3}), "the notice command has"));
}

TEST_CASE("options: timers have a path and a watchdog in bounds", "[runtime]") {
  const auto path = [](const std::string& text) {
    return verdict_on_agent([&](auto& x) { x.timers.path = text; });
  };
  CHECK(path("").empty());
  CHECK(path(std::string(timer_path_length_max, 'x')).empty());
  CHECK(has(path(std::string(timer_path_length_max + 1, 'x')),
            "the path of the timer FIFO is longer than"));
  CHECK(has(path(std::string{"a\0b", 3}), "the path of the timer FIFO has"));
  const auto watchdog = [](std::chrono::milliseconds length) {
    return verdict_on_agent([=](auto& x) { x.timers.watchdog = length; });
  };
  CHECK(watchdog(0ms).empty());
  CHECK(watchdog(watchdog_min).empty());
  CHECK(watchdog(watchdog_max).empty());
  for (const auto length : {-1ms, 1ms, watchdog_min - 1ms, watchdog_max + 1ms})
    CHECK(has(watchdog(length),
              "the watchdog is " + std::to_string(length.count()) + " ms"));
}

TEST_CASE("options: T3 spares have no local rank before they have a place",
          "[runtime]") {
  const auto with = [](const std::function<void(agent_options&)>& change) {
    return verdict_on_agent([&](agent_options& x) {
      x.workers.spare_count = 2;
      change(x);
    });
  };
  CHECK(with([](auto&) {}).empty());
  CHECK(with([](auto& x) { x.workers.spare_count = 4'095; }).empty());
  CHECK(has(with([](auto& x) { x.workers.spare_count = 4'096; }),
            "the number of workers and spares per node is 4097, not 1..4096"));
  CHECK(has(with([](auto& x) { x.workers.spare_count = UINT32_MAX; }),
            "not 1..4096"));
  CHECK(
    has(with([](auto& x) { x.workers.command.push_back("--r=$local_rank"); }),
        "cannot have ${local_rank} in its arguments"));
  CHECK(has(with([](auto& x) { x.virtual_local_rank = true; }),
            "virtual local ranks"));
  CHECK(has(with([](auto& x) { x.binding = core::binding_mode::node; }),
            "bindings"));
  CHECK(has(with([](auto& x) { x.logs.shown_ranks.emplace({0U}); }),
            "filters of single local ranks"));
  CHECK(
    has(with([](auto& x) { x.logs.tees.by_rank[0] = core::std_streams::all; }),
        "filters of single local ranks"));
}

} // namespace actorrun::test::options_test
