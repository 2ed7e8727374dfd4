// Compares the environments of workers, of whole jobs, with golden files.
// ACTORRUN_WRITE_GOLDEN=1 writes the files anew.
#include "tests/support/catch.hpp"
#include "tests/system/scene.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string_view>

namespace actorrun::test::environment_test {

namespace {

using variables = std::map<std::string, std::string>;

/// Writes its environment to a file by generation and rank, atomically,
/// and runs until the file `end` is there. To actorrun, `$$` is a `$`.
constexpr auto worker
  = "f=env.$ACTORRUN_GENERATION.$RANK; cat /proc/$$$$/environ > "
    "$f.new && mv $f.new $f;"
    " while [ ! -e end ]; do sleep 0.05; done";

variables variables_in(const std::string& text) {
  auto out = variables{};
  auto lines = std::istringstream{text};
  for (std::string line; std::getline(lines, line, '\0');)
    out[line.substr(0, line.find('='))] = line.substr(line.find('=') + 1);
  return out;
}

/// The value without parts that differ between runs.
std::string steady(const std::string& name, const std::string& value) {
  if (name == "MASTER_PORT")
    return "<a port>";
  if (name == "TORCHELASTIC_ERROR_FILE")
    return "<a folder>"
           + value.substr(std::min(value.find("/attempt_"), value.size()));
  if (name == "ACTORRUN_FENCING_TOKEN" || name == "ACTORRUN_EPOCH")
    return "<a token of generation "
           + to_string(generation_id{std::stoull(value)}) + ">";
  if (name == "TORCHELASTIC_TIMER_FILE")
    return "<a FIFO>";
  if (name == "ACTORRUN_CONTROL")
    return "<a socket>";
  if (name == "NCCL_RAS_ADDR")
    return "<a port of 127.0.0.1>";
  if (name == "ACTORRUN_STEPS")
    return "<a place>";
  return value;
}

class world : public scene {
public:
  program& node(const std::string& nodes, int slots) {
    return run(
      {"--nnodes=" + nodes, "--nproc-per-node", std::to_string(slots),
       "--rdzv-id=golden", "--max-restarts=3", "--local-addr=127.0.0.1",
       "--rdzv-conf=quiet_period=0.3,join_settle=0.2",
       "--rdzv-endpoint=" + endpoint(), "--no-python", "sh", "-c", worker});
  }

  /// Waits until all workers of a generation have written theirs.
  void await_generation(int generation, int size) {
    for (auto rank = 0; rank < size; ++rank)
      require(eventually([&] {
                return std::filesystem::exists(file_of(generation, rank));
              }),
              "worker " + std::to_string(rank) + " of generation "
                + std::to_string(generation) + " runs");
    describe(generation, size);
  }

  void end() {
    write("end", "");
    for (auto& x : programs())
      CHECK(x.wait() == 0);
  }

  /// Compares all environments with a golden file.
  void compare(const std::string& name) const {
    const auto path = std::string{GOLDEN_FOLDER} + "/" + name;
    INFO("golden file " << path);
    const auto* order = std::getenv("ACTORRUN_WRITE_GOLDEN");
    if (order == nullptr) {
      CHECK(text_ == content_of(path));
      return;
    }
    REQUIRE(std::string_view{order} == "1"); // Anything else is a mistake.
    std::ofstream{path} << text_;
    // What was just written proves nothing.
    FAIL_CHECK("written; run it again without ACTORRUN_WRITE_GOLDEN");
  }

private:
  std::string file_of(int generation, int rank) const {
    return folder() + "/env." + std::to_string(generation) + "."
           + std::to_string(rank);
  }

  /// Inherited variables are left out.
  void describe(int generation, int size) {
    static const auto foreign = std::set<std::string>{
      "ACTORRUN_RUN_DIR", "HOME", "LANG", "PATH", "TMPDIR"};
    for (auto rank = 0; rank < size; ++rank) {
      text_ += "generation " + std::to_string(generation) + ", rank "
               + std::to_string(rank) + "\n";
      for (const auto& [name, value] :
           variables_in(content_of(file_of(generation, rank))))
        if (!foreign.contains(name))
          text_ += "  " + name + "=" + steady(name, value) + "\n";
    }
  }

  std::string text_;
};

} // namespace

TEST_CASE_METHOD(world, "environment: one node of four workers",
                 "[environment]") {
  run({"--nproc-per-node=4", "--rdzv-id=golden", "--max-restarts=3",
       "--no-python", "sh", "-c", worker});
  await_generation(1, 4);
  end();
  compare("environment_1x4.txt");
}

TEST_CASE_METHOD(world, "environment: the secret is not for workers",
                 "[environment]") {
  auto& x
    = run({"--no-python", "sh", "-c", "tr '\\0' '\\n' < /proc/$$$$/environ"},
          {{"ACTORRUN_SECRET", "hush"}, {"ACTORRUN_SECRETARY", "ours"}});
  CHECK(x.wait() == 0);
  CHECK(count_of(x.output(), "hush") == 0);
  CHECK(count_of(x.output(), "ACTORRUN_SECRETARY=ours") == 1);
}

// A program that uses select(2) relies on it.
TEST_CASE_METHOD(world,
                 "environment: the soft limit of descriptors is as it was",
                 "[environment]") {
  CHECK(read({"sh", "-c",
              "ulimit -Sn 200; exec \"$0\" --no-python sh -c 'ulimit -Sn'",
              ACTORRUN_PROGRAM})
        == "200\n");
}

TEST_CASE_METHOD(world, "environment: two nodes of two workers",
                 "[environment]") {
  node("2", 2);
  node("2", 2);
  await_generation(1, 4);
  end();
  compare("environment_2x2.txt");
}

TEST_CASE_METHOD(world, "environment: two to four nodes, as they join",
                 "[environment]") {
  node("2:4", 1);
  node("2:4", 1);
  await_generation(1, 2);
  node("2:4", 1);
  await_generation(2, 3);
  node("2:4", 1);
  await_generation(3, 4);
  end();
  compare("environment_2to4.txt");
}

TEST_CASE_METHOD(world, "environment: two roles on two nodes",
                 "[environment]") {
  const auto start = [&](const std::string& role, int slots, bool hosts) {
    run({"--nnodes=2", "--nproc-per-node", std::to_string(slots),
         "--role=" + role, "--rdzv-id=golden", "--local-addr=127.0.0.1",
         std::string{"--rdzv-conf=is_host="} + (hosts ? "1" : "0"),
         "--rdzv-endpoint=" + endpoint(), "--no-python", "sh", "-c", worker});
  };
  start("trainer", 2, true); // Its node has rank 0.
  start("reader", 1, false);
  await_generation(1, 3);
  end();
  compare("environment_roles.txt");
}

TEST_CASE_METHOD(world, "environment: virtual local ranks see a device each",
                 "[environment]") {
  auto& x = run({"--nproc-per-node=2", "--virtual-local-rank", "--no-python",
                 "sh", "-c",
                 "echo rank $RANK local $LOCAL_RANK sees $CUDA_VISIBLE_DEVICES"
                 " argument ${local_rank}"},
                {{"CUDA_VISIBLE_DEVICES", "6,GPU-8f2e"}});
  CHECK(x.wait() == 0);
  CHECK(count_of(x.output(), "rank 0 local 0 sees 6 argument 0\n") == 1);
  CHECK(count_of(x.output(), "rank 1 local 0 sees GPU-8f2e argument 1\n") == 1);
}

} // namespace actorrun::test::environment_test
