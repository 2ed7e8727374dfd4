// A host program with an actor of its own, which gets a message every millisecond
// for SECONDS: `embedded_host SECONDS [PROGRAM [ARGUMENT…]]`. With a program, it has
// a job in the same actor system, of two such workers that are restarted without
// end. Prints how long the messages took to arrive, in nanoseconds: `P50 P99`.

#include "runtime/actorrun.hpp"
#include "tests/bench/moment.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace {

using namespace actorrun;
using namespace actorrun::bench;

constexpr std::chrono::milliseconds message_interval{1};

/// How long messages took to arrive. Thread-safe.
class latencies {
public:
  void add(int64_t x) {
    const auto lock = std::lock_guard{mutex_};
    values_.push_back(x);
    has_more_.notify_one();
  }

  /// Waits until there are so many, which it returns, the shortest first.
  std::vector<int64_t> take(size_t count) {
    auto lock = std::unique_lock{mutex_};
    has_more_.wait(lock, [&] { return values_.size() >= count; });
    auto out = std::exchange(values_, {});
    std::ranges::sort(out);
    return out;
  }

private:
  std::mutex mutex_;
  std::condition_variable has_more_;
  std::vector<int64_t> values_;
};

caf::behavior receiver(latencies& of) {
  return {[&of](int64_t sent) { of.add(stamp_now() - sent); }};
}

void measure(const caf::actor& host, latencies& of,
             std::chrono::seconds window) {
  auto count = size_t{0};
  const auto end = bench::clock::now() + window;
  for (auto next = bench::clock::now(); next < end; next += message_interval) {
    std::this_thread::sleep_until(next);
    tell_anonymously(host, stamp_now());
    ++count;
  }
  const auto found = of.take(count);
  std::cout << found[count / 2] << " " << found[count * 99 / 100] << std::endl;
}

result<std::unique_ptr<launcher>> start_job(caf::actor_system& system, int argc,
                                            char** argv) {
  auto job = job_options{};
  job.restart_count_max = 1'000'000;
  auto workers = agent_options{};
  workers.workers.command = {argv + 2, argv + argc};
  workers.workers.slot_count = 2;
  return launcher::start(system, job, workers, {});
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: embedded_host SECONDS [PROGRAM [ARGUMENT…]]\n";
    return 2;
  }
  caf::actor_system_config config;
  configure(config);
  caf::actor_system system{config};
  auto job = std::unique_ptr<launcher>{};
  if (argc > 2) {
    auto started = start_job(system, argc, argv);
    if (!started) {
      std::cerr << "embedded_host: " << started.error().text << "\n";
      return EXIT_FAILURE;
    }
    job = std::move(*started);
  }
  auto found = latencies{};
  const auto host = system.spawn([&] { return receiver(found); });
  measure(host, found, std::chrono::seconds{std::atoi(argv[1])});
  caf::anon_send_exit(host, caf::exit_reason::user_shutdown);
  system.await_actors_before_shutdown(false);
  return EXIT_SUCCESS;
}
