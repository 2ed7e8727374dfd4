// A CLIENT of the host, in a process of its own, without actorrun: it asks all the
// time how large the jobs are, and says how long the answers took.
//
// usage: embed PROGRAM [ARGUMENT…] | embed_client

#include "directory.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/io/middleman.hpp>
#include <caf/scoped_actor.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <vector>

#include <poll.h>

using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

namespace {

constexpr auto answer_limit = 5s;

bool is_line_there(std::chrono::milliseconds limit) {
  auto input = pollfd{0, POLLIN, 0};
  return std::cin.rdbuf()->in_avail() > 0
         || ::poll(&input, 1, static_cast<int>(limit.count())) > 0;
}

// The host's lines come from standard input; `end` is the last one.
bool pass_line_on() {
  auto line = std::string{};
  if (!std::getline(std::cin, line) || line == "end")
    return false;
  std::cout << line << std::endl;
  return true;
}

double part_of(const std::vector<double>& sorted, double share) {
  if (sorted.empty())
    return 0;
  return sorted[static_cast<size_t>(share
                                    * static_cast<double>(sorted.size() - 1))];
}

int ask_all_the_time(caf::actor_system& system, uint16_t port) {
  const auto host = system.middleman().remote_actor("127.0.0.1", port);
  if (!host) {
    std::cerr << "embed_client: nothing answers at port " << port << "\n";
    return 1;
  }
  auto self = caf::scoped_actor{system};
  auto times = std::vector<double>{};
  auto is_lost = false;
  while (!is_lost && (!is_line_there(1ms) || pass_line_on())) {
    const auto began = clock_type::now();
    ask(self, *host, answer_limit, lookup{"left"})
      .receive([](const placement&) {},
               [&](const caf::error&) { is_lost = true; });
    times.push_back(
      std::chrono::duration<double, std::micro>(clock_type::now() - began)
        .count());
  }
  // Once it has said so, it may end.
  while (is_lost && pass_line_on()) {
  }
  if (is_lost && !std::cin) {
    std::cerr << "embed_client: the host is gone\n";
    return 1;
  }
  std::sort(times.begin(), times.end());
  std::printf("%zu lookups; median %.0f us, p99 %.0f us\n", times.size(),
              part_of(times, 0.5), part_of(times, 0.99));
  return 0;
}

} // namespace

int main() {
  auto word = std::string{};
  auto port = uint16_t{0};
  if (!(std::cin >> word >> port) || word != "port" || std::cin.get() != '\n') {
    std::cerr << "usage: embed PROGRAM [ARGUMENT...] | embed_client\n";
    return 2;
  }
  caf::actor_system_config config;
  register_own_types(config);
  config.load<caf::io::middleman>();
  caf::actor_system system{config};
  return ask_all_the_time(system, port);
}
