// Operators' sessions whose questions a test answers, and operators that send
// what they like.
#pragma once

#include "runtime/network/operator_client.hpp"
#include "runtime/network/operator_sessions.hpp"
#include "tests/runtime/network/remote_links_fixture.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace actorrun::detail::test {

inline v1::OperatorRequest status_request(uint64_t number) {
  auto out = v1::OperatorRequest{};
  out.set_number(number);
  out.mutable_status();
  return out;
}

inline v1::OperatorRequest watch_request(uint64_t number,
                                         uint32_t interval_ms = 100) {
  auto out = v1::OperatorRequest{};
  out.set_number(number);
  out.mutable_watch()->set_interval_ms(interval_ms);
  return out;
}

inline v1::OperatorReply status_reply(const std::string& phase,
                                      const std::string& job = "job") {
  auto out = v1::OperatorReply{};
  out.mutable_status()->set_job_id(job);
  out.mutable_status()->set_phase(phase);
  return out;
}

/// Also of sizes that no frame may have.
inline std::string size_header(uint32_t size) {
  return network_order(size).substr(8 - frame_header_size);
}

inline std::string frame_with(std::string content) {
  return size_header(content.size()) + content;
}

/// An operator on the other end of a connection in clear text.
struct raw_operator {
  explicit raw_operator(unique_fd fd) : connection(std::move(fd)) {}

  void send(const v1::OperatorRequest& x) { send(message_frame(x)); }
  void send(const std::string& bytes) {
    REQUIRE(send_whole(connection.get(), bytes));
  }

  /// None: the other side has closed the connection, or sends nothing.
  std::optional<v1::OperatorReply> receive(std::chrono::milliseconds wait
                                           = timeout) {
    for (;;) {
      const auto x = next_message<v1::OperatorReply>(replies);
      REQUIRE(x);
      if (*x)
        return *x;
      char buffer[4096];
      if (!is_ready(connection.get(), POLLIN, wait))
        return std::nullopt;
      const auto got = ::recv(connection.get(), buffer, sizeof buffer, 0);
      if (got <= 0)
        return std::nullopt;
      replies.add({buffer, static_cast<size_t>(got)});
    }
  }

  bool is_cut() { return is_closed(connection.get()); }

  unique_fd connection;
  frame_splitter replies{reply_size_max};
};

struct operator_fixture {
  explicit operator_fixture(operator_limits x = {}) : limits(x) {}

  ~operator_fixture() {
    run_and_wait(loop, [this] { sessions.clear(); });
  }

  unique_fd add(const std::optional<link_key>& key = {}) {
    auto pair = connected_sockets();
    run_and_wait(loop, [&] {
      sessions.add(std::move(pair.server), key, {}, {},
                   [this](const failure& x) { cuts.put(x.text); });
    });
    return std::move(pair.client);
  }

  raw_operator connect() { return raw_operator{add()}; }

  inbox<operator_question> questions;
  inbox<std::string> cuts;
  operator_limits limits;
  reactor loop;
  operator_sessions sessions{
    loop, [this](operator_question x) { questions.put(std::move(x)); }, limits};
};

} // namespace actorrun::detail::test
