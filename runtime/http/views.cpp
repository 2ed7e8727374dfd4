#include "runtime/http/views.hpp"

#include "actors/job_status.hpp"
#include "actors/operator_questions.hpp"
#include "messages/formatted.hpp"
#include "runtime/http/exposition.hpp"
#include "runtime/http/host_names.hpp"
#include "runtime/http/metrics.hpp"
#include "runtime/http/page.hpp"
#include "runtime/os/clock.hpp"
#include "runtime/os/peer_user.hpp"
#include "runtime/status_json.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <set>
#include <utility>

namespace actorrun::detail {

namespace {

using namespace std::chrono_literals;

/// So old may be what a scrape or a probe gets: many of them cost one question.
constexpr auto scrape_age = 1s;

/// … and what a page gets.
constexpr auto page_age = 90ms;

/// A page gets ages and loads in this interval, and in the second one if they are
/// many. In bytes: an event from which on they are.
constexpr auto refresh_interval = 1s;
constexpr auto slow_refresh_interval = 3s;
constexpr size_t large_event_size = 128 * 1024;

const auto page_paths = std::set<std::string>{"/", "/events", "/log.json",
                                              "/stacks.json", "/status.json"};

v1::OperatorRequest status_request() {
  auto out = v1::OperatorRequest{};
  out.mutable_status()->set_for_watch(true);
  return out;
}

/// The same for two answers between which nothing has happened.
std::string shape_of(v1::JobStatus x) {
  forget_ages(x);
  for (auto& agent : *x.mutable_agents()) {
    agent.clear_vitals();
    agent.clear_gpus();
  }
  return x.SerializeAsString();
}

/// What `actorctl status --json` prints, in one line.
std::string document_of(const v1::JobStatus& job) {
  using json = nlohmann::ordered_json;
  auto jobs = json::array();
  jobs.push_back(to_json(job));
  return json{{"schema", status_schema}, {"jobs", std::move(jobs)}}.dump(
    -1, ' ', false, json::error_handler_t::replace);
}

http_body body_of(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

http_reply reply_of(const health& x) {
  return text_reply(x.is_good ? 200 : 503, x.text);
}

} // namespace

views::views(reactor& home, view_setup setup)
  : setup_(std::move(setup)),
    job_(home, setup_.ask_job, status_request(), setup_.limits),
    workers_(home, setup_.ask_job) {
  if (setup_.ask_node)
    node_.emplace(home, setup_.ask_node, own_node_request(), setup_.limits);
}

void views::answer(const view_choice& which, const http_request& x,
                   http_callback done) {
  const auto is_page = which.page && page_paths.contains(x.path);
  // Browsers always name a host.
  if ((which.checks_name || is_page) && !x.host.empty()
      && !is_own_name(x.host, setup_.host))
    return done(text_reply(
      421, "this host is not known by that name; use its address, its host "
           "name or localhost"));
  if (which.metrics && x.path == "/metrics")
    return metrics(std::move(done));
  if (which.health && x.path == "/healthz")
    return health_now(false, std::move(done));
  if (which.health && x.path == "/readyz")
    return health_now(true, std::move(done));
  if (is_page)
    return answer_for_page(x, std::move(done));
  auto known = std::string{};
  if (which.page)
    for (const auto& path : page_paths)
      known += " " + path;
  if (which.metrics)
    known += " /metrics";
  if (which.health)
    known += " /healthz /readyz";
  done(text_reply(404, "there is nothing here; what there is:" + known));
}

// -- metrics and health --------------------------------------------------------

void views::metrics(http_callback done) {
  if (!node_)
    return metrics_of({}, done);
  node_->get(scrape_age,
             [this, done = std::move(done)](const status_answer& node) {
               metrics_of(node, done);
             });
}

void views::metrics_of(const status_answer& node, const http_callback& done) {
  const auto finish = [this, done, node](const status_answer* job) {
    if (job != nullptr && job->what
        && std::exchange(counted_, job->number) != job->number)
      regroups_.look_at(*job->what);
    auto reply = http_reply{};
    reply.type = exposition_type;
    reply.body = body_of(metrics_text(
      {.job = job != nullptr && job->is_alive ? job->what.get() : nullptr,
       .node = node.is_alive ? node.what.get() : nullptr,
       .regroups = &regroups_,
       .has_coordinator = job != nullptr,
       .has_agent = node_.has_value(),
       .is_elected = setup_.is_elected},
      setup_.job_id, setup_.host));
    done(std::move(reply));
  };
  if (!setup_.has_coordinator())
    return finish(nullptr);
  job_.get(scrape_age, [finish](const status_answer& job) { finish(&job); });
}

void views::health_now(bool is_readiness, http_callback done) {
  auto& source = node_ ? *node_ : job_;
  source.get(scrape_age, [is_readiness, is_node = node_.has_value(),
                          done = std::move(done)](const status_answer& x) {
    done(reply_of(!is_readiness ? health_of(x)
                  : is_node     ? readiness_of_node(x)
                                : readiness_of_job(x)));
  });
}

// -- the page ------------------------------------------------------------------

// What workers write is not for every user of this host.
void views::answer_for_page(const http_request& x, http_callback done) {
  if (x.path == "/")
    return page(std::move(done));
  if (x.path == "/status.json")
    return status(std::move(done));
  if (x.path == "/events")
    return events(std::move(done));
  const auto user = user_of_peer(x.client);
  if (!user || !is_trusted(*user))
    return done(text_reply(
      403, "logs and stacks are shown only on this host, to the user of the "
           "job; from elsewhere: ssh -L, or actorctl logs"));
  if (x.path == "/log.json")
    return workers_.log(x.query, std::move(done));
  workers_.stacks(x.query, std::move(done));
}

void views::status(http_callback done) {
  job_.get(page_age, [done = std::move(done)](const status_answer& x) {
    if (!x.is_alive || !x.what)
      return done(reply_of(health_of(x)));
    auto reply = http_reply{};
    reply.type = "application/json";
    reply.body = body_of(document_of(*x.what) + "\n");
    done(std::move(reply));
  });
}

void views::page(http_callback done) {
  job_.get(page_age, [done = std::move(done)](const status_answer& x) {
    done(
      page_reply(x.is_alive && x.what ? document_of(*x.what) : std::string{}));
  });
}

http_body views::event_of(const status_answer& x) {
  event_number_ = x.number;
  event_is_alive_ = x.is_alive;
  event_time_ = now();
  event_
    = x.is_alive && x.what
        ? body_of("event: status\ndata: " + document_of(*x.what) + "\n\n")
        : body_of(formatted("event: trouble\ndata: {}\n\n", health_of(x).text));
  return event_;
}

// The first event goes with the reply: a page is never empty.
void views::events(http_callback done) {
  job_.get(page_age, [this, done = std::move(done)](const status_answer& x) {
    const auto is_newest
      = event_ && event_number_ == x.number && event_is_alive_ == x.is_alive;
    auto reply = http_reply{};
    reply.type = "text/event-stream";
    reply.body = is_newest ? event_ : event_of(x);
    reply.is_stream = true;
    done(std::move(reply));
  });
}

void views::look(const std::function<void(const http_body&)>& publish) {
  job_.get(page_age, [this, publish](const status_answer& x) {
    if (event_ && event_is_alive_ == x.is_alive
        && std::exchange(looked_, x.number) == x.number)
      return;
    auto shape = x.is_alive && x.what ? shape_of(*x.what) : std::string{};
    const auto interval = event_ && event_->size() > large_event_size
                            ? slow_refresh_interval
                            : refresh_interval;
    if (shape == shape_ && event_is_alive_ == x.is_alive
        && now() - event_time_ < interval)
      return;
    shape_ = std::move(shape);
    publish(event_of(x));
  });
}

} // namespace actorrun::detail
