// A timer server with a FIFO in memory, in virtual time, and its clients.
#pragma once

#include "actors/timer_server.hpp"
#include "tests/support/actor_fixture.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_timer_source.hpp"
#include "tests/support/log_lines.hpp"
#include "tests/support/recorder.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace actorrun::test {

/// The wall clock shows the virtual time of the test, from 1,000,000 s on.
/// Workers of generation G have the pids 100 · G + local rank.
struct timer_server_fixture : actor_fixture {
  timer_server_fixture() {
    // Cancels the arbitrary time at which `self->clock()` begins.
    source->offset
      = wall_begin - core::duration{here_.now().time_since_epoch()};
  }

  void begin() { begin(config()); }

  void begin(timer_server_config with) {
    uut = keep(spawn_timer_server(system, std::move(with)));
    supervisor = keep(system.spawn(
      [heard = heard, latest = latest_overrun](overrun_listener_actor::pointer)
        -> overrun_listener_actor::behavior_type {
        return {[heard, latest](const worker_overrun& x) {
          *latest = x.what;
          heard.write(
            to_string(core::timer_effect{core::report_overrun{x.what}}));
        }};
      }));
    run();
  }

  timer_server_config config() {
    auto out = timer_server_config{};
    out.source = source;
    out.notices = notices;
    out.members = members;
    out.watchdog = 30s;
    out.lines = said_.writer(log_level::info);
    return out;
  }

  // -- workers ----------------------------------------------------------------

  static int64_t pid_of(uint64_t generation, uint32_t local_rank) {
    return int64_t(100 * generation + local_rank);
  }

  void start_worker(uint64_t generation, uint32_t local_rank) {
    start_worker(generation, local_rank, pid_of(generation, local_rank));
  }

  void start_worker(uint64_t generation, uint32_t local_rank, int64_t pid) {
    tell_uut(workers_timed{{generation}, {{local_rank, pid}}, supervisor});
  }

  void end_worker(uint64_t generation, uint32_t local_rank) {
    tell_uut(workers_untimed{{generation},
                             {{local_rank, pid_of(generation, local_rank)}}});
  }

  /// It waits for the next generation.
  void park_worker(uint64_t generation, uint32_t local_rank) {
    tell_uut(workers_untimed{
      {generation}, {{local_rank, pid_of(generation, local_rank)}}, true});
  }

  template <class Message>
  void tell_uut(Message x) {
    tell_anonymously(uut, std::move(x));
    run();
  }

  // -- lines ------------------------------------------------------------------

  std::string line(int64_t pid, const std::string& scope, double expiration,
                   int signal) const {
    return R"({"version": 1, "pid": )" + std::to_string(pid)
           + R"(, "scope_id": ")" + scope + R"(", "expiration_time": )"
           + std::to_string(expiration) + R"(, "signal": )"
           + std::to_string(signal) + "}\n";
  }

  /// A timer that expires `after` from now.
  std::string acquire(int64_t pid, const std::string& scope,
                      core::duration after, int signal = 9) {
    const auto wall = wall_begin + now() + after;
    return line(pid, scope, std::chrono::duration<double>(wall).count(),
                signal);
  }

  std::string release(int64_t pid, const std::string& scope) const {
    return line(pid, scope, -1, 0);
  }

  void write(const std::string& text) {
    source->write(text);
    run();
  }

  void notify(int64_t sender, const std::string& text) {
    notices->send(sender, text);
    run();
  }

  // -- results ----------------------------------------------------------------

  /// Number of delayed messages that are pending.
  size_t armed_count() { return here_.pending_count(); }

  /// What the supervisor received since the last call: `report_overrun …`.
  std::string told() const { return heard.told(); }

  timer_figures figures() {
    auto out = std::make_shared<timer_figures>();
    keep(system.spawn([to = uut, out](caf::event_based_actor* self) {
      ask(self, to, 60s, timer_question{}).then([out](const timer_figures& x) {
        *out = x;
      });
      return caf::behavior{};
    }));
    run();
    return *out;
  }

  /// The server's log lines since the last call.
  std::string said() { return said_.told(); }

  static constexpr core::duration wall_begin = 1'000'000s;

  std::shared_ptr<fake_timer_source> source
    = std::make_shared<fake_timer_source>();
  std::shared_ptr<fake_notice_source> notices
    = std::make_shared<fake_notice_source>();
  std::shared_ptr<fake_session_members> members
    = std::make_shared<fake_session_members>();
  recorder heard;
  std::shared_ptr<core::overrun> latest_overrun
    = std::make_shared<core::overrun>();
  overrun_listener_actor supervisor;
  timer_server_actor uut;

private:
  log_lines said_;
};

} // namespace actorrun::test
