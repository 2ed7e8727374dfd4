#include "cli/report/log_view.hpp"
#include "runtime/job_logs_json.hpp"
#include "tests/support/catch.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace actorrun::test::log_view_test {

using namespace actorrun::cli;

namespace {

v1::LogLines line_of(const std::string& text, bool truncated = false) {
  auto out = v1::LogLines{};
  auto& line = *out.add_lines();
  line.set_rank(3);
  line.set_text(text);
  line.set_truncated(truncated);
  return out;
}

void add_worker(v1::Stacks& to, uint32_t rank, const std::string& frame) {
  auto& x = *to.add_workers();
  x.set_rank(rank);
  x.set_local_rank(rank % 2);
  x.set_pid(100 + rank);
  x.set_host("n1");
  x.set_source("kernel");
  x.add_frames(frame);
}

} // namespace

TEST_CASE("log_view: lines have the rank as their label", "[cli]") {
  CHECK(to_text(line_of("hello"), true) == "[rank3]:hello\n");
  CHECK(to_text(line_of("long", true), true) == "[rank3]:long [...]\n");
  CHECK(to_text(v1::LogLines{}, true) == "");
}

TEST_CASE("log_view: control characters are harmless on a terminal only",
          "[cli]") {
  const auto line = line_of("\x1b[2J\x1b[31mred\xff");
  CHECK(to_text(line, true) == "[rank3]:^[[2J\x1b[31mred\xef\xbf\xbd\x1b[0m\n");
  CHECK(to_text(line, false) == "[rank3]:\x1b[2J\x1b[31mred\xff\n");
}

TEST_CASE("log_view: stacks name the odd one out first", "[cli]") {
  auto x = v1::Stacks{};
  add_worker(x, 0, "in futex_wait_queue");
  add_worker(x, 1, "running");
  add_worker(x, 2, "in futex_wait_queue");
  CHECK(to_text(x)
        == "rank 1 is the odd one out\n"
           "ranks 0,2 in futex_wait_queue\n"
           "rank 1 running\n"
           "\n"
           "ranks 0,2: 2 equal stacks, seen by kernel, as that of rank 0 (local"
           " rank 0, pid 100) on n1\n"
           "  in futex_wait_queue\n"
           "\n"
           "rank 1 (local rank 1, pid 101) on n1, seen by kernel\n"
           "  running\n");
  const auto document = nlohmann::json::parse(to_json(x));
  CHECK(document["odd_one_out"] == 1);
  CHECK(document["workers"][2]["frames"][0] == "in futex_wait_queue");
  CHECK(to_text(v1::Stacks{}) == "no worker was seen\n");
}

} // namespace actorrun::test::log_view_test
