#include "actors/core/hosts/line_labeller.hpp"

#include "actors/core/logs/line_splitter.hpp"

#include <algorithm>

namespace actorrun::core {

void line_labeller::add(std::string_view bytes, std::string& out) {
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    const auto room = labelled_line_max - open_.size();
    const auto size = std::min({end, bytes.size(), room});
    open_ += bytes.substr(0, size);
    bytes.remove_prefix(size);
    const auto is_whole = !bytes.empty() && bytes.front() == '\n';
    if (is_whole)
      bytes.remove_prefix(1);
    else if (bytes.empty())
      return;
    put(open_, out);
    open_.clear();
  }
}

void line_labeller::end(std::string& out) {
  if (!open_.empty())
    put(open_, out);
  open_.clear();
}

void line_labeller::put(std::string_view line, std::string& out) const {
  out += label_;
  out += last_state(line);
  out += '\n';
}

} // namespace actorrun::core
