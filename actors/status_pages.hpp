// Cuts the status of a job into pages that fit into messages, and puts them
// together again.
#pragma once

#include "actors/core/time.hpp"
#include "messages/result.hpp"

#include "messages/job.pb.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace actorrun {

/// A whole status has at most this many bytes …
inline constexpr size_t status_size_max = 32 << 20;

/// … and at most this many nodes, workers, GPUs and the like: as messages in memory
/// they take much more than their bytes.
inline constexpr size_t status_part_count_max = size_t{1} << 19;

/// On average, pages are filled to a half and more.
inline constexpr uint32_t status_page_count_max = 1'024;

/// Messages inside of a status that can be many.
size_t part_count_of(const v1::JobStatus& x);

/// One moment of a job, which all that ask at about the same time are shown.
struct status_picture {
  std::shared_ptr<const v1::JobStatus> whole;
  /// Of `v1::JobStatus`, encoded; each fits into a message. Never empty.
  std::shared_ptr<const std::vector<std::string>> pages;
  uint64_t number = 0; ///< Its name in the pages.
  /// Equal for two pictures of one maker if only time has passed between them.
  uint64_t news = 0;
  /// The larger a picture is, the less often viewers get the next one.
  core::duration pace{};
};

using shared_status = std::shared_ptr<const status_picture>;

/// Never the same again in this process.
uint64_t new_picture_number();

/// @param x Without `page`.
shared_status picture_of(v1::JobStatus x, uint64_t number, uint64_t news);

/// The same where what is known is only the status itself.
shared_status picture_of(v1::JobStatus x);

/// How long viewers wait for the next picture of a job with so many nodes.
core::duration pace_of(size_t node_count);

/// Puts one status together. Bounded, whatever arrives.
class status_assembly {
public:
  /// Takes the next page. The first page of another snapshot begins again, at most
  /// `restart_count_max` times.
  /// @returns whether the status is whole
  /// @retval errc::not_actorrun  the pages do not belong together, or are too
  ///                             large, as a verb and its object
  result<bool> add(v1::JobStatus x);

  /// The next page to ask for; all zero: the first one of any snapshot.
  v1::StatusPage next() const;

  /// @pre the last `add` returned true
  v1::JobStatus take();

  static constexpr uint32_t restart_count_max = 3;

private:
  void merge(v1::JobStatus x);

  v1::JobStatus whole_;
  v1::StatusPage last_; ///< Its count is 0: there was none.
  size_t size_ = 0;
  size_t part_count_ = 0;
  uint32_t restart_count_ = 0;
};

} // namespace actorrun
