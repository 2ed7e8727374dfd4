#include "runtime/entry_points.hpp"

#include "messages/formatted.hpp"
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
    return bad_argument(
      formatted("the name of an entry point has {} bytes, not 1..{}",
                name.size(), label_length_max));
  if (name.find('\0') != name.npos)
    return bad_argument("the name of an entry point has a NUL in it");
  auto& known = all();
  const auto guard = std::lock_guard{known.mutex};
  const auto i = known.entries.find(name);
  if (i == known.entries.end())
    return bad_argument(
      formatted("no entry point is called \"{}\": define it at "
                "namespace scope, or in main before run_as_worker",
                name));
  if (i->second.count > 1)
    return bad_argument(formatted(
      "{} entry points are called \"{}\": give each a name of its own",
      i->second.count, name));
  return i->second.function;
}

} // namespace detail

} // namespace actorrun
