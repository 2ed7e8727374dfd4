#include "tests/bench/hollow/agent.hpp"

#include "actors/translate.hpp"
#include "actors/voter_messages.hpp"
#include "messages/formatted.hpp"
#include "runtime/network/tombstone.hpp"
#include "runtime/os/socket.hpp"

#include <chrono>
#include <cstdio>
#include <iterator>
#include <utility>
#include <variant>

#include <sys/epoll.h>

namespace actorrun::bench {

using namespace core;
using namespace detail;

namespace {

constexpr auto loopback_host = "127.0.0.1";

/// It takes answers on the links of its questions alone.
constexpr auto nowhere = "127.0.0.1:1";
/// As agents of jobs of up to 1,800 nodes.
constexpr auto question_pause = std::chrono::milliseconds{20};

offer offer_of(uint32_t number) {
  char host[32];
  std::snprintf(host, sizeof host, "node-%06u", number);
  auto out = offer{};
  out.agent = {std::string{host} + "-hollow"};
  out.host = host;
  out.master_port = 29'500;
  return out;
}

} // namespace

struct hollow_agent::effect_runner {
  hollow_agent& st;

  void operator()(const arm_timer& x) {
    const auto delay = std::max(x.due - time_point::clock::now(), duration{0});
    st.home_.after(delay, [agent = &st, alive = st.alive_, id = x.timer] {
      if (*alive)
        agent->dispatch(timer_fired{id});
    });
  }

  void operator()(const seek_coordinator&) { st.seek(); }

  // A hollow agent's link leads to its own host: no network forgets it.
  void operator()(const try_second_way&) {}
  void operator()(const forget_second_way&) {}

  void operator()(const drop_link&) {
    st.hang_up();
    st.events_.emplace_back(coordinator_disconnected{});
  }

  void operator()(const send_join& x) {
    auto request = v1::JoinRequest{};
    *request.mutable_offer() = to_wire(x.offering);
    request.mutable_offer()->set_liveness_port(st.liveness_port_);
    *request.mutable_settings() = to_wire(st.of_.settings);
    if (x.held)
      *request.mutable_claim() = to_wire(*x.held);
    if (x.told)
      *request.mutable_charter() = to_wire(*x.told);
    st.send(request);
  }

  void operator()(const check_control& x) {
    st.events_.emplace_back(control_checked{x.asked});
  }

  void operator()(const send_keep_alive& x) {
    auto notice = v1::KeepAlive{};
    notice.set_agent_id(id());
    notice.set_sent_ns(x.sent.time_since_epoch().count());
    st.send(notice);
  }

  void operator()(const send_started& x) {
    auto notice = about<v1::WorkersStarted>(x.generation);
    notice.mutable_pids()->Assign(x.pids.begin(), x.pids.end());
    st.send(notice);
  }

  void operator()(const send_failed& x) {
    auto notice = about<v1::WorkerFailed>(x.generation);
    *notice.mutable_failure() = to_wire(x.failure);
    st.send(notice);
  }

  void operator()(const send_succeeded& x) {
    st.send(about<v1::WorkersSucceeded>(x.generation));
  }

  void operator()(const send_stopped& x) {
    auto notice = about<v1::WorkersStopped>(x.generation);
    notice.set_master_port(x.master_port);
    st.send(notice);
  }

  void operator()(const send_leaving& x) { leave_notice(x.signal, false); }
  void operator()(const send_left&) { leave_notice(0, true); }

  void operator()(const start_group& x) {
    st.events_.emplace_back(group_started{x.plan.generation, {1'000'000}});
  }

  void operator()(const stop_group& x) { stop(x.generation); }

  void operator()(const kill_group& x) {
    if (x.is_fenced)
      st.to_.on_fenced();
    stop(x.generation);
  }

  void operator()(const notify_workers&) {}
  void operator()(const send_notice&) {}
  // Its workers have no safe points.
  void operator()(const send_safe_point&) {}
  void operator()(const order_safe_point&) {}
  void operator()(const set_fence& x) { st.fence_ = x.due; }

  void operator()(const finish&) { st.hang_up(); }

