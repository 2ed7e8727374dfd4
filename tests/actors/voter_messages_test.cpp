// Tests what voters say to each other, on the wire and back.
#include "actors/voter_messages.hpp"
#include "tests/support/catch.hpp"

#include <string>

namespace actorrun::test::voter_messages_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

const auto n1 = agent_id{"n1"};
const auto n2 = agent_id{"n2"};
const auto n3 = agent_id{"n3"};

// Every value differs from its default and from all others.
written_charter a_charter() {
  auto job = charter{.revision = 3, .restart_count = 4};
  job.settings.agent_count_min = 5;
  job.settings.agent_count_max = 6;
  job.lease = 1200ms;
  job.newest = {8};
  job.charged = {7};
  job.leader_group = 5;
  return {.key = {9, 10},
          .voters = voter_set{{n1}}.changing_to({n1, n2, n3}),
          .order = {n2, n1, n3},
          .endpoints = {{n1, "10.0.0.1:41000"}, {n3, "[fd00::3]:41001"}},
          .job = job};
}

const auto sent_at = time_point{123'456'789ns};

/// As one that came from a peer.
template <class Message>
Message through_bytes(const Message& x) {
  auto out = Message{};
  REQUIRE(out.ParseFromString(x.SerializeAsString()));
  return out;
}

std::string fault_of(const v1::VoterMessage& x) {
  const auto out = from_wire(x);
  return out ? "none" : out.error().text;
}

template <class T>
T there_and_back(const T& x) {
  const auto out = from_wire(through_bytes(to_wire(succession_message{x})));
  REQUIRE(out);
  const auto* said = std::get_if<succession_message>(&*out);
  REQUIRE(said != nullptr);
  REQUIRE(std::holds_alternative<T>(*said));
  return std::get<T>(*said);
}

v1::VoterMessage message_with_charter() {
  return to_wire(succession_message{beat{1, sent_at, a_charter()}});
}

v1::WrittenCharter& charter_in(v1::VoterMessage& x) {
  return *x.mutable_beat()->mutable_charter();
}

} // namespace

TEST_CASE("voters: what they say comes as it was sent_at", "[actors]") {
  const auto told = there_and_back(beat{1, sent_at, a_charter()});
  CHECK(told.term == 1);
  CHECK(told.sent == sent_at);
  CHECK(told.charter == a_charter());
  CHECK(!there_and_back(beat{1, sent_at, {}}).charter);
  auto over = a_charter();
  over.job.decided = outcome{
    .kind = outcome::verdict::failed,
    .first_failure = worker_failure{.agent = n1, .global_rank = 3, .code = 7},
    .unlisted_failure_count = 2,
    .reason = "rank 3 exited with code 7"};
  CHECK(there_and_back(beat{1, sent_at, over}).charter == over);
  const auto heard = there_and_back(beat_heard{2, sent_at, {3, 4}});
  CHECK(heard.term == 2);
  CHECK(heard.sent == sent_at);
  CHECK(heard.stored == charter_key{3, 4});
  const auto ended = std::vector<ended_leader>{{n1, 7}, {n2, {}}, {n3, 0}};
  CHECK(there_and_back(core::ask{5, ended}).term == 5);
  CHECK(there_and_back(core::ask{5, ended}).ended == ended);
  CHECK(there_and_back(would{6}).term == 6);
  CHECK(there_and_back(would_not{7}).term == 7);
  const auto request = there_and_back(vote_request{8, sent_at, ended});
  CHECK(request.term == 8);
  CHECK(request.sent == sent_at);
  CHECK(request.ended == ended);
  const auto given = there_and_back(vote{9, sent_at, 321ms, a_charter()});
  CHECK(given.term == 9);
  CHECK(given.sent == sent_at);
  CHECK(given.silence == 321ms);
  CHECK(given.charter == a_charter());
  const auto left = there_and_back(resigned{10, n3, "bob", true});
  CHECK(left.term == 10);
  CHECK(left.successor == n3);
  CHECK(left.reason == "bob");
  CHECK(left.is_asked);
}

