// Owns the bytes of the store, and counts all of them against one limit.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace actorrun::core {

/// What a client's connection is cut for when the budget is spent.
inline constexpr auto store_is_full
  = "the store is full; see its limits in docs/store.md";

/// How many bytes may be kept at once, wherever they are: connections, half-read
/// requests, values, and values that a slow client has not yet taken. What is
/// counted is what the system gives for them; see cost.hpp.
class store_budget {
public:
  explicit store_budget(size_t max) : max_(max) {}

  /// Counts `size` bytes, or nothing if that is too much.
  bool take(size_t size) {
    if (size > max_ - used_)
      return false;
    used_ += size;
    most_ = std::max(most_, used_);
    return true;
  }

  void give_back(size_t size) { used_ -= size; }

  size_t used() const { return used_; }

  /// The most that was ever used.
  size_t most() const { return most_; }

private:
  size_t max_ = 0;
  size_t used_ = 0;
  size_t most_ = 0;
};

/// Bytes that are counted for as long as this lives.
class store_charge {
public:
  explicit store_charge(std::shared_ptr<store_budget> budget)
    : budget_(std::move(budget)) {}
  store_charge(store_charge&& other) noexcept
    : budget_(std::move(other.budget_)),
      size_(std::exchange(other.size_, size_t{0})) {}
  ~store_charge() { reset(); }

  store_charge& operator=(store_charge&& other) noexcept {
    reset();
    budget_ = std::move(other.budget_);
    size_ = std::exchange(other.size_, size_t{0});
    return *this;
  }

  /// Counts so many more; false, and none of them, if that is too much.
  bool grow(size_t size) {
    if (!budget_->take(size))
      return false;
    size_ += size;
    return true;
  }

  /// Counts so many less. @pre it has counted them
  void shrink(size_t size) {
    budget_->give_back(size);
    size_ -= size;
  }

  void reset() {
    if (budget_)
      budget_->give_back(size_);
    size_ = 0;
  }

private:
  std::shared_ptr<store_budget> budget_;
  size_t size_ = 0;
};

/// Makes room in `text` for `size` bytes in all, no more, and counts it.
/// @returns false, and nothing is changed, if the budget is spent
bool make_room(std::string& text, size_t size, store_charge& charge);

/// Bytes that never change. A copy is cheap and keeps the same bytes.
class store_value {
public:
  /// What a value costs, with these bytes in it.
  static size_t cost_of(const std::string& bytes);

  /// None if the budget is spent.
  static std::optional<store_value>
  make(const std::shared_ptr<store_budget>& budget, std::string bytes);

  std::string_view bytes() const { return content_->bytes; }

  /// The same bytes with `tail` behind them. Takes the old ones if no other
  /// keeps them; none, and nothing is changed, if the budget is spent.
  bool append(const std::shared_ptr<store_budget>& budget,
              std::string_view tail);

private:
  struct content {
    std::string bytes;
    store_charge charge;
  };

  explicit store_value(std::shared_ptr<content> x) : content_(std::move(x)) {}

  std::shared_ptr<content> content_;
};

} // namespace actorrun::core
