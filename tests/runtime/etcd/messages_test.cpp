#include "runtime/etcd/messages.hpp"
#include "tests/support/catch.hpp"

#include <nlohmann/json.hpp>

namespace actorrun::test::messages_test {

using namespace actorrun::detail;
using namespace actorrun::detail::etcd;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

const auto keys = keys_of("/p", {"job"});

http_answer ok(std::string body) {
  return {200, std::move(body)};
}

template <class T>
T value_of(result<T> x) {
  REQUIRE(x);
  return std::move(*x);
}

template <class T>
errc code_of(const result<T>& x) {
  return x ? errc::none : x.error().code;
}

// Answers as etcd 3.4 writes them.
const std::string header = R"("header":{"cluster_id":"3","revision":"9"})";
const std::string entry
  = R"({"key":"L3A=","create_revision":"2","mod_revision":"7","version":"2",)"
    R"("value":"bjE6NDAwMA==","lease":"5"})";

} // namespace

TEST_CASE("etcd messages: a job has keys of its own", "[runtime]") {
  CHECK(keys.coordinator == "/p/job/coordinator");
  CHECK(keys.job == "/p/job/job");
  CHECK(keys_of("/p/", {"job"}).job == keys.job);
  CHECK(keys_of("/p", {"a/b c%"}).job == "/p/a%2fb%20c%25/job");
  CHECK(keys_of("/p", {"\xff"}).job == "/p/%ff/job");
  // No two ids share keys.
  CHECK(keys_of("/p", {"a%2fb"}).job != keys_of("/p", {"a/b"}).job);
}

TEST_CASE("etcd messages: a campaign compares, takes the entry and records the "
          "job",
          "[runtime]") {
  const auto x = json::parse(campaign_body(keys, {5, 7, 8}));
  const auto& compare = x["compare"][0];
  CHECK(compare["target"] == "MOD");
  CHECK(compare["result"] == "EQUAL");
  CHECK(compare["mod_revision"] == "7");
  CHECK(x["compare"][1]["mod_revision"] == "8");
  CHECK(x["compare"][1]["key"] == "L3Avam9iL2pvYg==");
  REQUIRE(x["success"].size() == 3);
  CHECK(x["success"][0]["request_put"]["lease"] == "5");
  CHECK(x["success"][0]["request_put"]["value"] == "");
  CHECK(x["success"][1].contains("request_range"));
  CHECK_FALSE(x["success"][2]["request_put"].contains("lease"));
  REQUIRE(x["failure"].size() == 2);
  CHECK(x["failure"][0].contains("request_range"));
  CHECK(x["failure"][1].contains("request_range"));
}

TEST_CASE("etcd messages: only the owner of the entry forgets the job",
          "[runtime]") {
  const auto x = json::parse(forget_job_body(keys, 5));
  const auto& compare = x["compare"][0];
  CHECK(compare["target"] == "LEASE");
  CHECK(compare["result"] == "EQUAL");
  CHECK(compare["lease"] == "5");
  CHECK(compare["key"] == "L3Avam9iL2Nvb3JkaW5hdG9y");
  REQUIRE(x["success"].size() == 1);
  CHECK(x["success"][0]["request_delete_range"]["key"] == "L3Avam9iL2pvYg==");
}

TEST_CASE("etcd messages: only the owner of the entry marks the job as over",
          "[runtime]") {
  const auto x = json::parse(end_job_body(keys, {5, true, {.newest = {7}}}, 6));
  CHECK(x["compare"][0]["lease"] == "5");
  REQUIRE(x["success"].size() == 2);
  const auto& mark = x["success"][0]["request_put"];
  CHECK(mark["key"] == "L3Avam9iL2pvYg==");
  CHECK(mark["value"] == "eyJuZXdlc3RfZ2VuZXJhdGlvbiI6Nywib3ZlciI6dHJ1ZX0=");
  CHECK(mark["lease"] == "6");
  CHECK(x["success"][1]["request_delete_range"]["key"]
        == "L3Avam9iL2Nvb3JkaW5hdG9y");
}

TEST_CASE("etcd messages: texts are sent as base64", "[runtime]") {
  const auto value_of = [](const std::string& endpoint) {
    const auto x = json::parse(publish_body(keys, 5, 7, endpoint));
    return x["success"][0]["request_put"]["value"].get<std::string>();
  };
  CHECK(value_of("") == "");
  CHECK(value_of("n") == "bg==");
  CHECK(value_of("n1:4000") == "bjE6NDAwMA==");
}

TEST_CASE("etcd messages: numbers are sent as texts", "[runtime]") {
  CHECK(open_lease_body(15s) == R"({"TTL":"15"})");
  CHECK(renew_body(int64_t{1} << 62) == R"({"ID":"4611686018427387904"})");
  CHECK(end_lease_body(5) == R"({"ID":"5"})");
}

