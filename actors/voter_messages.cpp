#include "actors/voter_messages.hpp"

#include "actors/core/failure.hpp"
#include "actors/translate.hpp"

#include <algorithm>
#include <utility>

namespace actorrun {

namespace {

/// Before and after a change, and the deputy.
constexpr auto order_size_max = 2 * core::voters_max + 1;

// In bytes. Ids have a host name in them, endpoints an address.
constexpr size_t voter_id_size_max = 320;
constexpr size_t endpoint_size_max = 80;
constexpr size_t resignation_size_max = 320;

/// Terms are counted from 1; no job comes near this one.
constexpr auto term_max = uint64_t{1} << 53U;

/// None is silent for longer, as far as anyone needs to know.
constexpr auto silence_max = core::duration{std::chrono::hours{24}};

using agents = std::vector<agent_id>;

// -- to the wire --------------------------------------------------------------

int64_t stamp_of(core::time_point x) {
  return core::duration{x.time_since_epoch()}.count();
}

void write(const core::charter_key& x, v1::CharterKey& out) {
  out.set_term(x.term);
  out.set_version(x.version);
}

void write(const core::written_charter& x, v1::WrittenCharter& out) {
  write(x.key, *out.mutable_key());
  for (const auto& who : x.voters.newest())
    out.add_voters(who.value);
  for (const auto& who : x.voters.former())
    out.add_former_voters(who.value);
  for (const auto& who : x.order)
    out.add_order(who.value);
  for (const auto& [who, address] : x.endpoints) {
    auto& endpoint = *out.add_endpoints();
    endpoint.set_agent_id(who.value);
    endpoint.set_address(address);
  }
  *out.mutable_job() = to_wire(x.job);
  out.set_leader_group(x.job.leader_group);
  if (x.job.decided)
    *out.mutable_decided() = to_wire(*x.job.decided);
}

template <class Message>
void write(const std::vector<core::ended_leader>& xs, Message& out) {
  const auto skipped = xs.size() - std::min(xs.size(), told_proofs_max);
  for (auto i = skipped; i < xs.size(); ++i) {
    auto& ended = *out.add_ended();
    ended.set_agent_id(xs[i].who.value);
    if (xs[i].term)
      ended.set_term(*xs[i].term);
  }
}

void write(const core::ballot& x, v1::Ballot& out) {
  out.set_number(x.number);
  out.set_seed(x.seed);
}

void write(const core::endpoint_list& xs,
           google::protobuf::RepeatedPtrField<v1::VoterEndpoint>& out) {
  for (const auto& [who, address] : xs) {
    auto& to = *out.Add();
    to.set_agent_id(who.value);
    to.set_address(address);
  }
}

/// The parts that all messages of seeds have.
template <class From, class Message>
void write_attempt(const From& x, Message& out) {
  write(x.by, *out.mutable_by());
  out.set_seed(x.seed);
}

struct message_writer {
  v1::VoterMessage& out;

