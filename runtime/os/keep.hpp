// Lets actors own what runs on a reactor.
#pragma once

#include "runtime/os/reactor.hpp"

#include <memory>
#include <utility>

namespace actorrun::detail {

/// Keeps the reactor for as long as what runs on it: an actor may be the last
/// to let go of that. Null stays null.
template <class T>
std::shared_ptr<T> keep(std::unique_ptr<T> x, std::shared_ptr<reactor> loop) {
  if (!x)
    return nullptr;
  return {x.release(), [loop = std::move(loop)](T* y) { delete y; }};
}

} // namespace actorrun::detail
