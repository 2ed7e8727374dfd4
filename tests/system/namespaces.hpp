// Owns two network namespaces joined by a cable (a veth pair), to simulate a
// network that fails. Needs root, `ip` and `nft`.
#pragma once

#include "tests/system/scene.hpp"

#include <chrono>
#include <string>

namespace actorrun::test {

/// A network of two hosts, `here` and `there`.
class namespaces {
public:
  static constexpr auto here_address = "10.213.7.1";
  static constexpr auto there_address = "10.213.7.2";

  /// Why this machine cannot have one; empty if it can.
  static std::string obstacle();

  /// False, with a printed reason, where it cannot; the test is skipped then.
  static bool are_possible();

  /// @param tools Starts the programs that set up the network. Lives longer.
  explicit namespaces(scene& tools);

  namespaces(const namespaces&) = delete;
  namespaces& operator=(const namespaces&) = delete;

  ~namespaces();

  /// Words that start a program on one of the hosts.
  words here() const { return {"ip", "netns", "exec", here_}; }
  words there() const { return {"ip", "netns", "exec", there_}; }

  /// `there` neither receives nor sends packets any more; no one is notified.
  void cut();

  /// `there` receives nothing, but can send.
  void cut_inbound();

  /// `there` receives, but cannot send.
  void cut_outbound();

  /// A firewall of `there` answers what arrives with a reset …
  void reset_inbound();

  /// … or one of `here` does so to what `there` sends, …
  void reset_outbound();

  /// … or both do.
  void reset();

  /// `there` receives nothing from this port of `here` any more.
  void cut_service(uint16_t port);

  /// A bad cable: cut and heal in turns, so many times.
  /// @returns the program that does it, and ends after that
  program& flap(std::chrono::milliseconds cut, std::chrono::milliseconds pause,
                int count);

  /// Ends all cuts.
  void heal();

  /// Pulls and plugs the cable of `there`.
  void set_link(bool up);

private:
  void must(words command);
  void drop(const words& host);
  void reject(const words& host);
  void filter(words host, const std::string& policy, const std::string& rule);

  scene& tools_;
  std::string here_;
  std::string there_;
};

} // namespace actorrun::test
