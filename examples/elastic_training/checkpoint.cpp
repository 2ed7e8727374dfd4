#include "checkpoint.hpp"

#include "fail.hpp"
#include "text.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <span>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace training {

namespace {

constexpr auto magic = uint64_t{0x315453414c454341}; // "ACELAST1"

// In the byte order of the machine, followed by the three vectors.
struct header {
  uint64_t magic = 0;
  uint64_t text_fingerprint = 0;
  uint64_t parameter_count = 0;
  uint64_t step = 0;
  float loss = 0;
  uint32_t unused = 0;
  uint64_t content_fingerprint = 0; ///< Fingerprint of the three vectors.
};

template <class State>
auto vectors_of(State& state) {
  return std::array{std::span{state.parameters}, std::span{state.first_moment},
                    std::span{state.second_moment}};
}

uint64_t content_fingerprint(const training_state& state) {
  auto result = fingerprint_of({});
  for (const auto& vector : vectors_of(state))
    result = fingerprint_of(std::as_bytes(vector), result);
  return result;
}

void write_all(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto count = write(file, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      fail_errno("cannot write the checkpoint");
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
}

// A rename is on the disk only after a sync of its folder.
void sync_folder_of(const std::string& path) {
  auto folder = std::filesystem::path{path}.parent_path().string();
  const auto file = open(folder.empty() ? "." : folder.c_str(),
                         O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0 || fsync(file) != 0)
    fail_errno("cannot sync the folder of " + path);
  close(file);
}

} // namespace

checkpoint::checkpoint(std::string path, uint64_t text_fingerprint)
  : path_(std::move(path)), text_fingerprint_(text_fingerprint) {}

std::optional<training_state> checkpoint::load(size_t parameter_count) const {
  auto file = std::ifstream{path_, std::ios::binary};
  if (!file && !std::filesystem::exists(path_))
    return std::nullopt;
  auto head = header{};
  file.read(reinterpret_cast<char*>(&head), sizeof(head));
  if (!file || head.magic != magic)
    fail(path_ + " is no checkpoint of this program; remove it to start fresh");
  if (head.text_fingerprint != text_fingerprint_
      || head.parameter_count != parameter_count)
    fail(path_ + " is a checkpoint of another text; remove it to start fresh");
  auto state = first_state(std::vector<float>(parameter_count));
  state.step = head.step;
  state.loss = head.loss;
  for (const auto& vector : vectors_of(state))
    file.read(reinterpret_cast<char*>(vector.data()),
              static_cast<std::streamsize>(vector.size_bytes()));
  if (!file || head.content_fingerprint != content_fingerprint(state))
    fail(path_ + " is damaged; remove it to start fresh");
  return state;
}

void checkpoint::save(const training_state& state) const {
  const auto head = header{magic,
                           text_fingerprint_,
                           state.parameters.size(),
                           state.step,
                           state.loss,
                           0,
                           content_fingerprint(state)};
  const auto temporary = path_ + ".tmp";
  const auto file
    = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0)
    fail_errno("cannot create " + temporary);
  write_all(file, std::as_bytes(std::span{&head, 1}));
  for (const auto& vector : vectors_of(state))
    write_all(file, std::as_bytes(vector));
  if (fsync(file) != 0 || close(file) != 0)
    fail_errno("cannot sync " + temporary);
  if (std::rename(temporary.c_str(), path_.c_str()) != 0)
    fail_errno("cannot rename " + temporary);
  sync_folder_of(path_);
}

} // namespace training
