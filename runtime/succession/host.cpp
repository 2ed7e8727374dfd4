#include "runtime/succession/host.hpp"

#include "actors/operator_questions.hpp"
#include "messages/formatted.hpp"
#include "runtime/network/presence.hpp"
#include "runtime/os/host_addresses.hpp"
#include "runtime/os/socket_address.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

namespace actorrun::detail {

namespace {

/// Whether the agent of this memo was on this host and runs here no more.
bool has_ended_here(const memo& x, const std::string& host,
                    const core::host_survey& here) {
  const auto is_earlier_boot
    = x.host == host && !x.boot.empty() && x.boot != boot_id();
  const auto id = std::string{x.agent.value};
  const auto ends_so = [&](const auto& end) { return id.ends_with(end); };
  return is_earlier_boot
         || (std::ranges::find(here.addresses, x.address)
               != here.addresses.end()
             && std::ranges::none_of(here.present, ends_so));
}

std::string listed(const std::vector<endpoint>& seeds) {
  auto out = std::string{};
  for (const auto& x : seeds)
    out += (out.empty() ? "" : ", ") + to_string(x);
  return out;
}

} // namespace

/// Enters the agent into the list of those that are present, once: before anyone can
/// know it for a voter.
class voter_host::presence {
public:
  explicit presence(const voter_host_config& x)
    : job_(x.mine.fingerprint), agent_(x.agent), launch_(x.launch),
      keeper_(x.keeper) {}

  result<void> show() {
    const auto guard = std::lock_guard{mutex_};
    if (is_shown_ || !keeper_)
      return {};
    const auto opened = open_presence(job_, agent_, launch_);
    if (!opened)
      return opened.error();
    keeper_->keep(kept_socket::presence, opened->get());
    is_shown_ = true;
    return {};
  }

private:
  job_fingerprint job_;
  agent_id agent_;
  std::string launch_;
  std::shared_ptr<socket_keeper> keeper_;
  std::mutex mutex_;
  bool is_shown_ = false; ///< Guarded by the mutex.
};

/// Shared with the actors that use it: the host ends its parts before.
class voter_host::locator final : public ports::coordinator_locator {
public:
  locator(voter_host& host, std::shared_ptr<coordinator_link> link)
    : host_(host), leadership_(host.leadership_), link_(std::move(link)) {}

  void seek(bool, listener on_result) override {
    using answer = voter_leadership::answer;
    link_->drop();
    if (const auto last = host_.place(); last && !last->is_here)
      host_.note({});
    const auto on_answer = [this, alive = std::weak_ptr{leadership_},
                            link = link_, on_result](const answer& x) {
      if (const auto* where = std::get_if<std::string>(&x))
        return try_at(*where, on_result);
      if (const auto* why = std::get_if<failure>(&x))
        return on_result(*why);
      on_result(host_.here());
    };
    leadership_->tell(voter_leadership::search{on_answer});
  }

  void seek_second_way(std::function<void()> on_found) override {
    link_->seek_second_way(on_found);
    leadership_->tell(voter_leadership::second_search{std::move(on_found)});
  }

  void forget_second_way() override {
    link_->forget_second_way();
    leadership_->tell(voter_leadership::second_search{});
  }

  void know_voters(const core::endpoint_list& x) override {
    leadership_->tell(voter_leadership::voters_told{x});
  }

  void drop() override { link_->drop(); }

private:
  void try_at(const std::string& text, const listener& on_result) {
    const auto where = read_endpoint(text);
    const auto report
      = [x = std::weak_ptr{leadership_},
         text](std::optional<failure> why, const std::string& elsewhere = {}) {
          if (const auto leadership = x.lock())
            leadership->tell(
              voter_leadership::attempt{text, std::move(why), elsewhere});
        };
    if (!where)
      return report(
        failure{errc::not_actorrun, formatted("{} is no address", text)});
    link_->seek_at(
      *where, [this, text, report, on_result](result<ports::location> x) {
        if (!x)
          return report(x.error());
        if (!x->elsewhere.empty())
          return report(
            failure{errc::connection_refused,
                    formatted("the coordinator is not at {} any more", text)},
            x->elsewhere);
        report({});
        host_.note(leader_place{text, false});
        if (const auto seen = numeric_address(x->local_address, 0))
          if (const auto port = host_.show(*seen, x->local_address))
            x->voter_port = *port;
        on_result(std::move(x));
      });
  }

