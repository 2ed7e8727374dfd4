#include "runtime/succession/voter_links.hpp"

#include "messages/formatted.hpp"
#include "runtime/network/guarded_link.hpp"
#include "runtime/network/liveness.hpp"
#include "runtime/network/message_frames.hpp"
#include "runtime/os/descriptor_room.hpp"
#include "runtime/succession/voter_tombstone.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace actorrun::detail {

namespace {

/// So many links each way, of all that may vote or lead, before and after changes, and
/// of those that are gone; beyond that the one that was used the longest ago goes.
constexpr size_t links_max = 64;

/// So many more from agents that look for the coordinator, and as many handshakes. All of
/// a job may do so at once, and none of them may push out one that elects.
constexpr size_t questions_max = 4'096;
constexpr size_t questions_min = 64;

/// So many more to those that are asked.
constexpr size_t asked_max = 16;

/// So many endpoints have numbers of their own.
constexpr size_t numbered_max = 256;

/// So many messages wait for a link; an older one says less than a newer one.
constexpr size_t waiting_frames_max = 8;

/// Ends the id, before a number, of an agent that speaks to one it knows by its endpoint
/// only, where it may be known by its id, too; nothing but beats, surveys, what seeds
/// say, and the question who leads is heard from it.
constexpr std::string_view notice_suffix = "+notice";
/// Likewise, where an agent asks who leads; nothing else is heard from it. Earlier
/// versions take it for a notice.
constexpr std::string_view question_suffix = "+notice?";
/// Begins the key of a way to one that is known by its endpoint only: no id does.
constexpr std::string_view notice_prefix = "+notice to ";
constexpr std::string_view question_prefix = "+question to ";

/// Of workers that do not end in this time leases decide.
constexpr auto examination_limit = std::chrono::seconds{2};

/// What the network does not acknowledge for so long ends the link, and the next
/// message makes another one. TCP would repeat it ever later: after a cut of 3 s the
/// answers of a voter would wait for another 3 s. After a cut of less than half a second
/// TCP is back before that.
constexpr auto unacknowledged_limit = std::chrono::seconds{1};

/// Minimum interval between reports of links that were cut.
constexpr auto report_interval = std::chrono::seconds{10};

result<voter_message> read_voter_message(std::string_view content) {
  auto envelope = v1::VoterMessage{};
  if (auto ok = read_message(content, envelope); !ok)
    return ok.error();
  return from_wire(envelope);
}

/// The other end of a link that we speak on.
class listening_voter final : public link_peer {
public:
  /// @param on_answer Null: it has nothing to say.
  listening_voter(std::function<void(std::shared_ptr<link_outbox>)> on_begun,
                  std::function<void(leader_at)> on_answer)
    : on_begun_(std::move(on_begun)), on_answer_(std::move(on_answer)) {}

  void begin(const link_opening& x) override { on_begun_(x.outbox); }

  result<bool> take(std::string_view content) override {
    if (!on_answer_)
      return failure{errc::not_actorrun, "speaks on a link that it listens on"};
    auto said = read_voter_message(content);
    if (!said)
      return said.error();
    auto* answer = std::get_if<leader_at>(&*said);
    if (answer == nullptr)
      return failure{errc::not_actorrun, "answers what was not asked"};
    on_answer_(std::move(*answer));
    return true;
  }

  std::string take_answers() override { return {}; }
  void end() override {}

private:
  std::function<void(std::shared_ptr<link_outbox>)> on_begun_;
  std::function<void(leader_at)> on_answer_;
};

/// The other end of a link that we listen on.
class speaking_voter final : public link_peer {
public:
  explicit speaking_voter(
    std::function<void(voter_message, voter_reply)> on_said)
    : on_said_(std::move(on_said)) {}

  void begin(const link_opening& x) override { outbox_ = x.outbox; }

