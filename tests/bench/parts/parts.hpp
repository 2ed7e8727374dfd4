// The parts of the benchmark. Each prints its lines of the table as it goes,
// and returns the reason if a measurement failed.
#pragma once

#include "tests/bench/setting.hpp"
#include "tests/bench/table.hpp"

#include <variant>

namespace actorrun::bench {

using measured = result<void>;

/// What a peer does is not ours: where it fails, its column has fewer values, or none,
/// and a line that says why.
inline measured of_peer(const std::string& who, const measured& done) {
  if (!done)
    print_note(who + " could not be measured", done.error().text);
  return {};
}

/// Measures starting N processes that end at once.
measured measure_launch(setting& s);

/// Kills a worker; measures the time until the last of its group runs again.
measured measure_restart(setting& s);

/// Kills an agent; measures the time until the others' workers run again.
measured measure_regroup(setting& s);

/// Kills a node of workers that live through changes; measures the time until all
/// have begun the next generation.
measured measure_live(setting& s);

/// Starts eight agents at once; measures the time until their last worker runs.
measured measure_meeting(setting& s);

/// Measures the cost of idle agents.
measured measure_rest(setting& s);

/// Lets ten thousand agents join one rendezvous, without a network.
measured measure_joins(setting& s);

/// Lets workers write lines; measures the throughput and the cost of showing
/// them.
measured measure_streams(setting& s);

/// Lets a worker die; measures the time until the report is on the console.
measured measure_report(setting& s);

/// Lets workers start and end timers; measures the rate and the cost of a call.
measured measure_timers(setting& s);

/// Lets a timer expire; measures the time until its worker is dead.
measured measure_overruns(setting& s);

/// Measures the cost of a million timers that do not end.
measured measure_armed(setting& s);

/// Checks that workers on time, under load, are not killed.
measured measure_soak(setting& s);

/// Measures the store for workers, next to torch's own server.
measured measure_store(setting& s);

/// Measures the launcher itself, next to torchrun.
measured measure_torchrun(setting& s);

/// Lets others watch a job; measures when they see what happens, and the cost.
measured measure_viewers(setting& s);

/// Lets many agents without workers meet at a coordinator; measures what they cost
/// it.
measured measure_hollow(setting& s);

/// Starts a job on many hosts by one command; measures the time until its last
/// worker runs.
measured measure_hosts(setting& s);

/// Measures what a job that regroups costs the other actors of a host program.
measured measure_embedded(setting& s);

/// Checks that busy CPUs do not cost a node its place.
measured measure_saturated(setting& s);

} // namespace actorrun::bench
