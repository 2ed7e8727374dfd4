// Compares two parsers on randomly damaged lines.
#include "actors/core/timers/lines.hpp"
#include "actors/core/timers/request.hpp"
#include "tests/support/catch.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace actorrun::test::request_fuzz_test {

using namespace actorrun::core;

namespace {

/// Writes lines as Python would, and damages them.
class line_writer {
public:
  explicit line_writer(uint32_t seed) : random_(seed) {}

  uint32_t below(uint32_t n) { return uint32_t(random_() % n); }

  std::string valid(int64_t pid) {
    static const auto scopes
      = std::vector<std::string>{R"("a")",
                                 R"("train.py#42")",
                                 R"("\u00e4\ud83d\ude00")",
                                 R"("x\"y\\z{")",
                                 "\"\xC3\xA4\"",
                                 R"("\n\t\/")",
                                 R"("{\"pid\": 3, \"scope_id\": 1}")"};
    static const auto times = std::vector<std::string>{
      "1795211734.7", "-1", "-1.0", "1e9", "0", "1.5e-05", "1795211734"};
    static const auto signals
      = std::vector<std::string>{"9", "15", "0", "-1", "64"};
    static const auto extras = std::vector<std::string>{
      "", "\"x\": [1, {\"y\": null}], ", "\"version\": 1, ", "\"v\": true, "};
    const auto pick
      = [this](const auto& from) { return from[below(uint32_t(from.size()))]; };
    return "{" + pick(extras) + "\"pid\": " + std::to_string(pid)
           + ", \"scope_id\": " + pick(scopes)
           + ", \"expiration_time\": " + pick(times) + ", " + pick(extras)
           + "\"signal\": " + pick(signals) + "}";
  }

  std::string damaged(std::string line) {
    static constexpr auto bytes
      = std::string_view{"\"\\{}[],:u0159deEnNtf-+. \t\r\x01\x7f\x80\xc3\xff"};
    for (auto i = 1 + below(4); i-- > 0 && !line.empty();) {
      const auto at = below(uint32_t(line.size()));
      switch (below(6)) {
        case 0:
          line[at] = char(random_());
          break;
        case 1:
          line[at] = bytes[below(uint32_t(bytes.size()))];
          break;
        case 2:
          line.insert(at, 1, bytes[below(uint32_t(bytes.size()))]);
          break;
        case 3:
          line.erase(at, 1 + below(8));
          break;
        case 4:
          line.insert(at, line.substr(below(uint32_t(line.size())), below(20)));
          break;
        default:
          line.resize(at);
      }
    }
    std::erase(line, '\n'); // A line end would make two lines.
    return line;
  }

private:
  std::mt19937 random_;
};

/// The same result by nlohmann's parser.
std::optional<timer_request> opinion_on(const std::string& line) {
  using nlohmann::json;
  const auto x = json::parse(line, nullptr, false);
  if (!x.is_object())
    return std::nullopt;
  const auto integer = [&](const char* name) -> std::optional<int64_t> {
    if (!x.contains(name) || !x[name].is_number_integer()
        || (x[name].is_number_unsigned()
            && x[name].get<uint64_t>() > uint64_t(INT64_MAX)))
      return std::nullopt;
    return x[name].get<int64_t>();
  };
  const auto pid = integer("pid");
  const auto signal = integer("signal");
  if (!pid || *pid < 1 || *pid > INT32_MAX || !signal || *signal > 64
      || *signal < INT32_MIN || !x.contains("scope_id")
      || !x["scope_id"].is_string() || !x.contains("expiration_time")
      || !x["expiration_time"].is_number())
    return std::nullopt;
  const auto seconds = x["expiration_time"].get<double>();
  const auto count = seconds * 1e9;
  auto found = timer_request{.pid = *pid,
                             .scope = x["scope_id"].get<std::string>(),
                             .is_release = seconds < 0,
                             .signal = int(*signal)};
  if (seconds >= 0)
    found.expiration
      = count >= 9.2e18 ? duration::max() : duration{int64_t(count)};
  return found;
}

// Accepted here but refused by nlohmann, since Python writes it; and refused
// here but accepted by nlohmann: numbers at the edge of a type, and a field
// that is wrong the first time and right the second.
bool is_ours_alone(const std::string& line) {
  for (const auto* x : {"\"pid\"", "\"scope_id\"", "\"signal\"", "_time\""})
    if (line.find(x) != line.rfind(x))
      return true;
  for (auto at = line.find_first_of("eE"); at != line.npos;
       at = line.find_first_of("eE", at + 1)) {
    const auto digits = line.find_first_not_of("+-", at + 1);
    const auto end = line.find_first_not_of("0123456789", digits);
    if (digits != line.npos && std::min(end, line.size()) - digits > 2)
      return true; // A large exponent.
  }
  for (const auto* x : {"NaN", "Infinity", "\\ud", "\\uD", "-0", "99999999999"})
    if (line.find(x) != line.npos)
      return true;
  return false;
}

} // namespace

