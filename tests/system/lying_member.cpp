// A member of a job that lies: it speaks as an agent does, through the shipped handshake and
// encryption, and says of itself what it likes. It has no workers.
//
//     lying_member PORT JOB NNODES ID claim STATE TOKEN
//     lying_member PORT JOB NNODES ID claim-and-leave STATE TOKEN
//     lying_member PORT JOB NNODES ID nothing
//
// It takes part in JOB at PORT on loopback, whose `--nnodes` is NNODES, as agent ID. The
// claim is of a generation of this node alone, whose workers are `running` or have
// `succeeded`. Tries until it gets in. Prints what it does and what it is told:
//
//     no link: TEXT              an attempt has failed, not like the one before
//     linked
//     accepted
//     rejected: TEXT
//     formed | revoked | ended   the generation, or the job
//     left
//     cut                        its last line

#include "actors/translate.hpp"
#include "messages/formatted.hpp"
#include "runtime/network/connector.hpp"
#include "runtime/network/link_messages.hpp"
#include "runtime/network/link_socket.hpp"
#include "runtime/network/message_frames.hpp"
#include "runtime/program_support.hpp"

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <poll.h>

namespace {

using namespace actorrun;
using namespace std::chrono_literals;

constexpr auto pause_between_attempts = 2ms;
constexpr auto keep_alive_interval = 50ms;

struct options {
  uint16_t port = 0;
  std::string job;
  core::job_settings settings;
  std::string id;
  bool claims = false;
  bool leaves = false;
  core::share_state state = core::share_state::running;
  generation_id token;
};

uint64_t number(std::string_view text) {
  auto out = uint64_t{0};
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

void say(const std::string& line) {
  std::puts(line.c_str());
  std::fflush(stdout);
}

/// Tries until a coordinator lets it in.
detail::connected enter(const options& x) {
  auto home = detail::reactor{};
  auto last = std::string{};
  for (;;) {
    auto promise = std::promise<result<detail::connected>>{};
    const auto attempt = detail::connect(
      home, {"127.0.0.1", x.port},
      {detail::credentials_of({x.job}, ""), detail::purpose::join, x.id}, 1s,
      [&](result<detail::connected> y) { promise.set_value(std::move(y)); });
    auto got = promise.get_future().get();
    if (got)
      return std::move(*got);
    if (std::exchange(last, got.error().text) != got.error().text)
      say("no link: " + last);
    std::this_thread::sleep_for(pause_between_attempts);
  }
}

class member {
public:
  member(options x, detail::connected link)
    : options_(std::move(x)),
      socket_(std::move(link.connection), detail::link_side::client, link.key,
              detail::tls_trust{}) {}

  /// @returns when the other side has ended the link
  void run() {
    auto goes_on = socket_.flush();
    while (goes_on)
      goes_on = exchange();
    say("cut");
  }

private:
  /// @returns false when the other side has ended the link
  bool exchange() {
    const auto events
      = static_cast<short>(POLLIN | (socket_.unsent() > 0 ? POLLOUT : 0));
    auto entry = pollfd{socket_.fd(), events, 0};
    ::poll(&entry, 1, static_cast<int>(keep_alive_interval.count()));
    auto plain = std::string{};
    const auto got = socket_.receive(plain);
    if (!got || *got == detail::link_socket::progress::ended)
      return false;
    frames_.add(plain);
    for (;;) {
      auto x = detail::next_message<v1::ToAgent>(frames_);
      if (!x)
        return false;
      if (!*x)
        break;
      detail::open_envelope(**x, [this](const auto& y) { on(y); });
    }
    keep_alive();
    return socket_.flush();
  }

  template <class T>
  void on(const T&) {}

  void on(const v1::Welcome&) {
    say("linked");
    join();
  }

  void on(const v1::JoinAccepted&) {
    is_accepted_ = true;
    say("accepted");
    if (options_.leaves)
      leave();
  }

  void on(const v1::JoinRejected& x) { say("rejected: " + x.text()); }
  void on(const v1::GenerationFormed&) { say("formed"); }
  void on(const v1::GenerationRevoked&) { say("revoked"); }
  void on(const v1::JobEnded&) { say("ended"); }

  void join() {
    auto own = core::offer{};
    own.agent = {options_.id};
    own.host = "another-host";
    own.address = "127.0.0.1";
    own.master_port = 29'500;
    auto request = v1::JoinRequest{};
    *request.mutable_offer() = to_wire(own);
    *request.mutable_settings() = to_wire(options_.settings);
    if (options_.claims)
      *request.mutable_claim() = to_wire(claim());
    send(request);
  }

  core::claim claim() const {
    auto out = core::claim{};
    out.plan
      = {.generation = options_.token,
         .own = {.agent = {options_.id}, .slot_count = 1, .role_world_size = 1},
         .node_count = 1,
         .world_size = 1,
         .master_address = "127.0.0.1",
         .master_port = 29'500};
    out.state = options_.state;
    return out;
  }

  void leave() {
    auto notice = v1::LeaveNotice{};
    notice.set_agent_id(options_.id);
    notice.set_done(true);
    send(notice);
    say("left");
  }

  void keep_alive() {
    const auto now = std::chrono::steady_clock::now();
    if (!is_accepted_ || now < next_keep_alive_)
      return;
    next_keep_alive_ = now + keep_alive_interval;
    auto notice = v1::KeepAlive{};
    notice.set_agent_id(options_.id);
    notice.set_sent_ns(
      std::chrono::nanoseconds{now.time_since_epoch()}.count());
    send(notice);
  }

  template <class T>
  void send(T x) {
    const auto envelope
      = detail::envelope_with<v1::ToCoordinator>(std::move(x));
    if (!socket_.send(detail::message_frame(envelope)))
      say("nothing can be sent");
  }

  options options_;
  detail::link_socket socket_;
  detail::frame_splitter frames_{detail::message_frame_max};
  bool is_accepted_ = false;
  std::chrono::steady_clock::time_point next_keep_alive_{};
};

bool read(int argc, char** argv, options& out) {
  if (argc != 6 && argc != 8)
    return false;
  out.port = static_cast<uint16_t>(number(argv[1]));
  out.job = argv[2];
  const auto nodes = std::string_view{argv[3]};
  const auto colon = nodes.find(':');
  out.settings.agent_count_min
    = static_cast<uint32_t>(number(nodes.substr(0, colon)));
  out.settings.agent_count_max
    = static_cast<uint32_t>(number(nodes.substr(colon + 1)));
  out.id = argv[4];
  const auto what = std::string_view{argv[5]};
  out.leaves = what == "claim-and-leave";
  out.claims = out.leaves || what == "claim";
  if (out.claims != (argc == 8) || (!out.claims && what != "nothing"))
    return false;
  if (out.claims) {
    const auto state = std::string_view{argv[6]};
    if (state != "running" && state != "succeeded")
      return false;
    out.state = state == "running" ? core::share_state::running
                                   : core::share_state::succeeded;
    out.token = {number(argv[7])};
  }
  return true;
}

} // namespace

int main(int argc, char** argv) {
  auto x = options{};
  if (!read(argc, argv, x)) {
    std::fprintf(stderr, "usage: lying_member PORT JOB MIN:MAX ID"
                         " claim|claim-and-leave running|succeeded TOKEN\n"
                         "       lying_member PORT JOB MIN:MAX ID nothing\n");
    return 2;
  }
  prepare_descriptors(0);
  auto link = enter(x);
  member{std::move(x), std::move(link)}.run();
  return EXIT_SUCCESS;
}
