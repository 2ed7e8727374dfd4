// Tests how the coordinator has its agents read logs and see stacks for operators.
#include "tests/actors/coordinator_fixture.hpp"

#include <memory>
#include <string>
#include <vector>

namespace actorrun::test::coordinator_logs_test {

namespace {

struct logs_fixture : coordinator_fixture {
  using replies = std::shared_ptr<std::vector<v1::OperatorReply>>;

  replies ask(const v1::OperatorRequest& what, uint64_t session = 1) {
    auto out = std::make_shared<std::vector<v1::OperatorReply>>();
    tell_anonymously(uut, operator_question{.what = what,
                                            .reply =
                                              [out](v1::OperatorReply x) {
                                                out->push_back(std::move(x));
                                              },
                                            .by = "alice",
                                            .may_steer = true,
                                            .session = session});
    run();
    return out;
  }

  /// With a window of 80,000 bytes.
  static v1::OperatorRequest read_logs(uint64_t number, bool follow = false) {
    auto out = v1::OperatorRequest{};
    out.set_number(number);
    out.mutable_logs()->set_window(80'000);
    out.mutable_logs()->mutable_what()->set_follow(follow);
    return out;
  }

  static v1::OperatorRequest read_stacks() {
    auto out = v1::OperatorRequest{};
    out.mutable_stacks();
    return out;
  }

  void credit(uint64_t number, uint32_t size, uint64_t session = 1) {
    auto out = v1::OperatorRequest{};
    out.mutable_log_credit()->set_number(number);
    out.mutable_log_credit()->set_size(size);
    CHECK(ask(out, session)->empty());
  }

  /// An agent has read a line with so many bytes.
  void chunk(const agent_recorder& from, const std::string& id,
             uint64_t reading, size_t size, bool is_end = false,
             const std::string& trouble = "") {
    auto out = v1::LogChunk{};
    out.set_agent_id(id);
    out.set_reading(reading);
    if (size > 0)
      out.add_lines()->set_text(std::string(size, 'x'));
    out.set_is_end(is_end);
    out.set_trouble(trouble);
    send(from.handle, uut, out);
  }

  void report(const agent_recorder& from, const std::string& id,
              uint64_t request, const std::vector<uint32_t>& ranks) {
    auto out = v1::StacksReport{};
    out.set_agent_id(id);
    out.set_request(request);
    for (const auto rank : ranks)
      out.add_workers()->set_rank(rank);
    send(from.handle, uut, out);
  }

  /// Two agents run a generation, and have told nothing yet.
  void begin() {
    run_two();
    a.told();
    b.told();
  }
};

/// `2 lines of node-1; node-2: why; end`
std::string to_text(const std::vector<v1::OperatorReply>& all) {
  auto out = std::string{};
  for (const auto& x : all) {
    const auto& logs = x.logs();
    if (logs.lines_size() > 0)
      out += std::to_string(logs.lines_size()) + " of " + logs.lines(0).host()
             + "; ";
    if (!logs.trouble().empty())
      out += logs.trouble() + "; ";
    if (logs.is_end())
      out += "end";
    if (x.has_refusal())
      out += "refused: " + x.refusal().text();
  }
  return out;
}

} // namespace

TEST_CASE_METHOD(
  logs_fixture,
  "coordinator: agents share the window of a reading, and it ends "
  "with the last",
  "[actors]") {
  begin();
  const auto got = ask(read_logs(7));
  CHECK(got->size() == 1); // A sign of life.
  CHECK(a.told() == "read 1 of 1, credit 40000");
  CHECK(b.told() == "read 1 of 1, credit 40000");
  chunk(a, "1", 1, 100);
  chunk(b, "2", 1, 100, true, "a\x1b[2J");
  CHECK(to_text(*got) == "1 of node-1; 1 of node-2; node-2: a; ");
  chunk(a, "1", 1, 0, true);
  CHECK(to_text(*got) == "1 of node-1; 1 of node-2; node-2: a; end");
  chunk(a, "1", 1, 100); // Too late.
  CHECK(to_text(*got) == "1 of node-1; 1 of node-2; node-2: a; end");
}

TEST_CASE_METHOD(
  logs_fixture,
  "coordinator: what an operator has taken goes back to the agent "
  "that sent it",
  "[actors]") {
  begin();
  ask(read_logs(7));
  a.told();
  b.told();
  chunk(b, "2", 1, 16'000);
  credit(7, 16'064);
  CHECK(a.told() == "");
  CHECK(b.told() == "credit 1 16064");
  credit(8, 1'000);    // No such reading.
  credit(7, 1'000, 2); // Of another session.
  credit(7, 0);
  CHECK(a.told() == "credit 1 0");
  CHECK(b.told() == "credit 1 0");
}

TEST_CASE_METHOD(logs_fixture, "coordinator: more than the window is dropped",
                 "[actors]") {
  begin();
  const auto got = ask(read_logs(7));
  const auto before = dropped_message_count.load();
  chunk(a, "1", 1, 20'000);
  chunk(a, "1", 1, 19'000);
  chunk(a, "1", 1, 1'000);
  CHECK(got->size() == 3);
  CHECK(dropped_message_count.load() == before + 1);
}

TEST_CASE_METHOD(logs_fixture, "coordinator: ranks and nodes must be there",
                 "[actors]") {
  begin();
  auto request = read_logs(7);
  request.mutable_logs()->mutable_what()->add_ranks(4);
  CHECK(to_text(*ask(request))
        == "refused: the job has no rank 4: its ranks are 0-3");
  request = read_logs(7);
  request.mutable_logs()->set_node("node-3");
  CHECK(to_text(*ask(request))
        == "refused: the job has no node node-3; there are node-1, node-2");
  request.mutable_logs()->set_node("node-2");
  CHECK(to_text(*ask(request)) == "");
  CHECK(a.told() == "");
  CHECK(b.told() == "read 1 of 1, credit 65536");
  request = read_logs(8);
  request.mutable_logs()->mutable_what()->set_grep("(a)\\1");
  CHECK(to_text(*ask(request)).starts_with("refused: the expression refers"));
}

TEST_CASE_METHOD(logs_fixture,
                 "coordinator: who follows learns of lost and of new agents",
                 "[actors]") {
  begin();
  const auto once = ask(read_logs(7));
  const auto follower = ask(read_logs(8, true));
  a.told();
  b.told();
  end(b.handle);
  CHECK(to_text(*once) == "the link to node-2 is down: its lines end here; ");
  CHECK(to_text(*follower)
        == "the link to node-2 is down: its lines end here; ");
  const auto c = remote();
  CHECK(join(c, "3").find("read 2 of 1, credit 40000") != std::string::npos);
}

TEST_CASE_METHOD(logs_fixture,
                 "coordinator: who follows learns that the job ended first",
                 "[actors]") {
  begin();
  const auto follower = ask(read_logs(8, true));
  auto stop = v1::OperatorRequest{};
  stop.mutable_stop()->set_reason("enough");
  REQUIRE(ask(stop)->back().has_done());
  end(b.handle);
  CHECK(to_text(*follower)
        == "the job ended before all lines of node-2 were shown; ");
}

TEST_CASE_METHOD(logs_fixture, "coordinator: there are not too many readings",
                 "[actors]") {
  begin();
  for (uint64_t i = 1; i <= core::log_fanout::reading_count_max; ++i)
    CHECK(to_text(*ask(read_logs(i, true), i)) == "");
  CHECK(to_text(*ask(read_logs(1), 99)).starts_with("refused: 16 readings"));
  credit(3, 0, 3); // One is gone.
  CHECK(to_text(*ask(read_logs(1), 99)) == "");
}

TEST_CASE_METHOD(
  logs_fixture,
  "coordinator: all nodes are asked for the job's previous generation (P4)",
  "[actors]") {
  begin();
  auto request = read_logs(7);
  request.mutable_logs()->mutable_what()->set_previous(true);
  CHECK(to_text(*ask(request))
        == "no generation before this one is known; end");
  CHECK(a.told() == "");
  // Node 2 falls silent, a third one has its place, and then it is back.
  end(b.handle);
  stopped(a, "1", 1);
  const auto c = remote();
  join(c, "3");
  started(a, "1", 2, 300);
  started(c, "3", 2, 400);
  const auto back = remote();
  join(back, "2");
  a.told();
  c.told();
  back.told();
  CHECK(ask(request)->size() == 1); // A sign of life.
  CHECK(a.told().starts_with("read 1 of 1, "));
  CHECK(c.told().starts_with("read 1 of 1, "));
  CHECK(back.told().starts_with("read 1 of 1, "));
  // Without it all are asked for the newest, too, and not for their own newest.
  ask(read_logs(8));
  CHECK(a.told().starts_with("read 2 of 2, "));
  CHECK(back.told().starts_with("read 2 of 2, "));
}

TEST_CASE_METHOD(logs_fixture, "coordinator: stacks are put together by rank",
                 "[actors]") {
  begin();
  const auto got = ask(read_stacks());
  CHECK(a.told() == "stacks 1");
  CHECK(b.told() == "stacks 1");
  report(b, "2", 1, {2, 3});
  CHECK(got->empty());
  report(a, "1", 1, {0, 1});
  REQUIRE(got->size() == 1);
  const auto& stacks = got->front().stacks();
  REQUIRE(stacks.workers_size() == 4);
  CHECK(stacks.workers(0).host() == "node-1");
  CHECK(stacks.workers(3).rank() == 3);
  CHECK(stacks.workers(3).host() == "node-2");
  CHECK(stacks.trouble() == "");
}

TEST_CASE(
  "operator_stacks: of many silent nodes some are named, and all counted",
  "[actors]") {
  auto uut = operator_stacks{[](const agent_id&, const v1::StacksRequest&) {}};
  auto nodes = operator_stacks::node_map{};
  for (uint32_t i = 0; i < 5'000; ++i)
    nodes[{"agent-" + std::to_string(i)}] = {
      .host = std::string(200, 'h'), .first_global_rank = i, .slot_count = 1};
  auto reply = v1::OperatorReply{};
  auto question = operator_question{};
  question.what.mutable_stacks();
  question.reply = [&](v1::OperatorReply x) { reply = std::move(x); };
  const auto id = uut.begin(question, nodes, 5'000);
  for (uint32_t i = 0; i < 2'000; ++i)
    uut.lost({"agent-" + std::to_string(i)});
  uut.expired(id);
  const auto& text = reply.stacks().trouble();
  CHECK(text.size() < 8'000);
  CHECK(text.find("; 2992 more nodes have not answered") != std::string::npos);
  CHECK(text.ends_with("; the links to 1992 more nodes are down"));
}

TEST_CASE_METHOD(logs_fixture,
                 "coordinator: a node that is late misses its stacks",
                 "[actors]") {
  begin();
  auto request = read_stacks();
  request.mutable_stacks()->add_ranks(1);
  const auto one = ask(request);
  CHECK(b.told() == "");
  const auto all = ask(read_stacks());
  report(a, "1", 2, {0, 1});
  advance(operator_stacks::timeout);
  REQUIRE(one->size() == 1);
  CHECK(one->front().stacks().trouble() == "node-1 has not answered");
  REQUIRE(all->size() == 1);
  CHECK(all->front().stacks().workers_size() == 2);
  CHECK(all->front().stacks().trouble() == "node-2 has not answered");
}

} // namespace actorrun::test::coordinator_logs_test
