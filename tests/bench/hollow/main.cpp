// Hollow agents of one job in one process: `hollow_agents HOST PORT JOB MIN MAX
// FIRST COUNT MORTAL [elect]`. They are FIRST..FIRST+COUNT-1 of MIN..MAX nodes, and
// the first MORTAL of them can die: one does at each SIGUSR1, with a proof. With
// `elect` others may follow the coordinator. SIGTERM ends the process. Prints, with CLOCK_MONOTONIC in nanoseconds:
//
//     joined COUNT AT            all of them have been accepted, each once more
//     formed GENERATION COUNT AT      all of them that live have got their plan
//     died LEFT AT               one has died
//     fenced TIMES               another agent would have killed its workers
//     trouble TIMES TEXT         no link, or a lost one; the first, and some others

#include "messages/formatted.hpp"
#include "runtime/network/keys.hpp"
#include "runtime/network/presence.hpp"
#include "runtime/program_support.hpp"
#include "tests/bench/hollow/agent.hpp"
#include "tests/bench/moment.hpp"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <pthread.h>

namespace {

using namespace actorrun;
using namespace actorrun::bench;

constexpr auto argument_count = 9;

/// Troubles are printed whenever their number has doubled.
constexpr bool is_power_of_two(uint64_t x) {
  return (x & (x - 1)) == 0;
}

/// Everything but the constructor runs on the reactor's thread.
class crowd {
public:
  crowd(detail::reactor& home, hollow_job of, uint32_t first, uint32_t count,
        uint32_t mortal)
    : home_(home), of_(std::move(of)), first_(first), count_(count),
      mortal_(mortal) {}

  void start() {
    for (uint32_t i = 0; i < count_; ++i) {
      living_.push_back(std::make_unique<hollow_agent>(
        home_, of_, listener_, first_ + i, i < mortal_));
      living_.back()->start();
    }
  }

  void kill_one() {
    if (dead_.size() == mortal_)
      return;
    dead_.push_back(std::move(living_[dead_.size()]));
    dead_.back()->die();
    --count_;
    say(formatted("died {} {}", count_, stamp_now()));
  }

  void end() {
    living_.clear();
    dead_.clear();
  }

private:
  static void say(const std::string& line) {
    std::puts(line.c_str());
    std::fflush(stdout);
  }

  detail::reactor& home_;
  hollow_job of_;
  uint32_t first_;
  uint32_t count_; ///< That live.
  uint32_t mortal_;
  std::map<uint32_t, uint32_t> accepted_; ///< Agents, by how often.
  std::map<generation_id, uint32_t> formed_;
  uint64_t fenced_ = 0;
  uint64_t troubles_ = 0;
  hollow_listener listener_{
    .on_accepted =
      [this](uint32_t times) {
        if (++accepted_[times] == count_)
          say(formatted("joined {} {}", count_, stamp_now()));
      },
    .on_formed =
      [this](generation_id x) {
        if (++formed_[x] == count_)
          say(formatted("formed {} {} {}", x.value, count_, stamp_now()));
      },
    .on_fenced =
      [this] {
        if (is_power_of_two(++fenced_))
          say(formatted("fenced {}", fenced_));
      },
    .on_trouble =
      [this](const std::string& what) {
        if (is_power_of_two(++troubles_))
          say(formatted("trouble {} {}", troubles_, what));
      }};
  std::vector<std::unique_ptr<hollow_agent>> living_;
  std::vector<std::unique_ptr<hollow_agent>> dead_;
};

uint32_t number(const char* text) {
  return static_cast<uint32_t>(std::strtoul(text, nullptr, 10));
}

} // namespace

int main(int argc, char** argv) {
  const auto elects = argc == argument_count + 1
                      && std::string_view{argv[argument_count]} == "elect";
  if (argc != argument_count && !elects) {
    std::fprintf(stderr, "usage: hollow_agents HOST PORT JOB MIN MAX FIRST "
                         "COUNT MORTAL [elect]\n");
    return 2;
  }
  prepare_descriptors(0);
  auto signals = sigset_t{};
  for (const auto x : {SIGUSR1, SIGTERM, SIGINT})
    ::sigaddset(&signals, x);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  auto settings = core::job_settings{.agent_count_min = number(argv[4]),
                                     .agent_count_max = number(argv[5])};
  auto limits = core::timeouts{};
  limits.seek = std::chrono::minutes{5};
  limits.seek_is_given = true;
  limits = core::fitted(limits, settings.agent_count_max);
  if (elects)
    settings.lease
      = std::chrono::floor<std::chrono::milliseconds>(limits.lease());
  // Or a coordinator that is started again would take itself for the first one.
  const auto mine = detail::credentials_of({argv[3]}, "");
  const auto presence = detail::open_presence(
    mine.fingerprint, {formatted("hollow-{}", argv[6])});
  if (!presence) {
    std::fprintf(stderr, "%s\n", presence.error().text.c_str());
    return EXIT_FAILURE;
  }
  auto home = detail::reactor{};
  auto all = crowd{home,
                   {.where = {argv[1], static_cast<uint16_t>(number(argv[2]))},
                    .mine = mine,
                    .settings = settings,
                    .limits = limits},
                   number(argv[6]),
                   number(argv[7]),
                   number(argv[8])};
  home.post([&] { all.start(); });
  for (auto which = SIGUSR1; which == SIGUSR1;) {
    ::sigwait(&signals, &which);
    if (which == SIGUSR1)
      home.post([&] { all.kill_one(); });
  }
  detail::run_and_wait(home, [&] { all.end(); });
  return EXIT_SUCCESS;
}
