// The environment of workers where nodes bring different roles and sizes.
#include "tests/support/catch.hpp"
#include "tests/system/scene.hpp"

#include <csignal>
#include <map>
#include <sstream>

namespace actorrun::test::roles_test {

namespace {

/// Adds a line with its variables, and runs until the file `end` is there.
constexpr auto worker
  = "echo $ACTORRUN_GENERATION $GROUP_RANK $GROUP_WORLD_SIZE $LOCAL_RANK "
    "$LOCAL_WORLD_SIZE $RANK $WORLD_SIZE $ROLE_NAME $ROLE_RANK "
    "$ROLE_WORLD_SIZE >> told; while [ ! -e end ]; do sleep 0.05; done";

/// One worker's line.
struct told {
  uint64_t generation = 0;
  uint32_t node = 0;
  uint32_t node_count = 0;
  uint32_t local_rank = 0;
  uint32_t local_world = 0;
  uint32_t rank = 0;
  uint32_t world = 0;
  std::string role;
  uint32_t role_rank = 0;
  uint32_t role_world = 0;
};

using role_sizes = std::map<std::string, uint32_t>;

/// A worker's line, for comparison.
std::string text_of(const told& x) {
  return std::to_string(x.rank) + " of " + std::to_string(x.world) + ", "
         + x.role + " " + std::to_string(x.role_rank) + " of "
         + std::to_string(x.role_world) + ", local "
         + std::to_string(x.local_rank) + " of " + std::to_string(x.local_world)
         + ", node " + std::to_string(x.node) + " of "
         + std::to_string(x.node_count);
}

/// The expected lines of all workers, by torchrun's rule: sums in the order of
/// nodes, over all of them and within each role.
std::vector<std::string> counted(const std::vector<told>& nodes) {
  auto sizes = role_sizes{};
  auto world = uint32_t{0};
  for (const auto& x : nodes) {
    sizes[x.role] += x.local_world;
    world += x.local_world;
  }
  auto next_of_role = role_sizes{};
  auto out = std::vector<std::string>{};
  for (const auto& node : nodes)
    for (uint32_t i = 0; i < node.local_world; ++i) {
      auto x = node;
      x.local_rank = i;
      x.node_count = uint32_t(nodes.size());
      x.rank = uint32_t(out.size());
      x.world = world;
      x.role_rank = next_of_role[x.role]++;
      x.role_world = sizes[x.role];
      out.push_back(text_of(x));
    }
  return out;
}

struct roles_scene : scene {
  program& node(const std::string& nodes, const std::string& role, int slots) {
    const auto host = programs().empty();
    return run({"--nnodes=" + nodes, "--role=" + role,
                "--nproc-per-node=" + std::to_string(slots), "--rdzv-id=roles",
                "--rdzv-endpoint=" + endpoint(),
                std::string{"--rdzv-conf=quiet_period=300ms,join_settle=300ms,"
                            "is_host="}
                  + (host ? "1" : "0"),
                "--no-python", "sh", "-c", worker});
  }

  std::vector<told> all() const {
    auto lines = std::istringstream{content_of(folder() + "/told")};
    auto out = std::vector<told>{};
    for (auto x = told{}; lines >> x.generation >> x.node >> x.node_count
                          >> x.local_rank >> x.local_world >> x.rank >> x.world
                          >> x.role >> x.role_rank >> x.role_world;)
      out.push_back(x);
    return out;
  }

  /// Waits for a world of that size after `generation`, and checks its workers
  /// against their nodes.
  /// @returns its generation
  uint64_t check_world(uint32_t world, const role_sizes& sizes,
                       uint64_t generation = 0) {
    auto found = std::vector<told>{};
    const auto is_there = [&] {
      found = all();
      std::erase_if(found, [&](const auto& x) {
        return x.generation <= generation || x.world != world;
      });
      return found.size() >= world;
    };
    require(eventually(is_there),
            "a world of " + std::to_string(world) + " workers forms");
    check(found, sizes);
    return found.front().generation;
  }

private:
  static void check(const std::vector<told>& found, const role_sizes& sizes) {
    auto nodes = std::map<uint32_t, told>{};
    auto by_rank = std::map<uint32_t, std::string>{};
    for (const auto& x : found) {
      CHECK(x.generation == found.front().generation);
      CHECK(x.role_world == sizes.at(x.role));
      nodes[x.node] = x;
      by_rank[x.rank] = text_of(x);
    }
    auto in_order = std::vector<told>{};
    for (const auto& [number, x] : nodes) {
      CHECK(number == in_order.size());
      in_order.push_back(x);
    }
    auto said = std::vector<std::string>{};
    for (const auto& [rank, x] : by_rank)
      said.push_back(x);
    CHECK(said == counted(in_order));
  }
};

} // namespace

// Ensures that the tests below compare with torchrun's behaviour: its workers
// had these variables on three such nodes (1.13).
TEST_CASE("roles: the tests count as torchrun does", "[roles]") {
  CHECK(counted({{.node = 0, .local_world = 2, .role = "trainer"},
                 {.node = 1, .local_world = 1, .role = "reader"},
                 {.node = 2, .local_world = 3, .role = "trainer"}})
        == std::vector<std::string>{
          "0 of 6, trainer 0 of 5, local 0 of 2, node 0 of 3",
          "1 of 6, trainer 1 of 5, local 1 of 2, node 0 of 3",
          "2 of 6, reader 0 of 1, local 0 of 1, node 1 of 3",
          "3 of 6, trainer 2 of 5, local 0 of 3, node 2 of 3",
          "4 of 6, trainer 3 of 5, local 1 of 3, node 2 of 3",
          "5 of 6, trainer 4 of 5, local 2 of 3, node 2 of 3",
        });
}

TEST_CASE_METHOD(roles_scene,
                 "roles: each is counted separately, over all nodes",
                 "[roles]") {
  node("4", "trainer", 2);
  node("4", "reader", 1);
  node("4", "trainer", 3);
  node("4", "reader", 2);
  check_world(8, {{"trainer", 5}, {"reader", 3}});
  write("end", "");
  for (auto& x : programs())
    CHECK(x.wait() == 0);
}

TEST_CASE_METHOD(roles_scene,
                 "roles: they are counted anew when a node leaves and returns",
                 "[roles]") {
  auto& a = node("2:3", "trainer", 2);
  auto& reader = node("2:3", "reader", 1);
  auto& b = node("2:3", "trainer", 3);
  auto generation = check_world(6, {{"trainer", 5}, {"reader", 1}});
  reader.signal(SIGKILL);
  generation = check_world(5, {{"trainer", 5}}, generation);
  auto& again = node("2:3", "reader", 4);
  check_world(9, {{"trainer", 5}, {"reader", 4}}, generation);
  write("end", "");
  for (auto* x : {&a, &b, &again})
    CHECK(x->wait() == 0);
}

} // namespace actorrun::test::roles_test
