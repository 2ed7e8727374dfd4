#include "actors/core/logs/tail_streams.hpp"

#include <cassert>

namespace actorrun::core {

namespace {

constexpr uint64_t streams_per_worker = 2;

} // namespace

bool tail_streams::open(generation_id generation, uint32_t slot_count) {
  if (!generations_.empty() && generations_.rbegin()->first >= generation)
    return false;
  // Older ones that have no streams left need not be known.
  std::erase_if(generations_, [this](const auto& x) {
    return of_generation(x.first).empty();
  });
  generations_.emplace(generation, numbers{next_number_, slot_count});
  next_number_ += slot_count * streams_per_worker;
  return true;
}

tail_stream& tail_streams::add(generation_id generation, uint32_t local_rank,
                               bool is_err) {
  const auto& known = generations_.at(generation);
  assert(local_rank < known.slot_count);
  const auto number
    = known.first + local_rank * streams_per_worker + (is_err ? 1 : 0);
  auto& result = streams_[number];
  result.number = number;
  result.generation = generation;
  result.kind = is_err ? tail_kind::err : tail_kind::out;
  return result;
}

tail_stream* tail_streams::find(uint64_t number) {
  const auto i = streams_.find(number);
  return i == streams_.end() ? nullptr : &i->second;
}

std::vector<tail_stream*> tail_streams::of_worker(generation_id generation,
                                                  uint32_t local_rank) {
  const auto i = generations_.find(generation);
  if (i == generations_.end() || local_rank >= i->second.slot_count)
    return {};
  const auto& carried = i->second.carried;
  if (const auto old = carried.find(local_rank); old != carried.end())
    return between(old->second, streams_per_worker);
  return between(i->second.first + local_rank * streams_per_worker,
                 streams_per_worker);
}

std::vector<tail_stream*>
tail_streams::of_generation(generation_id generation) {
  const auto i = generations_.find(generation);
  if (i == generations_.end())
    return {};
  auto out
    = between(i->second.first, i->second.slot_count * streams_per_worker);
  for (const auto& [local_rank, first] : i->second.carried)
    for (auto* x : between(first, streams_per_worker))
      out.push_back(x);
  return out;
}

std::vector<tail_stream*> tail_streams::carry(generation_id from, uint32_t was,
                                              uint32_t local_rank) {
  auto old = of_worker(from, was);
  if (old.empty() || generations_.empty())
    return {};
  const auto number = old.front()->number;
  generations_.rbegin()->second.carried[local_rank]
    = number - number % streams_per_worker;
  return old;
}

std::vector<tail_stream*> tail_streams::all() {
  return between(0, next_number_);
}

void tail_streams::remove(uint64_t number) {
  streams_.erase(number);
}

bool tail_streams::has_to_wait(const tail_stream& x) const {
  for (const auto& [number, other] : streams_) {
    if (other.generation >= x.generation)
      break;
    if (other.kind == x.kind && other.is_closed)
      return true;
  }
  return false;
}

std::vector<tail_stream*> tail_streams::between(uint64_t first,
                                                uint64_t count) {
  auto result = std::vector<tail_stream*>{};
  for (auto i = streams_.lower_bound(first);
       i != streams_.end() && i->first < first + count; ++i)
    result.push_back(&i->second);
  return result;
}

} // namespace actorrun::core
