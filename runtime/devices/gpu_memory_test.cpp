#include "runtime/devices/gpu_memory_test.hpp"

#include "messages/formatted.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <span>
#include <vector>

namespace actorrun::detail {

namespace {

using copy_clock = std::chrono::steady_clock;

/// The pattern of one block begins so many bytes behind that of the block before, …
constexpr size_t pattern_step = 64;
/// … and after so many blocks at the beginning again. A cell that is addressed in place
/// of another has another content.
constexpr size_t pattern_steps = 4'096;

/// So often one block is copied to another.
constexpr auto copies_within = 32;

failure failed(const cuda::functions& library, const char* what, int code) {
  return system_failure(formatted("{}: {}", what, text_of(library, code)));
}

/// Memory of the host from which a GPU copies by itself.
class host_memory {
public:
  host_memory(const cuda::functions& library, size_t size)
    : library_(library), code_(library.allocate_on_host(&place_, size)) {}
  ~host_memory() {
    if (code_ == cuda::success)
      library_.free_on_host(place_);
  }
  host_memory(const host_memory&) = delete;
  host_memory& operator=(const host_memory&) = delete;

  int code() const { return code_; }
  std::byte* data() const { return static_cast<std::byte*>(place_); }

private:
  const cuda::functions& library_;
  void* place_ = nullptr;
  int code_;
};

/// Blocks of a GPU's memory.
class gpu_blocks {
public:
  explicit gpu_blocks(const cuda::functions& library) : library_(library) {}
  ~gpu_blocks() {
    for (const auto x : all_)
      library_.free(x);
  }
  gpu_blocks(const gpu_blocks&) = delete;
  gpu_blocks& operator=(const gpu_blocks&) = delete;

  /// As many as there are, `count` at most.
  /// @returns the error for which there are none
  int allocate(size_t count, size_t size) {
    auto code = cuda::success;
    while (all_.size() < count && code == cuda::success) {
      auto place = cuda::address{};
      code = library_.allocate(&place, size);
      if (code == cuda::success)
        all_.push_back(place);
    }
    return all_.empty() ? code : cuda::success;
  }

  std::span<const cuda::address> all() const { return all_; }

private:
  const cuda::functions& library_;
  std::vector<cuda::address> all_;
};

class context_in_use {
public:
  context_in_use(const cuda::functions& library, int index)
    : library_(library), index_(index) {
    auto own = cuda::context{};
    code_ = library.retain_context(&own, index);
    is_retained_ = code_ == cuda::success;
    if (is_retained_)
      code_ = library.use_context(own);
  }
  ~context_in_use() {
    if (is_retained_)
      library_.release_context(index_);
  }
  context_in_use(const context_in_use&) = delete;
  context_in_use& operator=(const context_in_use&) = delete;

  int code() const { return code_; }

private:
  const cuda::functions& library_;
  int index_;
  int code_ = cuda::success;
  bool is_retained_ = false;
};

/// xorshift64*: half of all bits are set, without a period that memory has.
void fill_with_pattern(std::byte* place, size_t size) {
  auto state = uint64_t{0x9e3779b97f4a7c15};
  for (size_t i = 0; i + sizeof state <= size; i += sizeof state) {
    state ^= state >> 12U;
    state ^= state << 25U;
    state ^= state >> 27U;
    const auto word = state * uint64_t{0x2545f4914f6cdd1d};
    std::memcpy(place + i, &word, sizeof word);
  }
}

class memory_run {
public:
  memory_run(const cuda::functions& library,
             std::span<const cuda::address> blocks, size_t block_size,
             const std::byte* pattern, std::byte* back)
    : library_(library), blocks_(blocks), size_(block_size), pattern_(pattern),
      back_(back) {}

  result<copy_rates> operator()() {
    auto out = copy_rates{};
    for (size_t i = 0; i < blocks_.size(); ++i)
      if (auto ok = timed(to_gpu_, "writing memory of the GPU",
                          [&] {
                            return library_.copy_to_gpu(blocks_[i], part_of(i),
                                                        size_);
                          });
          !ok)
        return ok.error();
    if (auto ok = read_back(); !ok)
      return ok.error();
    const auto bytes = double(blocks_.size()) * double(size_);
    out.to_gpu = rate(bytes, to_gpu_);
    out.from_gpu = rate(bytes, from_gpu_);
    if (blocks_.size() < 2)
      return out;
    if (auto ok = copy_within(); !ok)
      return ok.error();
    // Each byte that is copied is read and written.
    out.within = rate(2.0 * copies_within * double(size_), within_);
    return out;
  }

private:
  const std::byte* part_of(size_t block) const {
    return pattern_ + block % pattern_steps * pattern_step;
  }

