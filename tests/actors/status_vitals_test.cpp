#include "actors/job_status.hpp"
#include "actors/status_pages.hpp"
#include "actors/status_vitals.hpp"
#include "messages/type_ids.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_node_vitals.hpp"

#include <cstddef>
#include <map>
#include <string>

namespace actorrun::test::status_vitals_test {

using namespace std::chrono_literals;

namespace {

/// What is known of nodes, by their agents; all are as old.
struct vitals_book {
  void add_to(v1::JobStatus& out) const {
    add_vitals(out, [this](const agent_id& x) {
      const auto found = nodes.find(x.value);
      return found == nodes.end() ? vitals_of_node{}
                                  : vitals_of_node{&found->second, age};
    });
  }

  std::map<std::string, core::node_vitals> nodes{};
  core::duration age{0};
};

v1::AgentStatus& add_agent(v1::JobStatus& to, const std::string& id,
                           const std::vector<int64_t>& pids) {
  auto& out = *to.add_agents();
  out.set_agent_id(id);
  out.mutable_pids()->Assign(pids.begin(), pids.end());
  return out;
}

/// `100 102`: the workers that an agent's vitals have.
std::string workers_of(const v1::AgentStatus& x) {
  auto out = std::string{};
  for (const auto& worker : x.vitals().workers())
    out += (out.empty() ? "" : " ") + std::to_string(worker.pid());
  return out;
}

/// A job of two nodes.
v1::JobStatus two_nodes() {
  auto out = v1::JobStatus{};
  add_agent(out, "a", {100, 101, 102});
  add_agent(out, "b", {200});
  return out;
}

/// The same, with so many departed nodes that there is room for so many parts.
v1::JobStatus with_parts_left(size_t count) {
  auto out = two_nodes();
  while (part_count_of(out) + count < status_part_count_max)
    out.add_departed_nodes();
  return out;
}

/// The same, with departed nodes so large that there is room for so many bytes.
v1::JobStatus with_bytes_left(size_t size) {
  constexpr auto text_size_max = size_t{1} << 20;
  auto out = two_nodes();
  const auto end = status_size_max - size;
  while (out.ByteSizeLong() + 2 * text_size_max < end)
    out.add_departed_nodes()->mutable_reason()->resize(text_size_max, 'x');
  auto& last = *out.add_departed_nodes()->mutable_reason();
  last.resize(end - out.ByteSizeLong(), 'x');
  while (out.ByteSizeLong() > end) // Its tags and lengths take room, too.
    last.pop_back();
  return out;
}

} // namespace

TEST_CASE("status vitals: nodes and workers get what is known", "[actors]") {
  auto job = v1::JobStatus{};
  add_agent(job, "a", {100, 101});
  add_agent(job, "b", {200});
  vitals_book{{{"b", vitals_of({200}, 7)}}, 1'999'999ns}.add_to(job);
  CHECK_FALSE(job.agents(0).has_vitals());
  CHECK(job.agents(1).vitals().cpu_count() == 64);
  CHECK(job.agents(1).vitals().age_ms() == 1);
  CHECK(workers_of(job.agents(1)) == "200");
  CHECK(job.agents(1).vitals().workers(0).memory() == 7);
  CHECK_FALSE(job.vitals_truncated());
}

TEST_CASE("status vitals: a job without nodes, and one of which nothing is "
          "known, stay as they are",
          "[actors]") {
  auto job = v1::JobStatus{};
  vitals_book{{{"a", vitals_of({100}, 7)}}}.add_to(job);
  CHECK(job.ByteSizeLong() == 0);
  add_agent(job, "a", {100});
  const auto before = job.SerializeAsString();
  vitals_book{}.add_to(job);
  CHECK(job.SerializeAsString() == before);
}

TEST_CASE("status vitals: a node of which all is unknown has vitals, and they "
          "say so",
          "[actors]") {
  auto job = v1::JobStatus{};
  add_agent(job, "a", {100});
  vitals_book{{{"a", {}}}}.add_to(job);
  REQUIRE(job.agents(0).has_vitals());
  CHECK_FALSE(job.agents(0).vitals().has_cpu_count());
  CHECK_FALSE(job.agents(0).vitals().has_memory_total());
  CHECK(workers_of(job.agents(0)).empty());
}

TEST_CASE("status vitals: a sample of the future is new", "[actors]") {
  auto job = v1::JobStatus{};
  add_agent(job, "a", {100});
  vitals_book{{{"a", vitals_of({100}, 7)}}, -5s}.add_to(job);
  CHECK(job.agents(0).vitals().age_ms() == 0);
}

TEST_CASE("status vitals: what is no worker of the agent is left out",
          "[actors]") {
  auto job = v1::JobStatus{};
  add_agent(job, "a", {100, 101, 102});
  auto known
    = vitals_of({100, 7, 102, 103}, 7); // 7 had another worker's place.
  known.workers.push_back({.local_rank = uint32_t(-1), .pid = 100});
  known.workers.push_back({.local_rank = 1, .pid = 100});
  vitals_book{{{"a", known}}}.add_to(job);
  CHECK(workers_of(job.agents(0)) == "100 102");
  CHECK_FALSE(job.vitals_truncated());
  auto idle = v1::JobStatus{};
  add_agent(idle, "a", {});
  vitals_book{{{"a", known}}}.add_to(idle);
  CHECK(workers_of(idle.agents(0)).empty());
}

TEST_CASE("status vitals: workers have the order of their node", "[actors]") {
  auto job = v1::JobStatus{};
  add_agent(job, "a", {100, 101, 102});
  auto known = vitals_of({100, 101, 102}, 7);
  std::swap(known.workers[0], known.workers[2]);
  vitals_book{{{"a", known}}}.add_to(job);
  CHECK(workers_of(job.agents(0)) == "102 101 100");
}

TEST_CASE("status vitals: old vitals are replaced, not added to", "[actors]") {
  auto job = v1::JobStatus{};
  add_agent(job, "a", {100, 101});
  vitals_book{{{"a", vitals_of({100, 101}, 7)}}}.add_to(job);
  vitals_book{{{"a", vitals_of({100}, 8)}}}.add_to(job);
  CHECK(workers_of(job.agents(0)) == "100");
  CHECK(job.agents(0).vitals().workers(0).memory() == 8);
}

TEST_CASE("status vitals: a node that has shown only some of its workers marks "
          "the job",
          "[actors]") {
  auto job = v1::JobStatus{};
  add_agent(job, "a", {100, 101});
  add_agent(job, "b", {200});
  auto some = vitals_of({100}, 7);
  some.truncated = true;
  vitals_book{{{"a", some}, {"b", vitals_of({200}, 7)}}}.add_to(job);
  CHECK(job.vitals_truncated());
  CHECK(workers_of(job.agents(0)) == "100");
  CHECK(workers_of(job.agents(1)) == "200"); // The others are whole.
}

TEST_CASE("status vitals: where room is short, nodes come before workers",
          "[actors]") {
  const auto book = vitals_book{
    {{"a", vitals_of({100, 101, 102}, 7)}, {"b", vitals_of({200}, 7)}}};
  const auto in = [&](v1::JobStatus job) {
    book.add_to(job);
    CHECK(job.ByteSizeLong() <= status_size_max);
    CHECK(part_count_of(job) <= status_part_count_max);
    auto out = std::string{};
    for (const auto& agent : job.agents())
      if (agent.has_vitals())
        out += agent.agent_id() + "[" + workers_of(agent) + "] ";
    return out + (job.vitals_truncated() ? "truncated" : "whole");
  };
  CHECK(in(with_parts_left(6)) == "a[100 101 102] b[200] whole");
  CHECK(in(with_parts_left(5)) == "a[100 101 102] b[] truncated");
  CHECK(in(with_parts_left(3)) == "a[100] b[] truncated");
  CHECK(in(with_parts_left(2)) == "a[] b[] truncated");
  CHECK(in(with_parts_left(1)) == "a[] truncated");
  CHECK(in(with_parts_left(0)) == "truncated");
  auto alone = v1::JobStatus{};
  add_agent(alone, "a", {});
  const auto bare_size = alone.ByteSizeLong();
  book.add_to(alone);
  const auto node_size = alone.ByteSizeLong() - bare_size + status_overhead;
  CHECK(in(with_bytes_left(status_overhead)) == "truncated");
  CHECK(in(with_bytes_left(node_size)) == "a[] truncated");
  CHECK(in(with_bytes_left(2 * node_size)) == "a[] b[] truncated");
  CHECK(in(with_bytes_left(10'000)) == "a[100 101 102] b[200] whole");
}

} // namespace actorrun::test::status_vitals_test
