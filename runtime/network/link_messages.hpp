// Says which messages agents and the coordinator exchange over a link, and which of
// the two sends which.
#pragma once

#include "messages/link.pb.h"

#include <tuple>
#include <type_traits>
#include <utility>

namespace actorrun::detail {

/// One kind of message that an envelope can have.
template <class Envelope, class T>
struct link_message {
  using type = T;

  typename Envelope::WhatCase number;
  T* (Envelope::*part)();
};

template <class Envelope, class T>
constexpr link_message<Envelope, T> link_row(typename Envelope::WhatCase number,
                                             T* (Envelope::*part)()) {
  return {number, part};
}

/// What goes into an envelope; so what one role says and the other hears
/// (actors/interfaces.hpp).
template <class Envelope>
inline constexpr auto link_table = std::tuple<>{};

template <>
inline constexpr auto link_table<v1::ToCoordinator> = [] {
  using x = v1::ToCoordinator;
  return std::tuple{
    link_row(x::kJoinRequest, &x::mutable_join_request),
    link_row(x::kKeepAlive, &x::mutable_keep_alive),
    link_row(x::kWorkersStarted, &x::mutable_workers_started),
    link_row(x::kWorkerFailed, &x::mutable_worker_failed),
    link_row(x::kWorkersSucceeded, &x::mutable_workers_succeeded),
    link_row(x::kWorkersStopped, &x::mutable_workers_stopped),
    link_row(x::kSafePointReport, &x::mutable_safe_point_report),
    link_row(x::kLeaveNotice, &x::mutable_leave_notice),
    link_row(x::kNodeFitness, &x::mutable_node_fitness),
    link_row(x::kNodeNotice, &x::mutable_node_notice),
    link_row(x::kWorkersSilent, &x::mutable_workers_silent),
    link_row(x::kWorkerPaces, &x::mutable_worker_paces),
    link_row(x::kWorkersSaved, &x::mutable_workers_saved),
    link_row(x::kStatusRequest, &x::mutable_status_request),
    link_row(x::kNodeStatus, &x::mutable_node_status),
    link_row(x::kLogChunk, &x::mutable_log_chunk),
    link_row(x::kStacksReport, &x::mutable_stacks_report),
  };
}();

template <>
inline constexpr auto link_table<v1::ToAgent> = [] {
  using x = v1::ToAgent;
  return std::tuple{
    link_row(x::kWelcome, &x::mutable_welcome),
    link_row(x::kJoinAccepted, &x::mutable_join_accepted),
    link_row(x::kJoinRejected, &x::mutable_join_rejected),
    link_row(x::kLeaseGranted, &x::mutable_lease_granted),
    link_row(x::kGenerationFormed, &x::mutable_generation_formed),
    link_row(x::kGenerationRevoked, &x::mutable_generation_revoked),
    link_row(x::kJobEnded, &x::mutable_job_ended),
    link_row(x::kJobStatus, &x::mutable_job_status),
    link_row(x::kNodeStatusRequest, &x::mutable_node_status_request),
    link_row(x::kDrainNotice, &x::mutable_drain_notice),
    link_row(x::kCheckOrder, &x::mutable_check_order),
    link_row(x::kEndHungWorker, &x::mutable_end_hung_worker),
    link_row(x::kSafePointOrder, &x::mutable_safe_point_order),
    link_row(x::kStartAhead, &x::mutable_start_ahead),
    link_row(x::kCharterChanged, &x::mutable_charter_changed),
    link_row(x::kLogLevelOrder, &x::mutable_log_level_order),
    link_row(x::kLogReading, &x::mutable_log_reading),
    link_row(x::kLogCredit, &x::mutable_log_credit),
    link_row(x::kStacksRequest, &x::mutable_stacks_request),
    link_row(x::kVotersChanged, &x::mutable_voters_changed),
  };
}();

/// Whether an envelope can have a message of this type.
template <class Envelope, class T>
inline constexpr bool can_have = std::apply(
  [](const auto&... rows) {
    return (
      std::is_same_v<typename std::decay_t<decltype(rows)>::type, T> || ...);
  },
  link_table<Envelope>);

template <class Envelope, class T>
Envelope envelope_with(T x) {
  static_assert(can_have<Envelope, T>);
  auto out = Envelope{};
  std::apply(
    [&](const auto&... rows) {
      const auto fill = [&](const auto& row) {
        if constexpr (std::is_same_v<typename std::decay_t<decltype(row)>::type,
                                     T>)
          *(out.*row.part)() = std::move(x);
      };
      (fill(rows), ...);
    },
    link_table<Envelope>);
  return out;
}

/// Calls `fn` with the message in an envelope, to be moved from.
/// @returns whether there is one: a later version has messages that are not known
///          here
template <class Envelope, class F>
bool open_envelope(Envelope& x, F fn) {
  const auto number = x.what_case();
  return std::apply(
    [&](const auto&... rows) {
      const auto pass = [&](const auto& row) {
        if (number != row.number)
          return false;
        fn(std::move(*(x.*row.part)()));
        return true;
      };
      return (pass(rows) || ...);
    },
    link_table<Envelope>);
}

} // namespace actorrun::detail
