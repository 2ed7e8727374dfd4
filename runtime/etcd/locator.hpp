// The agent's way to a coordinator that etcd names: by the door where it is
// elsewhere, and without it where it is in this process.
#pragma once

#include "runtime/etcd/leadership.hpp"
#include "runtime/network/coordinator_link.hpp"

#include <functional>
#include <memory>

namespace actorrun::detail {

class etcd_locator final : public ports::coordinator_locator {
public:
  /// @param here Gives the coordinator in this process; its handle is null if
  ///             it has gone meanwhile.
  etcd_locator(std::shared_ptr<etcd_leadership> leadership,
               std::shared_ptr<door_locator> door,
               std::function<ports::location()> here)
    : leadership_(std::move(leadership)), door_(std::move(door)),
      here_(std::move(here)) {}

  void seek(listener on_result) override;
  void drop() override { door_->drop(); }

private:
  std::shared_ptr<etcd_leadership> leadership_;
  std::shared_ptr<door_locator> door_;
  std::function<ports::location()> here_;
};

} // namespace actorrun::detail
