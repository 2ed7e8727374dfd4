// Takes the lines of a stream one by one.
#pragma once

#include <string_view>

namespace actorrun::core {

class line_sink {
public:
  virtual ~line_sink() = default;

  /// @param text Any bytes but a line feed; valid during the call only.
  /// @param end  The line end: `"\n"` or `"\r\n"`.
  /// @returns whether there is room for another line; this one is taken anyway
  virtual bool put(std::string_view text, std::string_view end) = 0;
};

} // namespace actorrun::core
