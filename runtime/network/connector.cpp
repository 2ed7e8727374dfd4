#include "runtime/network/connector.hpp"

#include "runtime/network/connect_attempt.hpp"

#include <cassert>
#include <memory>
#include <utility>

namespace actorrun::detail {

door_handle connect(reactor& home, const endpoint& where, const visitor& who,
                    core::duration deadline, connect_callback on_done) {
  assert(where.port != 0);
  return {home,
          std::make_shared<door_attempt>(home, target{where.host, where.port},
                                         who, deadline, std::move(on_done))};
}

door_handle connect_unix(reactor& home, const std::string& path,
                         const visitor& who, core::duration deadline,
                         connect_callback on_done) {
  return {home, std::make_shared<door_attempt>(home, target{path, 0}, who,
                                               deadline, std::move(on_done))};
}

} // namespace actorrun::detail
