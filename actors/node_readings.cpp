#include "actors/node_readings.hpp"

#include "actors/core/logs/log_fanout.hpp"
#include "actors/log_messages.hpp"

#include <algorithm>

namespace actorrun {

namespace {

/// In bytes: what an agent has under way for one reading.
constexpr auto credit_min = uint32_t{core::log_line_cost_max};
constexpr auto credit_max = core::log_fanout::share_max;

v1::LogChunk end_with(std::string trouble) {
  return to_wire(
    core::log_chunk{.trouble = std::move(trouble), .is_end = true});
}

} // namespace

node_readings::reading_map::iterator node_readings::find(const key& whose) {
  return std::ranges::find_if(
    all_, [&](const auto& x) { return x.second.whose == whose; });
}

void node_readings::begin(const key& whose, core::log_selection what,
                          uint32_t credit, sink to) {
  if (!reader_)
    return to(end_with("this process reads no log files"));
  if (find(whose) != all_.end())
    return to(end_with("there is a reading with this number"));
  const auto own = ++last_;
  const auto id = reader_->begin(std::move(what),
                                 std::clamp(credit, credit_min, credit_max),
                                 [own, deliver = deliver_](core::log_chunk x) {
                                   deliver({own, std::move(x)});
                                 });
  if (id == 0)
    return to(end_with("too many operators read logs of this node"));
  all_.emplace(own, reading{whose, id, std::move(to)});
}

void node_readings::add_credit(const key& whose, uint32_t size) {
  const auto i = find(whose);
  if (i == all_.end())
    return; // It has ended.
  if (size != 0)
    return reader_->add_credit(i->second.id, size);
  reader_->end(i->second.id);
  all_.erase(i);
}

void node_readings::lose_coordinator() {
  std::erase_if(all_, [this](const auto& x) {
    if (x.second.whose.first != 0)
      return false;
    reader_->end(x.second.id);
    return true;
  });
}

void node_readings::on(const log_lines_read& x) {
  const auto i = all_.find(x.reading);
  if (i == all_.end())
    return;
  const auto to = i->second.to;
  if (x.chunk.is_end)
    all_.erase(i);
  to(to_wire(x.chunk));
}

void node_readings::clear() {
  for (const auto& [own, x] : all_)
    reader_->end(x.id);
  all_.clear();
  reader_ = nullptr;
  deliver_ = nullptr;
}

} // namespace actorrun
