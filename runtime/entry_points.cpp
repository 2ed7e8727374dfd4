#include "runtime/entry_points.hpp"

#include "runtime/options.hpp"
#include "runtime/process_group/entry_registry.hpp"

#include <map>
#include <mutex>

namespace actorrun {

namespace {

struct registry {
  struct entry {
    entry_function function;
    uint32_t count = 0;
  };
  std::mutex mutex;
  std::map<std::string, entry> entries; // Guarded by mutex.
};

// Functions register before `main`, in no known order.
registry& all() {
  static registry instance;
  return instance;
}

} // namespace

void entry_point::add(const std::string& name, entry_function function) {
  auto& known = all();
  const auto guard = std::lock_guard{known.mutex};
  auto& entry = known.entries[name];
  entry.function = std::move(function);
  ++entry.count;
}

namespace detail {

result<entry_function> find_entry_point(const std::string& name) {
  if (name.empty() || name.size() > label_length_max)
    return bad_argument("the name of an entry point has "
                        + std::to_string(name.size()) + " bytes, not 1.."
                        + std::to_string(label_length_max));
  if (name.find('\0') != name.npos)
    return bad_argument("the name of an entry point has a NUL in it");
  auto& known = all();
  const auto guard = std::lock_guard{known.mutex};
  const auto i = known.entries.find(name);
  if (i == known.entries.end())
    return bad_argument("no entry point is called \"" + name
                        + "\": define it at namespace scope, or in main before "
                          "run_as_worker");
  if (i->second.count > 1)
    return bad_argument(std::to_string(i->second.count)
                        + " entry points are called \"" + name
                        + "\": give each a name of its own");
  return i->second.function;
}

} // namespace detail

} // namespace actorrun
