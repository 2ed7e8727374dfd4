#include "actors/core/timers/scopes.hpp"

#include <cstring>
#include <functional>
#include <memory>

namespace actorrun::core {

namespace {

// A name's place holds the address of a text that is too long for it. The place
// is not aligned for a pointer; copying its bytes does not mind.
template <class Place>
char* address_in(const Place& place) {
  char* address = nullptr;
  std::memcpy(&address, place.data(), sizeof address);
  return address;
}

// What was taken when timers were many is kept until they are few: a worker that
// acquires and releases one timer must not allocate each time.
constexpr size_t kept_capacity = 4096;

} // namespace

timer_scopes::~timer_scopes() {
  index_.each([this](uint32_t number) { erase(names_[number]); });
}

std::string_view timer_scopes::name::text() const {
  return {is_long() ? address_in(place) : place.data(), length};
}

uint32_t timer_scopes::hash_of(std::string_view text) {
  const auto hash = std::hash<std::string_view>{}(text);
  return static_cast<uint32_t>(hash ^ (hash >> 32));
}

uint32_t timer_scopes::find(std::string_view text) const {
  return find(text, hash_of(text));
}

uint32_t timer_scopes::find(std::string_view text, uint32_t hash) const {
  return index_.find(hash, [&](uint32_t number) {
    const auto& x = names_[number];
    return x.hash == hash && x.text() == text;
  });
}

uint32_t timer_scopes::hold(std::string_view text) {
  const auto hash = hash_of(text);
  if (const auto number = find(text, hash); number != none) {
    ++names_[number].link;
    return number;
  }
  if (text.size() > scope_text_max)
    return none;
  const auto number = names_.take();
  auto& x = names_[number];
  if (!write(x, text)) {
    names_.give_back(number);
    return none;
  }
  x.link = 1;
  x.hash = hash;
  index_.insert(number, [this](uint32_t i) { return names_[i].hash; });
  return number;
}

void timer_scopes::drop(uint32_t number) {
  auto& x = names_[number];
  if (--x.link > 0)
    return;
  index_.erase(number, [this](uint32_t i) { return names_[i].hash; });
  erase(x);
  names_.give_back(number);
  if (index_.size() == 0 && names_.capacity() > kept_capacity) {
    names_.clear();
    index_.clear();
  }
}

bool timer_scopes::write(name& x, std::string_view text) {
  x.length = static_cast<uint16_t>(text.size());
  if (!x.is_long()) {
    text.copy(x.place.data(), text.size());
    return true;
  }
  if (text.size() > long_text_max_ - long_text_size_)
    return false;
  long_text_size_ += text.size();
  auto copy = std::make_unique<char[]>(text.size());
  text.copy(copy.get(), text.size());
  const auto* address = copy.release();
  std::memcpy(x.place.data(), &address, sizeof address);
  return true;
}

void timer_scopes::erase(name& x) {
  if (!x.is_long())
    return;
  long_text_size_ -= x.length;
  delete[] address_in(x.place);
}

} // namespace actorrun::core
