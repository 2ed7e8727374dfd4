// Lists what goes wrong where agents elect the coordinator: with its process, with its
// host, with the paths between hosts.
#pragma once

namespace actorrun::sim {

class cluster;

/// One of these befalls the leader or the voters.
void trouble_voters(cluster& all);

/// One that may stop no worker.
void trouble_voters_quietly(cluster& all);

/// Plans that nodes are lost, one lease apart, down to one.
void plan_losses(cluster& all);

} // namespace actorrun::sim