  result<bool> take(std::string_view content) override {
    auto said = read_voter_message(content);
    if (!said)
      return said.error();
    on_said_(std::move(*said), [to = outbox_](const voter_message& x) {
      if (const auto outbox = to.lock(); outbox && outbox->is_empty())
        outbox->write(message_frame(to_wire(x)));
    });
    return true;
  }

  std::string take_answers() override { return {}; }
  void end() override {}

private:
  std::function<void(voter_message, voter_reply)> on_said_;
  std::weak_ptr<link_outbox> outbox_;
};

void limit_unacknowledged(int fd) {
  const auto value
    = unsigned(std::chrono::milliseconds{unacknowledged_limit}.count());
  ::setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &value, sizeof value);
}

bool is_notice_way(const agent_id& to) {
  return std::string_view{to.value}.starts_with(notice_prefix);
}

bool is_question_way(const agent_id& to) {
  return std::string_view{to.value}.starts_with(question_prefix);
}

/// Takes this suffix, and the number after it, from an id that has one.
bool strip(std::string& id, std::string_view what) {
  const auto at = id.rfind(what);
  if (at == std::string::npos)
    return false;
  id.resize(at);
  return true;
}

bool takes_answer(const voter_message& x) {
  const auto* question = std::get_if<find_leader>(&x);
  return question != nullptr && question->takes_answer && !question->is_witness;
}

bool is_notice(const voter_message& x) {
  const auto* said = std::get_if<core::succession_message>(&x);
  return std::holds_alternative<core::host_survey>(x)
         || std::holds_alternative<find_leader>(x)
         || std::holds_alternative<core::founding_message>(x)
         || (said != nullptr && std::holds_alternative<core::beat>(*said));
}

} // namespace

result<std::unique_ptr<voter_links>>
voter_links::open(reactor& home, voter_links_config config,
                  voter_callbacks callbacks) {
  auto out = std::unique_ptr<voter_links>{
    new voter_links{home, std::move(config), std::move(callbacks)}};
  if (out->config_.host.empty())
    return out;
  if (auto ok = out->listen(); !ok)
    return ok.error();
  return out;
}

voter_links::voter_links(reactor& home, voter_links_config config,
                         voter_callbacks callbacks)
  : home_(home), config_(std::move(config)), callbacks_(std::move(callbacks)),
    cut_(home, report_interval,
         [lines = config_.lines](const rejection_report& x) {
           lines.warn(
             formatted("agent cut {} {} of voters; the last was of {}: "
                       "it {}",
                       x.count, x.count == 1 ? "link" : "links", x.last_address,
                       x.last_reason));
         }),
    question_max_(std::clamp(descriptor_shares_now().questions / 2,
                             questions_min, questions_max)) {}

voter_links::~voter_links() {
  listener_.reset();
  at_endpoint_.reset();
  run_and_wait(home_, [this] {
    *alive_ = false;
    cut_.stop();
    probes_.clear();
    out_.clear();
    in_.clear();
  });
}

// -- from the others ------------------------------------------------------------

result<void> voter_links::listen() {
  auto opened = listener::listen(
    home_, config_.where, config_.mine,
    {.on_peer
     = [this](unique_fd connection,
              const peer& who) { receive(std::move(connection), who); },
     .on_rejections =
       [this](const rejection_report& x) {
         cut_.add(x.last_address, x.last_reason);
       },
     .on_listening =
       [this](int socket, const nonce_bytes&) {
         if (config_
               .keeper) // Nothing is said before there is something to say.
           config_.keeper->keep(kept_socket::voter, socket);
       },
     .resumption_of
     = [this](
         const std::string& from) { return config_.keys->heard.find(from); }},
    {.half_open_max = question_max_});
  if (!opened)
    return opened.error();
  listener_.emplace(std::move(*opened));
  endpoint_ = voter_endpoint(config_.host, listener_->port());
  return {};
}

