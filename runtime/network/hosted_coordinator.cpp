#include "runtime/network/hosted_coordinator.hpp"

#include "messages/formatted.hpp"

#include <caf/scoped_actor.hpp>

#include <utility>

namespace actorrun::detail {

hosted_coordinator::hosted_coordinator(caf::actor_system& system,
                                       std::shared_ptr<reactor> home,
                                       rendezvous_coordinator_config config)
  : system_(system), lines_(config.lines) {
  links_
    = keep(std::make_unique<remote_agent_links>(system, *home, lines_), home);
  config.links = links_;
  actor_ = spawn_rendezvous_coordinator(system, std::move(config));
  links_->serve_for(actor_);
}

void hosted_coordinator::end() {
  if (!links_)
    return;
  caf::scoped_actor self{system_};
  self->send_exit(actor_, caf::exit_reason::kill);
  self->wait_for(actor_);
  links_->close();
  links_.reset();
}

result<std::string> hosted_coordinator::listen(const job_options& job,
                                               const socket_address& where,
                                               const credentials& mine) {
  auto listening = links_->listen(where, mine);
  if (!listening)
    return listening;
  lines_.info(formatted("coordinator of job {} listens on {}", job.job.value,
                        *listening));
  if (job.secret.empty() && !is_loopback(where))
    lines_.warn(
      "the job has no secret: any host that knows its id can join it; "
      "set --secret-file or ACTORRUN_SECRET on all nodes");
  return listening;
}

} // namespace actorrun::detail
