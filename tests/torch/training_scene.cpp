#include "tests/torch/training_scene.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/skip.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <regex>

namespace actorrun::test {

namespace {

// As in tests/system: jobs form quickly.
constexpr auto short_times = "quiet_period=500ms,join_settle=300ms";

// A torch without libuv, as Debian's from 2.4 on, opens no store by default, and
// is no client of an agent's either.
constexpr auto probe = R"(
import torch.distributed as d
assert d.is_gloo_available()
try:
    d.TCPStore("127.0.0.1", 0, 1, True)
except RuntimeError:
    print("no store")
)";

/// For an import that reads all of torch from a disk, beside other tests.
constexpr auto import_timeout = milliseconds{180'000};

constexpr double relative_error_max = 1e-4;

/// The interpreters to try, the user's choice first. Debian's has what is
/// installed as a package; another one may come first in PATH.
words interpreters() {
  const auto* chosen = std::getenv("PYTHON_EXEC");
  auto out = words{"python3", "/usr/bin/python3"};
  if (chosen != nullptr && *chosen != '\0')
    out.insert(out.begin(), chosen);
  return out;
}

/// The groups of all matches.
std::vector<std::vector<std::string>> matches(const std::string& text,
                                              const char* pattern) {
  auto out = std::vector<std::vector<std::string>>{};
  const auto expression = std::regex{pattern};
  for (auto i = std::sregex_iterator{text.begin(), text.end(), expression};
       i != std::sregex_iterator{}; ++i)
    out.emplace_back(i->begin(), i->end());
  return out;
}

uint32_t number(const std::string& text) {
  return static_cast<uint32_t>(std::stoul(text));
}

} // namespace

// Importing torch takes seconds: once per program is enough.
bool training_scene::has_torch() {
  static const auto found = find_torch();
  if (!found) {
    actorrun::test::skip(
      "torch", "no Python here has torch with gloo; `install-dependencies.sh "
               "--with-torch` brings one, and PYTHON_EXEC names another");
    return false;
  }
  torch_ = *found;
  return true;
}

std::optional<training_scene::torch> training_scene::find_torch() {
  for (const auto& name : interpreters()) {
    auto code = 0;
    const auto said = read({name, "-c", probe}, &code, import_timeout);
    if (code == 0)
      return torch{name, said.find("no store") == said.npos};
  }
  return std::nullopt;
}

std::map<std::string, std::string> training_scene::variables() const {
  return {{"PYTHON_EXEC", torch_.python},
          {"PYTHONPATH", PYTHON_PACKAGE},
          {"OMP_NUM_THREADS", "1"},
          {"USE_LIBUV", torch_.has_libuv ? "1" : "0"},
          {"GLOO_SOCKET_IFNAME", "lo"}};
}

words training_scene::launcher_options() const {
  return torch_.has_libuv ? words{} : words{"--no-agent-store"};
}

words training_scene::script(const words& more, bool is_live) const {
  auto out = words{is_live ? LIVE_SCRIPT : TRAINING_SCRIPT,
                   "--checkpoint=" + checkpoint(),
                   "--steps=" + std::to_string(step_count)};
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

program& training_scene::node(const node_options& x) {
  const auto host = !std::exchange(has_host_, true);
  auto command = words{"--nnodes=" + x.nodes,
                       "--nproc-per-node=" + std::to_string(x.slots),
                       "--max-restarts=" + std::to_string(x.restart_count_max),
                       "--rdzv-id=training",
                       "--rdzv-endpoint=" + endpoint(),
                       std::string{"--rdzv-conf="} + short_times
                         + ",is_host=" + (host ? "yes" : "no")};
  for (const auto& more :
       {launcher_options(), x.launcher, script(x.training, x.is_live)})
    command.insert(command.end(), more.begin(), more.end());
  return run(std::move(command), variables());
}

program& training_scene::alone(uint32_t slots, const words& training) {
  auto command
    = words{"--standalone", "--nproc-per-node=" + std::to_string(slots)};
  for (const auto& more : {launcher_options(), script(training)})
    command.insert(command.end(), more.begin(), more.end());
  return run(std::move(command), variables());
}

double training_scene::undisturbed_weights(uint32_t steps) {
  static auto known = std::map<uint32_t, double>{};
  if (const auto i = known.find(steps); i != known.end())
    return i->second;
  auto& x = alone(1, {"--checkpoint=" + folder() + "/undisturbed.pt",
                      "--steps=" + std::to_string(steps)});
  CHECK(x.wait(training_timeout) == 0);
  return known[steps] = end_in(x.output()).weights;
}

std::vector<training_start> starts_in(const std::string& output) {
  auto out = std::vector<training_start>{};
  for (const auto& x : matches(output, "rank (\\d+): pid (\\d+), from step "
                                       "(\\d+), world (\\d+), restarts (\\d+)"))
    out.push_back({number(x[1]), static_cast<pid_t>(number(x[2])), number(x[3]),
                   number(x[4]), number(x[5])});
  return out;
}

training_end end_in(const std::string& output) {
  const auto found
    = matches(output, "done: (\\d+) steps, weights ([0-9.]+), world (\\d+), "
                      "restarts (\\d+)");
  scene::require(found.size() == 1, "the training ends once");
  const auto& x = found.front();
  return {number(x[1]), std::stod(x[2]), number(x[3]), number(x[4])};
}

bool await_world_of(const std::vector<program*>& nodes, uint32_t count,
                    uint32_t step) {
  const auto is_there = [&] {
    auto found = size_t{0};
    for (const auto* node : nodes)
      for (const auto& x : starts_in(node->output()))
        found += x.world == count && x.step >= step ? 1 : 0;
    return found >= count;
  };
  return eventually(is_there, training_timeout);
}

bool await_step(program& node, uint32_t step, uint32_t world) {
  const auto is_done = [&] {
    for (const auto& x :
         matches(node.output(), "step (\\d+): loss [0-9.]+, world (\\d+)"))
      if (number(x[1]) >= step && number(x[2]) == world)
        return true;
    return false;
  };
  return eventually(is_done, training_timeout);
}

bool are_close(double a, double b) {
  return std::abs(a - b) <= relative_error_max * std::abs(b);
}

} // namespace actorrun::test
