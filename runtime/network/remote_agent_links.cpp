#include "runtime/network/remote_agent_links.hpp"

#include "messages/formatted.hpp"
#include "runtime/network/caf_links.hpp"
#include "runtime/network/tombstone.hpp"

#include <utility>

namespace actorrun::detail {

namespace {

// A connection that its process had accepted and not closed yet when it died
// ends without a proof. So it is asked again, after this pause, twice this, …
constexpr auto probe_pause = std::chrono::milliseconds{5};
constexpr auto probe_attempt_max = uint32_t{6};

// So many links, or more if they are all in use, are remembered.
constexpr auto line_count_max = size_t{4'096};

// At most so many probes at a time; other agents have to wait for their lease.
constexpr auto probe_count_max = size_t{1'024};

} // namespace

remote_agent_links::remote_agent_links(caf::actor_system& system, reactor& home,
                                       log lines)
  : system_(system), home_(home), lines_(std::move(lines)) {}

void remote_agent_links::close() {
  listener_.reset();
  run_and_wait(home_, [this] {
    for (auto& [agent, x] : links_) {
      x.next.reset();
      cut(x);
    }
    operators_.clear();
  });
}

remote_agent_links::~remote_agent_links() {
  listener_.reset();
  run_and_wait(home_, [this] {
    *alive_ = false;
    probes_.clear();
    links_.clear();
    operators_.clear();
  });
}

result<std::string> remote_agent_links::listen(
  const socket_address& where, const credentials& mine,
  const std::function<rendezvous_coordinator_actor(
    int socket, const nonce_bytes& incarnation)>& on_listening) {
  key_ = mine.key;
  // What is posted here runs before the first peer is accepted.
  const auto begin = [&](int socket, const nonce_bytes& incarnation) {
    home_.post(
      [this, alive = alive_, coordinator = on_listening(socket, incarnation)] {
        if (*alive)
          coordinator_ = coordinator;
      });
  };
  auto listener = listener::listen(
    home_, where, mine,
    {.on_peer =
       [this](unique_fd connection, const peer& who) {
         admit({std::move(connection), who});
       },
     .on_rejections =
       [this](const rejection_report& x) {
         lines_.warn(
           formatted("coordinator rejected {} {}; the last was from {}: it {}",
                     x.count, x.count == 1 ? "connection" : "connections",
                     x.last_address, x.last_reason));
       },
     .on_listening = begin,
     .resumption_of =
       [this](const std::string& agent) {
         const auto i = links_.find(agent);
         return i == links_.end() ? std::nullopt : i->second.last_key;
       }});
  if (!listener)
    return listener.error();
  listener_.emplace(std::move(*listener));
  return listener_->address();
}

// -- links --------------------------------------------------------------------

void remote_agent_links::admit(visit x) {
  if (x.who.intent == purpose::operate)
    return open_operator(std::move(x));
  const auto agent = x.who.id;
  forget_old_lines();
  auto& known = links_[agent];
  if (!known.is_served)
    return open(std::move(x));
  // The agent gave up its last link before we noticed. CAF would take the new
  // one for a second connection to the same node and close it.
  known.next = std::move(x);
  cut(known);
  if (known.release_timer == 0)
    known.release_timer
      = home_.after(release_limit, [this, alive = alive_, agent] {
          if (*alive)
            let_go(agent);
        });
}

void remote_agent_links::open(visit x) {
  const auto agent = x.who.id;
  auto& known = links_[agent];
  known.host = x.who.host;
  known.is_served = true;
  known.link = carry_for(
    std::move(x),
    [this, agent](const resumption_key& last_key) {
      links_[agent].last_key = last_key;
    },
    [this, agent] { cut(links_[agent]); });
}

void remote_agent_links::open_operator(visit x) {
  const auto number = ++last_operator_;
  operators_[number]
    = carry_for(std::move(x), {}, [this, number] { operators_.erase(number); });
}

reactor_handle remote_agent_links::carry_for(
  visit x, std::function<void(const resumption_key&)> on_encrypted,
  std::function<void()> on_closed) {
  const auto actor = caf::actor_cast<caf::strong_actor_ptr>(coordinator_);
  auto link = carry(
    home_, std::move(x.connection),
    {.ends = {link_side::server, x.who.intent, x.who.id, node_name(system_),
              actor->id()},
     .key = x.who.key,
     .on_encrypted = std::move(on_encrypted),
     .on_closed = [this, who = x.who, on_closed = std::move(on_closed)](
                    const std::string& trouble) {
       if (!trouble.empty())
         lines_.warn(formatted("coordinator cuts the link to {} ({}): it {}",
                               who.id, who.address, trouble));
       on_closed();
     }});
  if (!link) {
    lines_.warn(formatted("coordinator cannot serve {}: {}", x.who.id,
                          link.error().text));
    return {};
  }
  serve(system_, std::move(link->for_caf), actor);
  return std::move(link->link);
}

void remote_agent_links::cut(line& x) {
  x.link.reset();
  x.last_key.reset();
}

void remote_agent_links::let_go(const std::string& agent) {
  auto i = links_.find(agent);
  if (i == links_.end())
    return;
  auto& known = i->second;
  cut(known);
  known.is_served = false;
  home_.cancel(std::exchange(known.release_timer, 0));
  if (auto next = std::exchange(known.next, std::nullopt))
    open(std::move(*next));
}

void remote_agent_links::sever(const agent_id& agent) {
  home_.post([this, alive = alive_, agent] {
    if (!*alive)
      return;
    if (auto i = links_.find(agent.value); i != links_.end())
      cut(i->second);
  });
}

void remote_agent_links::released(const agent_id& agent) {
  home_.post([this, alive = alive_, agent] {
    if (*alive)
      let_go(agent.value);
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
      ask({*where, agent_tombstone(key_, agent.value), std::move(on_gone)});
  });
}

// A node that is started over and over comes with a new id each time.
void remote_agent_links::forget_old_lines() {
  if (links_.size() > line_count_max)
    std::erase_if(
      links_, [](const auto& x) { return !x.second.link && !x.second.next; });
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
