#include "cli/top/rows.hpp"
#include "tests/cli/top/picture.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::rows_test {

using namespace actorrun::cli::top;

namespace {

pictures lone_job(v1::JobStatus x = two_nodes()) {
  auto out = pictures{};
  out["job1"].status = std::move(x);
  return out;
}

/// `n1 0 1 n2 2 3`: hosts and global ranks; a job in brackets.
std::string text(const std::vector<row>& rows) {
  auto out = std::string{};
  for (const auto& x : rows)
    out += (out.empty() ? "" : " ")
           + (x.node == nullptr ? "[" + x.id.job + "]"
              : !x.is_worker()  ? x.node->host()
              : x.rank          ? std::to_string(*x.rank)
                                : "-");
  return out;
}

std::string text(const pictures& jobs, const tree_options& how = {}) {
  return text(rows_of(jobs, how));
}

} // namespace

TEST_CASE("top rows: nodes by rank, each above its workers", "[cli]") {
  const auto jobs = lone_job();
  CHECK(text(jobs) == "n1 0 1 n2 2 3");
  const auto rows = rows_of(jobs, {});
  CHECK(rows[0].depth == 0);
  CHECK(rows[1].depth == 1);
  CHECK(rows[1].pid == 100);
  CHECK(rows[1].vitals != nullptr);
}

TEST_CASE("top rows: one of several jobs has a row", "[cli]") {
  auto jobs = lone_job();
  jobs["job2"].trouble = "does not answer";
  CHECK(text(jobs) == "[job1] n1 0 1 n2 2 3 [job2]");
  CHECK(text(jobs, {.folded = {{"job1"}}}) == "[job1] [job2]");
  CHECK(phase_of(jobs["job2"]) == "unknown");
}

TEST_CASE("top rows: who has no place comes last, without ranks", "[cli]") {
  auto status = two_nodes();
  status.mutable_agents(0)->set_generation(0);
  CHECK(text(lone_job(status)) == "n2 2 3 n1 - -");
}

TEST_CASE("top rows: what hurts comes first", "[cli]") {
  const auto jobs = lone_job();
  CHECK(text(jobs, {.by = order::cpu}) == "n2 3 2 n1 0 1");
  CHECK(text(jobs, {.by = order::memory}) == "n2 2 3 n1 0 1");
  CHECK(text(jobs, {.by = order::silence}) == "n1 1 0 n2 3 2");
  auto status = two_nodes();
  auto& workers = *status.mutable_agents(1)->mutable_vitals();
  workers.mutable_workers(1)->set_compute_us(121'000);
  workers.mutable_workers(0)->set_compute_us(100'000);
  CHECK(text(lone_job(status), {.by = order::compute}) == "n2 3 2 n1 0 1");
  status.mutable_agents(1)->mutable_vitals()->mutable_workers(1)->set_age_ms(9);
  CHECK(text(lone_job(status), {.by = order::age}) == "n2 3 2 n1 0 1");
}

TEST_CASE("top rows: figures of another process are not shown", "[cli]") {
  auto status = two_nodes();
  status.mutable_agents(0)->set_pids(1, 4'711);
  const auto jobs = lone_job(status);
  const auto rows = rows_of(jobs, {});
  CHECK(rows[2].pid == 4'711);
  CHECK(rows[2].vitals == nullptr);
  CHECK_FALSE(cpu_of(rows[2]).has_value());
  CHECK(state_of(rows[2]) == "-");
}

TEST_CASE("top rows: a node has the sum of its workers, or the worst of them",
          "[cli]") {
  const auto jobs = lone_job();
  const auto node = rows_of(jobs, {}).front();
  CHECK(cpu_of(node) == 100);
  CHECK(memory_of(node) == uint64_t{2} << 30);
  CHECK(silence_of(node) == 61'000);
  CHECK(age_of(node) == 250'000);
}

TEST_CASE("top rows: a filter keeps what is above and below a match", "[cli]") {
  const auto jobs = lone_job();
  CHECK(text(jobs, {.filter = "N2"}) == "n2 2 3");
  CHECK(text(jobs, {.filter = "pid 101"}) == "n1 1");
  CHECK(text(jobs, {.filter = "no such"}).empty());
  CHECK(text(jobs, {.folded = {{"job1", "n1-4711"}}, .filter = "n1"}) == "n1");
}

TEST_CASE("top rows: the state of a worker is what the kernel says", "[cli]") {
  const auto [letter, word]
    = GENERATE(table<char, std::string>({{'R', "runs"},
                                         {'S', "sleeps"},
                                         {'D', "blocked"},
                                         {'T', "stopped"},
                                         {'t', "stopped"},
                                         {'Z', "ended"},
                                         {'X', "ended"},
                                         {'?', "-"}}));
  auto status = two_nodes();
  status.mutable_agents(0)->mutable_vitals()->mutable_workers(0)->set_state(
    static_cast<uint32_t>(letter));
  const auto jobs = lone_job(status);
  const auto rows = rows_of(jobs, {});
  CHECK(state_of(rows[1]) == word);
  CHECK(state_of(rows[0]) == "running");
}

TEST_CASE("top rows: a job that has ended is that, whatever it said last",
          "[cli]") {
  auto jobs = lone_job();
  CHECK(phase_of(jobs["job1"]) == "running");
  jobs["job1"].end = cli::ended_job{};
  CHECK(phase_of(jobs["job1"]) == "ended");
}

} // namespace actorrun::test::rows_test
