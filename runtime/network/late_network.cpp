#include "runtime/network/late_network.hpp"

#include "messages/caf.hpp"

#include <caf/io/middleman.hpp>
#include <caf/io/network/default_multiplexer.hpp>

#include <cassert>
#include <mutex>
#include <optional>

namespace actorrun::detail {

#if ACTORRUN_CAF_017

namespace {

class late_middleman final : public caf::io::middleman {
public:
  explicit late_middleman(caf::actor_system& system) : middleman(system) {}

  void ensure_started() {
    std::call_once(once_, [this] {
      backend_.emplace(&system());
      middleman::start();
    });
  }

  void start() override {}

  void stop() override {
    if (backend_)
      middleman::stop();
  }

  caf::io::network::multiplexer& backend() override {
    assert(backend_);
    return *backend_;
  }

private:
  std::once_flag once_;
  std::optional<caf::io::network::default_multiplexer> backend_;
};

} // namespace

void load_network_late(caf::actor_system_config& config) {
  config.module_factories.emplace_back(
    [](caf::actor_system& system) { return new late_middleman{system}; });
}

caf::io::middleman& network_of(caf::actor_system& system) {
  auto& network = system.middleman();
  if (auto* late = dynamic_cast<late_middleman*>(&network))
    late->ensure_started();
  return network;
}

#else

void load_network_late(caf::actor_system_config& config) {
  config.load<caf::io::middleman>();
}

caf::io::middleman& network_of(caf::actor_system& system) {
  return system.middleman();
}

#endif

} // namespace actorrun::detail
