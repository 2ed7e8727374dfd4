#include "actors/core/protocol/coordinator_loss.hpp"

#include "actors/core/text.hpp"

namespace actorrun::core {

namespace {

using source = coordinator_source::kind;

/// Fewer cannot outvote one that is lost.
constexpr uint32_t voters_min = 3;

bool is_elected(const coordinator_source& x) {
  return x.from == source::registry
         || (x.from == source::voters && x.voter_count >= voters_min);
}

/// ` at n1:29400`
std::string place(const coordinator_source& x) {
  return x.endpoint.empty() ? std::string{} : " at " + x.endpoint;
}

std::string workers(const coordinator_loss& x, time_point now) {
  if (!x.workers_until || *x.workers_until <= now)
    return {};
  if (x.why && x.why->code == errc::coordinator_gone)
    return ". As its host proves that it has ended, the workers of this node "
           "run on"
           " while that host answers";
  return ". The workers of this node run on for "
         + duration_text(*x.workers_until - now)
         + ", and are killed then unless a coordinator has answered: others may"
           " take their place";
}

std::string who_elects(const coordinator_source& x) {
  return x.from == source::registry
           ? std::
             string{"etcd elects another one, when the lease of the last one"
                    " has ended at the latest"}
           : "the " + std::to_string(x.voter_count)
               + " agents that vote elect another one, "
                 "within a second if most of"
                 " them reach each other";
}

std::string where_to_start(const coordinator_source& x) {
  return x.from == source::ranked
           ? std::string{"on the node of rank 0"}
           : "on its host" + (x.endpoint.empty() ? "" : ", " + x.endpoint);
}

/// What lets the next job outlive such a loss.
std::string next_time(const coordinator_source& x) {
  switch (x.from) {
    case source::endpoint:
      return "Next time, --rdzv-conf=succession=on with three hosts or more, or"
             " --rdzv-backend=etcd, lets the others go on without that host";
    case source::ranked:
      return "Next time, --rdzv-backend=c10d with --rdzv-conf=succession=on and"
             " three hosts or more, or --rdzv-backend=etcd, lets the others go "
             "on"
             " without that node";
    default:
      return "Too few agents vote to elect another one: that takes agents on "
             "three hosts or more, or on two and a witness on a third. If the "
             "host of the last one is lost for good, a person can say so: "
             "actorctl elect --accept-loss=HOST";
  }
}

} // namespace

bool is_to_be_told(const coordinator_loss& x, time_point now) {
  return x.why || now >= x.since + loss_pause;
}

std::string text_of(const coordinator_loss& x, const coordinator_source& next,
                    time_point now) {
  const auto left
    = duration_text(std::chrono::ceil<std::chrono::seconds>(x.until - now));
  auto out = "the coordinator is lost"
             + (x.why ? " (" + x.why->text + ")" : std::string{});
  if (is_elected(next))
    return out + ": " + who_elects(next) + workers(x, now)
           + ". If none is found within " + left
           + ", this node ends with exit code 5"
           + (next.from == source::voters
                ? "; if most of them are lost for good, a person can say so: "
                  "actorctl elect --accept-loss=HOST,…"
                : "");
  return out + workers(x, now) + ". This node looks for it" + place(next)
         + " for " + left + ", and then ends with exit code 5. What helps now:"
         + " start the same command again " + where_to_start(next)
         + "; the nodes that look for it come back by themselves. "
         + next_time(next);
}

std::string wait_for(const coordinator_source& next) {
  return "the coordinator is lost; "
         + (is_elected(next) ? who_elects(next)
                             : "to bring it back, start the same command again "
                                 + where_to_start(next));
}

} // namespace actorrun::core
