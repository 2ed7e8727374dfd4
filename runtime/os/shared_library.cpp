#include "runtime/os/shared_library.hpp"

#include <dlfcn.h>

namespace actorrun::detail {

result<shared_library> shared_library::load(const std::string& name) {
  if (auto* handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL))
    return shared_library{handle};
  const auto* why = ::dlerror();
  return failure{errc::system_failure, why ? why : name + " cannot be loaded"};
}

void* shared_library::address_of(const char* name) const {
  return ::dlsym(handle_, name);
}

} // namespace actorrun::detail
