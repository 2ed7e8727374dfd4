// Measures the store for workers: actorrun's next to torch's own server, and
// next to a server that only answers.

#include "tests/bench/free_port.hpp"
#include "tests/bench/parts/parts.hpp"

#include <array>
#include <fstream>
#include <map>
#include <sstream>

namespace actorrun::bench::store_part {

namespace {

constexpr auto client_count = "256";

/// The figures that `store_load` prints, with their descriptions.
struct metric {
  const char* name;
  const char* what;
  const char* unit;
  double scale;
  bool is_rate;
};

constexpr auto metrics = std::array{
  metric{"set", "store: set, 128 bytes, one client", "k/s", 1e-3, true},
  metric{"get", "store: get", "k/s", 1e-3, true},
  metric{"add", "store: add", "k/s", 1e-3, true},
  metric{"wait", "store: wait for a key that is there", "k/s", 1e-3, true},
  metric{"connect", "store: 256 clients come, and have an answer", "ms", 1,
         false},
  metric{"barrier", "store: barrier of 256 clients", "ms", 1, false},
};

using values = std::map<std::string, double>;

result<values> load(const program::command& what) {
  settle();
  if (const auto done = time_of(what); !done)
    return done.error();
  auto out = values{};
  auto file = std::ifstream{what.output};
  for (auto line = std::string{}; std::getline(file, line);) {
    auto words = std::istringstream{line};
    auto name = std::string{};
    if (auto x = 0.0; words >> name >> x)
      out[name] = x;
  }
  for (const auto& x : metrics)
    if (!out.contains(x.name))
      return unmeasured("store_load says nothing of " + std::string{x.name}
                        + ": " + last_words(what.output));
  return out;
}

program::command our_load(setting& s, const std::string& operations) {
  return s.command({s.tool("actorrun"), "--nproc-per-node=1", "--no-python",
                    s.tool("store_load"), operations, client_count});
}

program::command echoed_load(setting& s, const std::string& operations) {
  return s.command(
    {s.tool("store_echo"), s.tool("store_load"), operations, client_count});
}

// One process serves, another one creates load, in a session of its own, like
// workers of both launchers.
program::command torchs_load(setting& s, const std::string& operations,
                             uint16_t port) {
  constexpr auto script
    = "import subprocess, sys, torch.distributed as d\n"
      "s = d.TCPStore('127.0.0.1', int(sys.argv[1]), 1, True,"
      " wait_for_workers=False)\n"
      "sys.exit(subprocess.call(sys.argv[2:], start_new_session=True))\n";
  const auto number = std::to_string(port);
  return s.command(
    {*s.python_with_torch(), "-c", script, number, s.tool("store_load"),
     operations, client_count},
    {std::string{"MASTER_ADDR="} + loopback, "MASTER_PORT=" + number});
}

measured add_values(const result<values>& from, figures row::*where,
                    std::vector<row>& rows) {
  if (!from)
    return from.error();
  for (size_t i = 0; i < metrics.size(); ++i)
    (rows[i].*where).add(from->at(metrics[i].name) * metrics[i].scale);
  return {};
}

measured add_round(setting& s, const std::string& operations,
                   std::vector<row>& rows) {
  if (auto done = add_values(load(our_load(s, operations)), &row::ours, rows);
      !done)
    return done;
  if (auto done
      = add_values(load(echoed_load(s, operations)), &row::limit, rows);
      !done)
    return done;
  if (!s.python_with_torch())
    return {};
  const auto port = free_port();
  if (port == 0)
    return unmeasured("no port is free");
  return of_peer(
    "torch's store",
    add_values(load(torchs_load(s, operations, port)), &row::peer, rows));
}

} // namespace

measured measure(setting& s) {
  auto rows = std::vector<row>{};
  for (const auto& x : metrics)
    rows.push_back({.what = x.what, .unit = x.unit, .goal = "torch's server"});
  const auto operations = std::string{s.quick() ? "500" : "10000"};
  for (size_t i = 0; i < s.stream_repetitions(); ++i)
    if (auto done = add_round(s, operations, rows); !done)
      return done;
  for (size_t i = 0; i < rows.size(); ++i) {
    auto& x = rows[i];
    if (!x.peer.empty())
      x.met = metrics[i].is_rate ? x.ours.median() >= x.peer.median()
                                 : x.ours.median() <= x.peer.median();
    print(x);
  }
  if (!s.python_with_torch())
    print_note("no peer for the store", "no Python here has torch");
  return {};
}

} // namespace actorrun::bench::store_part
