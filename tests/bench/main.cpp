// Measures the launcher next to its peers and limits: `actorrun_bench [--quick]
// [--soak=SECONDS] [--rows=FILE] [PART…]`. Numbers behind the part `hollow` say how
// many agents, `--restart` that their coordinator is killed and started again, and
// `--elect` that others elect another one; numbers behind `torchrun` say how many workers; `--rows` writes all rows to a file,
// as JSON. Exit code 1 if a measurement failed; a goal that is missed is a figure, not
// an error.

#include "tests/bench/parts/parts.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace actorrun::bench;

struct part {
  const char* name;
  measured (*measure)(setting&);
};

constexpr part parts[] = {
  {"launch", launch_part::measure},       {"restart", restart_part::measure},
  {"regroup", regroup_part::measure},     {"meeting", meet_part::measure},
  {"rest", rest_part::measure},           {"joins", join_part::measure},
  {"saturated", saturated_part::measure}, {"streams", streams_part::measure},
  {"report", report_part::measure},       {"timers", timers_part::measure},
  {"overruns", overruns_part::measure},   {"armed", armed_part::measure},
  {"soak", soak_part::measure},           {"torchrun", torchrun_part::measure},
  {"store", store_part::measure},         {"viewers", viewers_part::measure},
  {"hollow", hollow_part::measure},       {"hosts", hosts_part::measure},
  {"embedded", embedded_part::measure},   {"live", live_part::measure},
};

bool is_part(const std::string& name) {
  return std::any_of(std::begin(parts), std::end(parts),
                     [&](const part& x) { return x.name == name; });
}

/// Longest soak, in seconds: a day.
constexpr long soak_seconds_max = 86'400;

/// Of hollow agents.
constexpr long hollow_count_max = 100'000;

/// Of workers beside torchrun, which takes seconds for that many.
constexpr long torchrun_count_max = 1'000;

constexpr std::string_view soak_option = "--soak=";
constexpr std::string_view rows_option = "--rows=";

/// The parsed command line.
struct request {
  bool quick = false;
  long soak_seconds = 0; ///< 0 means the default.
  std::vector<std::string> chosen;
  std::vector<uint32_t> hollow_counts;   ///< Empty means the default.
  std::vector<uint32_t> torchrun_counts; ///< Likewise.
  bool restarts_hollow = false;
  bool elects_hollow = false;
  std::string rows_file; ///< Empty: none.
};

int run(const request& x) {
  auto s = setting::prepare(x.quick);
  if (!s) {
    std::fprintf(stderr, "actorrun_bench: %s\n", s.error().text.c_str());
    return EXIT_FAILURE;
  }
  if (x.soak_seconds > 0)
    s->set_soak_window(std::chrono::seconds{x.soak_seconds});
  if (!x.hollow_counts.empty())
    s->set_hollow_counts(x.hollow_counts);
  if (!x.torchrun_counts.empty())
    s->set_torchrun_counts(x.torchrun_counts);
  if (x.restarts_hollow)
    s->restart_hollow();
  if (x.elects_hollow)
    s->elect_hollow();
  print_heading();
  if (!s->hydra())
    print_note("no Hydra", "mpiexec.hydra is not there; install mpich");
  auto failures = std::vector<std::string>{};
  for (const auto& part : parts) {
    if (!x.chosen.empty()
        && std::find(x.chosen.begin(), x.chosen.end(), part.name)
             == x.chosen.end())
      continue;
    if (const auto done = part.measure(*s); !done) {
      const auto what = std::string{part.name} + " could not be measured";
      print_note(what, done.error().text);
      failures.push_back(what + ": " + done.error().text);
    }
  }
  if (!x.rows_file.empty()
      && !(std::ofstream{x.rows_file} << printed_rows() << '\n').flush())
    failures.push_back("cannot write " + x.rows_file);
  // Once more at the end, where a log that was cut still shows it.
  for (const auto& why : failures)
    std::fprintf(stderr, "actorrun_bench: %s\n", why.c_str());
  return failures.empty() ? EXIT_SUCCESS : EXIT_FAILURE;
}

/// Adds the number of a part's command line, from `min` to `max`.
bool take_count(const std::string& word, const char* of, long min, long max,
                std::vector<uint32_t>& to) {
  const auto count = std::strtol(word.c_str(), nullptr, 10);
  if (count < min || count > max) {
    std::fprintf(stderr, "actorrun_bench: %s: not %ld..%ld %s\n", word.c_str(),
                 min, max, of);
    return false;
  }
  to.push_back(static_cast<uint32_t>(count));
  return true;
}

// Returns the error in a word of the command line, if there is one.
bool take(const std::string& word, request& to) {
  if (word == "--quick") {
    to.quick = true;
    return true;
  }
  if (word == "--restart") {
    to.restarts_hollow = true;
    return true;
  }
  if (word == "--elect") {
    to.elects_hollow = true;
    return true;
  }
  if (word.starts_with(rows_option)) {
    to.rows_file = word.substr(rows_option.size());
    return true;
  }
  if (is_part(word)) {
    to.chosen.push_back(word);
    return true;
  }
  if (!to.chosen.empty()
      && word.find_first_not_of("0123456789") == std::string::npos) {
    if (to.chosen.back() == "hollow")
      return take_count(word, "agents", 2, hollow_count_max, to.hollow_counts);
    if (to.chosen.back() == "torchrun")
      return take_count(word, "workers", 1, torchrun_count_max,
                        to.torchrun_counts);
  }
  if (word.starts_with(soak_option)) {
    char* end = nullptr;
    to.soak_seconds = std::strtol(word.c_str() + soak_option.size(), &end, 10);
    if (*end == 0 && to.soak_seconds > 0 && to.soak_seconds <= soak_seconds_max)
      return true;
    std::fprintf(stderr, "actorrun_bench: %s: not 1..%ld seconds\n",
                 word.c_str(), soak_seconds_max);
    return false;
  }
  std::fprintf(stderr, "actorrun_bench: there is no part '%s'\n", word.c_str());
  return false;
}

} // namespace

int main(int argc, char** argv) {
  auto x = request{};
  for (auto i = 1; i < argc; ++i)
    if (!take(argv[i], x))
      return 2;
  return run(x);
}
