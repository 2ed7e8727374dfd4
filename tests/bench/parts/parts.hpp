// The parts of the benchmark. Each prints its lines of the table as it goes,
// and returns why it could not measure something.
#pragma once

#include "tests/bench/setting.hpp"
#include "tests/bench/table.hpp"

#include <variant>

namespace actorrun::bench {

using measured = result<void>;

/// Starts N processes that end at once.
measured measure_launch(setting& s);

/// Kills a worker: how long until the last of its group runs again?
measured measure_restart(setting& s);

/// Kills an agent: how long until the others' workers run again?
measured measure_regroup(setting& s);

/// Eight agents start at once: how long until their last worker runs?
measured measure_meeting(setting& s);

/// What agents cost while nothing happens.
measured measure_rest(setting& s);

/// Ten thousand agents join one rendezvous, without a network.
measured measure_joins(setting& s);

/// Workers write lines: how fast are they shown, and what does it cost?
measured measure_streams(setting& s);

/// A worker dies: how long until all about it is on the console?
measured measure_report(setting& s);

/// Workers start and end timers: how many, and what does a call cost?
measured measure_timers(setting& s);

/// A timer is over: how long until its worker has gone?
measured measure_overruns(setting& s);

/// What a million timers cost that nobody ends.
measured measure_armed(setting& s);

/// Workers that are in time, under load, must not be killed.
measured measure_soak(setting& s);

/// The store where workers meet, beside torch's own server.
measured measure_store(setting& s);

/// The launcher itself, beside torchrun.
measured measure_torchrun(setting& s);

/// Busy CPUs must not cost a node its place.
measured measure_saturated(setting& s);

} // namespace actorrun::bench
