// Finds the jobs of this user that have ended on this host in the last day.
#pragma once

#include "cli/report/ended_view.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace actorrun::cli {

/// So long a job that has ended is listed.
inline constexpr auto ended_age_max = std::chrono::hours{24};

/// At most this many are listed; the newest ones.
inline constexpr size_t ended_count_max = 10;

/// Reads journals, the newest first, for at most about a tenth of a second.
/// @param folder  Where they are; empty: nowhere.
/// @param job     Of which job; empty: of all.
/// @param running Ids of jobs that run: their journals are left out.
/// @param now_ms  Unix time.
/// @returns those that ended last in front
std::vector<ended_job> find_ended_jobs(const std::string& folder,
                                       const std::string& job,
                                       const std::set<std::string>& running,
                                       int64_t now_ms);

} // namespace actorrun::cli