// An agent that wants a coordinator finds the link closed, and tries again.
result<void> voter_links::listen_at_endpoint(const socket_address& where) {
  auto opened
    = listener::listen(home_, where, config_.mine,
                       {.on_peer =
                          [this](unique_fd connection, const peer& who) {
                            if (who.intent == purpose::vote)
                              receive(std::move(connection), who);
                          },
                        .on_rejections = {},
                        .resumption_of =
                          [this](const std::string& from) {
                            return config_.keys->heard.find(from);
                          }});
  if (!opened)
    return opened.error();
  at_endpoint_.emplace(std::move(*opened));
  return {};
}

void voter_links::receive(unique_fd connection, const peer& who) {
  const auto address = formatted("{} ({})", who.id, who.address);
  if (who.intent != purpose::vote)
    return cut_.add(address, "wants a coordinator, and this is a voter's port");
  auto from = std::string{who.id};
  const auto is_question = strip(from, question_suffix);
  const auto is_noticed = strip(from, notice_suffix);
  make_room_for_one(is_question);
  const auto number = ++last_number_;
  auto& added = in_[number];
  added = {.id = who.id,
           .address = address,
           .shown = config_.keys->heard.find(who.id),
           .is_question = is_question,
           .heard = core::time_point::clock::now()};
  added.link = carry(
    home_, std::move(connection),
    {.mine = link_side::server,
     .peer = std::make_unique<speaking_voter>(
       [this, number, is_question, is_noticed,
        from = agent_id{from}](voter_message x, voter_reply reply) {
         // Earlier versions ask on links that elect: that is no reason to keep one.
         const auto counts
           = is_question || !std::holds_alternative<find_leader>(x);
         if (const auto i = in_.find(number); counts && i != in_.end())
           i->second.heard = core::time_point::clock::now();
         const auto may_say = is_question  ? takes_answer(x)
                              : is_noticed ? is_notice(x)
                                           : true;
         if (may_say)
           callbacks_.on_message(from, std::move(x), std::move(reply));
       }),
     .key = who.key,
     .trust = {config_.mine.identity},
     .on_encrypted
     = [this, number](const resumption_key& key) { return admit(number, key); },
     .on_closed
     = [this, number](const result<void>& how) { end_way_in(number, how); }});
}

void voter_links::make_room_for_one(bool is_question) {
  const auto is_alike
    = [&](const auto& x) { return x.second.is_question == is_question; };
  const auto most = is_question ? question_max_ : links_max;
  if (size_t(std::ranges::count_if(in_, is_alike)) < most)
    return;
  in_.erase(std::ranges::min_element(in_, {}, [&](const auto& x) {
    return is_alike(x) ? x.second.heard : core::time_point::max();
  }));
}

// A member that has the secret must not speak for another one. Who asks gets the answer
// itself, whoever it is.
bool voter_links::admit(uint64_t number, const resumption_key& key) {
  const auto i = in_.find(number);
  if (i == in_.end())
    return false;
  if (i->second.is_question)
    return true;
  const auto& id = i->second.id;
  if (config_.keys->heard.find(id) != i->second.shown) {
    cut_.add(i->second.address,
             "claims the id of an agent that was there before");
    return false;
  }
  std::erase_if(
    in_, [&](const auto& x) { return x.first != number && x.second.id == id; });
  config_.keys->heard.keep(id, key);
  return true;
}

void voter_links::end_way_in(uint64_t number, const result<void>& how) {
  auto ended = in_.extract(number);
  if (ended && !how)
    cut_.add(ended.mapped().address, how.error().text);
}

// -- to the others --------------------------------------------------------------

void voter_links::send(const agent_id& to, const std::string& where,
                       const voter_message& what) {
  home_.post([this, alive = alive_, to, where,
              frame = message_frame(to_wire(what))]() mutable {
    if (*alive)
      put(to, where, std::move(frame));
  });
}

void voter_links::notify(const std::string& where, const voter_message& what) {
  send({std::string{notice_prefix} + where}, where, what);
}

