#include "actors/core/timers/request.hpp"
#include "tests/support/catch.hpp"

#include <string>

namespace actorrun::test::request_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

using kind = timer_fault::kind;

/// A line of torch's client, with its fields replaced one at a time.
struct fixture {
  std::string pid = "4711";
  std::string scope = R"("train.py#42")";
  std::string expiration = "1795211734.5";
  std::string signal = "9";
  timer_request found;

  std::string line() const {
    return R"({"version": 1, "pid": )" + pid + R"(, "scope_id": )" + scope
           + R"(, "expiration_time": )" + expiration + R"(, "signal": )"
           + signal + "}";
  }

  std::optional<timer_fault> parse() { return parse(line()); }

  std::optional<timer_fault> parse(const std::string& text) {
    return parse_timer_request(text, found);
  }

  kind fault_of(const std::string& text) {
    const auto x = parse(text);
    REQUIRE(x);
    return x->what;
  }
};

} // namespace

TEST_CASE_METHOD(fixture, "timer_request: torch's acquire is understood",
                 "[core]") {
  REQUIRE(!parse());
  CHECK(found
        == timer_request{.pid = 4711,
                         .scope = "train.py#42",
                         .is_release = false,
                         .expiration = 1'795'211'734'500ms,
                         .signal = 9});
}

TEST_CASE_METHOD(fixture, "timer_request: torch's release is understood",
                 "[core]") {
  for (const auto* x : {"-1", "-1.0", "-0.001", "-Infinity", "-1e300"}) {
    expiration = x;
    signal = "0";
    REQUIRE(!parse());
    CHECK(found.is_release);
    CHECK(found.expiration == 0s);
  }
  expiration = "-0.0";
  REQUIRE(!parse());
  CHECK(!found.is_release);
}

