#include "runtime/launcher/service_report.hpp"

#include "actors/core/failure.hpp"
#include "actors/core/text.hpp"
#include "messages/caf.hpp"
#include "messages/formatted.hpp"
#include "runtime/http/status_source.hpp"
#include "runtime/os/service_socket.hpp"

#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>

#include <optional>
#include <utility>

namespace actorrun::detail {

namespace {

/// Signs of life per period of the watchdog: one may come late.
constexpr auto signs_per_period = 3;

/// The shortest time between two signs of life.
constexpr auto sign_interval_min = std::chrono::milliseconds{10};

/// A manager that does not take a message gets it again after this time, so often.
constexpr auto retry_interval = std::chrono::milliseconds{100};
constexpr auto retry_count_max = 100;

/// In bytes.
constexpr size_t status_size_max = 300;

v1::OperatorRequest status_request() {
  auto out = v1::OperatorRequest{};
  out.mutable_status();
  return out;
}

std::string text_of(const generation_begun& x) {
  const auto first = x.plan.own.first_global_rank;
  const auto count = x.plan.own.slot_count;
  const auto ranks = count == 1
                       ? formatted("rank {}", first)
                       : formatted("ranks {}-{}", first, first + count - 1);
  return formatted("generation {}: {} of {}", x.number(), ranks,
                   x.plan.world_size);
}

} // namespace

/// What is to be sent is kept as facts, not as a queue: a manager that does not
/// read costs no memory, and gets the newest state when it does.
class service_link final : public reactor_part,
                           public std::enable_shared_from_this<service_link> {
public:
  service_link(reactor& home, service_socket socket, core::duration watchdog,
               std::chrono::milliseconds stop_limit, log lines)
    : home_(home), socket_(std::move(socket)), watchdog_(watchdog),
      stop_limit_(stop_limit), lines_(std::move(lines)) {}

  void start() override {}

  void stop() override {
    send(); // The last chance.
    is_stopped_ = true;
    home_.cancel(std::exchange(retry_, 0));
    home_.cancel(std::exchange(next_sign_, 0));
    alive_.reset();
  }

  // -- from any thread --------------------------------------------------------

  void ready(std::string first, std::function<void(operator_question)> ask) {
    on_loop([first = std::move(first), ask = std::move(ask)](service_link& x) {
      x.says_ready_ = true;
      if (!x.has_status_)
        x.set_status(first);
      x.send();
      if (x.watchdog_ == core::duration::zero())
        return;
      x.alive_
        = std::make_unique<status_source>(x.home_, ask, status_request());
      x.give_sign();
    });
  }

  void show(std::string text) {
    on_loop([text = std::move(text)](service_link& x) {
      x.set_status(text);
      x.send();
    });
  }

  void stopping(std::string why) {
    on_loop([why = std::move(why)](service_link& x) {
      if (std::exchange(x.was_stopping_, true))
        return;
      x.says_stopping_ = true;
      if (!why.empty())
        x.set_status(why);
      x.send();
    });
  }

private:
  template <class Function>
  void on_loop(Function fn) {
    home_.post([self = shared_from_this(), fn = std::move(fn)] {
      if (!self->is_stopped_)
        fn(*self);
    });
  }

  void set_status(const std::string& text) {
    status_ = core::one_line(text, status_size_max);
    has_status_ = true;
  }

  // The agent is asked each time: that this thread runs says little.
  void give_sign() {
    const auto interval = std::max<core::duration>(watchdog_ / signs_per_period,
                                                   sign_interval_min);
    next_sign_ = home_.after(interval, [this] { give_sign(); });
    alive_->get(core::duration::zero(), [this](const status_answer& x) {
      if (x.is_alive)
        socket_.send("WATCHDOG=1\n"); // The next one makes up for a lost one.
    });
  }

  std::string message() const {
    auto out = std::string{};
    if (says_ready_)
      out += "READY=1\n";
    if (says_stopping_)
      out += formatted("STOPPING=1\nEXTEND_TIMEOUT_USEC={}\n",
                       std::chrono::microseconds{stop_limit_}.count());
    if (status_)
      out += formatted("STATUS={}\n", *status_);
    return out;
  }

  void send() {
    const auto text = message();
    if (text.empty() || is_stopped_)
      return;
    const auto error = socket_.send(text);
    if (error != 0 && ++failure_count_ <= retry_count_max) {
      if (retry_ == 0)
        retry_ = home_.after(retry_interval, [this] {
          retry_ = 0;
          send();
        });
      return;
    }
    if (error != 0)
      lines_.warn(
        formatted("the service manager at NOTIFY_SOCKET cannot be notified: {}",
                  core::error_text(error)));
    failure_count_ = 0;
    says_ready_ = false;
    says_stopping_ = false;
    status_.reset();
  }

  reactor& home_;
  const service_socket socket_;
  const core::duration watchdog_; ///< 0: none.
  const std::chrono::milliseconds stop_limit_;
  const log lines_;
  // The rest belongs to the reactor's thread.
  bool is_stopped_ = false;
  bool says_ready_ = false; ///< To be sent, as the next two.
  bool says_stopping_ = false;
  std::optional<std::string> status_;
  bool has_status_ = false;
  bool was_stopping_ = false;
  int failure_count_ = 0; ///< Since a message was taken or given up.
  reactor::timer retry_ = 0;
  reactor::timer next_sign_ = 0;
  std::unique_ptr<status_source>
    alive_; ///< Null: no sign of life is asked for.
};

namespace {

struct service_observer {
  static constexpr const char* name = "service-observer";

  service_observer(job_observer_actor::pointer,
                   std::shared_ptr<service_link> link)
    : link_(std::move(link)) {}

  job_observer_actor::behavior_type make_behavior() {
    return {
      [this](const generation_begun& x) { link_->show(text_of(x)); },
      [this](const generation_over& x) {
        link_->show(
          formatted("generation {} is over: {}", x.number(), x.reason));
      },
      [this](const job_over& x) {
        link_->show("the job has ended: " + x.result.reason);
      },
    };
  }

  void on_exit() { link_.reset(); }

private:
  std::shared_ptr<service_link> link_;
};

} // namespace

result<std::unique_ptr<service_report>>
service_report::open(caf::actor_system& system, reactor& home,
                     const service_options& options,
                     std::chrono::milliseconds stop_limit, const log& lines) {
  auto socket = service_socket::open(options.socket);
  if (!socket)
    return failure{socket.error().code,
                   "NOTIFY_SOCKET: " + socket.error().text};
  return std::unique_ptr<service_report>{new service_report{
    system, home,
    std::make_shared<service_link>(home, std::move(*socket), options.watchdog,
                                   stop_limit, lines)}};
}

service_report::service_report(caf::actor_system& system, reactor& home,
                               std::shared_ptr<service_link> link)
  : system_(system), link_(std::move(link)), running_(home, link_),
    observer_(
      system.spawn<actor_impl<job_observer_actor, service_observer>>(link_)) {}

service_report::~service_report() {
  caf::scoped_actor self{system_};
  self->send_exit(observer_, caf::exit_reason::kill);
  self->wait_for(observer_);
  running_.reset();
}

void service_report::ready(std::string first,
                           std::function<void(operator_question)> ask) {
  link_->ready(std::move(first), std::move(ask));
}

void service_report::stopping(const std::string& why) {
  link_->stopping(why);
}

} // namespace actorrun::detail
