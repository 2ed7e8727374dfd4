#include "runtime/network/operator_sessions.hpp"

#include <algorithm>
#include <utility>

namespace actorrun::detail {

void operator_sessions::add(unique_fd connection,
                            const std::optional<link_key>& key,
                            const tls_trust& trust, operator_rights rights,
                            cut_callback on_cut) {
  make_room();
  const auto number = ++last_session_;
  auto session = std::make_shared<operator_session>(
    home_, std::move(connection),
    operator_setup{
      .key = key,
      .trust = trust,
      .ask = ask_,
      .rights = std::move(rights),
      .on_closed =
        [this, number, on_cut = std::move(on_cut)](const result<void>& how) {
          if (!how && on_cut)
            on_cut(how.error());
          sessions_.erase(number);
        },
      .limits = limits_});
  sessions_.emplace(number, entry{session, reactor_handle{home_, session}});
}

void operator_sessions::make_room() {
  if (sessions_.size() < limits_.session_count)
    return;
  const auto worth = [](const auto& x) {
    return std::pair{!x.second.session->is_idle(),
                     x.second.session->last_request()};
  };
  sessions_.erase(std::min_element(
    sessions_.begin(), sessions_.end(),
    [&](const auto& a, const auto& b) { return worth(a) < worth(b); }));
}

} // namespace actorrun::detail