void voter_links::ask(const agent_id& to, const std::string& where,
                      const find_leader& what) {
  home_.post([this, alive = alive_, to, where,
              frame = message_frame(to_wire(what))]() mutable {
    if (!*alive)
      return;
    const auto key = agent_id{std::string{question_prefix} + where};
    if (!out_.contains(key))
      make_room(true);
    auto& x = out_[key];
    x.answers = to;
    x.frames.clear(); // It waits once.
    put(key, where, std::move(frame));
  });
}

void voter_links::end_questions() {
  home_.post([this, alive = alive_] {
    if (*alive)
      std::erase_if(out_,
                    [](const auto& x) { return is_question_way(x.first); });
  });
}

void voter_links::reach(const agent_id& to, const std::string& where) {
  home_.post([this, alive = alive_, to, where] {
    if (*alive)
      put(to, where, {});
  });
}

void voter_links::put(const agent_id& to, const std::string& where,
                      std::string frame) {
  if (!out_.contains(to))
    make_room(false);
  auto& x = out_[to];
  x.used = core::time_point::clock::now();
  if (x.endpoint != where) {
    x.attempt.reset();
    x.link.reset();
    x.outbox.reset();
    x.endpoint = where;
  }
  if (x.outbox)
    return x.outbox->write(frame);
  if (!frame.empty() && x.frames.size() == waiting_frames_max)
    x.frames.erase(x.frames.begin());
  if (!frame.empty())
    x.frames.push_back(std::move(frame));
  if (!x.attempt && !x.link)
    dial(to, x);
}

void voter_links::make_room(bool is_question) {
  const auto is_alike
    = [&](const auto& x) { return is_question_way(x.first) == is_question; };
  const auto most = is_question ? asked_max : links_max;
  if (size_t(std::ranges::count_if(out_, is_alike)) < most)
    return;
  out_.erase(std::ranges::min_element(out_, {}, [&](const auto& x) {
    return is_alike(x) ? x.second.used : core::time_point::max();
  }));
}

// Of each endpoint it shows another key.
std::string voter_links::id_for(const agent_id& to) const {
  const auto& self = config_.self.value;
  if (!is_notice_way(to) && !is_question_way(to))
    return self;
  auto& known = config_.keys->endpoints;
  const auto i = known.size() < numbered_max
                   ? known.try_emplace(to.value, known.size()).first
                   : known.find(to.value);
  const auto number = i == known.end() ? numbered_max : i->second;
  return formatted("{}{}{}", self,
                   is_question_way(to) ? question_suffix : notice_suffix,
                   number);
}

void voter_links::dial(const agent_id& to, way_out& x) {
  const auto there = read_endpoint(x.endpoint);
  if (!there)
    return break_way_out(to, "that is no address");
  x.attempt = connect(home_, *there,
                      {.mine = config_.mine,
                       .intent = purpose::vote,
                       .id = id_for(to),
                       .last_link = config_.keys->shown.find(to.value)},
                      config_.limit, [this, to](result<connected> y) {
                        on_connected(to, std::move(y));
                      });
}

void voter_links::on_connected(const agent_id& to, result<connected> x) {
  const auto i = out_.find(to);
  if (i == out_.end())
    return;
  // The attempt has called us.
  home_.post(
    [done = std::make_shared<reactor_handle>(std::move(i->second.attempt))] {});
  i->second.attempt = {};
  if (!x)
    return break_way_out(to, x.error().text);
  limit_unacknowledged(x->connection.get());
  i->second.key_of_job = x->key_of_job;
  i->second.seen_at = remote_address_of(x->connection.get());
  i->second.link
    = carry(home_, std::move(x->connection),
            {.mine = link_side::client,
             .peer = std::make_unique<listening_voter>(
               [this, to](std::shared_ptr<link_outbox> outbox) {
                 on_begun(to, std::move(outbox));
               },
               answer_handler(to)),
             .key = x->key,
             .trust = {config_.mine.identity, x->server_host},
             .limit = config_.limit,
             .on_encrypted =
               [this, to](const resumption_key& key) {
                 config_.keys->shown.keep(to.value, key);
                 return true;
               },
             .on_closed =
               [this, to](const result<void>& how) {
                 break_way_out(to, how ? "the other side closed the link"
                                       : how.error().text);
               }});
}

