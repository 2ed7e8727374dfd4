// A network that finds the coordinator when a test decides so.
#pragma once

#include "actors/ports/coordinator_locator.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/recorder.hpp"

#include <functional>
#include <string>
#include <utility>

namespace actorrun::test {

class fake_locator final : public ports::coordinator_locator {
public:
  void seek(bool, listener on_result) override {
    if (pending_)
      calls_.write("two attempts at a time");
    calls_.write("seek");
    pending_ = std::move(on_result);
  }

  void seek_second_way(std::function<void()> on_found) override {
    calls_.write("seek_second_way");
    on_second_way_ = std::move(on_found);
  }
  void forget_second_way() override { calls_.write("forget_second_way"); }

  void drop() override { calls_.write("drop"); }

  /// The calls since the last call of `told`.
  std::string told() const { return calls_.told(); }

  /// The second way that was asked for is there.
  void find_second_way() {
    REQUIRE(on_second_way_);
    std::exchange(on_second_way_, {})();
  }

  /// Ends the current attempt.
  void answer(result<ports::location> x) {
    REQUIRE(pending_);
    std::exchange(pending_, {})(std::move(x));
  }

private:
  recorder calls_;
  listener pending_;
  std::function<void()> on_second_way_;
};

} // namespace actorrun::test
