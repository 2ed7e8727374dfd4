#include "runtime/succession/signpost.hpp"

#include "messages/formatted.hpp"
#include "runtime/network/guarded_link.hpp"
#include "runtime/os/descriptor_room.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace actorrun::detail {

namespace {

/// Minimum interval between reports of links that were cut.
constexpr auto signpost_report_interval = std::chrono::seconds{10};

/// So many agents at a time; beyond that, the one that came first has to come again.
constexpr size_t link_count_max = 64;

/// Says one thing, and ends the link.
class pointing_hand final : public link_peer {
public:
  explicit pointing_hand(v1::Welcome what) : what_(std::move(what)) {}

  void begin(const link_opening& x) override {
    auto to = link_writer<v1::ToAgent>{x.outbox};
    to.write(std::move(what_));
    to.end();
  }

  result<bool> take(std::string_view) override { return false; }
  std::string take_answers() override { return {}; }
  void end() override {}

private:
  v1::Welcome what_;
};

} // namespace

result<std::unique_ptr<signpost>> signpost::open(reactor& home,
                                                 signpost_config config) {
  auto out = std::unique_ptr<signpost>{new signpost{home, std::move(config)}};
  if (auto ok = out->listen(); !ok)
    return ok.error();
  return out;
}

signpost::signpost(reactor& home, signpost_config config)
  : home_(home), config_(std::move(config)),
    cut_(home, signpost_report_interval,
         [lines = config_.lines](const rejection_report& x) {
           lines.warn(formatted(
             "agent cut {} {} where nodes look for the coordinator; the last "
             "was of {}: it {}",
             x.count, x.count == 1 ? "link" : "links", x.last_address,
             x.last_reason));
         }),
    operators_(home, config_.ask,
               {.session_count = std::min(operator_count_max,
                                          descriptor_shares_now().viewers)}) {}

signpost::~signpost() {
  listener_.reset();
  run_and_wait(home_, [this] {
    cut_.stop();
    links_.clear();
    operators_.clear();
  });
}

result<void> signpost::listen() {
  auto opened
    = listener::listen(home_, config_.where, config_.mine,
                       {.on_peer =
                          [this](unique_fd connection, const peer& who) {
                            receive(std::move(connection), who);
                          },
                        .on_rejections =
                          [this](const rejection_report& x) {
                            cut_.add(x.last_address, x.last_reason);
                          }});
  if (!opened)
    return opened.error();
  listener_.emplace(std::move(*opened));
  return {};
}

// A key that comes from the job's id alone proves nothing of an operator.
void signpost::receive(unique_fd connection, const peer& who) {
  switch (who.intent) {
    case purpose::join:
      return point(std::move(connection), who);
    case purpose::vote:
      return config_.pass_voter(std::move(connection), who);
    case purpose::operate:
      break;
  }
  const auto address = formatted("{} at {}", who.id, who.address);
  operators_.add(
    std::move(connection), who.key, {config_.mine.identity},
    {address, config_.mine.is_guarded()},
    [this, address](const failure& why) { cut_.add(address, why.text); });
}

void signpost::point(unique_fd connection, const peer& who) {
  const auto place = config_.place();
  if (!place)
    return; // It comes again.
  auto what = v1::Welcome{};
  what.set_version(who.version);
  what.set_elsewhere(*place);
  if (links_.size() == link_count_max)
    links_.erase(links_.begin());
  const auto number = ++last_link_;
  links_[number] = carry(
    home_, std::move(connection),
    {.mine = link_side::server,
     .peer = std::make_unique<pointing_hand>(std::move(what)),
     .key = who.key,
     .trust = {config_.mine.identity},
     .on_closed = [this, number](const result<void>&) {
       // It has called us.
       if (auto gone = links_.extract(number))
         home_.post(
           [x = std::make_shared<reactor_handle>(std::move(gone.mapped()))] {});
     }});
}

} // namespace actorrun::detail
