// Puts a prefix before lines, and copies those that contain a filter.
#pragma once

#include "actors/core/logs/line_sink.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace actorrun::core {

/// Bytes of labelled lines that are collected before they are passed on; one
/// line may exceed it.
inline constexpr size_t batch_max = 256 * 1024;

/// Appends lines to a text, each behind the same prefix.
class labelling_sink final : public line_sink {
public:
  /// @param prefix, batch Outlive the sink.
  labelling_sink(std::string_view prefix, std::string& batch)
    : prefix_(prefix), batch_(batch) {}

  /// There is room up to `batch_max`.
  bool put(std::string_view text, std::string_view end) override;

private:
  std::string_view prefix_;
  std::string& batch_;
};

/// Passes on all lines, and copies those that contain a filter.
class filtering_sink final : public line_sink {
public:
  /// @param filters Byte sequences, not patterns; none: nothing is copied.
  /// @param filtered Gets the copies, with the prefix.
  filtering_sink(std::span<const std::string> filters, std::string_view prefix,
                 std::string& filtered, line_sink& next)
    : filters_(filters), copies_(prefix, filtered), next_(next) {}

  bool put(std::string_view text, std::string_view end) override;

private:
  std::span<const std::string> filters_;
  labelling_sink copies_;
  line_sink& next_;
};

} // namespace actorrun::core