TEST_CASE("voters: where the leader is", "[actors]") {
  const auto asked = from_wire(through_bytes(to_wire(find_leader{"n1:1"})));
  REQUIRE(asked);
  CHECK(std::get<find_leader>(*asked).endpoint == "n1:1");
  CHECK_FALSE(std::get<find_leader>(*asked).is_witness);
  const auto watched
    = from_wire(through_bytes(to_wire(find_leader{"n4:1", true})));
  REQUIRE(watched);
  CHECK(std::get<find_leader>(*watched).is_witness);
  CHECK_FALSE(std::get<find_leader>(*watched).takes_answer);
  const auto unknown = from_wire(through_bytes(to_wire(leader_at{})));
  REQUIRE(unknown);
  CHECK(std::get<leader_at>(*unknown).leader.value.empty());
  const auto waiting
    = from_wire(through_bytes(to_wire(find_leader{"n5:1", false, true})));
  REQUIRE(waiting);
  CHECK(std::get<find_leader>(*waiting).takes_answer);
  const auto survey = host_survey{.seeker = n3,
                                  .addresses = {"10.0.0.1", "node-a"},
                                  .present = {"n1", "n2"},
                                  .voters = {{n1, "10.0.0.1:41000"}},
                                  .newborn = n2};
  const auto surveyed = from_wire(through_bytes(to_wire(survey)));
  REQUIRE(surveyed);
  CHECK(std::get<host_survey>(*surveyed) == survey);
  const auto called = from_wire(through_bytes(to_wire(call_home{})));
  REQUIRE(called);
  CHECK(std::holds_alternative<call_home>(*called));
  const auto told
    = from_wire(through_bytes(to_wire(leader_at{n2, "n2:1", "n2:29400"})));
  REQUIRE(told);
  const auto& where = std::get<leader_at>(*told);
  CHECK(where.leader == n2);
  CHECK(where.endpoint == "n2:1");
  CHECK(where.coordinator == "n2:29400");
  CHECK(where.voters.empty());
  CHECK_FALSE(where.decided);
  const auto voters = endpoint_list{{n1, "10.0.0.1:1"}, {n2, "[fd00::2]:1"}};
  CHECK(voters_from_wire(through_bytes(voters_to_wire(voters))) == voters);
  const auto ended
    = outcome{.kind = outcome::verdict::succeeded, .first_failure = {}};
  const auto to_witness = from_wire(
    through_bytes(to_wire(leader_at{n2, "n2:1", "n2:29400", voters, ended})));
  REQUIRE(to_witness);
  CHECK(std::get<leader_at>(*to_witness).voters == voters);
  CHECK(std::get<leader_at>(*to_witness).decided == ended);
  auto many = leader_at{n2, "n2:1", "n2:29400"};
  for (auto i = 0; i < 12; ++i)
    many.voters[{"n" + std::to_string(i)}] = "10.0.0.1:1";
  CHECK_FALSE(from_wire(through_bytes(to_wire(many))));
  CHECK(voter_endpoint("10.0.0.1", 1) == "10.0.0.1:1");
  CHECK(voter_endpoint("fd00::2", 1) == "[fd00::2]:1");
}

TEST_CASE("voters: what seeds say", "[actors]") {
  const auto known = endpoint_list{{n1, "10.0.0.1:41000"}};
  const auto list = std::vector<std::string>{"a:29400", "b:29400"};
  const founding_message all[] = {
    found_ask{{3, 1}, 0, "10.0.0.1:1", list}, found_promise{{3, 1}, 2, known},
    found_refused{{3, 1}, 2, {4, 0}, known, list},
    found_claim{{3, 1}, 2, "10.0.0.1:1"}, found_granted{{3, 1}, 2}};
  for (const auto& x : all) {
    const auto out = from_wire(through_bytes(to_wire(x)));
    REQUIRE(out);
    const auto& read = std::get<founding_message>(*out);
    CHECK(to_string(read) == to_string(x));
    CHECK(read.index() == x.index());
  }
  const auto asked = from_wire(through_bytes(to_wire(all[0])));
  const auto& question
    = std::get<found_ask>(std::get<founding_message>(*asked));
  CHECK(question.endpoint == "10.0.0.1:1");
  CHECK(question.seeds == list);
  const auto refused = from_wire(through_bytes(to_wire(all[2])));
  const auto& why
    = std::get<found_refused>(std::get<founding_message>(*refused));
  CHECK(why.promised == ballot{4, 0});
  CHECK(why.may_know == known);
  CHECK(why.seed == 2);
  auto many = to_wire(all[0]);
  for (size_t i = 0; i < seeds_max; ++i)
    many.mutable_found_ask()->add_seeds("x");
  CHECK(fault_of(many) == "sends more seeds than a job has");
  auto far = to_wire(all[4]);
  far.mutable_found_granted()->set_seed(seeds_max);
  CHECK(fault_of(far) == "names a seed that no list has");
  auto named = to_wire(all[1]);
  for (size_t i = 0; i <= remembered_voters_max; ++i)
    named.mutable_found_promise()->add_may_know()->set_agent_id("n1");
  CHECK(fault_of(named) == "sends more agents than are remembered");
}

