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
namespace launch_part {
measured measure(setting& s);
}

/// Kills a worker; measures the time until the last of its group runs again.
namespace restart_part {
measured measure(setting& s);
}

/// Kills an agent; measures the time until the others' workers run again.
namespace regroup_part {
measured measure(setting& s);
}

/// Kills a node of workers that live through changes; measures the time until all
/// have begun the next generation.
namespace live_part {
measured measure(setting& s);
}

/// Starts eight agents at once; measures the time until their last worker runs.
namespace meet_part {
measured measure(setting& s);
}

/// Measures the cost of idle agents.
namespace rest_part {
measured measure(setting& s);
}

/// Lets ten thousand agents join one rendezvous, without a network.
namespace join_part {
measured measure(setting& s);
}

/// Lets workers write lines; measures the throughput and the cost of showing
/// them.
namespace streams_part {
measured measure(setting& s);
}

/// Lets a worker die; measures the time until the report is on the console.
namespace report_part {
measured measure(setting& s);
}

/// Lets workers start and end timers; measures the rate and the cost of a call.
namespace timers_part {
measured measure(setting& s);
}

/// Lets a timer expire; measures the time until its worker is dead.
namespace overruns_part {
measured measure(setting& s);
}

/// Measures the cost of a million timers that do not end.
namespace armed_part {
measured measure(setting& s);
}

/// Checks that workers on time, under load, are not killed.
namespace soak_part {
measured measure(setting& s);
}

/// Measures the store for workers, next to torch's own server.
namespace store_part {
measured measure(setting& s);
}

/// Measures the launcher itself, next to torchrun.
namespace torchrun_part {
measured measure(setting& s);
}

/// Lets others watch a job; measures when they see what happens, and the cost.
namespace viewers_part {
measured measure(setting& s);
}

/// Lets many agents without workers meet at a coordinator; measures what they cost
/// it.
namespace hollow_part {
measured measure(setting& s);
}

/// Starts a job on many hosts by one command; measures the time until its last
/// worker runs.
namespace hosts_part {
measured measure(setting& s);
}

/// Measures what a job that regroups costs the other actors of a host program.
namespace embedded_part {
measured measure(setting& s);
}

/// Checks that busy CPUs do not cost a node its place.
namespace saturated_part {
measured measure(setting& s);
}

} // namespace actorrun::bench
