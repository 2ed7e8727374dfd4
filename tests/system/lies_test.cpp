// A member that lies: its word ends neither the job nor another's workers, and it takes no
// other's place (docs/security.md).
#include "tests/support/catch.hpp"
#include "tests/system/meddler.hpp"
#include "tests/system/scene.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>

#include <unistd.h>

namespace actorrun::test::lies_test {

namespace {

struct lies_scene : scene {
  agent_options options() const {
    auto x = agent_options{.nodes = nodes, .conf = conf};
    x.slots = 1;
    x.job = job;
    return x;
  }

  /// A member that is no other's; it tries until it gets in.
  program& liar(const words& what, const std::string& id = "liar-1-0badcafe") {
    auto command = words{LYING_MEMBER, std::to_string(port()), job, nodes, id};
    command.insert(command.end(), what.begin(), what.end());
    return start(std::move(command));
  }

  /// A claim of a generation that is newer than any.
  static words claim(const std::string& how, const std::string& state,
                     uint64_t newest) {
    return {how, state, std::to_string(newest + 1'000)};
  }

  /// Two agents that do not host, and a coordinator.
  worker_records start_job() {
    first = &coordinator(options());
    REQUIRE(first->says("listens on"));
    a = &agent(options());
    b = &agent(options());
    auto out = await_world(2);
    await_status([](const json& x) { return x["phase"] == "running"; });
    return out;
  }

  /// While `b` is silent. The liar may be the first that comes to the next one.
  void replace_coordinator() {
    first->signal(SIGKILL);
    REQUIRE(first->wait() == -SIGKILL);
    first = &coordinator(options());
  }

  /// The same processes go on.
  void check_untouched(const worker_records& before) {
    const auto pid = first->pid();
    await_status([&](const json& x) {
      return x["phase"] == "running" && x["coordinator"]["pid"] == pid
             && x["generation"] == before[0].number;
    });
    CHECK(pids_of(workers_of(before[0].generation)) == pids_of(before));
    for (const auto& x : before)
      CHECK(alive(x.pid));
  }

  /// The workers end as they like.
  void check_end() {
    order_end();
    CHECK(a->wait() == 0);
    CHECK(b->wait() == 0);
    CHECK(first->wait() == 0);
  }

  /// No worker has stamped after one of a later generation began.
  void check_that_generations_do_not_overlap() const {
    const auto all = records();
    for (const auto& x : all)
      for (const auto& y : all)
        if (x.generation < y.generation)
          CHECK(x.last_ns <= y.start_ns);
  }

  /// No other job on this machine has it: a coordinator looks for agents of its own.
  const std::string job = "lies-" + std::to_string(::getpid());
  std::string nodes = "2";
  std::string conf; ///< More of `--rdzv-conf`, begins with a comma.
  program* first = nullptr;
  program* a = nullptr;
  program* b = nullptr;
};

} // namespace

TEST_CASE_METHOD(lies_scene,
                 "lies: S1 no claim of one member ends a job as succeeded "
                 "whose coordinator was started again",
                 "[meddling]") {
  // Of fewer nodes than the job needs; of as many, which others contradict.
  nodes = GENERATE("2", "1:2");
  // `b` is silent for less, and the liar does not say that it has heard of the end.
  conf = ",keep_alive_max_attempt=20,close_timeout=1";
  const auto before = start_job();
  b->signal(SIGSTOP);
  replace_coordinator();
  auto& x = liar(claim("claim", "succeeded", before[0].generation));
  REQUIRE(x.says("accepted"));
  b->signal(SIGCONT);
  check_untouched(before);
  CHECK(count_of(x.output(), "\nended\n") == 0);
  check_end();
}

TEST_CASE_METHOD(lies_scene,
                 "lies: S1 no claim of one member ends a job as succeeded "
                 "that has not begun",
                 "[meddling]") {
  auto where = options();
  auto answer = std::string{"rejected: "};
  SECTION("where it is proved that there was no coordinator before") {}
  SECTION("where there may have been one, after the hold-back") {
    where.endpoint = "0.0.0.0:" + std::to_string(port());
    answer = "accepted";
  }
  first = &coordinator(where);
  auto& x = liar(claim("claim", "succeeded", 0));
  CHECK(x.says(answer));
  if (answer == "accepted")
    CHECK(first->says("waiting for 1 more node"));
  CHECK(count_of(x.output(), "\nended\n") == 0);
  x.signal(SIGKILL);
  x.wait();
  a = &agent(options());
  CHECK(records().empty());
  b = &agent(options());
  await_world(2);
  check_end();
}

TEST_CASE_METHOD(lies_scene,
                 "lies: S3 no claim of one member ends the hold-back, while "
                 "the workers of a silent node may run",
                 "[meddling]") {
  // Without and with the silent node a generation can form.
  nodes = GENERATE("2:3", "1:3");
  const auto before = start_job();
  b->signal(SIGSTOP);
  replace_coordinator();
  auto& x = liar(claim("claim-and-leave", "running", before[0].generation));
  REQUIRE(x.says("left"));
  REQUIRE(all_dead(before));
  if (nodes == "1:3")
    await_world(1, before[0].generation);
  b->signal(SIGCONT);
  const auto after = await_world(2, before[0].generation);
  CHECK(after[0].restart_count == 0);
  check_that_generations_do_not_overlap();
  check_end();
}

namespace {

/// The link of `b` can be broken.
struct broken_link : lies_scene {
  broken_link() : between(port(), 20'261'128) {}

  worker_records start_job() {
    first = &coordinator(options());
    REQUIRE(first->says("listens on"));
    a = &agent(options());
    auto x = options();
    x.endpoint = "127.0.0.1:" + std::to_string(between.port());
    b = &agent(x);
    auto out = await_world(2);
    await_status([](const json& y) { return y["phase"] == "running"; });
    return out;
  }

  /// The id of `b`, in which its process id is.
  std::string id_of_b() {
    const auto now = status();
    for (const auto& node : now["agents"]) {
      auto id = node["agent"].get<std::string>();
      if (count_of(id, "-" + std::to_string(b->pid()) + "-") == 1)
        return id;
    }
    return {};
  }

  bool is_out_of_touch() const {
    auto ignored = std::error_code{};
    const auto journals = std::filesystem::directory_iterator{
      folder() + "/.local/state/actorrun/journal", ignored};
    return std::any_of(begin(journals), end(journals), [](const auto& x) {
      return count_of(content_of(x.path()), "node_out_of_touch") > 0;
    });
  }

  meddler between;
};

} // namespace

TEST_CASE_METHOD(broken_link,
                 "lies: S2 the id of an agent whose link is broken is taken by "
                 "no other member",
                 "[meddling]") {
  nodes = "1:2";
  conf = ",keep_alive_max_attempt=20"; // `b` is silent for less.
  const auto before = start_job();
  const auto id = id_of_b();
  REQUIRE_FALSE(id.empty());
  b->signal(SIGSTOP);
  between.cut();
  REQUIRE(eventually([&] { return is_out_of_touch(); }));
  auto& x = liar({"nothing"}, id);
  CHECK(x.says("another agent"));
  CHECK(count_of(x.output(), "linked") == 0);
  x.signal(SIGKILL);
  x.wait();
  b->signal(SIGCONT);
  check_untouched(before);
  check_end();
}

} // namespace actorrun::test::lies_test