TEST_CASE("etcd messages: the entry and the mark of a job are read",
          "[runtime]") {
  const auto read = [](const std::string& kvs, const std::string& marks) {
    return value_of(read_entry(
      ok("{" + header + R"(,"succeeded":true,"responses":[{"response_range":{)"
         + kvs + R"(}},{"response_range":{)" + marks + "}}]}")));
  };
  CHECK_FALSE(read("", "").entry.has_value());
  CHECK(read("", "").job == core::job_mark{});
  CHECK(read(R"("kvs":[)" + entry + R"(],"count":"1")", "").entry
        == core::leader_entry{7, "n1:4000"});
  CHECK(read(R"("kvs":[{"key":"L3A=","mod_revision":"7"}])", "").entry
        == core::leader_entry{7, ""});
  const auto marked = [&](const std::string& value) {
    return read("", R"("kvs":[{"key":"L3A=","mod_revision":"8","value":")"
                      + value + "\"}]")
      .job;
  };
  CHECK(marked("MQ==") == core::job_mark{8, false});
  CHECK(marked("b3Zlcg==") == core::job_mark{8, true});
  // Any program that may write to etcd may have done so.
  CHECK(marked("e30=") == core::job_mark{8, false}); // {}
  CHECK(marked("W10=") == core::job_mark{8, false}); // []
  // {"over":1,"newest_generation":-1,"revision":"x","excluded":[1,{"host":2}]}
  const auto odd
    = marked("eyJvdmVyIjoxLCJuZXdlc3RfZXBvY2giOi0xLCJyZXZpc2lvbiI6IngiLCJleGNs"
             "dWRlZCI6WzEseyJob3N0IjoyfV19");
  CHECK_FALSE(odd.is_over);
  CHECK(odd.job.newest == generation_id{});
  CHECK(odd.job.revision == 0);
  CHECK(odd.job.excluded.size() <= 2);
}

TEST_CASE("etcd messages: a lease is read", "[runtime]") {
  const auto x = read_lease(
    ok("{" + header + R"(,"ID":"2324035516719784453","TTL":"2"})"));
  REQUIRE(x);
  CHECK(x->lease == 2324035516719784453);
  CHECK(x->length == 2s);
  CHECK(read_lease(ok("{" + header + R"(,"ID":"1","TTL":"600000"})")));
  CHECK(code_of(read_lease(ok("{" + header + R"(,"ID":"1","TTL":"600001"})")))
        == errc::etcd_unreachable);
}

TEST_CASE("etcd messages: a campaign is won, the first time or again",
          "[runtime]") {
  const auto won = [](const std::string& before) {
    const auto x = read_campaign(
      ok("{" + header
         + R"(,"succeeded":true,"responses":[{"response_put":{}},)"
           R"({"response_range":{)"
         + before + R"(}},{"response_put":{}}]})"));
    REQUIRE(x);
    REQUIRE(std::holds_alternative<core::campaign_won>(*x));
    return std::get<core::campaign_won>(*x);
  };
  CHECK(won("").revision == 9);
  CHECK(won("").terms_before == 0);
  const auto again = [&](const std::string& version) {
    return won(R"("kvs":[{"key":"L3A=","mod_revision":"4","version":)" + version
               + "}]")
      .terms_before;
  };
  CHECK(again("\"3\"") == 3);
  CHECK(again("\"4294967295\"") == UINT32_MAX);
  CHECK(again("\"4294967296\"") == UINT32_MAX);
  // The key exists, whatever its version.
  CHECK(again("\"0\"") == 1);
  CHECK(again("[]") == 1);
  // An ended job is another one.
  CHECK(again(R"("3","value":"b3Zlcg==")") == 0);
}

TEST_CASE("etcd messages: a campaign is lost to another candidate",
          "[runtime]") {
  const auto x = read_campaign(ok(
    "{" + header + R"(,"responses":[{"response_range":{"kvs":[)" + entry
    + R"(]}},{"response_range":{"kvs":[{"key":"L3A=","mod_revision":"8"}]}}]})"));
  REQUIRE(x);
  REQUIRE(std::holds_alternative<core::campaign_lost>(*x));
  CHECK(std::get<core::campaign_lost>(*x).entry
        == core::leader_entry{7, "n1:4000"});
  CHECK(std::get<core::campaign_lost>(*x).job == core::job_mark{8, false});
}

TEST_CASE("etcd messages: an entry is published, or another's", "[runtime]") {
  CHECK(value_of(read_published(ok("{" + header + R"(,"succeeded":true})")))
        == 9);
  CHECK_FALSE(value_of(read_published(ok("{" + header + "}"))));
}

TEST_CASE("etcd messages: a lease is renewed, or has expired", "[runtime]") {
  const auto body = [](const std::string& rest) {
    return ok(R"({"result":{)" + header + R"(,"ID":"5")" + rest + "}}\n");
  };
  CHECK(value_of(read_renewed(body(R"(,"TTL":"5")"))) == core::duration{5s});
  CHECK_FALSE(value_of(read_renewed(body(""))));
  CHECK_FALSE(value_of(read_renewed(
    {404, R"({"error":"etcdserver: requested lease not found","code":5})"})));
}

