#include "runtime/program_end.hpp"

#include "actors/core/shortage.hpp"
#include "runtime/os/process_lookup.hpp"
#include "runtime/os/resource_limits.hpp"
#include "runtime/processes/warden_process.hpp"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <new>
#include <system_error>
#include <utility>

#include <unistd.h>

namespace actorrun {

namespace {

/// At most this many children are looked at.
constexpr size_t children_max = 4'096;

} // namespace

// A library may have asked, so the exception is that of the standard library.
void end_without_resources(int code,
                           std::function<void(const std::string&)> last_words) {
  detail::exit_for_lack_with(code, std::move(last_words));
  static const auto before = std::get_terminate();
  std::set_terminate([] {
    try {
      if (const auto why = std::current_exception())
        std::rethrow_exception(why);
    } catch (const std::system_error& why) {
      if (core::is_shortage(why.code().value()))
        detail::end_for_lack_of("thread", why.code().value());
    } catch (const std::bad_alloc&) {
      detail::end_for_lack_of("memory", ENOMEM);
    } catch (...) {
    }
    before();
  });
}

bool has_wardens() {
  const auto children = detail::children_of(::getpid(), children_max);
  return std::ranges::any_of(children, [](int64_t pid) {
    const auto x = detail::read_stat(pid);
    return x && x->state != 'Z' && x->state != 'X'
           && (x->name == detail::first_warden_name
               || x->name == detail::second_warden_name);
  });
}

} // namespace actorrun
