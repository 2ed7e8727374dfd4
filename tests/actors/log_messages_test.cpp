#include "actors/log_messages.hpp"
#include "messages/type_ids.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::log_messages_test {

TEST_CASE("log_messages: a selection is read as it was written", "[actors]") {
  auto wire = v1::LogSelection{};
  CHECK(from_wire(wire) == core::log_selection{});
  wire.add_ranks(3);
  wire.add_ranks(1);
  wire.set_outputs(v1::LOG_OUTPUTS_ERR);
  wire.set_previous(true);
  wire.set_follow(true);
  wire.set_since_ms(-1);
  wire.set_tail(0);
  wire.set_grep("a|b");
  wire.set_generation(4);
  const auto expected = core::log_selection{.ranks = {3, 1},
                                            .outputs = core::std_streams::err,
                                            .previous = true,
                                            .generation = {4},
                                            .follow = true,
                                            .since_ms = -1,
                                            .tail = 0,
                                            .grep = "a|b"};
  CHECK(from_wire(wire) == expected);
  wire.set_outputs(v1::LOG_OUTPUTS_OUT);
  CHECK(from_wire(wire).outputs == core::std_streams::out);
  // Of another version: more rather than less.
  wire.set_outputs(static_cast<v1::LogOutputs>(9));
  CHECK(from_wire(wire).outputs == core::std_streams::all);
}

TEST_CASE("log_messages: ranks are bounded", "[actors]") {
  auto wire = v1::LogSelection{};
  for (size_t i = 0; i < 2 * core::selected_ranks_max; ++i)
    wire.add_ranks(uint32_t(i));
  const auto ranks = from_wire(wire).ranks;
  CHECK(ranks.size() == core::selected_ranks_max);
  CHECK(ranks.back() == core::selected_ranks_max - 1);
}

TEST_CASE("log_messages: lines reach an operator with their host", "[actors]") {
  auto chunk = core::log_chunk{};
  chunk.lines.push_back({.rank = 4,
                         .generation = {7},
                         .is_err = true,
                         .text = std::string{"a\0b", 3},
                         .truncated = true,
                         .wall_ms = 12});
  chunk.lines.push_back({.rank = 5});
  chunk.trouble = "a file is gone";
  chunk.is_end = true;
  const auto wire = to_wire(chunk);
  CHECK(wire.agent_id().empty());
  CHECK(wire.reading() == 0);
  CHECK(cost_of(wire.lines())
        == core::log_line_cost(3) + core::log_line_cost(0));
  const auto reply = to_reply(wire, "node-b").logs();
  REQUIRE(reply.lines_size() == 2);
  const auto& first = reply.lines(0);
  CHECK(first.rank() == 4);
  CHECK(first.generation() == 7);
  CHECK(first.is_err());
  CHECK(first.text() == std::string{"a\0b", 3});
  CHECK(first.truncated());
  CHECK(first.wall_ms() == 12);
  CHECK(first.host() == "node-b");
  CHECK(reply.lines(1).host() == "node-b");
  CHECK(reply.trouble() == "a file is gone");
  CHECK(reply.is_end());
}

TEST_CASE("log_messages: stacks fit into a message", "[actors]") {
  auto workers = std::vector<core::worker_stack>{};
  auto one = core::worker_stack{};
  one.global_rank = 9;
  one.local_rank = 1;
  one.pid = 100;
  one.source = "py-spy";
  one.frames = {"train (train.py:7)", "main"};
  workers.push_back(one);
  auto small = to_wire(workers);
  REQUIRE(small.workers_size() == 1);
  CHECK_FALSE(small.truncated());
  CHECK(small.workers(0).rank() == 9);
  CHECK(small.workers(0).local_rank() == 1);
  CHECK(small.workers(0).pid() == 100);
  CHECK(small.workers(0).source() == "py-spy");
  CHECK(small.workers(0).frames(1) == "main");
  workers[0].frames = {std::string(10'000, 'x')};
  workers.resize(20, workers[0]);
  const auto large = to_wire(workers);
  CHECK(large.truncated());
  CHECK(large.workers_size() >= 5);
  CHECK(large.ByteSizeLong() <= v1::message_size_max);
}

} // namespace actorrun::test::log_messages_test
