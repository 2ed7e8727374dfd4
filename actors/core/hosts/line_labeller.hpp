// Puts the name of a host before each line of a stream.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace actorrun::core {

/// In bytes. A longer line becomes several, each with the label; no byte is lost.
inline constexpr size_t labelled_line_max = 64 * 1024;

/// Takes bytes in pieces of any size, gives whole lines. Of a line that was written
/// over with carriage returns, it gives the last state.
class line_labeller {
public:
  explicit line_labeller(std::string label) : label_(std::move(label)) {}

  /// Appends the lines that are complete now.
  void add(std::string_view bytes, std::string& out);

  /// Appends what is left as a line; nothing follows.
  void end(std::string& out);

private:
  void put(std::string_view line, std::string& out) const;

  std::string label_;
  std::string open_{}; ///< Of the line that has no end yet.
};

} // namespace actorrun::core