std::function<void(leader_at)>
voter_links::answer_handler(const agent_id& to) const {
  if (!is_question_way(to))
    return {};
  return [this, to](leader_at x) {
    if (const auto i = out_.find(to); i != out_.end())
      callbacks_.on_message(i->second.answers, std::move(x), {});
  };
}

void voter_links::on_begun(const agent_id& to,
                           std::shared_ptr<link_outbox> outbox) {
  auto& x = out_[to];
  x.has_failed = false;
  x.outbox = std::move(outbox);
  for (const auto& frame : std::exchange(x.frames, {}))
    x.outbox->write(frame);
  if (is_question_way(to))
    return;
  callbacks_.on_reached(to);
  // A link that lasted would be of one process. If its machine is lost, what is said
  // waits for the end of that link, and does not reach the process that comes next.
  if (is_notice_way(to))
    end_way_out(to);
}

void voter_links::break_way_out(const agent_id& to, const std::string& why) {
  const auto i = out_.find(to);
  if (i == out_.end())
    return;
  config_.lines.debug(formatted("agent does not reach voter {} at {}: {}",
                                to.value, i->second.endpoint, why));
  end_way_out(to);
}

void voter_links::end_way_out(const agent_id& to) {
  auto& x = out_[to];
  // They may have called us.
  home_.post([gone = std::make_shared<reactor_handle>(std::move(x.link))] {});
  x.link = {};
  x.outbox.reset();
  x.frames.clear();
  x.has_failed = true;
  if (!is_question_way(to))
    callbacks_.on_broken(to);
}

// -- of those that have ended ------------------------------------------------------

void voter_links::leave_behind(const core::tombstone& left) {
  if (config_.keeper)
    config_.keeper->reword(
      kept_socket::voter,
      voter_statement(config_.mine.key, config_.self, left));
}

void voter_links::examine(const agent_id& who, const std::string& where) {
  home_.post([this, alive = alive_, who, where] {
    if (!*alive)
      return;
    if (const auto i = out_.find(who); i != out_.end() && i->second.has_failed)
      probe_process(who, where);
    else
      put(who, where, {});
  });
}

void voter_links::probe_process(const agent_id& who, const std::string& where) {
  auto key = config_.mine.key;
  auto at = std::optional<socket_address>{};
  if (const auto i = out_.find(who); i != out_.end()) {
    if (i->second.seen_at && i->second.endpoint == where) {
      at = i->second.seen_at;
      key = i->second.key_of_job;
    }
  }
  if (const auto there = read_endpoint(where); !at && there)
    at = numeric_address(there->host, there->port);
  if (!at || probes_.contains(who))
    return;
  auto left = std::make_shared<std::optional<core::tombstone>>();
  auto reader = [left, key, who](std::string_view said) {
    const auto size = statement_size(said);
    if (!size || said.size() < *size)
      return std::optional<liveness>{};
    if (*size > 0)
      *left = read_voter_statement(key, who, said.substr(0, *size));
    return std::optional{*left ? liveness::gone : liveness::unknown};
  };
  probes_[who] = probe(home_, *at, statement_reader{std::move(reader)},
                       examination_limit, [this, who, left](liveness) {
                         // It has called us.
                         home_.post([done = std::make_shared<reactor_handle>(
                                       std::move(probes_[who]))] {});
                         probes_.erase(who);
                         if (*left)
                           callbacks_.on_proof(who, **left);
                       });
}

} // namespace actorrun::detail
