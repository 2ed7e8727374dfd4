#include "runtime/network/late_network.hpp"

#include "messages/caf.hpp"

#include <caf/actor_system_config.hpp>
#include <caf/io/middleman.hpp>
#include <caf/io/network/default_multiplexer.hpp>

#include <cassert>
#include <mutex>
#include <optional>

namespace actorrun::detail {

namespace {

class late_middleman final : public caf::io::middleman {
public:
  explicit late_middleman(caf::actor_system& system) : middleman(system) {}

#if ACTORRUN_CAF_1
  static caf::actor_system_module* make(caf::actor_system& system) {
    return new late_middleman{system};
  }
#endif

  void ensure_started() {
    std::call_once(once_, [this] {
#if ACTORRUN_CAF_1
      backend_.emplace(system());
#else
      backend_.emplace(&system());
#endif
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
#if ACTORRUN_CAF_1
  config.load<late_middleman>();
#else
  config.module_factories.emplace_back(
    [](caf::actor_system& system) { return new late_middleman{system}; });
#endif
}

caf::io::middleman& network_of(caf::actor_system& system) {
  auto& network = system.middleman();
  if (auto* late = dynamic_cast<late_middleman*>(&network))
    late->ensure_started();
  return network;
}

} // namespace actorrun::detail