TEST_CASE_METHOD(fixture, "timer_request: seconds are read as Python writes",
                 "[core]") {
  const auto read = [this](const char* text) {
    expiration = text;
    REQUIRE(!parse());
    return found.expiration;
  };
  CHECK(read("0") == 0s);
  CHECK(read("1e9") == 1'000'000'000s);
  CHECK(read("1.5e-05") == 15us);
  CHECK(read("1E+3") == 1000s);
  CHECK(read("1795211734") == 1'795'211'734s);
  CHECK(read("Infinity") == duration::max());
  CHECK(read("1e10") == duration::max());
  CHECK(read("9.2e9") == 9'200'000'000s);
}

TEST_CASE_METHOD(fixture, "timer_request: a double is precise enough",
                 "[core]") {
  // Half a century from now a double still resolves 0.5 µs.
  expiration = "3355443199.123456789";
  REQUIRE(!parse());
  CHECK(found.expiration >= 3'355'443'199'123'456us);
  CHECK(found.expiration <= 3'355'443'199'123'458us);
}

TEST_CASE_METHOD(fixture, "timer_request: fields may come in any order",
                 "[core]") {
  CHECK(
    !parse(R"( {"signal":15,"expiration_time":5,"scope_id":"s","pid":1} )"));
  CHECK(found == timer_request{1, "s", false, 5s, 15});
}

TEST_CASE_METHOD(fixture, "timer_request: unknown fields may be anything",
                 "[core]") {
  CHECK(!parse(R"({"version": {"a": [null, "}"]}, "pid": 1, "x": NaN,)"
               R"( "scope_id": "s", "Pid": "no", "expiration_time": 5,)"
               R"( "signal": 15, "": []})"));
  CHECK(found == timer_request{1, "s", false, 5s, 15});
}

TEST_CASE_METHOD(fixture, "timer_request: the last of equal fields counts",
                 "[core]") {
  CHECK(!parse(R"({"pid": 1, "pid": 2, "scope_id": "a", "scope_id": "b",)"
               R"( "expiration_time": -1, "expiration_time": 5, "signal": 1,)"
               R"( "signal": 2})"));
  CHECK(found == timer_request{2, "b", false, 5s, 2});
}

TEST_CASE_METHOD(fixture, "timer_request: a name may be written with escapes",
                 "[core]") {
  CHECK(!parse(R"({"\u0070id": 1, "scope\u005fid": "\u00e4\"",)"
               R"( "expiration_time": 5, "signal": 2})"));
  CHECK(found.scope == "\xC3\xA4\"");
}

TEST_CASE_METHOD(fixture, "timer_request: a pid has a range", "[core]") {
  for (const auto* x : {"1", "2147483647"}) {
    pid = x;
    CHECK(!parse());
  }
  for (const auto* x : {"0", "-1", "2147483648", "99999999999999999999", "1.0",
                        "1e3", "\"1\"", "null", "true", "NaN", "[1]"}) {
    pid = x;
    CHECK(fault_of(line()) == kind::bad_pid);
  }
}

TEST_CASE_METHOD(fixture, "timer_request: a signal has a range", "[core]") {
  for (const auto* x : {"0", "-1", "64", "-2147483648"}) {
    signal = x;
    CHECK(!parse());
  }
  for (const auto* x : {"65", "-2147483649", "9.0", "\"SIGKILL\"", "null"}) {
    signal = x;
    CHECK(fault_of(line()) == kind::bad_signal);
  }
}

TEST_CASE_METHOD(fixture, "timer_request: a scope is a string", "[core]") {
  for (const auto* x : {"null", "1", "[\"a\"]", "{}"}) {
    scope = x;
    CHECK(fault_of(line()) == kind::bad_scope);
  }
  scope = "\"\"";
  CHECK(!parse());
}

TEST_CASE_METHOD(fixture, "timer_request: an expiration is a number",
                 "[core]") {
  for (const auto* x : {"null", "\"5\"", "NaN", "1e999", "true", "+1"}) {
    expiration = x;
    CHECK(fault_of(line()) == kind::bad_expiration);
  }
}

TEST_CASE_METHOD(fixture, "timer_request: a missing field is named", "[core]") {
  CHECK(fault_of("{}") == kind::no_pid);
  CHECK(fault_of(R"({"version": 1})") == kind::no_pid);
  CHECK(fault_of(R"({"pid": 1})") == kind::no_scope);
  CHECK(fault_of(R"({"pid": 1, "scope_id": ""})") == kind::no_expiration);
  CHECK(fault_of(R"({"pid": 1, "scope_id": "", "expiration_time": 1})")
        == kind::no_signal);
}

TEST_CASE_METHOD(fixture,
                 "timer_request: other values than objects are refused",
                 "[core]") {
  for (const auto* x :
       {"", " ", "x", "[]", "null", "{", "}", "{,}", "{\"pid\"}", "{\"x\":}",
        "{\"pid\" 1}", "{pid: 1}", "{\"a\": 1,}", "{\"a\": tru}", "{\"a"})
    CHECK(fault_of(x) == kind::not_json);
  CHECK(fault_of(line() + "x") == kind::not_json);
  CHECK(fault_of(line() + line()) == kind::not_json);
  CHECK(fault_of("x" + line()) == kind::not_json);
  CHECK(fault_of("{\"a\": \x01}") == kind::not_text);
  CHECK(fault_of("{\"a\": " + std::string(100, '[')) == kind::too_deep);
}

TEST_CASE_METHOD(fixture, "timer_request: a fault has a kind and a place",
                 "[core]") {
  pid = "0";
  CHECK(to_string(*parse())
        == "\"pid\" is no integer from 1 to 2147483647 (byte 21)");
  CHECK(to_string(*parse("{\"pid\": 1, x}"))
        == "this is no JSON object (byte 11)");
  for (int i = 0; i <= static_cast<int>(kind::no_signal); ++i)
    CHECK(to_string(timer_fault{static_cast<kind>(i), 7}).size() > 15);
}

TEST_CASE_METHOD(fixture, "timer_request: an object can be used again",
                 "[core]") {
  REQUIRE(!parse());
  scope = "\"b\"";
  expiration = "-1";
  REQUIRE(!parse());
  CHECK(found == timer_request{4711, "b", true, 0s, 9});
  expiration = "1";
  REQUIRE(!parse());
  CHECK(!found.is_release);
}

} // namespace actorrun::test::request_test
