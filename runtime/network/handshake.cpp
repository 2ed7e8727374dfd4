#include "runtime/network/handshake.hpp"

#include "messages/formatted.hpp"
#include "messages/version.hpp"
#include "runtime/network/tombstone.hpp"
#include "runtime/os/socket.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <utility>

#include <sys/socket.h>

namespace actorrun::detail {

namespace {

// Two labels, so that a proof cannot be reflected to the side that made it.
constexpr std::string_view client_label = "actorrun client proof v1:";
constexpr std::string_view server_label = "actorrun server proof v1:";
constexpr std::string_view resumption_label = "actorrun resumption v1:";
constexpr std::string_view link_label = "actorrun link key v1:";
constexpr std::string_view sealed_label = "actorrun sealed key v1:";

proof_bytes client_proof(const job_key& key, std::string_view hellos) {
  return prove(key, client_label, std::array{hellos});
}

/// That the client had the link with this key.
proof_bytes resumption(const resumption_key& last_key,
                       std::string_view hellos) {
  return prove(last_key, resumption_label, std::array{hellos});
}

/// @param proof The client's whole frame.
proof_bytes server_proof(const job_key& key, std::string_view hellos,
                         std::string_view proof,
                         const nonce_bytes& incarnation) {
  return prove(key, server_label, std::array{hellos, proof, view(incarnation)});
}

/// What munge seals: the job's key, for the client with this hello only. Another
/// program of the user might have a text sealed that others know.
std::string sealed_text(const job_key& key, std::string_view hellos) {
  const auto bound = prove(key, sealed_label, std::array{hellos});
  return std::string{sealed_label} + std::string{view(key)}
         + std::string{view(bound)};
}

/// None if it is of something else.
std::optional<job_key> key_in(std::string_view text, std::string_view hellos) {
  auto key = job_key{};
  if (text.size() != sealed_label.size() + key_size + proof_size)
    return std::nullopt;
  std::copy_n(text.begin() + sealed_label.size(), key_size, key.begin());
  return text == sealed_text(key, hellos) ? std::optional{key} : std::nullopt;
}

std::string versions(uint16_t theirs) {
  return formatted("speaks protocol version {}, this program speaks version "
                   "{}; run the same actorrun everywhere",
                   theirs, protocol_version);
}

} // namespace

std::string handshake::feed(std::string_view input) {
  assert(input.size() <= wanted());
  silent_ = silent_ && input.empty();
  frame_ += input;
  auto out = on_part(frame_);
  if (!pending() || frame_.size() < size_)
    return out;
  return on_frame(std::exchange(frame_, {}));
}

std::string handshake::take_from_munge(const result<std::string>& done) {
  assert(pending() && task_);
  task_.reset();
  return on_munge(done);
}

link_key handshake::key() const {
  return prove(mine_.key, link_label, std::array{std::string_view{hellos_}});
}

void handshake::refuse(errc code, std::string text) {
  state_ = handshake_state::refused;
  why_ = {code, std::move(text)};
}

// -- server -------------------------------------------------------------------

server_handshake::server_handshake(const credentials& mine,
                                   const nonce_bytes& nonce, trust how,
                                   const nonce_bytes& incarnation,
                                   resumption_finder resumption_of)
  : handshake(mine, client_hello_size), nonce_(nonce),
    incarnation_(incarnation), how_(how),
    resumption_of_(std::move(resumption_of)) {
  assert(!mine.demands_munge || (!mine.has_secret && !mine.identity));
}

std::string server_handshake::on_part(std::string_view part) {
  if (hello_)
    return {};
  if (!begins_like_ours(part)) {
    refuse(errc::not_actorrun, "does not speak actorrun's protocol");
    return std::string{begins_like_etcd(part) ? not_etcd : ""};
  }
  const auto theirs = version_in(part);
  if (!theirs || *theirs >= protocol_version_min)
    return {};
  // Answered before the rest, which may have another size in that version. A later one
  // has the same size.
  refuse(errc::protocol_mismatch, versions(*theirs));
  return answer(verdict::version_differs);
}

std::string server_handshake::on_frame(std::string_view frame) {
  return hello_ ? on_proof(frame) : on_hello(frame);
}

std::string server_handshake::on_hello(std::string_view frame) {
  auto hello = decode_client_hello(frame);
  if (!hello) {
    refuse(errc::not_actorrun, "sends a malformed hello");
    return {};
  }
  version_ = std::min(hello->version, protocol_version);
  if (!is_our_job(hello->fingerprint)) {
    refuse(errc::job_mismatch,
           hello->peer_id == successor_id
             ? "asked for a new coordinator whether this port is still used"
             : formatted("wants another job ({})", hello->peer_id));
    return answer(verdict::job_differs);
  }
  if (how_ == trust::none) {
    refuse(errc::user_mismatch, "is another user's process");
    return answer(verdict::user_differs);
  }
  const auto is_known = how_ == trust::system;
  if (!is_known)
    if (const auto why_not = refuse_munge(*hello))
      return answer(*why_not);
  hello_ = std::move(hello);
  const auto has_munge = !is_known && mine_.demands_munge;
  const auto out = answer(has_munge ? verdict::munge : verdict::ok);
  hellos_ = std::string{frame} + out;
  expect(client_proof_size);
  if (is_known)
    accept();
  else if (has_munge)
    have_munge(munge_task::kind::seal, sealed_text(mine_.key, hellos_));
  return out;
}

/// @returns the verdict if one side demands munge and the other has none
std::optional<verdict>
server_handshake::refuse_munge(const client_hello& hello) {
  const auto refuse_as = [&](verdict status, std::string_view text) {
    refuse(errc::secret_mismatch, formatted("{} ({})", text, hello.peer_id));
    return std::optional{status};
  };
  if (mine_.demands_munge && !hello.has_munge)
    return refuse_as(verdict::munge_missing,
                     hello.has_secret ? "has a secret, and this job has none"
                     : hello.has_certificates
                       ? "has a certificate, and this job has none"
                       : "does not use munge, which this job demands");
  if (mine_.demands_munge || !hello.demands_munge)
    return std::nullopt;
  if (mine_.has_secret)
    return refuse_as(verdict::secret_missing, "has no secret");
  if (mine_.identity)
    return refuse_as(verdict::certificate_missing, "has no certificate");
  return refuse_as(verdict::munge_unwanted,
                   "demands munge, which this job does not use");
}

std::string server_handshake::on_munge(const result<std::string>& done) {
  if (done && done->size() <= credential_size_max)
    return encode_credential(*done);
  refuse(errc::connection_failed,
         formatted("was not let in: {} ({})",
                   done ? "munge's credential is too long" : done.error().text,
                   hello_->peer_id));
  return encode_credential({});
}

std::string server_handshake::on_proof(std::string_view frame) {
  if (!same_proof(client_proof(mine_.key, hellos_),
                  frame.substr(0, proof_size)))
    return mine_.demands_munge ? refuse_user() : refuse_secret();
  if (hello_->has_certificates != (mine_.identity != nullptr))
    return refuse_certificates();
  if (is_claimed(frame.substr(proof_size))) {
    refuse(errc::connection_failed,
           formatted("claims the id of an agent that is connected ({})",
                     hello_->peer_id));
    return encode(server_verdict{verdict::claimed, {}, {}});
  }
  accept();
  return encode(
    server_verdict{verdict::ok, incarnation_,
                   server_proof(mine_.key, hellos_, frame, incarnation_)});
}

std::string server_handshake::refuse_secret() {
  const auto refuse_as = [&](verdict status, std::string_view text) {
    refuse(errc::secret_mismatch, formatted("{} ({})", text, hello_->peer_id));
    return encode(server_verdict{status, {}, {}});
  };
  if (!hello_->has_secret)
    return refuse_as(verdict::secret_missing, "has no secret");
  if (!mine_.has_secret)
    return refuse_as(verdict::secret_unwanted,
                     "has a secret, and this job has none");
  return refuse_as(verdict::secret_differs, "has another secret");
}

std::string server_handshake::refuse_user() {
  refuse(errc::user_mismatch,
         formatted("cannot open what munge has sealed for this job's user ({})",
                   hello_->peer_id));
  return encode(server_verdict{verdict::user_differs, {}, {}});
}

std::string server_handshake::refuse_certificates() {
  const auto is_missing = !hello_->has_certificates;
  refuse(errc::certificate_mismatch,
         formatted("{} ({})",
                   is_missing ? "has no certificate"
                              : "has a certificate, and this job has none",
                   hello_->peer_id));
  return encode(server_verdict{is_missing ? verdict::certificate_missing
                                          : verdict::certificate_unwanted,
                               {},
                               {}});
}

// Only the agent itself can know that key.
bool server_handshake::is_claimed(std::string_view resumed) const {
  if (!resumption_of_ || hello_->intent == purpose::operate)
    return false;
  const auto last_key = resumption_of_(hello_->peer_id);
  return last_key && !same_proof(resumption(*last_key, hellos_), resumed);
}

std::string server_handshake::answer(verdict status) {
  return encode(server_hello{version_, status, nonce_});
}

bool server_handshake::is_our_job(const job_fingerprint& theirs) const {
  const auto any_job = how_ == trust::system && theirs == job_fingerprint{};
  return any_job || theirs == mine_.fingerprint;
}

// -- client -------------------------------------------------------------------

client_handshake::client_handshake(const credentials& mine, purpose intent,
                                   const std::string& peer_id,
                                   const nonce_bytes& nonce, trust how,
                                   std::optional<resumption_key> last)
  : handshake(mine, server_hello_size), how_(how), last_(last),
    opening_(
      encode(client_hello{protocol_version, intent, mine.fingerprint, nonce,
                          peer_id, mine.has_secret, mine.identity != nullptr,
                          mine.munge != nullptr, mine.demands_munge})) {}

std::string client_handshake::on_part(std::string_view part) {
  if (stage_ == stage::hello && !begins_like_ours(part))
    refuse(errc::not_actorrun, "is in use by something that is not actorrun; "
                               "choose another port");
  return {};
}

std::string client_handshake::on_frame(std::string_view frame) {
  switch (stage_) {
    case stage::hello:
      return on_hello(frame);
    case stage::credential_head:
      return on_credential_head(frame);
    case stage::credential:
      return on_credential(frame);
    case stage::verdict:
      return on_verdict(frame);
    case stage::tombstone:
      return on_tombstone(frame);
  }
  return {};
}

std::string client_handshake::on_hello(std::string_view frame) {
  const auto hello = decode_server_hello(frame);
  if (!hello) {
    refuse(errc::not_actorrun, "sends an answer that is not actorrun's; "
                               "choose another port");
  } else if (hello->version < protocol_version_min
             || hello->version > protocol_version) {
    refuse(errc::protocol_mismatch, versions(hello->version));
  } else {
    version_ = hello->version;
    hellos_ = opening_ + std::string{frame};
    return go_on_after_hello(hello->status);
  }
  return {};
}

std::string client_handshake::go_on_after_hello(verdict x) {
  const auto is_known = how_ == trust::system;
  if (x == verdict::gone) {
    stage_ = stage::tombstone;
    expect(tombstone_size);
  } else if (x == verdict::ok && is_known) {
    accept();
  } else if (x == verdict::ok && mine_.demands_munge) {
    refuse_by(verdict::munge_unwanted);
  } else if (x == verdict::ok) {
    return give_proof();
  } else if (x == verdict::munge && !is_known && mine_.munge) {
    stage_ = stage::credential_head;
    expect(credential_head_size);
  } else if (x == verdict::munge && !is_known) {
    refuse_without_munge();
  } else {
    refuse_in_hello(x);
  }
  return {};
}

void client_handshake::refuse_in_hello(verdict x) {
  switch (x) {
    case verdict::job_differs:
      refuse(errc::job_mismatch,
             "serves another job; give all agents the same --rdzv-id");
      break;
    case verdict::busy:
      refuse(errc::connection_failed,
             "has no room for more connections now; try again");
      break;
    case verdict::user_differs:
      refuse(errc::user_mismatch,
             "belongs to another user of this host; choose another port");
      break;
    case verdict::secret_missing:
    case verdict::certificate_missing:
    case verdict::munge_unwanted:
      refuse_by(x);
      break;
    case verdict::munge_missing:
      refuse_without_munge();
      break;
    default:
      refuse(errc::not_actorrun, "answers out of order");
  }
}

void client_handshake::refuse_without_munge() {
  if (mine_.has_secret)
    refuse_by(verdict::secret_unwanted);
  else if (mine_.identity)
    refuse_by(verdict::certificate_unwanted);
  else
    refuse(errc::secret_mismatch,
           "demands that munge shows whose process this is, and this program"
           " has --munge=off; give all agents the same --munge");
}

std::string client_handshake::on_credential_head(std::string_view frame) {
  const auto size = decode_credential_size(frame);
  if (size > credential_size_max) {
    refuse(errc::not_actorrun, "sends a malformed credential");
  } else if (size == 0) {
    refuse(errc::connection_failed, "demands munge, which does not answer on"
                                    " its host; see that munged runs there");
  } else {
    stage_ = stage::credential;
    expect(size);
  }
  return {};
}

std::string client_handshake::on_credential(std::string_view frame) {
  have_munge(munge_task::kind::open, frame);
  return {};
}

std::string client_handshake::on_munge(const result<std::string>& done) {
  if (const auto key = done ? key_in(*done, hellos_) : std::nullopt) {
    mine_.key = *key;
    return give_proof();
  }
  if (done)
    refuse(errc::secret_mismatch,
           "sends a credential that was not made for this connection; another"
           " program may listen there");
  else if (done.error().code == errc::user_mismatch)
    refuse(errc::user_mismatch, "belongs to another user, as munge says; run"
                                " this program as that user");
  else
    refuse(done.error().code,
           formatted("demands munge, and here {}", done.error().text));
  // So that it can say who was refused.
  return std::string(client_proof_size, '\0');
}

std::string client_handshake::give_proof() {
  proof_ = view(client_proof(mine_.key, hellos_));
  proof_ += view(last_ ? resumption(*last_, hellos_) : proof_bytes{});
  stage_ = stage::verdict;
  expect(server_verdict_size);
  return proof_;
}

std::string client_handshake::on_verdict(std::string_view frame) {
  const auto last = decode_server_verdict(frame);
  if (!last)
    refuse(errc::not_actorrun, "sends a malformed verdict");
  else if (refuse_by(last->status))
    return {};
  else if (!same_proof(
             server_proof(mine_.key, hellos_, proof_, last->incarnation),
             view(last->proof)))
    refuse(errc::secret_mismatch,
           "cannot prove that it holds the secret; another program may "
           "listen there");
  else {
    incarnation_ = last->incarnation;
    accept();
  }
  return {};
}

bool client_handshake::refuse_by(verdict x) {
  switch (x) {
    case verdict::ok:
      return false;
    case verdict::secret_differs:
      refuse(errc::secret_mismatch,
             "has another secret; give all agents the same one");
      break;
    case verdict::secret_missing:
      refuse(errc::secret_mismatch,
             "has a secret, and this program has none; give it the same one "
             "(--secret-file, ACTORRUN_SECRET, or actorctl secret create on a "
             "shared home)");
      break;
    case verdict::secret_unwanted:
      refuse(errc::secret_mismatch,
             "has no secret, and this program has one; start all agents with "
             "the same one, or all without");
      break;
    case verdict::certificate_missing:
      refuse(errc::certificate_mismatch,
             "has a certificate, and this program has none; start all agents "
             "with --tls-cert, --tls-key and --tls-ca");
      break;
    case verdict::certificate_unwanted:
      refuse(errc::certificate_mismatch,
             "has no certificate, and this program has one; start all agents "
             "with --tls-cert, --tls-key and --tls-ca, or none");
      break;
    case verdict::munge_unwanted:
      refuse(errc::secret_mismatch,
             "does not use munge, and this program demands it; see that munged"
             " runs on its host, and give all agents the same --munge");
      break;
    case verdict::user_differs:
      refuse(errc::user_mismatch, "belongs to another user");
      break;
    case verdict::claimed:
      refuse(errc::connection_failed,
             "has another agent with this one's id; try again");
      break;
    default:
      refuse(errc::not_actorrun, "sends a malformed verdict");
  }
  return true;
}

std::string client_handshake::on_tombstone(std::string_view frame) {
  const auto last = decode_tombstone(frame);
  if (!is_genuine(mine_.key, last)) {
    has_strange_tombstone_ = true;
    refuse(errc::connection_failed,
           "is held for a moment by a job that has ended, or by one with "
           "another id or secret; try again");
    return {};
  }
  tombstone_ = last;
  refuse(errc::coordinator_gone, "was the coordinator and has ended");
  return {};
}

std::string busy_answer() {
  return encode(server_hello{protocol_version, verdict::busy, {}});
}

exchange_state exchange(int fd, handshake& side) {
  auto buffer = std::array<char, client_hello_size>{};
  while (side.wanted() > 0) {
    const auto room = std::min(side.wanted(), buffer.size());
    const auto got = ::recv(fd, buffer.data(), room, 0);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0 && errno == EAGAIN)
      return exchange_state::waiting;
    if (got <= 0)
      return exchange_state::closed;
    const auto answer = side.feed({buffer.data(), static_cast<size_t>(got)});
    // A refusal counts whether the peer receives it or not.
    if (!send_whole(fd, answer) && side.state() != handshake_state::refused)
      return exchange_state::closed;
  }
  return side.task() ? exchange_state::munge : exchange_state::settled;
}

} // namespace actorrun::detail
