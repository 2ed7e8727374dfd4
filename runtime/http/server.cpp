#include "runtime/http/server.hpp"

#include "runtime/os/socket.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <sys/socket.h>

namespace actorrun::detail {

namespace {

/// For a client that may come back.
http_reply busy_reply() {
  auto out = text_reply(503, "there are too many clients; come back later");
  out.fields = "Retry-After: 5\r\n";
  return out;
}

bool is_about_health(const http_request& x) {
  return x.path == "/healthz" || x.path == "/readyz";
}

std::string whole(const http_reply& x) {
  return head_of(x, false) + *x.body;
}

} // namespace

http_server::http_server(reactor& home, unique_fd socket, http_service service,
                         const http_limits& limits)
  : home_(home), service_(std::move(service)), limits_(limits),
    acceptor_(std::make_shared<acceptor>(
      home, std::move(socket),
      acceptor_owner{
        .on_accept = [this](unique_fd client,
                            const socket_address&) { add(std::move(client)); },
        .make_room = [this] { return make_room(); },
        .busy_reply = whole(busy_reply())})) {}

void http_server::start() {
  acceptor_->start();
}

void http_server::stop() {
  acceptor_->stop();
  for (const auto& [number, client] : std::exchange(clients_, {}))
    client->stop();
}

void http_server::publish(const http_body& event) {
  auto streams = std::vector<std::shared_ptr<http_connection>>{};
  for (const auto& [number, client] : clients_)
    if (client->is_stream())
      streams.push_back(client); // A push may end it.
  for (const auto& client : streams)
    client->push(event);
}

size_t http_server::stream_count() const {
  return static_cast<size_t>(
    std::count_if(clients_.begin(), clients_.end(),
                  [](const auto& x) { return x.second->is_stream(); }));
}

void http_server::add(unique_fd client) {
  if (clients_.size() >= limits_.client_count)
    make_room(); // If not, there is room for some that are told to come back.
  if (clients_.size() >= limits_.client_count + limits_.refused_count) {
    send_whole(client.get(), whole(busy_reply()));
    return;
  }
  tune_connection(client.get());
  const auto number = ++last_client_;
  const auto connection = std::make_shared<http_connection>(
    home_, std::move(client), limits_,
    http_connection::owner{
      .answer = [this](const http_request& x,
                       http_callback done) { answer(x, std::move(done)); },
      .on_closed = [this, number] { clients_.erase(number); }});
  clients_.emplace(number, connection);
  connection->start();
}

// The one that has said nothing for the longest time; then the one whose request, or
// whose taking of an answer, lasts the longest: half requests keep no probe out.
bool http_server::make_room() {
  const auto now = core::time_point::clock::now();
  const auto order = [now](const auto& x) {
    return std::pair{x.second->worth(now), x.second->since()};
  };
  const auto found = std::min_element(
    clients_.begin(), clients_.end(),
    [&](const auto& a, const auto& b) { return order(a) < order(b); });
  if (found == clients_.end()
      || found->second->worth(now) == http_worth::served)
    return false;
  found->second->stop();
  clients_.erase(found);
  return true;
}

void http_server::answer(const http_request& x, http_callback done) {
  // Who asks for the health ends what gives no answer.
  if (clients_.size() > limits_.client_count && !is_about_health(x))
    return done(busy_reply());
  if (x.method != "GET" && x.method != "HEAD") {
    auto reply = text_reply(405, "only GET and HEAD are known here");
    reply.fields = "Allow: GET, HEAD\r\n";
    return done(std::move(reply));
  }
  service_(x, [this, done = std::move(done)](http_reply reply) {
    if (reply.is_stream && stream_count() >= limits_.stream_count)
      return done(busy_reply());
    done(std::move(reply));
  });
}

} // namespace actorrun::detail
