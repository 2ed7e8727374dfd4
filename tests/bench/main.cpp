// Measures the launcher beside its peers and limits: `actorrun_bench [--quick]
// [PART…]`. Exit code 1 if something could not be measured; a goal that is
// missed is a figure, not an error.

#include "parts.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using namespace actorrun::bench;

struct part {
  const char* name;
  measured (*measure)(setting&);
};

constexpr part parts[] = {
  {"launch", measure_launch},       {"restart", measure_restart},
  {"regroup", measure_regroup},     {"meeting", measure_meeting},
  {"rest", measure_rest},           {"joins", measure_joins},
  {"saturated", measure_saturated}, {"streams", measure_streams},
  {"report", measure_report},
};

bool is_part(const std::string& name) {
  return std::any_of(std::begin(parts), std::end(parts),
                     [&](const part& x) { return x.name == name; });
}

int run(bool quick, const std::vector<std::string>& chosen) {
  auto s = setting::prepare(quick);
  if (!s) {
    std::fprintf(stderr, "actorrun_bench: %s\n", s.error().text.c_str());
    return EXIT_FAILURE;
  }
  if (!s->hydra())
    print_note("no peer", "mpiexec.hydra is not there; install mpich");
  print_heading();
  auto code = EXIT_SUCCESS;
  for (const auto& x : parts) {
    if (!chosen.empty()
        && std::find(chosen.begin(), chosen.end(), x.name) == chosen.end())
      continue;
    if (const auto done = x.measure(*s); !done) {
      print_note(std::string{x.name} + " could not be measured",
                 done.error().text);
      code = EXIT_FAILURE;
    }
  }
  return code;
}

} // namespace

int main(int argc, char** argv) {
  auto quick = false;
  auto chosen = std::vector<std::string>{};
  for (auto i = 1; i < argc; ++i) {
    const auto word = std::string{argv[i]};
    if (word == "--quick") {
      quick = true;
    } else if (is_part(word)) {
      chosen.push_back(word);
    } else {
      std::fprintf(stderr, "actorrun_bench: there is no part '%s'\n",
                   word.c_str());
      return 2;
    }
  }
  return run(quick, chosen);
}
