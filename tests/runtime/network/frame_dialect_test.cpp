// The wire is the same for every CAF: what goes from it to CAF comes back as it was.

#include "runtime/network/frame_dialect.hpp"
#include "tests/runtime/network/caf_links_fixture.hpp"
#include "tests/runtime/network/frame_writer.hpp"

#include <string>
#include <vector>

using namespace actorrun;
using namespace actorrun::detail;
using namespace actorrun::detail::test;

namespace {

/// One of each kind that members of a job send.
std::vector<std::string> good_frames() {
  return {
    server_greeting('s', 7),
    client_greeting('c'),
    write_frame(
      {.operation_data = 0x9000'0000'0000'0003,
       .source = 9,
       .destination = 7,
       .content = content_of("actorrun::v1::LogChunk", std::string(300, 'x'))}),
    write_frame({.source = 7,
                 .destination = 9,
                 .content = content_of("actorrun::v1::StatusRequest")}),
    write_frame({.kind = frame_kind::monitor_message,
                 .destination = 7,
                 .content = node('c') + node('s')}),
    write_frame({.kind = frame_kind::down_message,
                 .source = 9,
                 .content = node('c') + node('s') + plain_end()}),
    write_frame({.kind = frame_kind::sign_of_life}),
  };
}

std::string joined(const std::vector<std::string>& frames) {
  auto out = std::string{};
  for (const auto& x : frames)
    out += x;
  return out;
}

struct dialect_fixture {
  side here; ///< CAF knows our types.
  frame_dialect uut;
};

} // namespace

TEST_CASE_METHOD(dialect_fixture,
                 "frame_dialect: frames of the wire come back as they were",
                 "[runtime]") {
  for (const auto& frame : good_frames()) {
    const auto ours = std::string{uut.from_wire(frame)};
    const auto back = uut.to_wire(ours);
    REQUIRE(back);
    CHECK(*back == frame);
  }
}

TEST_CASE_METHOD(dialect_fixture,
                 "frame_dialect: CAF may write its frames in pieces",
                 "[runtime]") {
  const auto whole = joined(good_frames());
  const auto ours = std::string{uut.from_wire(whole)};
  auto back = std::string{};
  for (const auto byte : ours)
    back += *uut.to_wire({&byte, 1});
  CHECK(back == whole);
}

TEST_CASE_METHOD(dialect_fixture,
                 "frame_dialect: systems have names of one kind and size",
                 "[runtime]") {
  const auto other = side{};
  const auto a = wire_name(here.system.node());
  const auto b = wire_name(other.system.node());
  CHECK(a.size() == node_name_size);
  CHECK(a.substr(0, 8) == node('x').substr(0, 8));
  CHECK(b.substr(0, 8) == a.substr(0, 8));
  CHECK(a != b);
}

#if ACTORRUN_CAF_1
TEST_CASE_METHOD(
  dialect_fixture,
  "frame_dialect: what is not for a member of the job stays here",
  "[runtime]") {
  auto routed = frame_fields{.kind = frame_kind::routed_message,
                             .source = 1,
                             .destination = 1,
                             .content = "x"};
  auto named = frame_fields{.flags = named_receiver_flag,
                            .source = 1,
                            .destination = 2,
                            .content = std::string{"\x01\x00\x07!", 4}};
  auto of_no_type = frame_fields{
    .source = 1, .destination = 2, .content = std::string{"\x01\xff\xf0\0", 4}};
  for (const auto& x : {routed, named, of_no_type}) {
    const auto out = uut.to_wire(write_frame(x));
    REQUIRE(out);
    CHECK(out->empty());
  }
}
#endif
