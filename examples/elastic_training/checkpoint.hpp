// Saves the training state to disk: completely, or not at all.
#pragma once

#include "state.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace training {

/// One file, visible to the workers of every node (in a shared folder if there
/// are several). Only rank 0 writes it; the launcher ensures that workers of
/// two generations, and so two ranks 0, never run at the same time.
class checkpoint {
public:
  /// @param text_fingerprint  of the text that is learnt; a checkpoint of
  ///                          another text is refused
  checkpoint(std::string path, uint64_t text_fingerprint);

  /// Ends the process if the file exists but is damaged, is of another text, or
  /// does not have `parameter_count` parameters.
  /// @returns nothing if there is no file
  std::optional<training_state> load(size_t parameter_count) const;

  /// Replaces the file in one step: a crash at any moment leaves the old
  /// checkpoint or the new one. Ends the process if that is impossible.
  void save(const training_state& state) const;

private:
  std::string path_;
  uint64_t text_fingerprint_;
};

} // namespace training