  void stop(generation_id generation) {
    st.events_.emplace_back(group_stopped{generation, 29'500, {}, {}, 0});
  }

  const std::string& id() const {
    return st.membership_.offering().agent.value;
  }

  template <class T>
  T about(generation_id generation) const {
    auto notice = T{};
    notice.set_agent_id(id());
    notice.set_generation(generation.value);
    return notice;
  }

  void leave_notice(int signal, bool done) {
    auto notice = v1::LeaveNotice{};
    notice.set_agent_id(id());
    notice.set_signal(signal);
    notice.set_done(done);
    st.send(notice);
  }
};

hollow_agent::hollow_agent(reactor& home, const hollow_job& of,
                           const hollow_listener& to, uint32_t number,
                           bool is_mortal)
  : home_(home), of_(of), to_(to), membership_(offer_of(number), of.limits),
    questions_(membership_.offering().agent) {
  if (is_mortal)
    open_liveness();
}

hollow_agent::~hollow_agent() {
  *alive_ = false;
  links_.reset();
  hang_up();
  if (liveness_)
    liveness_->stop();
}

void hollow_agent::start() {
  dispatch(agent_started{});
}

void hollow_agent::die() {
  is_dead_ = true;
  hang_up();
}

// Accepts and hangs up while it lives, as a process does; then its machine answers.
void hollow_agent::open_liveness() {
  const auto where = numeric_address(loopback_host, 0);
  auto socket = open_listening(*where);
  if (!socket)
    return to_.on_trouble(socket.error().text);
  liveness_port_ = port_of(local_address_of(socket->get()).value_or(*where));
  liveness_ = std::make_shared<acceptor>(
    home_, std::move(*socket),
    acceptor_owner{[this](unique_fd asks, const socket_address&) {
                     if (is_dead_)
                       send_whole(
                         asks.get(),
                         agent_tombstone(of_.mine.key,
                                         membership_.offering().agent.value));
                   },
                   [] { return false; }, ""});
  liveness_->start();
}

// What an effect brings about comes after the other effects of its step.
void hollow_agent::dispatch(membership_event event) {
  events_.push_back(std::move(event));
  if (std::exchange(is_dispatching_, true))
    return;
  while (!events_.empty() && !is_dead_) {
    const auto next = std::move(events_.front());
    events_.pop_front();
    for (const auto& effect : membership_.step(next, time_point::clock::now()))
      std::visit(effect_runner{*this}, effect);
  }
  is_dispatching_ = false;
}

// -- the link -----------------------------------------------------------------

// Who knows of no voter asks where the job began.
void hollow_agent::seek() {
  hang_up();
  if (voters_.empty())
    return seek_at(of_.where);
  is_searching_ = true;
  ask();
}

void hollow_agent::ask() {
  if (!is_searching_ || is_dead_)
    return;
  const auto next = ptrdiff_t(questions_.next(voters_.size()));
  const auto& [who, where] = *std::next(voters_.begin(), next);
  links_->ask(who, where, {.endpoint = nowhere, .takes_answer = true});
  home_.after(question_pause, [this, alive = alive_] {
    if (*alive)
      ask();
  });
}

// The links call on this thread, too.
void hollow_agent::hear(const voter_message& x) {
  const auto* said = std::get_if<leader_at>(&x);
  questions_.note_answer();
  if (said == nullptr || !is_searching_ || said->leader.value.empty())
    return;
  if (said->coordinator.empty())
    return links_->ask(said->leader, said->endpoint,
                       {.endpoint = nowhere, .takes_answer = true});
  const auto where = read_endpoint(said->coordinator);
  if (!where)
    return to_.on_trouble("no address: " + said->coordinator);
  is_searching_ = false;
  questions_.end();
  links_->end_questions();
  seek_at(*where);
}

void hollow_agent::seek_at(const endpoint& where) {
  const auto tried = time_point::clock::now();
  attempt_
    = connect(home_, where,
              {of_.mine, purpose::join, membership_.offering().agent.value,
               served_by_, last_key_},
              of_.limits.connect, [this, tried](result<connected> x) {
                on_connected(std::move(x), tried);
              });
}

void hollow_agent::on_connected(result<connected> x, time_point tried) {
  if (!x) {
    to_.on_trouble(x.error().text);
    return dispatch(coordinator_not_found{x.error(), tried});
  }
  served_by_ = x->incarnation;
  if (membership_.offering().address.empty())
    membership_.announce_address(x->local_address);
  frames_.emplace(message_frame_max);
  socket_.emplace(std::move(x->connection), link_side::client, x->key,
                  tls_trust{});
  watch_.emplace(home_, socket_->fd(), [this](uint32_t) { on_network(); });
  socket_->flush();
  watch_->expect(true, socket_->unsent() > 0);
}

void hollow_agent::on_network() {
  const auto alive = alive_;
  const auto was_open = socket_->is_open();
  auto plain = std::string{};
  const auto got = socket_->flush() ? socket_->receive(plain)
                                    : result{link_socket::progress::ended};
  if (!got)
    return on_end(got.error().text);
  if (!was_open && socket_->is_open())
    last_key_ = socket_->session()->key_to_resume();
  const auto is_good = take(plain);
  if (!*alive || !socket_)
    return; // It was told to end.
  if (!is_good || *got == link_socket::progress::ended || !socket_->flush())
    return on_end("closed its link");
  watch_->expect(true, socket_->unsent() > 0);
}

bool hollow_agent::take(std::string_view plain) {
  frames_->add(plain);
  while (socket_) {
    auto x = next_message<v1::ToAgent>(*frames_);
    if (!x)
      return false;
    if (!*x)
      return true;
    open_envelope(**x, [this](const auto& y) { on(y); });
  }
  return true;
}

void hollow_agent::on(const v1::Welcome&) {
  is_served_ = true;
  dispatch(coordinator_found{true});
}

void hollow_agent::on(const v1::LeaseGranted& x) {
  dispatch(lease_granted{time_point{duration{x.sent_ns()}},
                         age_from_wire(x.age_ns())});
}

void hollow_agent::on(const v1::JoinAccepted& x) {
  dispatch(join_accepted{duration{x.keep_alive_interval_ns()},
                         duration{x.fence_ns()}, from_wire(x.charter()),
                         age_from_wire(x.age_ns())});
  to_.on_accepted(++accepted_);
}

void hollow_agent::on(const v1::JoinRejected& x) {
  to_.on_trouble(x.text());
  dispatch(join_rejected{{static_cast<errc>(x.code()), x.text()}});
}

void hollow_agent::on(const v1::GenerationFormed& x) {
  const auto plan = from_wire(x.plan());
  to_.on_formed(plan.generation);
  dispatch(generation_formed{plan, from_wire(x.charter())});
}

void hollow_agent::on(const v1::CharterChanged& x) {
  dispatch(charter_changed{from_wire(x.charter())});
}

void hollow_agent::on(const v1::GenerationRevoked& x) {
  dispatch(generation_revoked{{x.generation()}, x.over()});
}

void hollow_agent::on(const v1::JobEnded& x) {
  dispatch(job_ended{from_wire(x.outcome())});
}

void hollow_agent::on(const v1::VotersChanged& x) {
  voters_ = voters_from_wire(x);
  if (links_ || voters_.empty())
    return;
  auto opened = voter_links::open(
    home_,
    {.mine = of_.mine, .self = membership_.offering().agent, .lines = {}},
    {.on_message = [this](const agent_id&, const voter_message& y,
                          const voter_reply&) { hear(y); },
     .on_reached = [](const agent_id&) {},
     .on_broken = [](const agent_id&) {}});
  if (opened)
    links_ = std::move(*opened);
  else
    to_.on_trouble(opened.error().text);
}

void hollow_agent::on(const v1::NodeStatusRequest& x) {
  auto answer = v1::NodeStatus{};
  answer.set_agent_id(membership_.offering().agent.value);
  answer.set_request(x.request());
  send(std::move(answer));
}

template <class T>
void hollow_agent::send(T x) {
  if (is_served_)
    write(message_frame(envelope_with<v1::ToCoordinator>(std::move(x))));
}

void hollow_agent::write(const std::string& bytes) {
  if (!socket_ || !socket_->send(bytes))
    return; // Its end is about to be noticed.
  socket_->flush();
  watch_->expect(true, socket_->unsent() > 0);
}

void hollow_agent::hang_up() {
  attempt_.reset();
  if (watch_)
    watch_->end();
  watch_.reset();
  socket_.reset();
  is_served_ = false;
}

void hollow_agent::on_end(const std::string& how) {
  hang_up();
  if (membership_.current_link() != membership::link::parting)
    to_.on_trouble("the coordinator's side " + how);
  dispatch(coordinator_disconnected{});
}

} // namespace actorrun::bench