  voter_host& host_;
  std::shared_ptr<voter_leadership> leadership_;
  std::shared_ptr<coordinator_link> link_;
};

namespace {

/// How long a voter's promise binds.
core::duration promise_for(uint32_t node_count, const core::timeouts& x) {
  return x.keep_alive_is_given
           ? core::promise_of(node_count, x.keep_alive_interval, x.fence())
           : core::promise_of(node_count);
}

} // namespace

std::unique_ptr<voter_host> voter_host::open(caf::actor_system& system,
                                             std::shared_ptr<reactor> home,
                                             voter_host_config config) {
  auto out = std::unique_ptr<voter_host>{
    new voter_host{system, std::move(home), std::move(config)}};
  const auto& job = out->config_.job;
  const auto& all = out->config_.seeds;
  const auto own = std::ranges::find(all, *job.rendezvous) - all.begin();
  auto seeds = std::vector<std::string>{};
  for (const auto& x : all)
    seeds.push_back(to_string(x));
  out->take_up_memos();
  auto files = std::vector<std::string>{};
  for (const auto& x : out->former_)
    files.push_back(x.path);
  out->leadership_ = std::make_shared<voter_leadership>(
    system,
    voter_leadership_config{
      .options = {.self = out->config_.agent,
                  .promise = promise_for(job.agent_count_max, job.timeouts)},
      .seeds = std::move(seeds),
      .is_home = out->config_.is_home,
      .own_seed = uint32_t(own),
      .open_coordinator =
        [x = out.get()](const core::open_coordinator& order) {
          return x->open_coordinator(order);
        },
      .close_coordinator
      = [x = out.get()](
          const std::string& reason) { x->close_coordinator(reason); },
      .coordinator = [x = out.get()] { return x->coordinator(); },
      .remembered = out->remembered_,
      .memos = std::move(files),
      .survey = [x = out.get()] { return x->survey(); },
      .on_voters =
        [x = out.get()](const core::endpoint_list& voters) {
          x->memo_->keep(x->here().local_address, voters);
        },
      .on_met = [x = out.get()](bool is_new) { x->settle_memos(is_new); },
      .on_signpost = [x = out.get()] { x->stand_by(); },
      .on_no_successor =
        [x = out.get()] {
          if (const auto whom = x->coordinator())
            tell_anonymously(whom, core::stop_requested{SIGTERM});
        },
      .witness = out->witness(),
      .on_leader
      = [x = out.get()](
          const std::string& where) { x->note(leader_place{where, false}); },
      .on_decided
      = [x = out.get()](const core::outcome& how) { x->close(how); },
      .on_gave_up = out->config_.on_gave_up,
      .on_died = out->config_.on_died,
      .lines = out->config_.lines});
  auto links = voter_links::open(*out->home_,
                                 {.mine = out->config_.mine,
                                  .self = out->config_.agent,
                                  .keys = out->keys_,
                                  .lines = out->config_.lines},
                                 out->leadership_->callbacks());
  if (links) { // It does not listen.
    out->links_ = keep(std::move(*links), out->home_);
    out->leadership_->use(out->links_);
  }
  return out;
}

// It waits as an agent does.
std::optional<core::witness_options> voter_host::witness() const {
  if (!config_.is_witness)
    return std::nullopt;
  const auto& limits = config_.job.timeouts;
  const auto waits_longer = config_.seeds.size() > 1 || remembers_job();
  return core::witness_options{.seed_count = config_.seeds.size(),
                               .first_limit = waits_longer ? limits.seek_again()
                                                           : limits.seek,
                               .limit = limits.seek_again()};
}

// An agent of a kernel that has ended has ended.
void voter_host::take_up_memos() {
  const auto& job = config_.job.job;
  memo_ = std::make_unique<memo_keeper>(memo{.job = job,
                                             .host = config_.host,
                                             .boot = boot_id(),
                                             .agent = config_.agent},
                                        config_.lines);
  if (config_.is_new_job)
    return;
  auto found = find_memos(job);
  for (const auto& path : found.unreadable)
    config_.lines.warn(
      formatted("{} is no memo of this job that can be read: the job may begin"
                " although it goes on elsewhere",
                path));
  former_ = std::move(found.memos);
  for (const auto& [_, x] : former_)
    remembered_.insert(x.voters.begin(), x.voters.end());
  for (const auto& [_, x] : former_)
    if (has_ended_here(x, config_.host, {}))
      remembered_.erase(x.agent);
}

std::optional<core::host_survey> voter_host::survey() const {
  auto present = present_agents(config_.mine.fingerprint);
  if (!present || present->size() > surveyed_agents_max)
    return std::nullopt;
  auto out = core::host_survey{.addresses = addresses_for_others(),
                               .present = std::move(*present)};
  if (!config_.announced.empty())
    out.addresses.push_back(config_.announced);
  if (out.addresses.size() > surveyed_addresses_max)
    out.addresses.resize(surveyed_addresses_max);
  return out;
}

void voter_host::settle_memos(bool is_new) {
  auto here = survey();
  auto gone = std::vector<std::string>{};
  for (const auto& [path, x] : former_) {
    const auto number = numeric_address(x.address, 0);
    if (here && number && is_loopback(*number))
      here->addresses.push_back(x.address);
    if (is_new || (here && has_ended_here(x, config_.host, *here)))
      gone.push_back(path);
  }
  memo_->settle(std::move(gone));
}

voter_host::voter_host(caf::actor_system& system, std::shared_ptr<reactor> home,
                       voter_host_config config)
  : system_(system), home_(std::move(home)), config_(std::move(config)),
    presence_(std::make_shared<presence>(config_)) {}

voter_host::~voter_host() {
  stop();
}

void voter_host::stop() {
  leadership_->stop();
  memo_.reset();
  signpost_.reset();
  if (config_.keeper)
    config_.keeper->close(kept_socket::voter);
  auto ending = std::unique_ptr<hosted_coordinator>{};
  auto links = std::shared_ptr<voter_links>{};
  const auto guard = std::lock_guard{mutex_};
  std::swap(ending, coordinator_);
  std::swap(links, links_);
}

result<void> voter_host::found(const socket_address& where,
                               const std::string& announced,
                               std::optional<bool> is_new) {
  if (auto opened = show(*numeric_address(host_of(where), 0), announced);
      !opened)
    return opened.error();
  auto endpoint = std::string{};
  // A majority that remembers nothing may have had another job.
  const auto has_several = config_.seeds.size() > 1;
  const auto is_successor
    = has_several && !is_new ? std::optional{true} : is_new;
  {
    const auto guard = std::lock_guard{mutex_};
    founding_ = {where, announced, is_successor};
    endpoint = links_->endpoint();
  }
  auto job = core::charter{};
  job.revision = 1;
  job.settings = config_.settings;
  job.lease = config_.job.timeouts.lease();
  if (!former_.empty() || has_several) {
    leadership_->found_when_alone(std::move(job), std::move(endpoint), where);
    return {};
  }
  return leadership_->found(std::move(job), std::move(endpoint));
}

// No link to a coordinator says at which address others reach it.
result<void> voter_host::show_witness() {
  const auto& meeting = config_.job.rendezvous->host;
  const auto own
    = config_.announced.empty() ? address_towards(meeting) : config_.announced;
  if (own.empty())
    return failure{
      errc::unresolvable,
      formatted("no address of this host leads to {}; --local-addr "
                "names the one at which others reach this witness",
                meeting)};
  const auto number = numeric_address(own, 0);
  const auto opened = show(number.value_or(socket_address{}), own);
  return opened ? result<void>{} : opened.error();
}

result<void> voter_host::watch() {
  if (here().local_address.empty())
    if (auto shown = show_witness(); !shown)
      return shown;
  if (auto shown = presence_->show(); !shown)
    return shown.error();
  if (!coordinator())
    config_.lines.info(formatted("this witness, at {}, looks for the leader of "
                                 "job {} at {}",
                                 here().local_address, config_.job.job.value,
                                 listed(config_.seeds)));
  leadership_->tell(voter_leadership::watch_due{});
  return {};
}

std::shared_ptr<ports::coordinator_locator>
voter_host::locator_for(const agent_id& agent) {
  auto link = keep(std::make_unique<coordinator_link>(
                     system_, *home_,
                     coordinator_link::target{
                       .where = *config_.job.rendezvous,
                       .mine = config_.mine,
                       .agent = agent.value,
                       .announced = config_.announced,
                       .limit = config_.job.timeouts.connect,
                       .keeper = config_.keeper,
                       .seek_limit = config_.job.timeouts.seek,
                       .launch = config_.launch,
                       .show_presence = [x = presence_] { return x->show(); }},
                     config_.lines),
                   home_);
  return std::make_shared<locator>(*this, std::move(link));
}

rendezvous_coordinator_actor voter_host::coordinator() const {
  const auto guard = std::lock_guard{mutex_};
  return coordinator_ ? coordinator_->actor() : rendezvous_coordinator_actor{};
}

// Whoever gives up leaves its memo behind: the job may go on without it.
void voter_host::part(const core::ending& how) {
  if (memo_ && (how.result || !how.why))
    memo_->forget();
}

std::optional<leader_place> voter_host::place() const {
  const auto guard = std::lock_guard{place_mutex_};
  return place_;
}

// Who votes no more has a link to the leader, and hears no beat.
void voter_host::elect(operator_question x) {
  if (const auto known = place())
    return x.reply(refusal_of(
      errc::bad_argument,
      formatted("a leader is known: its coordinator is at {}, as far as this"
                " agent knows; actorctl status shows who leads",
                known->endpoint)));
  leadership_->tell(voter_leadership::election_order{std::move(x)});
}

void voter_host::note(std::optional<leader_place> x) {
  const auto guard = std::lock_guard{place_mutex_};
  place_ = std::move(x);
}

void voter_host::resign() {
  leadership_->tell(voter_leadership::resignation{});
}

// Nothing opens or closes a coordinator any more, and this one grants nothing.
void voter_host::end_with_process() {
  leadership_->stop();
  part({.result = {}, .why = {}, .signal = SIGTERM});
  auto ending = std::unique_ptr<hosted_coordinator>{};
  {
    const auto guard = std::lock_guard{mutex_};
    std::swap(ending, coordinator_);
  }
  if (!ending)
    return;
  ending->end_with_process();
  const auto guard = std::lock_guard{mutex_};
  std::swap(ending, coordinator_); // Its ports stay: they are the process's.
}

// No agent of a witness says how it has ended.
void voter_host::close(const core::outcome& how) {
  if (config_.is_witness)
    part({.result = how, .why = {}, .signal = 0});
  config_.on_closed(how);
}

ports::location voter_host::here() const {
  const auto guard = std::lock_guard{mutex_};
  auto out = ports::location{};
  out.local_address = address_;
  out.voter_port = links_ ? links_->port() : uint16_t{0};
  if (coordinator_)
    out.coordinator
      = caf::actor_cast<caf::strong_actor_ptr>(coordinator_->actor());
  return out;
}

// The others may come before this returns.
result<uint16_t> voter_host::show(const socket_address& where,
                                  const std::string& announced) {
  const auto shown = config_.announced.empty() ? announced : config_.announced;
  const auto at = config_.announced.empty()
                    ? result<socket_address>{where}
                    : listen_address(config_.announced, 0);
  if (!at)
    return at.error();
  const auto guard = std::lock_guard{mutex_};
  if (links_ && address_ == shown)
    return links_->port();
  auto opened = voter_links::open(*home_,
                                  {.mine = config_.mine,
                                   .self = config_.agent,
                                   .where = *at,
                                   .host = shown,
                                   .keeper = config_.keeper,
                                   .keys = keys_,
                                   .lines = config_.lines},
                                  leadership_->callbacks());
  if (!opened)
    return opened.error();
  links_ = keep(std::move(*opened), home_);
  address_ = shown;
  leadership_->use(links_);
  return links_->port();
}

// -- leading, on the leadership's thread --------------------------------------

result<std::string>
voter_host::open_coordinator(const core::open_coordinator& order) {
  signpost_.reset(); // It has the port.
  auto settings = config_.configure(!order.successor);
  settings.lease_all = true;
  settings.age_of_leadership = leadership_->age_of_leadership();
  settings.beginning.silence = order.silence;
  if (order.successor) {
    settings.beginning.known = order.known;
    settings.beginning.is_proved = true;
  }
  settings.own_agent = config_.agent;
  settings.write_job = [leadership = std::weak_ptr{leadership_}](
                         const auto& job, uint64_t change) {
    if (const auto x = leadership.lock())
      x->tell(voter_leadership::job_told{job, change});
  };
  settings.leadership
    = core::journal::leader_chosen{.agent = config_.agent,
                                   .term = uint64_t{order.terms_before} + 1,
                                   .by = core::leader_source::voters,
                                   .what = order.change.what,
                                   .from = order.change.from,
                                   .silent_for = order.change.silent_for,
                                   .reason = order.change.reason};
  settings.hand_over = [leadership = std::weak_ptr{leadership_}](
                         const agent_id& to, const std::string& by) {
    if (const auto x = leadership.lock())
      x->tell(voter_leadership::lead_order{to, by});
  };
  settings.on_closed = [this](const core::outcome& x) {
    leadership_->tell(voter_leadership::resignation{x});
    close(x);
  };
  auto hosted = std::make_unique<hosted_coordinator>(
    system_, home_, std::move(settings), config_.keeper);
  auto listening = listen(*hosted, order);
  if (!listening)
    return listening.error();
  const auto guard = std::lock_guard{mutex_};
  coordinator_ = std::move(hosted);
  note(leader_place{*listening, true});
  return listening;
}

result<std::string> voter_host::listen(hosted_coordinator& at,
                                       const core::open_coordinator& order) {
  auto first = std::optional<founding>{};
  auto links = std::shared_ptr<voter_links>{};
  auto address = std::string{};
  {
    const auto guard = std::lock_guard{mutex_};
    first = founding_;
    links = links_;
    address = address_;
  }
  at.pass_voters([links](unique_fd connection, const peer& who) {
    links->adopt(std::move(connection), who);
  });
  if (first) {
    if (!order.successor)
      config_.prepare(at);
    const auto listening
      = at.listen(config_.job, first->where, config_.mine,
                  order.successor ? std::optional{true} : first->is_successor);
    if (listening)
      if (auto shown = presence_->show(); !shown)
        return shown.error();
    if (listening)
      return to_string(
        endpoint{first->announced, config_.job.rendezvous->port});
    if (!order.successor)
      return listening.error();
    // Another program has taken the port meanwhile.
  }
  const auto where = listen_address(address, 0);
  if (!where)
    return where.error();
  const auto listening = at.listen(config_.job, *where, config_.mine, true);
  if (!listening)
    return listening.error();
  const auto bound = read_endpoint(*listening);
  if (!bound)
    return failure{errc::cannot_listen, *listening + " is no address"};
  return to_string(endpoint{address, bound->port});
}

void voter_host::close_coordinator(const std::string& reason) {
  auto ending = std::unique_ptr<hosted_coordinator>{};
  {
    const auto guard = std::lock_guard{mutex_};
    std::swap(ending, coordinator_);
  }
  ending.reset(); // Without the lock: it calls back until then.
  note({});
  stand_by();
  config_.on_left(reason);
}

// Who looks for the job where it began finds the way. Another program may have taken
// the port meanwhile.
void voter_host::stand_by() {
  auto where = std::optional<socket_address>{};
  auto links = std::shared_ptr<voter_links>{};
  {
    const auto guard = std::lock_guard{mutex_};
    if (founding_)
      where = founding_->where;
    links = links_;
  }
  if (!where)
    return;
  auto opened = signpost::open(
    *home_, {.mine = config_.mine,
             .where = *where,
             .place = [this]() -> std::optional<std::string> {
               const auto known = place();
               return known ? std::optional{known->endpoint} : std::nullopt;
             },
             .ask = config_.ask,
             .pass_voter =
               [links](unique_fd connection, const peer& who) {
                 links->adopt(std::move(connection), who);
               },
             .lines = config_.lines});
  if (opened)
    signpost_ = std::move(*opened);
  else
    config_.lines.debug("nodes that look for the job here are not shown the "
                        "way: "
                        + opened.error().text);
}

} // namespace actorrun::detail
