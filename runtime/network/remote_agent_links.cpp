#include "runtime/network/remote_agent_links.hpp"

#include "actors/operator_questions.hpp"
#include "messages/formatted.hpp"
#include "runtime/network/tombstone.hpp"
#include "runtime/os/clock.hpp"
#include "runtime/os/descriptor_room.hpp"
#include "runtime/os/peer_user.hpp"

#include <algorithm>
#include <utility>

namespace actorrun::detail {

namespace {

// A connection that its process had accepted and not closed yet when it died
// ends without a proof. So it is asked again, after this pause, twice this, …
constexpr auto probe_pause = std::chrono::milliseconds{5};
constexpr auto probe_attempt_max = uint32_t{6};

// So many peers may be pending, or as many as the job may have agents, if those are
// more, and this process may have the descriptors; beyond that, the oldest goes.
constexpr auto pending_min = size_t{64};

// Minimum interval between reports of links that were cut.
constexpr auto report_interval = std::chrono::seconds{10};

// So many links, or more if they are all in use or of members, are remembered.
constexpr auto line_count_max = size_t{4'096};

// At most this many probes at a time; other agents have to wait for their lease.
constexpr auto probe_count_max = size_t{1'024};

} // namespace

remote_agent_links::remote_agent_links(
  caf::actor_system& system, reactor& home, log lines,
  std::shared_ptr<shared_lease_desk> leases, size_t agent_count_max,
  core::duration answer_pause, core::duration accept_limit)
  : system_(system), home_(home), lines_(std::move(lines)),
    leases_(std::move(leases)), answer_pause_(answer_pause),
    pending_max_(std::min(std::max(pending_min, agent_count_max),
                          descriptor_shares_now().pending)),
    pending_time_max_(std::max<core::duration>(
      encryption_limit, core::entry_time * agent_count_max)),
    accept_time_max_(std::max<core::duration>(
      accept_limit, core::entry_time * agent_count_max)),
    link_max_(agent_count_max + descriptor_shares_now().standby),
    operators_(home,
               [this](operator_question x) {
                 tell_anonymously(coordinator_, std::move(x));
               },
               {.session_count = std::min(operator_count_max,
                                          descriptor_shares_now().viewers)}),
    cut_links_(home, report_interval, [this](const rejection_report& x) {
      lines_.warn(formatted("coordinator cut {} {}; the last was of {}: it {}",
                            x.count, x.count == 1 ? "link" : "links",
                            x.last_address, x.last_reason));
    }) {}

void remote_agent_links::close() {
  listener_.reset();
  run_and_wait(home_, [this] {
    cut_all();
    operators_.clear();
  });
}

remote_agent_links::~remote_agent_links() {
  listener_.reset();
  run_and_wait(home_, [this] {
    *alive_ = false;
    watch_.release();
    home_.cancel(applicant_timer_);
    cut_links_.stop();
    probes_.clear();
    new_links_.clear();
    links_.clear();
    operators_.clear();
  });
}

result<std::string> remote_agent_links::listen(
  const socket_address& where, const credentials& mine,
  const std::function<rendezvous_coordinator_actor(
    int socket, const nonce_bytes& incarnation)>& on_listening) {
  mine_ = mine;
  // What is posted here runs before the first peer is accepted.
  const auto begin = [&](int socket, const nonce_bytes& incarnation) {
    home_.post(
      [this, alive = alive_, coordinator = on_listening(socket, incarnation)] {
        if (!*alive)
          return;
        coordinator_ = coordinator;
        watch_ = actor_watch{coordinator_, [this, alive](const std::string&) {
                               home_.post([this, alive] {
                                 if (*alive)
                                   cut_all();
                               });
                             }};
      });
  };
  auto listener = listener::listen(
    home_, where, mine,
    {.on_peer
     = [this](unique_fd connection,
              const peer& who) { receive(std::move(connection), who); },
     .on_rejections =
       [this](const rejection_report& x) {
         lines_.warn(
           formatted("coordinator rejected {} {}; the last was from {}: it {}",
                     x.count, x.count == 1 ? "connection" : "connections",
                     x.last_address, x.last_reason));
       },
     .on_listening = begin,
     .resumption_of
     = [this](const std::string& agent) { return last_key_of(agent); },
     .on_store_client =
       [this](unique_fd client, const std::string& address,
              const std::string& host) {
         return take_store_client(std::move(client), address, host);
       }},
    {.half_open_max = pending_max_, .handshake = pending_time_max_});
  if (!listener)
    return listener.error();
  listener_.emplace(std::move(*listener));
  return listener_->address();
}

// -- links --------------------------------------------------------------------

// A key that comes from the job's id alone proves nothing of an operator.
void remote_agent_links::receive(unique_fd connection, const peer& who) {
  if (who.intent == purpose::join)
    return encrypt(std::move(connection), who);
  if (who.intent == purpose::vote && pass_voter_)
    return pass_voter_(std::move(connection), who);
  if (who.intent == purpose::vote)
    return report_cut(
      who.id, who.address,
      {errc::not_actorrun, "speaks to a voter, and no voter is here"});
  operators_.add(
    std::move(connection), who.key, {mine_.identity},
    {formatted("{} at {}", who.id, who.address), mine_.is_guarded()},
    [this, id = who.id, address = who.address](const failure& why) {
      report_cut(id, address, why);
    });
}

// The store has no secret; so whoever may reach it through this port must be known
// where the job has one.
std::string remote_agent_links::take_store_client(unique_fd client,
                                                  const std::string& address,
                                                  const std::string& host) {
  if (!pass_store_client_)
    return "is a client of torch's store, which is not here but at MASTER_ADDR"
           " and MASTER_PORT of the workers";
  if (mine_.is_guarded() && !is_of_job(client, host))
    return "is a client of torch's store, and no node of the job is at its"
           " address";
  pass_store_client_(std::move(client), address);
  return {};
}

bool remote_agent_links::is_of_job(const unique_fd& client,
                                   const std::string& host) const {
  if (const auto user = user_of_peer(client.get()))
    return is_trusted(*user);
  return std::any_of(links_.begin(), links_.end(), [&](const auto& x) {
    return x.second.link && x.second.host == host;
  });
}

std::optional<resumption_key>
remote_agent_links::last_key_of(const std::string& agent) const {
  const auto i = links_.find(agent);
  return i == links_.end() ? std::nullopt : i->second.last_key;
}

// Agents that stand by are welcome as long as they do not take what the job needs.
bool remote_agent_links::has_room_for(const peer& who) const {
  const auto i = links_.find(who.id);
  return link_count_ < link_max_ || (i != links_.end() && i->second.link);
}

// Only a link that is encrypted takes the place of another, and speaks to actors.
void remote_agent_links::encrypt(unique_fd connection, peer who) {
  if (!has_room_for(who))
    return report_cut(
      who.id, who.address,
      {errc::connection_failed,
       formatted("is one too many: {} agents are linked already, "
                 "and each takes a descriptor of this process",
                 link_count_)});
  const auto number = ++last_link_;
  if (new_links_.size() >= pending_max_)
    new_links_.erase(new_links_.begin());
  auto link = carry(
    home_, std::move(connection),
    {.mine = link_side::server,
     .peer = std::make_unique<remote_agent>(system_, setup_for(who)),
     .key = who.key,
     .trust = {mine_.identity},
     .limit = pending_time_max_,
     .call_when_handled
     = [this](std::function<void()> fn) { call_when_handled(std::move(fn)); },
     .answer_pause = answer_pause_,
     .on_encrypted =
       [this, number](const resumption_key& key) {
         auto x = new_links_.extract(number);
         return x && admit(std::move(x.mapped()), key);
       },
     .on_closed =
       [this, id = who.id, address = who.address,
        number](const result<void>& how) {
         if (!how)
           report_cut(id, address, how.error());
         on_closed(id, number);
       }});
  const auto shown = last_key_of(who.id);
  new_links_[number] = {std::move(who), std::move(link), number, shown};
}

remote_agent_setup remote_agent_links::setup_for(const peer& who) {
  auto out = remote_agent_setup{.coordinator = coordinator_,
                                .id = who.id,
                                .version = who.version,
                                .lines = lines_};
  if (!mine_.identity) // A certificate is the better proof.
    out.peer_host = who.host;
  if (leases_)
    out.hear = [this, agent = agent_id{who.id}](int64_t sent_ns) {
      return hear(agent, sent_ns);
    };
  out.is_member = [this, id = who.id] { return is_member(id); };
  return out;
}

std::optional<core::duration> remote_agent_links::hear(const agent_id& agent,
                                                       int64_t sent_ns) {
  const auto at = now();
  const auto is_heard
    = leases_->hear(agent, core::time_point{core::duration{sent_ns}}, at);
  if (leases_->wants_sign(at))
    poke();
  return is_heard;
}

/// Where no leases are kept, whoever has a link.
bool remote_agent_links::is_member(const shared_text& agent) const {
  return !leases_ || leases_->hold()->heard({agent});
}

// The coordinator's reply says no more than that it decides.
void remote_agent_links::poke() {
  call_when_handled([] {});
}

void remote_agent_links::call_when_handled(std::function<void()> fn) const {
  auto question = operator_question{};
  question.what = own_node_request();
  question.reply = [fn = std::move(fn)](const v1::OperatorReply&) { fn(); };
  tell_anonymously(coordinator_, std::move(question));
}

// The id may have got an owner since the handshake. An agent that comes again has given
// up its last link, whether we have noticed or not.
bool remote_agent_links::admit(new_link x, const resumption_key& key) {
  const auto agent = x.who.id;
  if (const auto last = last_key_of(agent); last && last != x.shown) {
    report_cut(agent, x.who.address,
               {errc::connection_failed,
                "claims the id of an agent that was there before"});
    // Its link has called us.
    home_.post([gone = std::make_shared<new_link>(std::move(x))] {});
    return false;
  }
  forget_old_lines();
  auto& known = links_[agent];
  cut(known);
  known.last_key = key;
  known.host = x.who.host;
  known.address = x.who.address;
  known.link = std::move(x.link);
  known.number = x.number;
  ++link_count_;
  expect(agent, x.number);
  return true;
}

// -- until an agent is accepted -------------------------------------------------

void remote_agent_links::expect(const shared_text& agent, link_number number) {
  if (!leases_)
    return;
  if (applicants_.size() >= pending_max_)
    std::erase_if(applicants_,
                  [this](const applicant& x) { return !is_applicant(x); });
  if (applicants_.size() >= pending_max_) {
    cut_applicant(applicants_.front());
    applicants_.pop_front();
  }
  applicants_.push_back({agent, number, now() + accept_time_max_});
  if (applicant_timer_ == 0)
    applicant_timer_
      = home_.after(accept_time_max_, [this] { settle_applicants(); });
}

// All have the same time, so the first is due first.
void remote_agent_links::settle_applicants() {
  applicant_timer_ = 0;
  for (; !applicants_.empty() && applicants_.front().until <= now();
       applicants_.pop_front())
    if (is_applicant(applicants_.front()))
      cut_applicant(applicants_.front());
  if (!applicants_.empty())
    applicant_timer_ = home_.after(applicants_.front().until - now(),
                                   [this] { settle_applicants(); });
}

bool remote_agent_links::is_applicant(const applicant& x) const {
  const auto i = links_.find(x.agent);
  return i != links_.end() && i->second.link && i->second.number == x.number
         && !is_member(x.agent);
}

void remote_agent_links::cut_applicant(const applicant& x) {
  auto& known = links_.at(x.agent);
  report_cut(x.agent, known.address,
             {errc::connection_timed_out, "has not joined in time"});
  cut(known);
}

void remote_agent_links::on_closed(const shared_text& agent,
                                   link_number number) {
  new_links_.erase(number);
  const auto i = links_.find(agent);
  if (i != links_.end() && i->second.number == number)
    cut(i->second);
}

void remote_agent_links::report_cut(const shared_text& id,
                                    const std::string& address,
                                    const failure& why) {
  cut_links_.add(formatted("{} ({})", id, address), why.text);
}

void remote_agent_links::cut(line& x) {
  if (x.link)
    --link_count_;
  x.link.reset();
}

void remote_agent_links::cut_all() {
  new_links_.clear();
  for (auto& [agent, x] : links_)
    cut(x);
}

void remote_agent_links::sever(const agent_id& agent) {
  home_.post([this, alive = alive_, agent] {
    if (!*alive)
      return;
    if (auto i = links_.find(agent.value); i != links_.end())
      cut(i->second);
  });
}

// -- probes -------------------------------------------------------------------

void remote_agent_links::probe(const agent_id& agent, uint16_t port,
                               std::function<void()> on_gone) {
  home_.post([=, this, alive = alive_, on_gone = std::move(on_gone)]() mutable {
    if (!*alive)
      return;
    const auto i = links_.find(agent.value);
    if (i == links_.end())
      return;
    // What the agent says of its address could lead anywhere.
    if (const auto where = numeric_address(i->second.host, port))
      ask(
        {*where, agent_tombstone(mine_.key, agent.value), std::move(on_gone)});
  });
}

// A node that is started over and over comes with a new id each time.
void remote_agent_links::forget_old_lines() {
  if (links_.size() > line_count_max)
    std::erase_if(links_, [this](const auto& x) {
      return !x.second.link && !is_member(x.first);
    });
}

void remote_agent_links::ask(suspect x) {
  if (probes_.size() >= probe_count_max)
    return;
  const auto number = ++last_probe_;
  const auto on_done = [=, this, alive = alive_](liveness found) mutable {
    if (found == liveness::gone)
      x.on_gone();
    else if (found == liveness::unknown && x.attempt < probe_attempt_max)
      home_.after(probe_pause * (1U << (x.attempt++ - 1)), [=, this] {
        if (*alive)
          ask(x);
      });
    home_.post([=, this] {
      if (*alive)
        probes_.erase(number);
    });
  };
  probes_.emplace(
    number, detail::probe(home_, x.where, x.tombstone, probe_limit, on_done));
}

} // namespace actorrun::detail
