#include "actors/core/devices/binding_plan.hpp"

#include "actors/core/text.hpp"

#include <algorithm>
#include <cassert>
#include <map>
#include <set>

namespace actorrun::core {

namespace {

using numbers = std::vector<uint32_t>;

/// What `property` of the CPUs for which `is_meant`; ascending, each once.
template <class Property, class Predicate>
numbers collect(std::span<const cpu_place> cpus, Property property,
                Predicate is_meant) {
  auto out = std::set<uint32_t>{};
  for (const auto& x : cpus)
    if (is_meant(x))
      out.insert(x.*property);
  return {out.begin(), out.end()};
}

numbers all_nodes(std::span<const cpu_place> cpus) {
  return collect(cpus, &cpu_place::node, [](const auto&) { return true; });
}

auto is_on(uint32_t node) {
  return [node](const cpu_place& x) { return x.node == node; };
}

/// The CPUs of a NUMA node by core or by cache, in the order of those.
std::vector<numbers> groups_on(std::span<const cpu_place> cpus, uint32_t node,
                               uint32_t cpu_place::*property) {
  auto found = std::map<uint32_t, numbers>{};
  for (const auto& x : cpus)
    if (x.node == node)
      found[x.*property].push_back(x.cpu);
  auto out = std::vector<numbers>{};
  for (auto& [id, group] : found) {
    std::sort(group.begin(), group.end());
    out.push_back(std::move(group));
  }
  return out;
}

/// The CPUs of the whole package that a NUMA node belongs to, and its nodes. A
/// node that spans packages has them all.
process_binding package_of(std::span<const cpu_place> cpus, uint32_t node) {
  const auto packages = collect(cpus, &cpu_place::package, is_on(node));
  const auto is_there = [&](const cpu_place& x) {
    return std::binary_search(packages.begin(), packages.end(), x.package);
  };
  return {.cpus = collect(cpus, &cpu_place::cpu, is_there),
          .memory_nodes = collect(cpus, &cpu_place::node, is_there)};
}

/// The cores of a NUMA node that the worker at `place` of `count` gets.
result<numbers> share_of_cores(std::span<const cpu_place> cpus, uint32_t node,
                               size_t place, size_t count) {
  const auto cores = groups_on(cpus, node, &cpu_place::core);
  if (cores.size() < count)
    return bad_argument(
      "NUMA node " + std::to_string(node) + " has "
      + std::to_string(cores.size()) + " usable cores for "
      + std::to_string(count)
      + " workers, and \"exclusive\" needs one for each; start"
        " fewer workers, or bind them to \"node\"");
  const auto share = cores.size() / count;
  const auto extra = cores.size() % count;
  const auto first = place * share + std::min(place, extra);
  auto out = numbers{};
  for (auto i = first; i < first + share + (place < extra ? 1 : 0); ++i)
    out.insert(out.end(), cores[i].begin(), cores[i].end());
  std::sort(out.begin(), out.end());
  return out;
}

numbers cache_at(std::span<const cpu_place> cpus, uint32_t node, size_t place) {
  auto groups = groups_on(cpus, node, &cpu_place::cache);
  std::stable_sort(
    groups.begin(), groups.end(),
    [](const auto& a, const auto& b) { return a.size() > b.size(); });
  return groups[place % groups.size()];
}

/// @param place Which of the `count` workers on that NUMA node it is.
result<process_binding> bind_one(binding_mode mode,
                                 std::span<const cpu_place> cpus, uint32_t node,
                                 size_t place, size_t count) {
  auto out = process_binding{.cpus = {}, .memory_nodes = {node}};
  if (mode == binding_mode::socket)
    return package_of(cpus, node);
  if (mode == binding_mode::node) {
    out.cpus = collect(cpus, &cpu_place::cpu, is_on(node));
  } else if (mode == binding_mode::core_complex) {
    out.cpus = cache_at(cpus, node, place);
  } else {
    auto share = share_of_cores(cpus, node, place, count);
    if (!share)
      return share.error();
    out.cpus = std::move(*share);
  }
  return out;
}

std::string named(const char* what, const numbers& x) {
  return what + std::string{x.size() == 1 ? " " : "s "} + to_ranges(x);
}

} // namespace

result<std::vector<uint32_t>>
choose_numa_nodes(std::span<const cpu_place> cpus,
                  std::span<const std::optional<uint32_t>> wished) {
  const auto nodes = all_nodes(cpus);
  if (nodes.empty())
    return bad_argument("there is no CPU that may be used");
  auto out = std::vector<uint32_t>{};
  auto turn = size_t{0};
  for (const auto& x : wished) {
    if (x && !std::binary_search(nodes.begin(), nodes.end(), *x))
      return bad_argument("the GPU of local rank " + std::to_string(out.size())
                          + " is at NUMA node " + std::to_string(*x)
                          + ", of which no CPU may be used here");
    out.push_back(x ? *x : nodes[turn++ % nodes.size()]);
  }
  return out;
}

result<std::vector<process_binding>>
plan_bindings(binding_mode mode, std::span<const cpu_place> cpus,
              std::span<const uint32_t> nodes) {
  auto out = std::vector<process_binding>(nodes.size());
  if (mode == binding_mode::none)
    return out;
  auto counts = std::map<uint32_t, size_t>{};
  for (const auto node : nodes)
    ++counts[node];
  const auto has_choice = all_nodes(cpus).size() > 1;
  auto places = std::map<uint32_t, size_t>{};
  for (size_t i = 0; i < nodes.size(); ++i) {
    const auto node = nodes[i];
    auto bound = bind_one(mode, cpus, node, places[node]++, counts[node]);
    if (!bound)
      return bound.error();
    assert(!bound->cpus.empty());
    out[i] = std::move(*bound);
    if (!has_choice)
      out[i].memory_nodes.clear();
  }
  return out;
}

std::string to_string(const process_binding& x,
                      std::span<const cpu_place> cpus) {
  if (x.cpus.empty())
    return "not bound";
  const auto nodes
    = collect(cpus, &cpu_place::node, [&x](const cpu_place& place) {
        return std::binary_search(x.cpus.begin(), x.cpus.end(), place.cpu);
      });
  auto out = named("CPU", x.cpus);
  if (!nodes.empty())
    out += " of " + named("NUMA node", nodes);
  if (!x.memory_nodes.empty())
    out += ", memory of " + named("NUMA node", x.memory_nodes) + " preferred";
  return out;
}

} // namespace actorrun::core