  void operator()(const core::beat& x) const {
    auto& to = *out.mutable_beat();
    to.set_term(x.term);
    to.set_sent_ns(stamp_of(x.sent));
    if (x.charter)
      write(*x.charter, *to.mutable_charter());
  }
  void operator()(const core::beat_heard& x) const {
    auto& to = *out.mutable_beat_heard();
    to.set_term(x.term);
    to.set_sent_ns(stamp_of(x.sent));
    write(x.stored, *to.mutable_stored());
  }
  void operator()(const core::ask& x) const {
    auto& to = *out.mutable_ask();
    to.set_term(x.term);
    write(x.ended, to);
  }
  void operator()(const core::would& x) const {
    out.mutable_would()->set_term(x.term);
  }
  void operator()(const core::would_not& x) const {
    out.mutable_would_not()->set_term(x.term);
  }
  void operator()(const core::vote_request& x) const {
    auto& to = *out.mutable_vote_request();
    to.set_term(x.term);
    to.set_sent_ns(stamp_of(x.sent));
    write(x.ended, to);
  }
  void operator()(const core::vote& x) const {
    auto& to = *out.mutable_vote();
    to.set_term(x.term);
    to.set_sent_ns(stamp_of(x.sent));
    to.set_silence_ns(uint64_t(std::max(x.silence, core::duration{0}).count()));
    if (x.charter)
      write(*x.charter, *to.mutable_charter());
  }
  void operator()(const core::resigned& x) const {
    auto& to = *out.mutable_resigned();
    to.set_term(x.term);
    to.set_successor(x.successor.value);
    to.set_reason(x.reason);
    to.set_is_asked(x.is_asked);
  }
  void operator()(const core::succession_message& x) const {
    std::visit(*this, x);
  }
  void operator()(const find_leader& x) const {
    auto& to = *out.mutable_find_leader();
    to.set_endpoint(x.endpoint);
    to.set_is_witness(x.is_witness);
    to.set_takes_answer(x.takes_answer);
  }
  void operator()(const call_home&) const { out.mutable_call_home(); }
  void operator()(const core::host_survey& x) const {
    auto& to = *out.mutable_host_survey();
    to.set_seeker(x.seeker.value);
    for (const auto& address : x.addresses)
      to.add_addresses(address);
    for (const auto& end : x.present)
      to.add_present(end);
    write(x.voters, *to.mutable_voters());
    to.set_newborn(x.newborn.value);
  }
  void operator()(const core::found_ask& x) const {
    auto& to = *out.mutable_found_ask();
    write_attempt(x, to);
    to.set_endpoint(x.endpoint);
    for (const auto& seed : x.seeds)
      to.add_seeds(seed);
  }
  void operator()(const core::found_promise& x) const {
    auto& to = *out.mutable_found_promise();
    write_attempt(x, to);
    write(x.may_know, *to.mutable_may_know());
  }
  void operator()(const core::found_refused& x) const {
    auto& to = *out.mutable_found_refused();
    write_attempt(x, to);
    write(x.promised, *to.mutable_promised());
    write(x.may_know, *to.mutable_may_know());
    for (const auto& seed : x.seeds)
      to.add_seeds(seed);
  }
  void operator()(const core::found_claim& x) const {
    auto& to = *out.mutable_found_claim();
    write_attempt(x, to);
    to.set_endpoint(x.endpoint);
  }
  void operator()(const core::found_granted& x) const {
    write_attempt(x, *out.mutable_found_granted());
  }
  void operator()(const core::founding_message& x) const {
    std::visit(*this, x);
  }
  void operator()(const leader_at& x) const {
    auto& to = *out.mutable_leader_at();
    to.set_leader(x.leader.value);
    to.set_endpoint(x.endpoint);
    to.set_coordinator(x.coordinator);
    write(x.voters, *to.mutable_voters());
    if (x.decided)
      *to.mutable_decided() = to_wire(*x.decided);
  }
};

// -- from the wire ------------------------------------------------------------

/// What is wrong: a verb and its object. Thrown and caught in this file: the place is
/// deep in a message, and the message is given up.
struct bad_message {
  std::string why;
};

core::time_point time_of(int64_t stamp) {
  return core::time_point{core::duration{stamp}};
}

uint64_t read_term(uint64_t x) {
  if (x > term_max)
    throw bad_message{"sends a term that no job reaches"};
  return x;
}

agent_id read_agent(const std::string& text) {
  if (text.empty() || core::one_line(text, voter_id_size_max) != text)
    throw bad_message{"sends an agent's id that cannot be one"};
  return {text};
}

std::string read_endpoint(const std::string& text) {
  if (core::one_line(text, endpoint_size_max) != text)
    throw bad_message{"sends an endpoint that cannot be one"};
  return text;
}

template <class Strings>
agents read_agents(const Strings& texts, size_t max) {
  auto out = agents{};
  if (size_t(texts.size()) > max)
    throw bad_message{"sends a charter with too many agents"};
  for (const auto& text : texts) {
    auto who = read_agent(text);
    if (std::ranges::find(out, who) != out.end())
      throw bad_message{"sends a charter that has an agent twice"};
    out.push_back(std::move(who));
  }
  return out;
}

core::charter_key read(const v1::CharterKey& x) {
  return {read_term(x.term()), read_term(x.version())};
}

core::voter_set read_voters(const v1::WrittenCharter& x) {
  auto newest = read_agents(x.voters(), core::voters_max);
  auto former = read_agents(x.former_voters(), core::voters_max);
  if (newest.empty())
    throw bad_message{"sends a charter without voters"};
  return former.empty()
           ? core::voter_set{std::move(newest)}
           : core::voter_set{std::move(former)}.changing_to(std::move(newest));
}

core::written_charter read(const v1::WrittenCharter& x) {
  auto out
    = core::written_charter{.key = read(x.key()),
                            .voters = read_voters(x),
                            .order = read_agents(x.order(), order_size_max),
                            .job = from_wire(x.job())};
  out.job.leader_group = x.leader_group();
  if (x.has_decided())
    out.job.decided = from_wire(x.decided());
  if (out.order.empty())
    throw bad_message{"sends a charter without a leader"};
  for (const auto& endpoint : x.endpoints()) {
    auto who = read_agent(endpoint.agent_id());
    if (std::ranges::find(out.order, who) == out.order.end())
      throw bad_message{
        "sends an endpoint of an agent that is not in the order"};
    out.endpoints.emplace(std::move(who), read_endpoint(endpoint.address()));
  }
  return out;
}

template <class Message>
std::optional<core::written_charter> read_charter(const Message& x) {
  if (!x.has_charter())
    return {};
  return read(x.charter());
}

template <class Message>
std::vector<core::ended_leader> read_ended(const Message& x) {
  auto out = std::vector<core::ended_leader>{};
  if (size_t(x.ended_size()) > told_proofs_max)
    throw bad_message{"sends more proofs than are told"};
  for (const auto& ended : x.ended()) {
    auto& to = out.emplace_back(read_agent(ended.agent_id()));
    if (ended.has_term())
      to.term = read_term(ended.term());
  }
  return out;
}

core::tombstone read(const v1::Tombstone& x) {
  return {.term = read_term(x.term()),
          .promised_to
          = x.promised_to().empty() ? agent_id{} : read_agent(x.promised_to()),
          .charter = read_charter(x)};
}

core::duration read_silence(uint64_t ns) {
  return core::duration{int64_t(std::min(ns, uint64_t(silence_max.count())))};
}

core::ballot read(const v1::Ballot& x) {
  return {read_term(x.number()), x.seed()};
}

uint32_t read_seed(uint32_t x) {
  if (x >= core::seeds_max)
    throw bad_message{"names a seed that no list has"};
  return x;
}

template <class Strings>
std::vector<std::string> read_seeds(const Strings& texts) {
  auto out = std::vector<std::string>{};
  if (size_t(texts.size()) > core::seeds_max)
    throw bad_message{"sends more seeds than a job has"};
  for (const auto& text : texts)
    out.push_back(core::one_line(text, voter_id_size_max));
  return out;
}

template <class Endpoints>
core::endpoint_list read_list(const Endpoints& xs,
                              size_t max = core::remembered_voters_max) {
  auto out = core::endpoint_list{};
  if (size_t(xs.size()) > max)
    throw bad_message{"sends more agents than are remembered"};
  for (const auto& x : xs)
    out.emplace(read_agent(x.agent_id()), read_endpoint(x.address()));
  return out;
}

leader_at read(const v1::LeaderAt& x) {
  if (x.leader().empty())
    return {};
  auto out = leader_at{.leader = read_agent(x.leader()),
                       .endpoint = read_endpoint(x.endpoint()),
                       .coordinator = read_endpoint(x.coordinator()),
                       .voters = read_list(x.voters(), order_size_max)};
  if (x.has_decided())
    out.decided = from_wire(x.decided());
  return out;
}

core::founding_message read(const v1::FoundAsk& x) {
  return core::found_ask{read(x.by()), read_seed(x.seed()),
                         read_endpoint(x.endpoint()), read_seeds(x.seeds())};
}

core::founding_message read(const v1::FoundPromise& x) {
  return core::found_promise{read(x.by()), read_seed(x.seed()),
                             read_list(x.may_know())};
}

core::founding_message read(const v1::FoundRefused& x) {
  return core::found_refused{read(x.by()), read_seed(x.seed()),
                             read(x.promised()), read_list(x.may_know()),
                             read_seeds(x.seeds())};
}

core::founding_message read(const v1::FoundClaim& x) {
  return core::found_claim{read(x.by()), read_seed(x.seed()),
                           read_endpoint(x.endpoint())};
}

core::founding_message read(const v1::FoundGranted& x) {
  return core::found_granted{read(x.by()), read_seed(x.seed())};
}

core::host_survey read(const v1::HostSurvey& x) {
  if (size_t(x.addresses_size()) > surveyed_addresses_max
      || size_t(x.present_size()) > surveyed_agents_max
      || size_t(x.voters_size()) > core::remembered_voters_max)
    throw bad_message{"sends a survey of more than a host has"};
  auto out = core::host_survey{};
  if (!x.seeker().empty())
    out.seeker = read_agent(x.seeker());
  if (!x.newborn().empty())
    out.newborn = read_agent(x.newborn());
  for (const auto& address : x.addresses())
    out.addresses.push_back(read_endpoint(address));
  for (const auto& end : x.present())
    out.present.push_back(core::one_line(end, voter_id_size_max));
  for (const auto& voter : x.voters())
    out.voters.emplace(read_agent(voter.agent_id()),
                       read_endpoint(voter.address()));
  return out;
}

voter_message read(const v1::VoterMessage& x) {
  using kind = v1::VoterMessage::WhatCase;
  switch (x.what_case()) {
    case kind::kBeat: {
      const auto& y = x.beat();
      return core::succession_message{
        core::beat{read_term(y.term()), time_of(y.sent_ns()), read_charter(y)}};
    }
    case kind::kBeatHeard: {
      const auto& y = x.beat_heard();
      return core::succession_message{core::beat_heard{
        read_term(y.term()), time_of(y.sent_ns()), read(y.stored())}};
    }
    case kind::kAsk:
      return core::succession_message{
        core::ask{read_term(x.ask().term()), read_ended(x.ask())}};
    case kind::kWould:
      return core::succession_message{core::would{read_term(x.would().term())}};
    case kind::kWouldNot:
      return core::succession_message{
        core::would_not{read_term(x.would_not().term())}};
    case kind::kVoteRequest: {
      const auto& y = x.vote_request();
      return core::succession_message{core::vote_request{
        read_term(y.term()), time_of(y.sent_ns()), read_ended(y)}};
    }
    case kind::kVote: {
      const auto& y = x.vote();
      return core::succession_message{
        core::vote{read_term(y.term()), time_of(y.sent_ns()),
                   read_silence(y.silence_ns()), read_charter(y)}};
    }
    case kind::kResigned:
      return core::succession_message{core::resigned{
        read_term(x.resigned().term()), read_agent(x.resigned().successor()),
        core::one_line(x.resigned().reason(), resignation_size_max),
        x.resigned().is_asked()}};
    case kind::kFindLeader:
      return find_leader{read_endpoint(x.find_leader().endpoint()),
                         x.find_leader().is_witness(),
                         x.find_leader().takes_answer()};
    case kind::kLeaderAt:
      return read(x.leader_at());
    case kind::kCallHome:
      return call_home{};
    case kind::kHostSurvey:
      return read(x.host_survey());
    case kind::kFoundAsk:
      return read(x.found_ask());
    case kind::kFoundPromise:
      return read(x.found_promise());
    case kind::kFoundRefused:
      return read(x.found_refused());
    case kind::kFoundClaim:
      return read(x.found_claim());
    case kind::kFoundGranted:
      return read(x.found_granted());
    case kind::WHAT_NOT_SET:
      break;
  }
  throw bad_message{"sends a message of voters that we do not know"};
}

template <class T, class Message>
result<T> checked(const Message& x) {
  try {
    return read(x);
  } catch (const bad_message& e) {
    return failure{errc::not_actorrun, e.why};
  }
}

} // namespace

v1::VoterMessage to_wire(const voter_message& x) {
  auto out = v1::VoterMessage{};
  std::visit(message_writer{out}, x);
  return out;
}

v1::Tombstone to_wire(const core::tombstone& x) {
  auto out = v1::Tombstone{};
  out.set_term(x.term);
  out.set_promised_to(x.promised_to.value);
  if (x.charter)
    write(*x.charter, *out.mutable_charter());
  return out;
}

v1::VotersChanged voters_to_wire(const core::endpoint_list& x) {
  auto out = v1::VotersChanged{};
  for (const auto& [who, address] : x) {
    auto& voter = *out.add_voters();
    voter.set_agent_id(who.value);
    voter.set_address(address);
  }
  return out;
}

core::endpoint_list voters_from_wire(const v1::VotersChanged& x) {
  auto out = core::endpoint_list{};
  for (const auto& voter : x.voters())
    if (out.size() < order_size_max)
      out.emplace(agent_id{core::one_line(voter.agent_id(), voter_id_size_max)},
                  core::one_line(voter.address(), endpoint_size_max));
  return out;
}

std::string voter_endpoint(const std::string& address, uint16_t port) {
  const auto is_v6 = address.find(':') != address.npos;
  return (is_v6 ? "[" + address + "]" : address) + ":" + std::to_string(port);
}

result<voter_message> from_wire(const v1::VoterMessage& x) {
  return checked<voter_message>(x);
}

result<core::tombstone> from_wire(const v1::Tombstone& x) {
  return checked<core::tombstone>(x);
}

} // namespace actorrun
