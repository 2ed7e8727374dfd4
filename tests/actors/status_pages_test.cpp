#include "actors/status_pages.hpp"
#include "messages/type_ids.hpp"
#include "tests/support/catch.hpp"

#include <string>

namespace actorrun::test::status_pages_test {

namespace {

v1::JobStatus job_of(int node_count, int worker_count = 1) {
  auto out = v1::JobStatus{};
  out.set_job_id("job");
  out.set_generation(7);
  out.set_phase("running");
  for (auto i = 0; i < node_count; ++i) {
    auto& agent = *out.add_agents();
    agent.set_agent_id("node-" + std::to_string(i));
    agent.set_host(agent.agent_id() + ".cluster.example");
    agent.mutable_vitals()->set_cpu_count(64);
    for (auto k = 0; k < worker_count; ++k) {
      agent.add_pids(1'000'000 + k);
      auto& worker = *agent.mutable_vitals()->add_workers();
      worker.set_local_rank(uint32_t(k));
      worker.set_pid(1'000'000 + k);
    }
  }
  for (auto i = 0; i < node_count / 10; ++i)
    out.add_departed_nodes()->set_host("gone-" + std::to_string(i));
  return out;
}

v1::JobStatus page_of(const shared_status& x, size_t index) {
  auto out = v1::JobStatus{};
  REQUIRE(out.ParseFromString(x->pages->at(index)));
  return out;
}

/// Puts all pages together.
v1::JobStatus joined(const shared_status& x) {
  auto out = status_assembly{};
  for (size_t i = 0; i < x->pages->size(); ++i) {
    const auto is_whole = out.add(page_of(x, i));
    REQUIRE(is_whole);
    CHECK(*is_whole == (i + 1 == x->pages->size()));
  }
  return out.take();
}

v1::JobStatus with_page(uint64_t snapshot, uint32_t index, uint32_t count) {
  auto out = v1::JobStatus{};
  out.mutable_page()->set_snapshot(snapshot);
  out.mutable_page()->set_index(index);
  out.mutable_page()->set_count(count);
  return out;
}

/// What the assembly says after these pages; empty: nothing is wrong.
std::string complaint(const std::vector<v1::JobStatus>& pages) {
  auto uut = status_assembly{};
  for (const auto& x : pages)
    if (const auto ok = uut.add(x); !ok)
      return ok.error().text;
  return "";
}

} // namespace

TEST_CASE("status_pages: a small status is one page, as it is", "[actors]") {
  const auto job = job_of(3);
  const auto picture = picture_of(job);
  REQUIRE(picture->pages->size() == 1);
  CHECK(picture->pages->front() == job.SerializeAsString());
  CHECK(joined(picture).SerializeAsString() == job.SerializeAsString());
}

TEST_CASE("status_pages: pages fit into messages, and are the whole",
          "[actors]") {
  // About the limit, many nodes, nodes that are larger than a page.
  const auto [nodes, workers]
    = GENERATE(std::pair{520, 1}, std::pair{600, 1}, std::pair{10'000, 2},
               std::pair{3, 20'000}, std::pair{1, 4'000}, std::pair{200, 300});
  CAPTURE(nodes, workers);
  const auto job = job_of(nodes, workers);
  const auto picture = picture_of(job);
  auto size = size_t{0};
  for (const auto& x : *picture->pages) {
    CHECK(x.size() <= v1::message_size_max);
    size += x.size();
  }
  CHECK(picture->pages->size() <= status_page_count_max);
  CHECK(picture->pages->size() <= 1 + 2 * size / v1::message_size_max);
  CHECK(joined(picture).SerializeAsString() == job.SerializeAsString());
}

TEST_CASE("status_pages: the next page is asked for by its snapshot",
          "[actors]") {
  const auto picture = picture_of(job_of(10'000));
  auto uut = status_assembly{};
  CHECK(uut.next().snapshot() == 0);
  REQUIRE(uut.add(page_of(picture, 0)));
  CHECK(uut.next().snapshot() == picture->number);
  CHECK(uut.next().index() == 1);
}

TEST_CASE("status_pages: a newer snapshot begins again, some times",
          "[actors]") {
  const auto job = job_of(2'000);
  const auto old = picture_of(job);
  const auto newer = picture_of(job);
  auto uut = status_assembly{};
  for (uint32_t i = 0; i < status_assembly::restart_count_max; ++i)
    REQUIRE(uut.add(page_of(i % 2 == 0 ? old : newer, 0)));
  for (size_t i = 0; i < newer->pages->size(); ++i)
    REQUIRE(uut.add(page_of(newer, i)));
  CHECK(uut.take().SerializeAsString() == job.SerializeAsString());
  auto pages = std::vector<v1::JobStatus>{};
  for (uint32_t i = 0; i < status_assembly::restart_count_max + 2; ++i)
    pages.push_back(page_of(old, 0));
  CHECK(complaint(pages) == "begins its status again and again");
}

TEST_CASE("status_pages: what does not belong together is refused",
          "[actors]") {
  CHECK(complaint({with_page(1, 0, 3), with_page(1, 1, 3)}).empty());
  const auto foreign = "sends pages that do not belong together";
  CHECK(complaint({with_page(1, 0, 3), with_page(1, 2, 3)}) == foreign);
  CHECK(complaint({with_page(1, 0, 3), with_page(2, 1, 3)}) == foreign);
  CHECK(complaint({with_page(1, 0, 3), with_page(1, 1, 4)}) == foreign);
  CHECK(complaint({with_page(1, 1, 3)}) == foreign);
  const auto absurd = "sends a page that cannot be";
  CHECK(complaint({with_page(1, 3, 3)}) == absurd);
  CHECK(complaint({with_page(1, 0, 0)}) == absurd);
  CHECK(complaint({with_page(1, 0, status_page_count_max + 1)}) == absurd);
  CHECK(complaint({with_page(1, uint32_t(-1), uint32_t(-1))}) == absurd);
}

TEST_CASE("status_pages: a status is bounded in bytes and in parts",
          "[actors]") {
  const auto too_large = "sends a status that is too large";
  auto pages = std::vector<v1::JobStatus>{};
  for (uint32_t i = 0; i < status_page_count_max; ++i) {
    pages.push_back(with_page(1, i, status_page_count_max));
    pages.back().add_agents()->set_reason(std::string(60'000, 'x'));
  }
  CHECK(complaint(pages) == too_large);
  for (auto& x : pages) {
    x.clear_agents();
    for (size_t i = 0; i <= status_part_count_max / status_page_count_max; ++i)
      x.add_agents();
  }
  CHECK(complaint(pages) == too_large);
}

TEST_CASE("status_pages: only time has passed between two of the same news",
          "[actors]") {
  auto job = job_of(3);
  const auto first = picture_of(job);
  job.set_age_ms(1'000);
  const auto second = picture_of(job);
  CHECK(first->news == second->news);
  CHECK(first->number != second->number);
  job.set_phase("stopping");
  CHECK(picture_of(job)->news != first->news);
}

TEST_CASE("status_pages: viewers of large jobs get fewer pictures",
          "[actors]") {
  using namespace std::chrono_literals;
  CHECK(pace_of(0) == 0ms);
  CHECK(pace_of(100) == 100ms);
  CHECK(pace_of(10'000) == 5s);
  CHECK(pace_of(size_t(-1)) == 5s);
}

} // namespace actorrun::test::status_pages_test