TEST_CASE("etcd messages: a client that is not authenticated learns why",
          "[runtime]") {
  const auto refused = [](long status, const std::string& text, int code) {
    return refusal_of({status, R"({"error":")" + text + R"(","code":)"
                                 + std::to_string(code) + "}"});
  };
  CHECK(refused(403, "etcdserver: permission denied", 7)->code
        == errc::etcd_denied);
  CHECK(refused(400, "etcdserver: user name is empty", 3)->code
        == errc::etcd_denied);
  CHECK(refused(400,
                "etcdserver: authentication failed, invalid user ID or "
                "password",
                3)
          ->code
        == errc::etcd_denied);
  CHECK(refused(401, "etcdserver: invalid auth token", 16)->code
        == errc::secret_mismatch);
  // As etcd 3.5 of Debian 13 says it.
  CHECK(refusal_of(
          {401, R"({"code":16, "message":"etcdserver: invalid auth token"})"})
          ->code
        == errc::secret_mismatch);
  CHECK(refusal_of(
          {403, R"({"code":7, "message":"etcdserver: permission denied"})"})
          ->code
        == errc::etcd_denied);
  const auto busy = refused(503, "etcdserver: no leader", 14);
  CHECK(busy->code == errc::etcd_unreachable);
  CHECK(busy->text == "etcd: etcdserver: no leader");
  CHECK_FALSE(refusal_of(ok("{}")));
}

TEST_CASE("etcd messages: a member that is cut off from its cluster differs "
          "from one that refuses",
          "[runtime]") {
  for (const auto status : {502, 503, 504})
    CHECK(is_unavailable({status, ""}));
  for (const auto status : {200, 400, 403, 404, 500, 501, 505})
    CHECK_FALSE(is_unavailable({status, ""}));
}

TEST_CASE("etcd messages: answers of other servers are refused", "[runtime]") {
  const auto answers = std::vector<http_answer>{
    {200, ""},
    {200, "[]"},
    {200, "null"},
    {200, "\"x\""},
    {200, "<html>"},
    {200, "{"},
    {404, "Not Found\n"},
    {400, "Client sent an HTTP request to an HTTPS server.\n"},
    {500, "{}"},
    {200, R"({"error":5})"},
    {200, std::string(1'000, '[')},
    {200, "{\"a\":" + std::string(5'000, '[')},
  };
  for (const auto& x : answers) {
    INFO(x.body.substr(0, 80));
    const auto strange = errc::etcd_unreachable;
    CHECK(code_of(read_entry(x)) == strange);
    CHECK(code_of(read_lease(x)) == strange);
    CHECK(code_of(read_campaign(x)) == strange);
    CHECK(code_of(read_published(x)) == strange);
    CHECK(code_of(read_renewed(x)) == strange);
    CHECK(code_of(read_token(x)) == strange);
  }
}

TEST_CASE("etcd messages: parts of the wrong kind are refused", "[runtime]") {
  for (const auto* kv :
       {R"({"mod_revision":"0"})", R"({"mod_revision":"-1"})",
        R"({"mod_revision":"9223372036854775808"})", R"({"mod_revision":[]})",
        R"({"mod_revision":"7x"})", R"({"mod_revision":1.5})",
        R"({"mod_revision":18446744073709551615})",
        R"({"mod_revision":"7","value":"*"})", R"({})"}) {
    INFO(kv);
    const auto range
      = R"({"response_range":{"kvs":[)" + std::string{kv} + "]}}";
    const auto none = std::string{R"({"response_range":{}})"};
    for (const auto& two : {range + "," + none, none + "," + range})
      CHECK(
        code_of(read_entry(ok("{" + header + R"(,"responses":[)" + two + "]}")))
        == errc::etcd_unreachable);
  }
  for (const auto* rest :
       {R"("responses":5)", R"("succeeded":true,"responses":[])",
        R"("succeeded":true,"responses":[1,2])",
        R"("succeeded":true,"responses":[1,2,3])", R"("responses":[])"}) {
    INFO(rest);
    CHECK(code_of(read_campaign(ok("{" + header + "," + rest + "}")))
          == errc::etcd_unreachable);
  }
}

TEST_CASE("etcd messages: the text of an error is short and printable",
          "[runtime]") {
  const auto x = refusal_of(
    {500, R"({"error":"\u001b[2Jno\nmore)" + std::string(9'000, 'x') + "\"}"});
  REQUIRE(x);
  CHECK(x->text == "etcd: no");
}

TEST_CASE("etcd messages: the text of an unknown answer is short and "
          "printable",
          "[runtime]") {
  const auto x = read_entry({200, "\x1b[2J" + std::string(9'000, 'x')});
  REQUIRE_FALSE(x);
  CHECK(x.error().text.size() < 250);
  CHECK(x.error().text.find('\x1b') == std::string::npos);
}

} // namespace actorrun::test::messages_test
