#include "runtime/network/operator_relay.hpp"

#include "actors/operator_questions.hpp"
#include "actors/steering.hpp"
#include "runtime/network/guarded_link.hpp"

#include <utility>

namespace actorrun::detail {

namespace {

/// More than one operator can have open: its session takes no more.
constexpr auto relayed_question_count_max
  = open_question_count_max + open_stream_count_max;

void lose(const std::function<void(v1::OperatorReply)>& reply) {
  reply(refusal_of(errc::connection_timed_out,
                   "the coordinator has ended or moved before it has answered:"
                   " look with actorctl status, and ask again"));
}

} // namespace

/// The coordinator, at the other end of a line.
class operator_relay::answers final : public link_peer {
public:
  answers(operator_relay& to, uint64_t session) : to_(to), session_(session) {}

  void begin(const link_opening& x) override {
    to_.on_begun(session_, x.outbox);
  }

  result<bool> take(std::string_view content) override {
    auto x = v1::OperatorReply{};
    if (auto ok = read_message(content, x); !ok)
      return ok.error();
    to_.on_reply(session_, std::move(x));
    return false;
  }

  std::string take_answers() override { return {}; }
  void end() override {}

private:
  operator_relay& to_;
  uint64_t session_;
};

operator_relay::operator_relay(reactor& home, operator_relay_config config)
  : home_(home), config_(std::move(config)) {}

operator_relay::~operator_relay() {
  run_and_wait(home_, [this] { lines_.clear(); });
}

bool operator_relay::is_for_coordinator(const v1::OperatorRequest& x) {
  return is_steering(x) || x.has_explain() || x.has_logs() || x.has_stacks()
         || x.has_journal();
}

void operator_relay::take(operator_question x) {
  if (x.what.has_log_credit())
    return add_credit(x);
  const auto session = x.session;
  if (const auto i = lines_.find(session);
      i != lines_.end()
      && i->second.asked.size() + i->second.waiting.size()
           < relayed_question_count_max) {
    if (!i->second.outbox)
      i->second.waiting.push_back(std::move(x));
    else
      ask(i->second, x);
    return;
  }
  const auto where = config_.where();
  if (!where || lines_.contains(session))
    return config_.otherwise(std::move(x));
  auto& added = lines_[session];
  const auto by = x.by;
  added.waiting.push_back(std::move(x));
  dial(session, added, *where, by);
}

// It is not for a reading that has not begun; and the operator that ends one that waits
// is answered by nothing.
void operator_relay::add_credit(const operator_question& x) {
  const auto i = lines_.find(x.session);
  if (i == lines_.end())
    return;
  auto& to = i->second;
  const auto number = x.what.log_credit().number();
  const auto is_end = x.what.log_credit().size() == 0;
  if (to.asked.contains(number))
    to.outbox->write(message_frame(x.what));
  if (!is_end)
    return;
  to.asked.erase(number);
  std::erase_if(to.waiting,
                [&](const auto& y) { return y.what.number() == number; });
  if (to.asked.empty() && to.waiting.empty())
    end(x.session);
}

void operator_relay::dial(uint64_t session, line& x, const endpoint& where,
                          const std::string& by) {
  x.attempt = connect(home_, where,
                      {config_.mine, purpose::operate, peer_id_of(by), {}, {}},
                      config_.limit, [this, session](result<connected> y) {
                        on_connected(session, std::move(y));
                      });
}

void operator_relay::on_connected(uint64_t session, result<connected> x) {
  const auto i = lines_.find(session);
  if (i == lines_.end())
    return;
  // The attempt has called us.
  home_.post(
    [done = std::make_shared<reactor_handle>(std::move(i->second.attempt))] {});
  i->second.attempt = {};
  if (!x)
    return end(session);
  i->second.link = carry(
    home_, std::move(x->connection),
    {.mine = link_side::client,
     .peer = std::make_unique<answers>(*this, session),
     .key = x->key,
     .trust = {config_.mine.identity, x->server_host},
     .on_closed = [this, session](const result<void>&) { end(session); }});
}

void operator_relay::on_begun(uint64_t session,
                              std::shared_ptr<link_outbox> outbox) {
  const auto i = lines_.find(session);
  if (i == lines_.end())
    return; // It is being closed.
  auto& x = i->second;
  x.outbox = std::move(outbox);
  for (const auto& question : std::exchange(x.waiting, {}))
    ask(x, question);
}

void operator_relay::ask(line& to, const operator_question& x) {
  to.asked[x.what.number()] = x.reply;
  to.outbox->write(message_frame(x.what));
}

// Numbers are the operator's own.
void operator_relay::on_reply(uint64_t session, v1::OperatorReply x) {
  const auto to = lines_.find(session);
  if (to == lines_.end())
    return;
  auto& asked = to->second.asked;
  const auto i = asked.find(x.number());
  if (i == asked.end())
    return;
  const auto reply = i->second;
  if (!x.has_logs() || x.logs().is_end())
    asked.erase(i);
  if (asked.empty() && to->second.waiting.empty())
    end(session);
  reply(std::move(x));
}

// What waits has not been asked. Its link, or its attempt, may have called us.
void operator_relay::end(uint64_t session) {
  auto ended = lines_.extract(session);
  if (!ended)
    return;
  auto& x = ended.mapped();
  for (auto& question : x.waiting)
    config_.otherwise(std::move(question));
  for (const auto& [_, reply] : x.asked)
    lose(reply);
  home_.post(
    [gone = std::make_shared<std::pair<reactor_handle, reactor_handle>>(
       std::move(x.attempt), std::move(x.link))] {});
}

std::string peer_id_of(const std::string& by) {
  auto out = by.substr(0, peer_id_size_max);
  for (auto& c : out)
    if (c <= ' ' || c >= '\x7f')
      c = '-';
  return out.empty() ? "operator" : out;
}

} // namespace actorrun::detail
