#include "runtime/launcher/node_coordinator.hpp"

#include "messages/formatted.hpp"
#include "runtime/etcd/host.hpp"
#include "runtime/journal/journal_file.hpp"
#include "runtime/journal/predecessor.hpp"
#include "runtime/launcher/hosting.hpp"
#include "runtime/network/coordinator_link.hpp"
#include "runtime/network/presence.hpp"
#include "runtime/succession/host.hpp"

#include <chrono>
#include <utility>

#include <unistd.h>

namespace actorrun::detail {

namespace {

/// Where a single node's workers meet: themselves.
constexpr auto own_address = "127.0.0.1";

} // namespace

node_coordinator::node_coordinator(caf::actor_system& system,
                                   std::shared_ptr<reactor> loop,
                                   node_coordinator_config config,
                                   std::shared_ptr<journal_writer>& journal,
                                   node_end_runner& end)
  : system_(system), loop_(std::move(loop)), config_(std::move(config)),
    journal_(journal), end_(end) {}

// What is elected uses the others until it has stopped.
node_coordinator::~node_coordinator() {
  if (elected_)
    elected_->stop();
}

// -- hosting ------------------------------------------------------------------

result<void> node_coordinator::open(const agent_options* options) {
  const auto& job = config_.job;
  if (!job.exclude_file.empty()) {
    if (const auto found = read_exclusion_file(job.exclude_file); !found)
      return found.error();
    exclusions_
      = std::make_shared<exclusion_file>(job.exclude_file, config_.lines);
  }
  if (!job.rendezvous) {
    hosted_ = std::make_unique<hosted_coordinator>(system_, loop_,
                                                   coordinators_config());
    hosted_->begin();
    address_ = own_address;
    return {};
  }
  if (job.backend == rendezvous_backend::etcd)
    return open_etcd(options ? options->local_address : std::string{});
  if (!options)
    return job.succession ? open_witness() : host();
  if (job.succession)
    return open_voters(*options);
  if (!may_host_coordinator(job, *options))
    return {};
  auto hosting = host();
  // Nodes without a given rank all have rank 0.
  if (!hosting && job.backend == rendezvous_backend::fixed)
    return failure{hosting.error().code,
                   hosting.error().text
                     + "; the node of --node-rank=0, which is the default, "
                       "hosts the job at --master-addr and --master-port"};
  // Most likely another agent of the job on this host; connecting will show it.
  is_occupied_ = !hosting && hosting.error().code == errc::address_in_use
                 && job.place == coordinator_place::automatic;
  if (is_occupied_)
    return {};
  return hosting;
}

result<void> node_coordinator::host() {
  const auto& job = config_.job;
  const auto& mine = config_.mine;
  if (mine.identity && !mine.identity->names(job.rendezvous->host))
    return mine.identity->does_not_name(job.rendezvous->host,
                                        "where the nodes meet");
  const auto place = place_of_coordinator(job);
  if (!place)
    return place.error();
  auto config = coordinators_config();
  learn_of_predecessor(config.beginning);
  hosted_ = std::make_unique<hosted_coordinator>(
    system_, loop_, std::move(config), config_.keeper);
  if (config_.agent)
    pass_store_clients(*hosted_);
  auto listening
    = hosted_->listen(job, place->where, mine,
                      config_.is_new_job ? std::optional{false} : std::nullopt);
  if (!listening) {
    hosted_.reset();
    return listening.error();
  }
  address_ = place->announced;
  if (place->is_whole_host)
    config_.lines.info(formatted(
      "{} stands for all addresses of this host; others reach it at {}",
      job.rendezvous->host,
      to_string(endpoint{address_, job.rendezvous->port})));
  return {};
}

void node_coordinator::pass_store_clients(hosted_coordinator& from) {
  entrance_ = std::make_shared<store_entrance>(*loop_, config_.lines);
  from.pass_store_clients(
    [to = entrance_](unique_fd client, const std::string& address) {
      to->admit(std::move(client), address);
    });
}

// What it has granted, and an operator's order, outlive the coordinator.
void node_coordinator::learn_of_predecessor(
  core::coordinator_started& beginning) const {
  const auto& job = config_.job;
  if (job.journal_folder.empty())
    return;
  auto found = find_predecessor(job.journal_folder, job.job, config_.host,
                                job.timeouts.close + job.timeouts.seek_again());
  if (!found)
    return config_.lines.warn(found.error().text);
  if (!*found)
    return;
  beginning.known = std::move((*found)->job);
  // An agent here is of the next job with this name, and a witness has agents to
  // hear the outcome from.
  if (!config_.agent && !job.succession)
    beginning.decided = std::move((*found)->decided);
}

rendezvous_coordinator_config node_coordinator::coordinators_config() {
  const auto& job = config_.job;
  auto out = rendezvous_coordinator_config{};
  out.job = job.job;
  out.settings = settings();
  out.limits = job.timeouts;
  out.host = config_.host;
  out.pid = ::getpid();
  out.rules = job.rules;
  out.exclusions = exclusions_;
  if (exclusions_)
    out.beginning.listed = listed_hosts();
  // With an agent, one node is as quiet as it is without an endpoint.
  out.networked
    = job.rendezvous.has_value() && (!config_.agent || job.agent_count_max > 1);
  out.lines = config_.lines;
  out.on_closed
    = [this](const core::outcome& x) { report(core::coordinator_closed{x}); };
  out.on_died = [this](const std::string& why) { report_death(why); };
  begin_journal(out);
  return out;
}

// It was good when this node began.
std::vector<core::excluded_host> node_coordinator::listed_hosts() const {
  auto found = read_exclusion_file(config_.job.exclude_file);
  if (found)
    return *std::move(found);
  config_.lines.warn("no host is excluded by --exclude-file: "
                     + found.error().text);
  return {};
}

// A coordinator that comes later in this process has a journal of its own.
void node_coordinator::begin_journal(rendezvous_coordinator_config& of) {
  const auto& job = config_.job;
  if (job.journal_folder.empty())
    return;
  const auto now = std::chrono::floor<std::chrono::milliseconds>(
    std::chrono::system_clock::now());
  const auto name = file_name_of(
    {job.job, config_.host, now.time_since_epoch().count(), ::getpid()});
  journal_ = std::make_shared<journal_writer>(
    job.journal_folder + "/" + name,
    [lines = config_.lines](const std::string& what) { lines.warn(what); },
    journal_limits{.after_launch = !job.rendezvous.has_value()});
  of.on_records = [writer = journal_](core::journal::chronicle::records x) {
    writer->write(std::move(x));
  };
  of.read_journal = [writer = journal_, name](const v1::ReadJournal& what,
                                              const auto& reply) {
    writer->read(what.position(), [reply, name](journal_part x) {
      auto out = v1::OperatorReply{};
      out.mutable_journal()->set_name(name);
      out.mutable_journal()->set_position(x.position);
      out.mutable_journal()->set_text(std::move(x.text));
      reply(std::move(out));
    });
  };
}

core::job_settings node_coordinator::settings() const {
  const auto& job = config_.job;
  const auto may_move
    = job.backend == rendezvous_backend::etcd || job.succession;
  return {.agent_count_min = job.agent_count_min,
          .agent_count_max = job.agent_count_max,
          .restart_count_max = job.restart_count_max,
          .ranked = job.backend == rendezvous_backend::fixed,
          .lease = may_move ? job.timeouts.lease() : core::timeouts::ms{}};
}

core::timeouts node_coordinator::limits() const {
  auto out = config_.job.timeouts;
  // At several seeds a majority of the hosts has to be there before the job begins.
  if (!config_.job.more_seeds.empty()
      || (elected_ && elected_->remembers_job()))
    out.seek = out.seek_again();
  return out;
}

void node_coordinator::report_death(const std::string& reason) {
  report(core::actor_died{core::actor_died::role::coordinator, reason});
}

// -- being elected ------------------------------------------------------------

result<void> node_coordinator::open_etcd(const std::string& announced) {
  auto opened = etcd_host::open(
    system_, loop_,
    {.job = config_.job,
     .settings = settings(),
     .mine = config_.mine,
     .announced = announced,
     .launch = config_.launch,
     .is_alone = !config_.agent,
     .keeper = config_.keeper,
     .configure = [this] { return coordinators_config(); },
     .on_closed
     = [this](const core::outcome& x) { report(core::coordinator_closed{x}); },
     .on_left = [this](const std::string& why) { leave(why); },
     .agent = config_.agent.value_or(agent_id{}),
     .on_died = [this](const std::string& why) { report_death(why); },
     .lines = config_.lines});
  if (!opened)
    return opened.error();
  elected_ = std::move(*opened);
  return {};
}

// It votes as an agent does, and has no workers.
result<void> node_coordinator::open_witness() {
  auto options = agent_options{};
  options.local_address = config_.local_address;
  return open_voters(options);
}

result<void> node_coordinator::open_voters(const agent_options& options) {
  auto job = config_.job;
  const auto has_several = !job.more_seeds.empty();
  const auto own = has_several ? own_seed_of(job, options) : std::nullopt;
  const auto is_home
    = has_several ? own.has_value() : may_host_coordinator(job, options);
  const auto seeds = seeds_of(job);
  if (own)
    job.rendezvous = own;
  auto voters = voter_host::open(
    system_, loop_,
    {.job = job,
     .settings = settings(),
     .mine = config_.mine,
     .agent = config_.agent.value_or(make_agent_id(config_.host)),
     .is_home = is_home,
     .seeds = seeds,
     .announced = options.local_address,
     .launch = config_.launch,
     .is_new_job = config_.is_new_job,
     .host = config_.host,
     .is_witness = !config_.agent,
     .keeper = config_.keeper,
     .configure =
       [this](bool is_first) {
         auto out = coordinators_config();
         if (is_first)
           learn_of_predecessor(out.beginning);
         return out;
       },
     .prepare =
       [this](hosted_coordinator& x) {
         if (config_.agent)
           pass_store_clients(x);
       },
     .ask = config_.ask,
     .on_closed
     = [this](const core::outcome& x) { report(core::coordinator_closed{x}); },
     .on_left = [this](const std::string& why) { leave(why); },
     .on_gave_up
     = [this](const failure& why) { report(core::witness_gave_up{why}); },
     .on_died = [this](const std::string& why) { report_death(why); },
     .lines = config_.lines});
  if (is_home) {
    const auto place = place_of_coordinator(job);
    if (!place)
      return place.error();
    const auto founded
      = voters->found(place->where, place->announced,
                      config_.is_new_job ? std::optional{false} : std::nullopt);
    if (!founded
        && (founded.error().code != errc::address_in_use
            || job.place != coordinator_place::automatic))
      return founded;
  }
  if (!config_.agent)
    if (auto watching = voters->watch(); !watching)
      return watching;
  elected_ = std::move(voters);
  return {};
}

// On the thread that opens coordinators.
void node_coordinator::leave(const std::string& why) {
  if (journal_)
    journal_->leave(why);
  report(core::leadership_left{});
}

void node_coordinator::part(const core::ending& how) {
  if (elected_)
    elected_->part(how);
}

void node_coordinator::elect(operator_question x) {
  if (elected_)
    return elected_->elect(std::move(x));
  x.reply(refusal_of(errc::bad_argument,
                     "the coordinator of this job is not elected by its agents:"
                     " that takes --rdzv-conf=succession=on"));
}

void node_coordinator::resign() {
  if (elected_)
    elected_->resign();
}

// -- what others ask of it ----------------------------------------------------

rendezvous_coordinator_actor node_coordinator::actor() const {
  if (elected_)
    return elected_->coordinator();
  return hosted_ ? hosted_->actor() : rendezvous_coordinator_actor{};
}

std::optional<endpoint> node_coordinator::place_on_network() const {
  if (!elected_)
    return hosted_ ? std::nullopt : config_.job.rendezvous;
  const auto known = place();
  return known ? read_endpoint(known->endpoint) : std::nullopt;
}

// For people, who steer the job there.
std::string node_coordinator::options_for_operators() const {
  const auto& job = config_.job;
  if (hosted_)
    return {};
  return formatted(
    "--rdzv-endpoint={} --rdzv-id={}{}", meeting_points(job), job.job.value,
    job.backend == rendezvous_backend::etcd ? " --rdzv-backend=etcd" : "");
}

core::coordinator_source node_coordinator::next() const {
  using kind = core::coordinator_source::kind;
  const auto& job = config_.job;
  auto out = core::coordinator_source{};
  if (job.backend == rendezvous_backend::etcd)
    out.from = kind::registry;
  else if (job.backend == rendezvous_backend::fixed)
    out.from = kind::ranked;
  else if (job.succession)
    out.from = kind::voters;
  if (job.rendezvous)
    out.endpoint = meeting_points(job);
  return out;
}

std::shared_ptr<ports::coordinator_locator>
node_coordinator::locator(const std::string& announced) const {
  const auto& job = config_.job;
  if (elected_)
    return elected_->locator_for(*config_.agent);
  if (hosted_)
    return std::make_shared<local_locator>(
      caf::actor_cast<caf::strong_actor_ptr>(hosted_->actor()), address_);
  return keep(std::make_unique<coordinator_link>(
                system_, *loop_,
                coordinator_link::target{
                  *job.rendezvous, config_.mine, config_.agent->value,
                  announced, job.timeouts.connect, is_occupied_, config_.keeper,
                  job.timeouts.seek, config_.launch},
                config_.lines),
              loop_);
}

// A link does it for agents of other processes.
result<void> node_coordinator::show_agent() {
  if (!hosted_ || (!config_.keeper && config_.launch.empty()))
    return {};
  auto shown = open_presence(config_.keeper ? config_.mine.fingerprint
                                            : fingerprint_of(config_.job.job),
                             *config_.agent, config_.launch);
  if (!shown)
    return shown.error();
  if (config_.keeper)
    config_.keeper->keep(kept_socket::presence, shown->get());
  else // No other node asks, but the next launch on this host does.
    presence_ = std::move(*shown);
  return {};
}

void node_coordinator::end_with_process() {
  if (hosted_)
    hosted_->end_with_process();
  if (elected_)
    elected_->end_with_process();
}

void node_coordinator::end_job(int signal) {
  if (hosted_)
    tell_anonymously(hosted_->actor(), core::stop_requested{signal});
}

} // namespace actorrun::detail