TEST_CASE("voters: a tombstone comes as it was left", "[actors]") {
  for (const auto& x : {tombstone{4, n2, a_charter()}, tombstone{4, {}, {}}}) {
    const auto out = from_wire(through_bytes(to_wire(x)));
    REQUIRE(out);
    CHECK(*out == x);
  }
}

TEST_CASE("voters: the newest proofs are told", "[actors]") {
  auto ended = std::vector<ended_leader>{};
  for (auto i = size_t{0}; i < told_proofs_max + 2; ++i)
    ended.push_back({n1, i});
  const auto told = there_and_back(core::ask{1, ended}).ended;
  CHECK(told.size() == told_proofs_max);
  CHECK(told.back() == ended.back());
}

TEST_CASE("voters: what no honest one sends is refused", "[actors]") {
  CHECK(fault_of({}) == "sends a message of voters that we do not know");
  auto term = to_wire(succession_message{would{1}});
  term.mutable_would()->set_term(UINT64_MAX);
  CHECK(fault_of(term) == "sends a term that no job reaches");
  auto key = message_with_charter();
  charter_in(key).mutable_key()->set_version(UINT64_MAX);
  CHECK(fault_of(key) == "sends a term that no job reaches");
  auto no_voters = message_with_charter();
  charter_in(no_voters).clear_voters();
  CHECK(fault_of(no_voters) == "sends a charter without voters");
  auto no_leader = message_with_charter();
  charter_in(no_leader).clear_order();
  charter_in(no_leader).clear_endpoints();
  CHECK(fault_of(no_leader) == "sends a charter without a leader");
  auto many = message_with_charter();
  for (auto i = 0; i < 3; ++i)
    charter_in(many).add_voters("x" + std::to_string(i));
  CHECK(fault_of(many) == "sends a charter with too many agents");
  auto twice = message_with_charter();
  charter_in(twice).add_voters("n1");
  CHECK(fault_of(twice) == "sends a charter that has an agent twice");
  auto unknown = message_with_charter();
  charter_in(unknown).mutable_endpoints(0)->set_agent_id("d");
  CHECK(fault_of(unknown)
        == "sends an endpoint of an agent that is not in the order");
  auto endpoint = message_with_charter();
  charter_in(endpoint).mutable_endpoints(0)->set_address("\x1b[2J");
  CHECK(fault_of(endpoint) == "sends an endpoint that cannot be one");
  auto long_endpoint = message_with_charter();
  charter_in(long_endpoint)
    .mutable_endpoints(0)
    ->set_address(std::string(81, '1'));
  CHECK(fault_of(long_endpoint) == "sends an endpoint that cannot be one");
  auto addresses = to_wire(host_survey{});
  for (size_t i = 0; i <= surveyed_addresses_max; ++i)
    addresses.mutable_host_survey()->add_addresses("10.0.0.1");
  CHECK(fault_of(addresses) == "sends a survey of more than a host has");
  auto agents = to_wire(host_survey{});
  for (size_t i = 0; i <= surveyed_agents_max; ++i)
    agents.mutable_host_survey()->add_present("n1");
  CHECK(fault_of(agents) == "sends a survey of more than a host has");
  auto named = to_wire(host_survey{});
  for (size_t i = 0; i <= remembered_voters_max; ++i)
    named.mutable_host_survey()->add_voters()->set_agent_id("n1");
  CHECK(fault_of(named) == "sends a survey of more than a host has");
  auto seeker = to_wire(host_survey{});
  seeker.mutable_host_survey()->set_seeker("a\nb");
  CHECK(fault_of(seeker) == "sends an agent's id that cannot be one");
  auto proofs = to_wire(succession_message{core::ask{1, {{n1, 1}}}});
  for (size_t i = 0; i < told_proofs_max; ++i)
    proofs.mutable_ask()->add_ended()->set_agent_id("n2");
  CHECK(fault_of(proofs) == "sends more proofs than are told");
  for (const auto& id :
       {std::string{}, std::string(321, 'a'), std::string{"a\nb"}}) {
    auto successor = to_wire(succession_message{resigned{1, n1}});
    successor.mutable_resigned()->set_successor(id);
    CHECK(fault_of(successor) == "sends an agent's id that cannot be one");
  }
}

TEST_CASE("voters: a silence of years counts as one of a day", "[actors]") {
  auto x = to_wire(succession_message{vote{1, sent_at, 1ms, {}}});
  x.mutable_vote()->set_silence_ns(UINT64_MAX);
  const auto out = from_wire(x);
  REQUIRE(out);
  CHECK(std::get<vote>(std::get<succession_message>(*out)).silence == 24h);
}

} // namespace actorrun::test::voter_messages_test
