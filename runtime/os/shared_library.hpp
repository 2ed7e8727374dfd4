// Loads shared libraries when they are needed, so that their absence is a
// result and not an error at the start of the program.
#pragma once

#include "messages/result.hpp"

#include <string>

namespace actorrun::detail {

/// Never unloads: vendors' libraries start threads and install handlers, so
/// they cannot be unloaded safely.
class shared_library {
public:
  /// @param name As dlopen(3) takes it.
  /// @retval errc::system_failure  it cannot be loaded; the text says why
  static result<shared_library> load(const std::string& name);

  /// Points `target` to the function `name`.
  /// @returns false if the library has none; `target` is null then
  template <class Function>
  bool find(const char* name, Function*& target) const {
    target = reinterpret_cast<Function*>(address_of(name));
    return target != nullptr;
  }

  bool has(const char* name) const { return address_of(name) != nullptr; }

private:
  explicit shared_library(void* handle) : handle_(handle) {}
  void* address_of(const char* name) const;

  void* handle_ = nullptr;
};

} // namespace actorrun::detail
