#include "actors/status_pages.hpp"

#include "actors/job_status.hpp"
#include "messages/type_ids.hpp"

#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <chrono>
#include <functional>
#include <utility>

namespace actorrun {

namespace {

using google::protobuf::MessageLite;
using google::protobuf::io::CodedOutputStream;

/// At most this many bytes say which page this is.
constexpr size_t page_mark_size = 64;

constexpr size_t page_room = v1::message_size_max - page_mark_size;

/// At most this many pids of a node stand together: 20 KiB at most.
constexpr int pids_together_max = 2'048;

/// For each node.
constexpr auto pace_per_node = std::chrono::milliseconds{1};
constexpr auto pace_max = std::chrono::milliseconds{5'000};

/// Of a number of 32 bits.
constexpr size_t varint_size_max = 5;

constexpr uint32_t tag_of(int field) {
  constexpr uint32_t with_length = 2;
  return uint32_t(field) << 3 | with_length;
}

/// Writes what is many in a status one after the other, and begins a new page
/// where the next one does not fit.
class pager {
public:
  explicit pager(std::string head) : pages_{std::move(head)} {}

  void add(int field, const MessageLite& x) {
    const auto size = x.ByteSizeLong();
    const auto needed = CodedOutputStream::VarintSize32(tag_of(field))
                        + CodedOutputStream::VarintSize64(size) + size;
    assert(needed <= page_room);
    if (pages_.back().size() + needed > page_room) {
      pages_.emplace_back();
      pages_.back().reserve(v1::message_size_max);
    }
    write(pages_.back(), field, x);
  }

  std::vector<std::string> finish(uint64_t generation, uint64_t number) {
    auto mark = v1::StatusPage{};
    mark.set_generation(generation);
    mark.set_snapshot(number);
    mark.set_count(uint32_t(pages_.size()));
    for (uint32_t i = 0; i < pages_.size(); ++i) {
      mark.set_index(i);
      write(pages_[i], v1::JobStatus::kPageFieldNumber, mark);
    }
    return std::move(pages_);
  }

private:
  static void write(std::string& to, int field, const MessageLite& x) {
    auto begin = std::array<uint8_t, 2 * varint_size_max>{};
    auto* end
      = CodedOutputStream::WriteVarint32ToArray(tag_of(field), begin.data());
    end = CodedOutputStream::WriteVarint32ToArray(uint32_t(x.ByteSizeLong()),
                                                  end);
    to.append(begin.data(), end);
    x.AppendToString(&to);
  }

  std::vector<std::string> pages_;
};

/// A node with so many workers that one page does not hold it: what is many of it
/// follows piece by piece.
void add_pieces(pager& to, const v1::AgentStatus& x) {
  const auto put = [&](v1::AgentStatus& piece) {
    to.add(v1::JobStatus::kAgentsFieldNumber, piece);
    piece.Clear();
    piece.set_agent_id(x.agent_id());
  };
  auto piece = x;
  piece.clear_pids();
  piece.clear_gpus();
  piece.mutable_vitals()->clear_workers();
  if (!x.has_vitals())
    piece.clear_vitals();
  put(piece);
  for (const auto pid : x.pids()) {
    piece.add_pids(pid);
    if (piece.pids_size() == pids_together_max)
      put(piece);
  }
  auto size = piece.ByteSizeLong();
  const auto make_room = [&](size_t next) {
    size += next + status_overhead;
    if (size <= page_room)
      return;
    put(piece);
    size = piece.ByteSizeLong() + next + status_overhead;
  };
  for (const auto& gpu : x.gpus()) {
    make_room(gpu.ByteSizeLong());
    *piece.add_gpus() = gpu;
  }
  for (const auto& worker : x.vitals().workers()) {
    make_room(worker.ByteSizeLong());
    *piece.mutable_vitals()->add_workers() = worker;
  }
  put(piece);
}

template <class Entries>
void add_all(pager& to, int field, const Entries& from) {
  for (const auto& x : from)
    to.add(field, x);
}

/// What is one of a kind, in the first page; swaps the lists out for that time.
std::string head_of(v1::JobStatus& x) {
  auto lists = v1::JobStatus{};
  const auto swap_lists = [&] {
    lists.mutable_agents()->Swap(x.mutable_agents());
    lists.mutable_generations()->Swap(x.mutable_generations());
    lists.mutable_departed_nodes()->Swap(x.mutable_departed_nodes());
    lists.mutable_excluded_hosts()->Swap(x.mutable_excluded_hosts());
    lists.mutable_quarantined_nodes()->Swap(x.mutable_quarantined_nodes());
  };
  swap_lists();
  auto out = x.SerializeAsString();
  swap_lists();
  return out;
}

std::vector<std::string> pages_of(v1::JobStatus& x, uint64_t number) {
  if (x.ByteSizeLong() <= v1::message_size_max)
    return {x.SerializeAsString()};
  auto out = pager{head_of(x)};
  add_all(out, v1::JobStatus::kGenerationsFieldNumber, x.generations());
  add_all(out, v1::JobStatus::kDepartedNodesFieldNumber, x.departed_nodes());
  add_all(out, v1::JobStatus::kExcludedHostsFieldNumber, x.excluded_hosts());
  add_all(out, v1::JobStatus::kQuarantinedNodesFieldNumber,
          x.quarantined_nodes());
  for (const auto& agent : x.agents()) {
    // Small enough that pages are filled to a half at least.
    if (agent.ByteSizeLong() <= page_room / 2)
      out.add(v1::JobStatus::kAgentsFieldNumber, agent);
    else
      add_pieces(out, agent);
  }
  return out.finish(x.generation(), number);
}

failure foreign(const char* what) {
  return {errc::not_actorrun, what};
}

} // namespace

size_t part_count_of(const v1::JobStatus& x) {
  auto out = size_t(x.agents_size()) + size_t(x.generations_size())
             + size_t(x.departed_nodes_size()) + size_t(x.excluded_hosts_size())
             + size_t(x.quarantined_nodes_size()) + size_t(x.time_size())
             + size_t(x.stragglers_size()) + size_t(x.ends_size());
  for (const auto& agent : x.agents())
    out += size_t(agent.gpus_size()) + size_t(agent.vitals().workers_size());
  return out;
}

shared_status picture_of(v1::JobStatus x, uint64_t number, uint64_t news) {
  auto out = std::make_shared<status_picture>();
  out->pages
    = std::make_shared<const std::vector<std::string>>(pages_of(x, number));
  out->number = number;
  out->news = news;
  out->pace = pace_of(size_t(x.agents_size()));
  out->whole = std::make_shared<const v1::JobStatus>(std::move(x));
  return out;
}

shared_status picture_of(v1::JobStatus x) {
  auto timeless = x;
  forget_ages(timeless);
  const auto news = std::hash<std::string>{}(timeless.SerializeAsString());
  return picture_of(std::move(x), new_picture_number(), news);
}

// A later process on this host begins with another one.
uint64_t new_picture_number() {
  static auto last = std::atomic{
    uint64_t(std::chrono::system_clock::now().time_since_epoch().count())};
  return ++last;
}

core::duration pace_of(size_t node_count) {
  constexpr auto count_max = size_t(pace_max / pace_per_node);
  return pace_per_node * int64_t(std::min(node_count, count_max));
}

// -- putting together -----------------------------------------------------------

result<bool> status_assembly::add(v1::JobStatus x) {
  auto page = x.has_page() ? x.page() : v1::StatusPage{};
  if (!x.has_page())
    page.set_count(1);
  x.clear_page();
  if (page.count() == 0 || page.count() > status_page_count_max
      || page.index() >= page.count())
    return foreign("sends a page that cannot be");
  const auto is_next = last_.count() == page.count()
                       && last_.snapshot() == page.snapshot()
                       && last_.generation() == page.generation()
                       && last_.index() + 1 == page.index();
  if (!is_next) {
    if (page.index() != 0)
      return foreign("sends pages that do not belong together");
    if (last_.count() != 0 && ++restart_count_ > restart_count_max)
      return foreign("begins its status again and again");
    whole_.Clear();
    size_ = part_count_ = 0;
  }
  size_ += x.ByteSizeLong();
  part_count_ += part_count_of(x);
  if (size_ > status_size_max || part_count_ > status_part_count_max)
    return foreign("sends a status that is too large");
  last_ = page;
  merge(std::move(x));
  return page.index() + 1 == page.count();
}

// The first node of a page may be a piece of the last one before.
void status_assembly::merge(v1::JobStatus x) {
  if (last_.count() == 1) {
    whole_ = std::move(x);
    return;
  }
  auto pieces = google::protobuf::RepeatedPtrField<v1::AgentStatus>{};
  pieces.Swap(x.mutable_agents());
  whole_.MergeFrom(x);
  auto& agents = *whole_.mutable_agents();
  for (auto& piece : pieces) {
    if (!agents.empty() && agents.rbegin()->agent_id() == piece.agent_id())
      agents.rbegin()->MergeFrom(piece);
    else
      *agents.Add() = std::move(piece);
  }
}

v1::StatusPage status_assembly::next() const {
  auto out = v1::StatusPage{};
  if (last_.count() == 0)
    return out;
  out.set_snapshot(last_.snapshot());
  out.set_index(last_.index() + 1);
  return out;
}

v1::JobStatus status_assembly::take() {
  last_.Clear();
  restart_count_ = 0;
  size_ = part_count_ = 0;
  return std::exchange(whole_, {});
}

} // namespace actorrun
