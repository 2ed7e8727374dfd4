#include "cli/report/time_view.hpp"
#include "tests/support/catch.hpp"

#include <nlohmann/json.hpp>

#include <sstream>
#include <string>

namespace actorrun::test::time_view_test {

using namespace actorrun::cli;
using namespace actorrun::core::journal;

namespace {

constexpr uint64_t second = 1'000'000; // In µs.

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Two nodes with two places each, for 100 s; the first generation ended.
time_report report() {
  using enum time_cause;
  auto first = spent_time{};
  first.add(training, 2, 80 * second);
  first.add(training, 2, 80 * second);
  first.add(regrouping, 2, 4 * second);
  first.add(waiting, 2, 6 * second);
  auto next = spent_time{};
  next.add(starting, 2, 10 * second);
  next.add(out_of_touch, 2, 10 * second);
  auto before = spent_time{};
  before.add(waiting, 2, 10 * second);
  auto x = time_report{.job = "job1", .state = "failed"};
  auto& sum = x.time.sum;
  sum.wall_us = 100 * second;
  sum.outside = before;
  sum.generations = {{{1}, first, true}, {{2}, next}};
  for (const auto* y : {&before, &first, &next})
    sum.all.add(*y);
  sum.hosts["n1"] = sum.all;
  x.ends.push_back({.sentence = "Generation 1 ended: rank 0 was killed.",
                    .cause = culprit{},
                    .generation = {1}});
  return x;
}

} // namespace

TEST_CASE("time view: the sums, the generations and what ended them", "[cli]") {
  CHECK(to_text(report())
        == "job job1 (failed): goodput 80.0 %: 5 min 20 s of 6 min 40 s of"
           " worker time was training\n"
           "  wall time 100.0 s, places 4.0 on average\n"
           "  CAUSE              WORKER TIME  SHARE\n"
           "  training           5 min 20 s   80.0 %\n"
           "  starting           20.0 s       5.0 %\n"
           "  regrouping         8.0 s        2.0 %\n"
           "  waiting for nodes  32.0 s       8.0 %\n"
           "  out of touch       20.0 s       5.0 %\n"
           "  all                6 min 40 s   100.0 %\n"
           "  GENERATION  WORKER TIME  TRAINING    STARTING  REGROUPING"
           "  WAITING  OTHER\n"
           "  before      20.0 s       -           -         -         "
           "  20.0 s   -\n"
           "  1           5 min 40 s   5 min 20 s  -         8.0 s     "
           "  12.0 s   -\n"
           "  2           40.0 s       -           20.0 s    -         "
           "  -        20.0 s\n"
           "what ended each generation:\n"
           "  Generation 1 ended: rank 0 was killed. That took 40.0 s of worker"
           " time.\n");
}

TEST_CASE("time view: money, by the time of nodes", "[cli]") {
  auto x = report();
  x.node_price = 36;
  const auto text = to_text(x);
  CHECK(has(text, "COST"));
  CHECK(has(text, "starting           20.0 s       5.0 %    0.10\n"));
  CHECK(has(text, "all                6 min 40 s   100.0 %  2.00\n"));
}

TEST_CASE("time view: nodes are listed by what they lost", "[cli]") {
  auto x = report();
  auto& hosts = x.time.sum.hosts;
  hosts.clear();
  for (auto i = 0; i < 40; ++i) {
    hosts["n" + std::to_string(i)].add(time_cause::training, 1, second);
    hosts["n" + std::to_string(i)].add(time_cause::standby, 1, i * second);
  }
  const auto text = to_text(x);
  CHECK(has(text, "NODE"));
  CHECK(text.find("  n39 ") < text.find("  n38 "));
  CHECK(has(text, "  n8 "));
  CHECK_FALSE(has(text, "  n7 "));
  CHECK(has(text, "  8 more nodes lost less; --json lists them\n"));
}

TEST_CASE("time view: what is not known is said", "[cli]") {
  auto empty = time_report{.job = "j", .state = "gathering"};
  CHECK(to_text(empty) == "job j: no node has taken part yet\n");
  auto x = report();
  x.begins_late = true;
  x.coordinator_count = 2;
  x.time.untold_us = 3 * second;
  x.time.sum.forgotten_generation_count = 7;
  x.ends.push_back({.sentence = "Generation 9 ended.", .generation = {9}});
  const auto text = to_text(x);
  CHECK(has(text, "An earlier coordinator led this job on another host"));
  CHECK(has(text, "Between 2 coordinators are 3.0 s of which no journal"));
  CHECK(has(text, "\n  first 7 "));
  CHECK(has(text, "Generation 9 ended.\n"));
}

TEST_CASE("time view: saving and lost have columns where there is some",
          "[cli]") {
  auto x = report();
  auto& sum = x.time.sum;
  sum.all.move_training(time_cause::saving, 20 * second, 10 * second);
  sum.generations[0].spent.move_training(time_cause::saving, 20 * second,
                                         10 * second);
  CHECK(has(to_text(x), "  SAVING  STARTING  REGROUPING"));
  CHECK_FALSE(has(to_text(x), "LOST"));
  sum.all.move_training(time_cause::lost, 40 * second, 20 * second);
  sum.generations[0].spent.move_training(time_cause::lost, 40 * second,
                                         20 * second);
  const auto text = to_text(x);
  CHECK(has(text, "goodput 65.0 %"));
  CHECK(has(text, "  saving                    20.0 s       5.0 %\n"));
  CHECK(has(text, "  lost since the last save  40.0 s       10.0 %\n"));
  CHECK(has(text, "TRAINING    SAVING  LOST    STARTING"));
  CHECK(has(text, "5 min 40 s   4 min 20 s  20.0 s  40.0 s  -"));
  const auto document = nlohmann::json::parse(to_json(x));
  CHECK(document["time"]["lost"]["worker_us"] == 40 * second);
  CHECK(document["generations"][0]["time"]["saving"]["node_us"] == 10 * second);
}

TEST_CASE("time view: JSON has all of it", "[cli]") {
  auto x = report();
  auto document = nlohmann::json::parse(to_json(x));
  CHECK(document["version"] == time_version);
  CHECK(document["job"] == "job1");
  CHECK(document["state"] == "failed");
  CHECK(document["goodput"] == 0.8);
  CHECK(document["places"] == 4.0);
  CHECK(document["wall_us"] == 100 * second);
  CHECK(document["worker_us"] == 400 * second);
  CHECK(document["node_us"] == 200 * second);
  CHECK(document["time"]["waiting"]["worker_us"] == 32 * second);
  CHECK(document["time"]["waiting"]["node_us"] == 16 * second);
  CHECK(document["time"].size() == time_cause_count);
  CHECK(document["outside"]["waiting"]["worker_us"] == 20 * second);
  REQUIRE(document["generations"].size() == 2);
  const auto& first = document["generations"][0];
  CHECK(first["generation"] == 1);
  CHECK(first["end"] == "Generation 1 ended: rank 0 was killed.");
  CHECK(first["end_kind"] == "worker");
  CHECK(first["end_worker_us"] == 40 * second);
  CHECK(document["generations"][1]["end"].is_null());
  CHECK(document["generations"][1]["end_kind"].is_null());
  CHECK(document["generations"][1]["end_worker_us"].is_null());
  CHECK(document["nodes"][0]["host"] == "n1");
  CHECK(document["cost"].is_null());
  CHECK(document["price_per_node_hour"].is_null());
  x.node_price = 36;
  document = nlohmann::json::parse(to_json(x));
  CHECK(document["cost"] == 2.0);
  CHECK(document["price_per_node_hour"] == 36.0);
}

} // namespace actorrun::test::time_view_test