  result<void> read_back() {
    for (size_t i = 0; i < blocks_.size(); ++i)
      if (auto ok = compare(i, i); !ok)
        return ok;
    return {};
  }

  /// @param content The block whose part of the pattern is there.
  result<void> compare(size_t block, size_t content) {
    if (auto ok = timed(
          from_gpu_, "reading memory of the GPU",
          [&] { return library_.copy_from_gpu(back_, blocks_[block], size_); });
        !ok)
      return ok;
    const auto* part = part_of(content);
    if (std::memcmp(back_, part, size_) == 0)
      return {};
    const auto at = static_cast<size_t>(
      std::mismatch(back_, back_ + size_, part).first - back_);
    return system_failure(formatted(
      "memory does not keep what is written: byte {} of {} that were tested "
      "reads {:#04x}, not {:#04x}",
      block * size_ + at, blocks_.size() * size_, unsigned(back_[at]),
      unsigned(part[at])));
  }

  result<void> copy_within() {
    const auto last = blocks_.size() - 1;
    auto copied = timed(within_, "copying memory of the GPU", [&] {
      auto code = cuda::success;
      for (auto i = 0; i < copies_within && code == cuda::success; ++i)
        code = library_.copy_on_gpu(blocks_[last], blocks_[0], size_);
      return code == cuda::success ? library_.finish() : code;
    });
    const auto read_before = from_gpu_;
    auto same = copied ? compare(last, 0) : copied;
    from_gpu_ = read_before;
    return same;
  }

  result<void> timed(copy_clock::duration& sum, const char* what,
                     const std::function<int()>& fn) const {
    const auto begun = copy_clock::now();
    const auto code = fn();
    sum += copy_clock::now() - begun;
    return code == cuda::success ? result<void>{}
                                 : failed(library_, what, code);
  }

  static double rate(double bytes, copy_clock::duration time) {
    const auto seconds = std::chrono::duration<double>(time).count();
    return seconds > 0 ? bytes / seconds : 0;
  }

  const cuda::functions& library_;
  std::span<const cuda::address> blocks_;
  size_t size_;
  const std::byte* pattern_;
  std::byte* back_;
  copy_clock::duration to_gpu_{};
  copy_clock::duration from_gpu_{};
  copy_clock::duration within_{};
};

std::string rate_text(double bytes_per_second) {
  return formatted("{:.1f} GB/s", bytes_per_second / 1e9);
}

} // namespace

result<gpu_memory_findings> test_gpu_memory(const cuda::functions& library,
                                            int index, size_t block_size) {
  const auto context = context_in_use{library, index};
  if (context.code() != cuda::success)
    return failed(library, "a context on the GPU", context.code());
  size_t free = 0;
  size_t total = 0;
  if (const auto code = library.memory_info(&free, &total);
      code != cuda::success)
    return failed(library, "how much memory is free", code);
  const auto count = free / 10 * 9 / block_size;
  if (count == 0)
    return system_failure(
      formatted("only {} MiB of its {} MiB of memory are free, too little to "
                "test: what else uses it?",
                free >> 20U, total >> 20U));
  const auto pattern_size = block_size + pattern_step * pattern_steps;
  const auto pattern = host_memory{library, pattern_size};
  const auto back = host_memory{library, block_size};
  if (const auto code = std::max(pattern.code(), back.code());
      code != cuda::success)
    return failed(library, "memory of the host for copies", code);
  fill_with_pattern(pattern.data(), pattern_size);
  auto blocks = gpu_blocks{library};
  if (const auto code = blocks.allocate(count, block_size);
      code != cuda::success)
    return failed(library, "memory of the GPU", code);
  auto run = memory_run{library, blocks.all(), block_size, pattern.data(),
                        back.data()};
  const auto rates = run();
  if (!rates)
    return rates.error();
  return gpu_memory_findings{blocks.all().size() * block_size, free, *rates};
}

std::string to_string(const gpu_memory_findings& x) {
  constexpr auto gib = 1'024.0 * 1'024 * 1'024;
  return formatted("{:.1f} of {:.1f} GiB of free memory keep what is written; "
                   "copies {} to it, "
                   "{} from it{}",
                   double(x.tested) / gib, double(x.free) / gib,
                   rate_text(x.rates.to_gpu), rate_text(x.rates.from_gpu),
                   x.rates.within > 0
                     ? formatted(", {} within it", rate_text(x.rates.within))
                     : "");
}

} // namespace actorrun::detail
