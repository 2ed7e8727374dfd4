#include "runtime/http/ports.hpp"

#include "messages/formatted.hpp"
#include "runtime/os/descriptor_room.hpp"
#include "runtime/os/socket.hpp"
#include "runtime/os/socket_address.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace actorrun::detail {

namespace {

/// Pages that are open get a new status so often, if it has changed.
constexpr auto look_interval = std::chrono::milliseconds{100};

/// After a request for the page so often; its answer, which makes it an open page,
/// may take a while.
constexpr auto looks_without_page = 60;

/// One port, before it is served.
struct opened_port {
  endpoint asked;
  unique_fd socket;
  socket_address bound;
  view_choice serves;
};

/// What is wanted at one address, and by which option.
struct wish {
  const std::optional<endpoint>& where;
  const char* option;
  view_choice serves;
  bool is_needed;
};

std::string url_of(const opened_port& x, const char* path) {
  return formatted("http://{}{}", to_string(x.bound), path);
}

void say(const opened_port& x, const log& lines) {
  if (x.serves.page)
    lines.info("page for browsers: " + url_of(x, "/"));
  if (x.serves.metrics)
    lines.info("metrics: " + url_of(x, "/metrics"));
  else if (x.serves.health)
    lines.info("health: " + url_of(x, "/healthz"));
}

/// Of a port that is opened already for the same address, or of a new one.
result<void> open_for(const wish& x, std::vector<opened_port>& out) {
  for (auto& y : out)
    if (y.asked == *x.where && x.where->port != 0) {
      y.serves.metrics = y.serves.metrics || x.serves.metrics;
      y.serves.health = y.serves.health || x.serves.health;
      y.serves.page = y.serves.page || x.serves.page;
      return {};
    }
  const auto where = numeric_address(x.where->host, x.where->port);
  if (!where)
    return bad_argument(formatted("{}: {} is not an address of this host",
                                  x.option, x.where->host));
  auto socket = open_listening(*where);
  if (!socket)
    return failure{socket.error().code,
                   formatted("{}: {}", x.option, socket.error().text)};
  const auto bound = local_address_of(socket->get()).value_or(*where);
  out.push_back({*x.where, std::move(*socket), bound, x.serves});
  return {};
}

/// What clients cost is their own share: with few descriptors there are fewer
/// of them.
http_limits limits_for(size_t port_count) {
  auto out = http_limits{};
  const auto share
    = std::max<size_t>(2, descriptor_shares_now().viewers / port_count);
  if (share < out.client_count + out.refused_count) {
    out.refused_count = std::max<size_t>(1, share / 4);
    out.client_count = share - out.refused_count;
    out.stream_count = std::min(out.stream_count, (out.client_count + 1) / 2);
  }
  return out;
}

} // namespace

/// The part of the reactor's thread.
class port_servers : public reactor_part {
public:
  port_servers(reactor& home, std::vector<opened_port> ports, view_setup setup)
    : home_(home), views_(std::in_place, home, std::move(setup)) {
    for (auto& x : ports) {
      // What is reached from other hosts may have any name there, such as that of
      // a service.
      x.serves.checks_name = is_loopback(x.bound);
      servers_.push_back(std::make_shared<http_server>(
        home, std::move(x.socket),
        [this, serves = x.serves](const http_request& request,
                                  http_callback done) {
          views_->answer(serves, request, std::move(done));
          if (serves.page && timer_ == 0)
            look();
        },
        limits_for(ports.size())));
    }
  }

  void start() override {
    for (const auto& x : servers_)
      x->start();
  }

  void stop() override {
    home_.cancel(std::exchange(timer_, 0));
    for (const auto& x : servers_)
      x->stop();
    views_.reset();
  }

private:
  // Without an open page nothing is asked, and nothing wakes up this thread.
  void look() {
    auto count = size_t{0};
    for (const auto& x : servers_)
      count += x->stream_count();
    timer_ = 0;
    if (count == 0 && --looks_left_ <= 0) {
      looks_left_ = looks_without_page;
      return;
    }
    timer_ = home_.after(look_interval, [this] { look(); });
    if (count > 0)
      views_->look([this](const http_body& event) {
        for (const auto& x : servers_)
          x->publish(event);
      });
  }

  reactor& home_;
  std::optional<views> views_; ///< None: stopped.
  std::vector<std::shared_ptr<http_server>> servers_;
  reactor::timer timer_ = 0; ///< 0: no page is open.
  int looks_left_ = looks_without_page;
};

struct http_ports::members {
  std::vector<opened_port> opened; ///< Until they are served.
  std::vector<uint16_t> numbers;
  reactor home;
  reactor_handle serving;
};

http_ports::http_ports(std::unique_ptr<members> x) : members_(std::move(x)) {}
http_ports::http_ports(http_ports&&) noexcept = default;
http_ports& http_ports::operator=(http_ports&&) noexcept = default;
http_ports::~http_ports() = default;

result<http_ports> http_ports::open(const http_options& options,
                                    const log& lines) {
  auto opened = std::vector<opened_port>{};
  const wish wishes[]
    = {{options.metrics,
        "--metrics-port",
        {.metrics = true, .health = true},
        true},
       {options.page, "--dashboard-port", {.page = true}, true},
       {options.health,
        "TORCHELASTIC_HEALTH_CHECK_PORT",
        {.health = true},
        false}};
  for (const auto& x : wishes) {
    if (!x.where)
      continue;
    const auto done = open_for(x, opened);
    // A port that is taken on one of many nodes is no reason not to train.
    if (!done && x.is_needed && done.error().code != errc::address_in_use)
      return done.error();
    if (!done)
      lines.warn(
        formatted("{}; the job goes on without that port", done.error().text));
  }
  auto all = std::make_unique<members>();
  for (const auto& x : opened) {
    say(x, lines);
    all->numbers.push_back(port_of(x.bound));
  }
  all->opened = std::move(opened);
  return http_ports{std::move(all)};
}

void http_ports::serve(view_setup setup) {
  auto& x = *members_;
  x.serving
    = reactor_handle{x.home, std::make_shared<port_servers>(
                               x.home, std::move(x.opened), std::move(setup))};
}

std::vector<uint16_t> http_ports::ports() const {
  return members_->numbers;
}

} // namespace actorrun::detail