TEST_CASE("timer_request: another parser agrees", "[core]") {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    auto writer = line_writer{seed};
    auto found = timer_request{};
    auto taken_count = 0;
    for (int i = 0; i < 10'000; ++i) {
      const auto pid = int64_t(1 + writer.below(100'000));
      const auto line
        = i % 4 == 0 ? writer.valid(pid) : writer.damaged(writer.valid(pid));
      const auto fault = parse_timer_request(line, found);
      taken_count += !fault;
      if (fault)
        REQUIRE(fault->offset <= line.size());
      if (is_ours_alone(line))
        continue;
      const auto expected = opinion_on(line);
      CAPTURE(seed, i, line);
      REQUIRE(!fault == expected.has_value());
      if (expected)
        REQUIRE(found == *expected);
    }
    // The damage leaves some lines right and most wrong: both are tested.
    CHECK(taken_count > 2'600);
    CHECK(taken_count < 7'000);
  }
}

TEST_CASE("timer_reader: a damaged line costs no other line", "[core]") {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    auto writer = line_writer{seed};
    auto stream = std::string{};
    auto valid_pids = std::set<int64_t>{};
    // Every other damaged line loses its end, too.
    for (int64_t pid = 1'000'000; pid < 1'002'000; ++pid) {
      if (writer.below(2) == 0) {
        valid_pids.insert(pid);
        stream += writer.valid(pid) + "\n";
      } else {
        stream += writer.damaged(writer.valid(7));
        stream += writer.below(2) == 0 ? "\n" : "";
      }
      if (writer.below(100) == 0)
        stream += std::string(writer.below(20'000), char(writer.below(256)));
    }
    auto uut = timer_reader{};
    auto found = timer_request{};
    auto found_pids = std::set<int64_t>{};
    for (size_t at = 0; at < stream.size();) {
      auto piece = std::string_view{stream}.substr(
        at, 1 + writer.below(writer.below(10) == 0 ? 20'000 : 300));
      at += piece.size();
      while (uut.next(piece, found))
        if (found.pid >= 1'000'000)
          found_pids.insert(found.pid);
      REQUIRE(piece.empty());
    }
    CHECK(found_pids == valid_pids);
    CHECK(uut.counts().malformed > 100);
    CHECK(uut.counts().binary > 100);
    CHECK(uut.counts().oversized > 3);
  }
}

TEST_CASE("timer_reader: noise is harmless", "[core]") {
  auto writer = line_writer{1};
  auto uut = timer_reader{};
  auto found = timer_request{};
  for (int i = 0; i < 2'000; ++i) {
    auto noise = std::string(writer.below(3'000), ' ');
    for (auto& c : noise)
      c = i % 2 == 0 ? char(writer.below(256))
                     : "{}[]\",:\\ue1-\n"[writer.below(13)];
    auto bytes = std::string_view{noise};
    REQUIRE(!uut.next(bytes, found));
    REQUIRE(bytes.empty());
  }
  CHECK(uut.counts().requests == 0);
  CHECK(uut.counts().binary > 1'000);
  CHECK(uut.counts().malformed > 1'000);
}

} // namespace actorrun::test::request_fuzz_test
