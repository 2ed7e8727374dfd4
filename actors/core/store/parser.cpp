#include "actors/core/store/parser.hpp"

#include "actors/core/store/cost.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>

namespace actorrun::core {

namespace {

/// What torch from 2.2 on sends behind its first byte.
constexpr uint64_t magic = 0x3C85F7CE;
constexpr size_t magic_size = 4;

failure beyond(const char* what, uint64_t size, size_t max) {
  return bad_argument(std::string{what} + " of " + std::to_string(size)
                      + "; the most is " + std::to_string(max));
}

failure out_of_memory() {
  return bad_argument(store_is_full);
}

/// By opcode.
constexpr store_verb verbs_from_2_2[] = {
  store_verb::validate,    store_verb::set,          store_verb::compare_set,
  store_verb::get,         store_verb::add,          store_verb::check,
  store_verb::wait,        store_verb::count_keys,   store_verb::delete_key,
  store_verb::append,      store_verb::multi_get,    store_verb::multi_set,
  store_verb::cancel_wait, store_verb::ping,         store_verb::queue_push,
  store_verb::queue_pop,   store_verb::queue_length, store_verb::list_keys,
  store_verb::barrier,
};

/// Likewise, without validation. 2.0 and before have WATCH_KEY in the place of
/// 7 and DELETE_KEY in that of 8.
constexpr store_verb verbs_of_2_1[] = {
  store_verb::set,        store_verb::compare_set, store_verb::get,
  store_verb::add,        store_verb::check,       store_verb::wait,
  store_verb::count_keys, store_verb::delete_key,  store_verb::append,
  store_verb::multi_get,  store_verb::multi_set,   store_verb::cancel_wait,
};
constexpr uint8_t first_disputed = 7;
constexpr uint8_t delete_upto_2_0 = 8;

} // namespace

store_parser::store_parser(const store_limits& limits,
                           std::shared_ptr<store_budget> budget)
  : limits_(limits), charge_(std::move(budget)) {}

const store_parser::grammar* store_parser::grammar_of(store_verb verb) {
  static constexpr grammar all[] = {
    {store_verb::validate, false, "m"},
    {store_verb::set, false, "kv"},
    {store_verb::compare_set, false, "kvv"},
    {store_verb::get, false, "k"},
    {store_verb::add, false, "kn"},
    {store_verb::check, true, "k"},
    {store_verb::wait, true, "k"},
    {store_verb::count_keys, false, ""},
    {store_verb::delete_key, false, "k"},
    {store_verb::append, false, "kv"},
    {store_verb::multi_get, true, "k"},
    {store_verb::multi_set, true, "kv"},
    {store_verb::cancel_wait, false, ""},
    {store_verb::ping, false, "m"},
    {store_verb::queue_push, false, "kv"},
    {store_verb::queue_pop, false, "k"},
    {store_verb::queue_length, false, "k"},
    {store_verb::list_keys, false, ""},
    {store_verb::barrier, false, "kn"},
  };
  return &all[static_cast<size_t>(verb)];
}

result<std::optional<store_request>>
store_parser::next(std::string_view& input) {
  while (!input.empty() || stage_ == stage::done) {
    if (stage_ == stage::done)
      return std::optional{finish()};
    if (stage_ == stage::opcode) {
      const auto opcode = static_cast<uint8_t>(input.front());
      input.remove_prefix(1);
      if (auto ok = begin(opcode); !ok)
        return ok.error();
    } else if (auto ok = take(input); !ok) {
      return ok.error();
    }
  }
  return std::optional<store_request>{};
}

// -- which request ------------------------------------------------------------

result<void> store_parser::begin(uint8_t opcode) {
  if (dialect_ == store_dialect::unknown) {
    dialect_ = store_dialect::upto_2_1;
    is_probing_ = opcode == 0;
  }
  const auto verb = verb_of(opcode);
  if (!verb)
    return bad_argument(
      "unknown request " + std::to_string(opcode)
      + "; it is no client of torch's TCPStore, or newer than we"
        " know");
  grammar_ = grammar_of(*verb);
  request_.verb = *verb;
  piece_ = 0;
  rounds_ = 1;
  if (grammar_->is_counted)
    stage_ = stage::count;
  else
    expect_next();
  return {};
}

std::optional<store_verb> store_parser::verb_of(uint8_t opcode) {
  if (dialect_ != store_dialect::from_2_2)
    return old_verb_of(opcode);
  if (opcode >= std::size(verbs_from_2_2))
    return std::nullopt;
  return verbs_from_2_2[opcode];
}

// Watching keys exists in torch 2.0 and before and in its C++ API, but is not
// used.
std::optional<store_verb> store_parser::old_verb_of(uint8_t opcode) {
  if (opcode >= std::size(verbs_of_2_1))
    return std::nullopt;
  if (opcode < first_disputed)
    return verbs_of_2_1[opcode];
  if (dialect_ == store_dialect::upto_2_0)
    return opcode == delete_upto_2_0 ? std::optional{store_verb::delete_key}
                                     : std::nullopt;
  if (opcode != delete_upto_2_0)
    dialect_ = store_dialect::only_2_1;
  return verbs_of_2_1[opcode];
}

bool store_parser::is_undecided() const {
  return dialect_ == store_dialect::upto_2_1
         && request_.verb == store_verb::append && stage_ == stage::length
         && piece_ == 1 && scratch_size_ == 0;
}

store_request store_parser::decide_delete() {
  assert(is_undecided());
  dialect_ = store_dialect::upto_2_0;
  request_.verb = store_verb::delete_key;
  return finish();
}

// -- its parts ----------------------------------------------------------------

result<void> store_parser::take(std::string_view& input) {
  if (is_undecided())
    dialect_ = store_dialect::only_2_1;
  switch (stage_) {
    case stage::count:
      return fill(input, sizeof(uint64_t)) ? take_count() : result<void>{};
    case stage::length:
      if (is_probing_) {
        if (!fill(input, magic_size))
          return {};
        is_probing_ = false;
        if (is_magic()) {
          dialect_ = store_dialect::from_2_2;
          request_.verb = store_verb::validate;
          return take_number();
        }
      }
      return fill(input, sizeof(uint64_t)) ? take_length() : result<void>{};
    case stage::text:
      return take_text(input);
    case stage::number: {
      const auto size
        = grammar_->pieces[piece_] == 'n' ? sizeof(uint64_t) : sizeof(uint32_t);
      return fill(input, size) ? take_number() : result<void>{};
    }
    case stage::opcode:
    case stage::done:
      break;
  }
  assert(false);
  return {};
}

// Says whether all of it is there.
bool store_parser::fill(std::string_view& input, size_t size) {
  const auto taken = std::min(size - scratch_size_, input.size());
  std::copy_n(input.begin(), taken, scratch_.begin() + scratch_size_);
  input.remove_prefix(taken);
  scratch_size_ += taken;
  return scratch_size_ == size;
}

// Least significant byte first.
uint64_t store_parser::scratch_value() const {
  auto out = uint64_t{0};
  for (size_t i = scratch_size_; i > 0; --i)
    out = out << 8 | static_cast<uint8_t>(scratch_[i - 1]);
  return out;
}

// As the length of a key it would be beyond every limit.
bool store_parser::is_magic() const {
  return scratch_value() == magic;
}

result<void> store_parser::take_count() {
  rounds_ = scratch_value();
  scratch_size_ = 0;
  if (rounds_ > limits_.keys_per_request_max)
    return beyond("a number of keys", rounds_, limits_.keys_per_request_max);
  if (rounds_ == 0)
    stage_ = stage::done;
  else
    expect_next();
  return {};
}

result<void> store_parser::take_length() {
  const auto size = scratch_value();
  scratch_size_ = 0;
  const auto is_key = grammar_->pieces[piece_] == 'k';
  const auto max = is_key ? limits_.key_size_max : limits_.value_size_max;
  if (size > max)
    return beyond(is_key ? "a key length" : "a value length", size, max);
  if (!make_place(is_key ? request_.keys : request_.values))
    return out_of_memory();
  text_left_ = size;
  if (size == 0)
    finish_text();
  else
    stage_ = stage::text;
  return {};
}

// Room for one more.
bool store_parser::make_place(std::vector<std::string>& texts) {
  if (texts.size() < texts.capacity())
    return true;
  const auto before = texts.capacity() * sizeof(std::string);
  const auto count = std::max<size_t>(1, 2 * texts.size());
  if (!charge_.grow(block_cost(count * sizeof(std::string))
                    - block_cost(before)))
    return false;
  texts.reserve(count);
  return true;
}

// A claim makes no room: that grows with what has come, up to the whole.
result<void> store_parser::take_text(std::string_view& input) {
  const auto taken = std::min(text_left_, input.size());
  const auto needed = text_.size() + taken;
  const auto whole = text_.size() + text_left_;
  if (needed > text_.capacity()
      && !make_room(text_, std::min(whole, std::max(needed, 2 * text_.size())),
                    charge_))
    return out_of_memory();
  text_.append(input.substr(0, taken));
  input.remove_prefix(taken);
  text_left_ -= taken;
  if (text_left_ == 0)
    finish_text();
  return {};
}

result<void> store_parser::take_number() {
  request_.number = static_cast<int64_t>(scratch_value());
  scratch_size_ = 0;
  if (request_.verb == store_verb::validate
      && static_cast<uint64_t>(request_.number) != magic)
    return bad_argument(
      "a wrong magic number; it is no client of torch's TCPStore");
  if (request_.verb == store_verb::validate) {
    stage_ = stage::done; // The grammar may still be that of a first SET.
    return {};
  }
  ++piece_;
  expect_next();
  return {};
}

void store_parser::finish_text() {
  const auto is_key = grammar_->pieces[piece_] == 'k';
  (is_key ? request_.keys : request_.values).push_back(std::move(text_));
  text_ = {};
  ++piece_;
  if (piece_ == grammar_->pieces.size() && --rounds_ > 0)
    piece_ = 0;
  expect_next();
}

void store_parser::expect_next() {
  if (piece_ == grammar_->pieces.size()) {
    stage_ = stage::done;
    return;
  }
  const auto piece = grammar_->pieces[piece_];
  stage_ = piece == 'k' || piece == 'v' ? stage::length : stage::number;
}

store_request store_parser::finish() {
  stage_ = stage::opcode;
  charge_.reset();
  return std::exchange(request_, {});
}

} // namespace actorrun::core
