#include "tests/system/namespaces.hpp"

#include "tests/support/skip.hpp"

#include <unistd.h>

namespace actorrun::test {

namespace {

std::string unique_name(const char* end) {
  static auto count = 0;
  return "ar" + std::to_string(::getpid()) + "x" + std::to_string(++count)
         + end;
}

bool succeeds(scene& tools, words command) {
  auto code = -1;
  tools.read(std::move(command), &code);
  return code == 0;
}

} // namespace

std::string namespaces::obstacle() {
  if (::geteuid() != 0)
    return "not root";
  auto tools = scene{};
  for (const auto* tool : {"ip", "nft"})
    if (!succeeds(tools, {"sh", "-c", std::string{"command -v "} + tool}))
      return std::string{"there is no program "} + tool;
  const auto name = unique_name("p");
  if (!succeeds(tools, {"ip", "netns", "add", name}))
    return "network namespaces cannot be made here";
  const auto filters = succeeds(
    tools, {"ip", "netns", "exec", name, "nft", "add", "table", "ip", "t"});
  succeeds(tools, {"ip", "netns", "del", name});
  return filters ? "" : "the kernel has no nf_tables";
}

bool namespaces::are_possible() {
  static const auto obstacle_here = obstacle();
  if (!obstacle_here.empty())
    skip("netns", obstacle_here);
  return obstacle_here.empty();
}

namespaces::namespaces(scene& tools)
  : tools_(tools), here_(unique_name("a")), there_(unique_name("b")) {
  const auto both
    = {std::pair{here_, here_address}, std::pair{there_, there_address}};
  for (const auto& [name, address] : both)
    must({"ip", "netns", "add", name});
  must({"ip", "link", "add", "cable", "netns", here_, "type", "veth", "peer",
        "name", "cable", "netns", there_});
  for (const auto& [name, address] : both) {
    must({"ip", "-n", name, "addr", "add", std::string{address} + "/24", "dev",
          "cable"});
    must({"ip", "-n", name, "link", "set", "lo", "up"});
    must({"ip", "-n", name, "link", "set", "cable", "up"});
  }
}

// Processes that still run there keep their network; its names are removed now.
namespaces::~namespaces() {
  for (const auto& name : {here_, there_})
    succeeds(tools_, {"ip", "netns", "del", name});
}

void namespaces::must(words command) {
  auto code = -1;
  const auto text = tools_.read(command, &code);
  auto line = std::string{};
  for (const auto& x : command)
    line += x + " ";
  scene::require(code == 0, line + "succeeds: " + text);
}

// Drops arriving packets, not leaving ones: a sender would get an error at
// once.
void namespaces::drop(const words& host) {
  filter(host, "drop", "iif lo accept");
}

void namespaces::reject(const words& host) {
  filter(host, "accept", "iif != lo meta l4proto tcp reject with tcp reset");
}

void namespaces::filter(words host, const std::string& policy,
                        const std::string& rule) {
  const auto rules = "add table ip cut\n"
                     "add chain ip cut input { type filter hook input "
                     "priority 0; policy "
                     + policy + "; }\nadd rule ip cut input " + rule + "\n";
  for (const auto& x :
       {std::string{"nft"}, std::string{"-f"}, tools_.write("rules", rules)})
    host.push_back(x);
  must(host);
}

void namespaces::cut() {
  cut_inbound();
  cut_outbound();
}

void namespaces::cut_inbound() {
  drop(there());
}

void namespaces::cut_outbound() {
  drop(here());
}

void namespaces::reset_inbound() {
  reject(there());
}

void namespaces::reset_outbound() {
  reject(here());
}

void namespaces::reset() {
  reset_inbound();
  reset_outbound();
}

void namespaces::cut_service(uint16_t port) {
  filter(here(), "accept",
         "iif != lo tcp dport " + std::to_string(port) + " drop");
}

program& namespaces::flap(std::chrono::milliseconds cut,
                          std::chrono::milliseconds pause, int count) {
  const auto rules
    = tools_.write("flap", "add table ip cut\n"
                           "add chain ip cut input { type filter hook input "
                           "priority 0; policy drop; }\n"
                           "add rule ip cut input iif lo accept\n");
  const auto seconds = [](std::chrono::milliseconds x) {
    return std::to_string(double(x.count()) / 1'000);
  };
  const auto script
    = "for i in $(seq $1); do"
      "  ip netns exec $2 nft -f $4; ip netns exec $3 nft -f $4; sleep $5;"
      "  ip netns exec $2 nft flush ruleset; ip netns exec $3 nft flush "
      "ruleset;"
      "  sleep $6; "
      "done";
  return tools_.start({"sh", "-c", script, "flap", std::to_string(count), here_,
                       there_, rules, seconds(cut), seconds(pause)});
}

void namespaces::heal() {
  for (auto host : {here(), there()}) {
    for (const auto* x : {"nft", "flush", "ruleset"})
      host.push_back(x);
    must(host);
  }
}

void namespaces::set_link(bool up) {
  must({"ip", "-n", there_, "link", "set", "cable", up ? "up" : "down"});
}

} // namespace actorrun::test
