// Owns two network namespaces joined by a cable (a veth pair), to play the
// network that fails. Needs root, `ip` and `nft`.
#pragma once

#include "tests/system/scene.hpp"

#include <string>

namespace actorrun::test {

/// A network of two hosts, `here` and `there`.
class namespaces {
public:
  static constexpr auto here_address = "10.213.7.1";
  static constexpr auto there_address = "10.213.7.2";

  /// Why there can be none on this machine; empty if there can.
  static std::string obstacle();

  /// @param tools Starts the programs that set up the network. Lives longer.
  explicit namespaces(scene& tools);

  namespaces(const namespaces&) = delete;
  namespaces& operator=(const namespaces&) = delete;

  ~namespaces();

  /// Words that start a program on one of the hosts.
  words here() const { return {"ip", "netns", "exec", here_}; }
  words there() const { return {"ip", "netns", "exec", there_}; }

  /// `there` hears and says nothing any more; nobody is told.
  void cut();

  /// `there` hears nothing, but is heard.
  void cut_inbound();

  /// `there` hears, but is not heard.
  void cut_outbound();

  /// This port of `here` does not hear `there` any more.
  void cut_service(uint16_t port);

  /// Ends all cuts.
  void heal();

  /// Pulls and plugs the cable of `there`.
  void set_link(bool up);

private:
  void must(words command);
  void drop(const words& host);
  void filter(words host, const std::string& policy, const std::string& rule);

  scene& tools_;
  std::string here_;
  std::string there_;
};

} // namespace actorrun::test
