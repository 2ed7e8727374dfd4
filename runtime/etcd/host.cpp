#include "runtime/etcd/host.hpp"

#include "runtime/etcd/locator.hpp"
#include "runtime/os/reactor.hpp"

#include <algorithm>
#include <utility>

namespace actorrun::detail {

namespace {

/// The clocks of two hosts drift apart by at most one part in so many.
constexpr auto clock_accuracy = 100;

/// We stop leading so long before our lease can end.
core::duration guard_of(const job_options& job) {
  return std::max<core::duration>(job.timeouts.fence_guard,
                                  job.etcd.lease / clock_accuracy);
}

} // namespace

result<std::unique_ptr<etcd_host>>
etcd_host::open(caf::actor_system& system, std::shared_ptr<reactor> home,
                etcd_host_config config) {
  const auto& job = config.job;
  auto registry
    = etcd_client::open(*job.rendezvous, job.etcd, job.job, config.lines);
  if (!registry)
    return registry.error();
  auto settings = etcd_leadership_config{
    .options = {.is_candidate
                = config.is_alone || job.place != coordinator_place::elsewhere,
                .always_campaigns = config.is_alone,
                .lease = job.etcd.lease,
                .guard = guard_of(job),
                .settings = config.settings,
                .leeway = job.timeouts.fence_guard / 2},
    .request_limit = job.timeouts.connect,
    .registry = std::move(*registry),
    .open_coordinator = {},
    .close_coordinator = {},
    .lines = config.lines};
  auto out = std::unique_ptr<etcd_host>{
    new etcd_host{system, std::move(home), std::move(config)}};
  settings.open_coordinator
    = [x = out.get()](const core::open_coordinator& order,
                      const etcd_link& link) {
        return x->open_coordinator(order, link);
      };
  settings.close_coordinator = [x = out.get()](const std::string& reason) {
    x->close_coordinator(reason);
  };
  settings.on_died = out->config_.on_died;
  out->leadership_
    = std::make_shared<etcd_leadership>(system, std::move(settings));
  out->leadership_->begin();
  return out;
}

etcd_host::etcd_host(caf::actor_system& system, std::shared_ptr<reactor> home,
                     etcd_host_config config)
  : system_(system), home_(std::move(home)), config_(std::move(config)) {}

etcd_host::~etcd_host() {
  stop();
}

void etcd_host::stop() {
  leadership_->stop();
}

std::shared_ptr<ports::coordinator_locator>
etcd_host::locator_for(const agent_id& agent) {
  auto link
    = keep(std::make_unique<coordinator_link>(
             system_, *home_,
             coordinator_link::target{.where = *config_.job.rendezvous,
                                      .mine = config_.mine,
                                      .agent = agent.value,
                                      .announced = config_.announced,
                                      .limit = config_.job.timeouts.connect,
                                      .keeper = config_.keeper,
                                      .launch = config_.launch},
             config_.lines),
           home_);
  return std::make_shared<etcd_locator>(leadership_, std::move(link),
                                        [this] { return here(); });
}

rendezvous_coordinator_actor etcd_host::coordinator() const {
  const auto guard = std::lock_guard{mutex_};
  return coordinator_ ? coordinator_->actor() : rendezvous_coordinator_actor{};
}

ports::location etcd_host::here() const {
  const auto guard = std::lock_guard{mutex_};
  if (!coordinator_)
    return {nullptr, address_};
  return {caf::actor_cast<caf::strong_actor_ptr>(coordinator_->actor()),
          address_};
}

// -- leading, on the leadership's thread --------------------------------------

result<std::string>
etcd_host::open_coordinator(const core::open_coordinator& order,
                            const etcd_link& registry) {
  const auto place = coordinator_location_of(
    config_.announced, registry.local_address, registry.member);
  if (!place)
    return place.error();
  const auto& identity = config_.mine.identity;
  if (identity && !identity->names(place->host))
    return identity->does_not_name(place->host,
                                   "where this node hosts the coordinator");
  auto settings = config_.configure();
  settings.lease_all = true;
  // Its lease is shorter than it may lead; whoever follows waits for that.
  settings.age_of_leadership = [leads = leadership_->leadership_check()] {
    return leads() ? std::optional{core::duration::zero()} : std::nullopt;
  };
  settings.beginning.known = order.known;
  settings.on_job = [leadership = std::weak_ptr{leadership_}](const auto& job) {
    if (const auto x = leadership.lock())
      x->change_job(job);
  };
  settings.leadership
    = core::journal::leader_chosen{.agent = config_.agent,
                                   .term = uint64_t{order.terms_before} + 1,
                                   .by = core::leader_source::registry,
                                   .what = order.change.what,
                                   .from = {},
                                   .silent_for = {},
                                   .reason = {}};
  settings.write_outcome
    = [leadership = std::weak_ptr{leadership_}](const auto&, const auto& done) {
        if (const auto x = leadership.lock())
          x->write_outcome(done);
      };
  settings.on_closed = [this](const core::outcome& x) {
    leadership_->resign(true); // First: the callback may stop us.
    config_.on_closed(x);
  };
  auto hosted = std::make_unique<hosted_coordinator>(
    system_, home_, std::move(settings), config_.keeper);
  const auto listening
    = hosted->listen(config_.job, place->where, config_.mine, order.successor);
  if (!listening)
    return listening.error();
  const auto port = endpoint_of(*listening);
  if (!port)
    return port.error();
  {
    const auto guard = std::lock_guard{mutex_};
    coordinator_ = std::move(hosted);
    address_ = place->host;
  }
  open_operator_socket();
  return to_string(endpoint{place->host, port->port});
}

void etcd_host::close_coordinator(const std::string& reason) {
  auto ending = std::unique_ptr<hosted_coordinator>{};
  {
    const auto guard = std::lock_guard{mutex_};
    std::swap(ending, coordinator_);
  }
  operators_.reset();
  ending.reset(); // Without the lock: it calls back until then.
  config_.on_left(reason);
}

void etcd_host::open_operator_socket() {
  if (!config_.is_alone)
    return; // Operators connect to the agent.
  auto opened = operator_socket::open(*home_, config_.job.job,
                                      questions_to(coordinator()),
                                      socket_role::coordinator);
  if (opened)
    operators_ = std::move(*opened);
  else
    config_.lines.warn("actorctl cannot reach this job: "
                       + opened.error().text);
}

} // namespace actorrun::detail
