// Tests what is shown of the nodes of a job.
#include "cli/report/nodes_view.hpp"
#include "tests/support/catch.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace actorrun::test::nodes_view_test {

using namespace actorrun::cli;

namespace {

bool shows(const std::string& text, std::string_view part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}

/// One space where there are several.
std::string without_padding(const std::string& text) {
  auto out = std::string{};
  for (const auto x : text)
    if (x != ' ' || !out.ends_with(' '))
      out += x;
  return out;
}

v1::AgentStatus& add_node(v1::JobStatus& job, const std::string& host) {
  auto& x = *job.add_agents();
  x.set_agent_id(host + "-7");
  x.set_host(host);
  x.set_slot_count(4);
  x.set_connected(true);
  x.set_since_ms(12'000);
  return x;
}

/// Of node b the check has failed, c is checked, x is excluded and y gone.
v1::JobStatus job_of_three() {
  auto job = v1::JobStatus{};
  job.set_job_id("train");
  job.set_phase("running");
  job.set_generation(2);
  job.set_coordinator_pid(99);
  auto& b = add_node(job, "b");
  b.set_state("unfit");
  b.set_checks(v1::CHECK_STATE_FAILED);
  b.set_unfit_age_ms(41'000);
  b.set_unfit("its check `gpu` has failed (exit code 1): GPU 3: GPU is lost");
  b.set_reason(b.unfit());
  b.set_host_failure_count(2);
  b.set_generation_count(1);
  auto& a = add_node(job, "a");
  a.set_state("running");
  a.set_generation(2);
  a.set_share(v1::SHARE_RUNNING);
  a.set_checks(v1::CHECK_STATE_GOOD);
  a.set_generation_count(2);
  auto& c = add_node(job, "c");
  c.set_state("unfit");
  c.set_checks(v1::CHECK_STATE_RUNNING);
  c.set_unfit_age_ms(500);
  c.set_reason("it is being checked");
  auto& x = *job.add_excluded_hosts();
  x.set_host("x");
  x.set_reason("host x is excluded by alice");
  x.set_age_ms(60'000);
  auto& y = *job.add_departed_nodes();
  y.set_host("y");
  y.set_agent_id("y-7");
  y.set_reason("silent for 1200 ms");
  y.set_age_ms(1'000);
  return job;
}

} // namespace

TEST_CASE("nodes: each has a row, those with ranks first", "[cli]") {
  const auto text = nodes_to_text({job_of_three()});
  CHECK(shows(text, "job train: running, 3 nodes are here\n"));
  const auto cells = without_padding(text);
  CHECK(shows(cells, " node host state for ranks checks failures generations "
                     "why\n"));
  CHECK(shows(cells, " 0 a running 12.0 s 0-3 good 0 2"));
  CHECK(shows(cells,
              " - b unfit 12.0 s - failed for 41.0 s 2 1 its check `gpu` has "
              "failed (exit code 1): GPU 3: GPU is lost\n"));
  CHECK(shows(cells, " - c unfit 12.0 s - running for 500.0 ms 0 0 it is being "
                     "checked\n"));
  CHECK(shows(cells, " - x excluded 60.0 s - - - - host x is excluded by "
                     "alice\n"));
  CHECK(shows(cells, " - y gone 1.0 s - - - - silent for 1200 ms\n"));
  CHECK(text.find(" a ") < text.find(" b "));
  CHECK(text.ends_with("\n"));
}

TEST_CASE("nodes: an agent alone knows less, and that is said", "[cli]") {
  auto job = v1::JobStatus{};
  job.set_job_id("train");
  add_node(job, "a").set_state("away");
  CHECK(shows(nodes_to_text({job}), "only its own node is known"));
  const auto node
    = nlohmann::json::parse(nodes_to_json({job}))["jobs"][0]["nodes"][0];
  CHECK(node["failures"].is_null());
  CHECK(node["generations"].is_null());
  CHECK(nodes_to_text({}) == "no jobs on this host\n");
}

TEST_CASE("nodes: programs get the same", "[cli]") {
  const auto all = nlohmann::json::parse(nodes_to_json({job_of_three()}));
  CHECK(all["schema"] == 1);
  const auto& job = all["jobs"][0];
  CHECK(job["job"] == "train");
  const auto& nodes = job["nodes"];
  REQUIRE(nodes.size() == 5);
  CHECK(nodes[0]["host"] == "a");
  CHECK(nodes[0]["ranks"] == nlohmann::json{0, 3});
  CHECK(nodes[0]["checks"] == "good");
  CHECK(nodes[0]["why"].is_null());
  CHECK(nodes[1]["checks"] == "failed");
  CHECK(nodes[1]["checks_ms"] == 41'000);
  CHECK(nodes[1]["failures"] == 2);
  CHECK(nodes[1]["ranks"].is_null());
  CHECK(nodes[2]["checks"] == "running");
  CHECK(nodes[3]["state"] == "excluded");
  CHECK(nodes[3]["agent"].is_null());
  CHECK(nodes[4]["state"] == "gone");
  CHECK(nodes[4]["since_ms"] == 1'000);
}

} // namespace actorrun::test::nodes_view_test
