#include "cli/signal_echoes.hpp"

#include <algorithm>

namespace actorrun::cli {

bool signal_echoes::counts(int signal, int64_t sender, time_point now) {
  const auto i = last_.find(signal);
  const auto is_echo = i != last_.end() && now - i->second.since < span
                       && std::ranges::find(i->second.senders, sender)
                            == i->second.senders.end();
  if (is_echo)
    i->second.senders.push_back(sender);
  else
    last_[signal] = {now, {sender}};
  return !is_echo;
}

} // namespace actorrun::cli
