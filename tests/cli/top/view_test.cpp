// Golden frames of the live view.

#include "tests/cli/top/picture.hpp"
#include "tests/support/catch.hpp"

using namespace actorrun;
using namespace actorrun::cli::top;
using namespace actorrun::test;

namespace {

std::string frame(top_fixture& x, size_t width, size_t height) {
  auto out = std::string{"\n"};
  for (const auto& line : x.lines(width, height))
    out += line + "\n";
  return out;
}

} // namespace

TEST_CASE_METHOD(top_fixture, "top view: 80x24", "[cli]") {
  show(two_nodes());
  at += 1s;
  CHECK(frame(*this, 80, 24) == R"(
)");
}

TEST_CASE_METHOD(top_fixture, "top view: 120x14, a node is away", "[cli]") {
  auto job = two_nodes();
  job.set_is_healthy(false);
  auto& node = *job.mutable_agents(1);
  node.set_connected(false);
  node.set_state("away");
  node.set_reason("its link is broken; its lease decides");
  show(job);
  CHECK(frame(*this, 120, 14) == R"(
)");
}

TEST_CASE_METHOD(top_fixture, "top view: 20x5", "[cli]") {
  show(two_nodes());
  press("j");
  CHECK(frame(*this, 20, 5) == R"(
)");
}

TEST_CASE_METHOD(top_fixture, "top view: a job that waits", "[cli]") {
  auto job = v1::JobStatus{};
  job.set_job_id("job1");
  job.set_phase("gathering");
  job.set_waiting_for("waiting for 1 more node: 1 of 2 nodes are here");
  job.set_waiting_age_ms(12'000);
  job.set_waiting_left_ms(48'000);
  job.mutable_settings()->set_agent_count_min(2);
  job.mutable_settings()->set_agent_count_max(2);
  show(job);
  at += 1s;
  CHECK(frame(*this, 100, 6) == R"(
)");
}

TEST_CASE_METHOD(top_fixture, "top view: the details of a job", "[cli]") {
  show(two_nodes());
  press("w");
  CHECK(frame(*this, 80, 20) == R"(
)");
}

TEST_CASE_METHOD(top_fixture, "top view: the details of a worker and its node",
                 "[cli]") {
  show(two_nodes());
  press("j");
  press(key::enter);
  CHECK(frame(*this, 80, 26) == R"(
)");
}

TEST_CASE_METHOD(top_fixture, "top view: ASCII only, where that is all",
                 "[cli]") {
  show(two_nodes());
  for (const auto& line : view(uut, {80, 24}, {.unicode = false}).lines)
    for (const unsigned char c : text_of(line))
      CHECK(c < 0x80);
}

TEST_CASE_METHOD(top_fixture, "top view: several jobs have a row each",
                 "[cli]") {
  auto other = two_nodes();
  other.set_job_id("job2");
  show(two_nodes());
  show(other);
  press("z");
  CHECK(frame(*this, 60, 10) == R"(
)");
}

TEST_CASE_METHOD(top_fixture, "top view: texts of peers keep their place",
                 "[cli]") {
  auto job = two_nodes();
  auto& node = *job.mutable_agents(0);
  node.set_host("h\x1b[2Jost\n日本日本日本日本日本日本日本日本日本");
  node.set_reason(std::string(300, 'x') + "\r\x07");
  job.set_job_id("j\tob");
  show(job);
  for (const auto& line : screen(90, 20).lines) {
    CHECK(width_of(text_of(line)) == 90);
    for (const unsigned char c : text_of(line))
      CHECK(c >= 0x20);
  }
}

TEST_CASE("top view: a sparkline shows shares of the largest", "[cli]") {
  CHECK(sparkline({1, 4, 8}, 10, {}) == "▂▅█");
  CHECK(sparkline({1, 4, 8}, 2, {}) == "▅█");
  CHECK(sparkline({0, 0}, 2, {.unicode = false}) == "__");
  CHECK(sparkline({}, 2, {}).empty());
}
