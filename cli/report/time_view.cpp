#include "cli/report/time_view.hpp"

#include "actors/core/text.hpp"
#include "cli/report/text_table.hpp"
#include "messages/formatted.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

namespace actorrun::cli {

namespace {

using namespace core;
using namespace core::journal;
using std::chrono::microseconds;

/// At most this many rows of nodes are printed; JSON has all.
constexpr size_t node_rows_max = 32;

/// In bytes, of a host in a table.
constexpr size_t host_size_max = 255;

constexpr auto us_per_hour
  = double(microseconds{std::chrono::hours{1}}.count());

struct column {
  time_cause what;
  const char* title;
};

/// Of the tables; the rest is `OTHER`. Those that a job need not have are left out if it has
/// nothing of them.
std::vector<column> time_columns_of(const time_account& x) {
  using enum time_cause;
  auto out = std::vector<column>{{training, "TRAINING"}};
  for (const auto y : {column{saving, "SAVING"}, column{lost, "LOST"}})
    if (x.all.of(y.what) > 0)
      out.push_back(y);
  for (const auto y :
       {column{starting, "STARTING"}, column{regrouping, "REGROUPING"},
        column{waiting, "WAITING"}})
    out.push_back(y);
  return out;
}

std::string worker_time(uint64_t us) {
  return us == 0 ? "-" : duration_text(microseconds{int64_t(us)});
}

std::string percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? "-"
                    : formatted("{:.1f} %", 100 * double(part) / double(whole));
}

double price_of(uint64_t node_us, double per_hour) {
  return double(node_us) / us_per_hour * per_hour;
}

std::string headline(const time_report& x) {
  const auto& sum = x.time.sum;
  const auto all = sum.all.all_worker_us();
  if (all == 0)
    return formatted("job {}: no node has taken part yet\n", x.job);
  return formatted(
    "job {} ({}): goodput {}: {} of {} of worker time was training\n"
    "  wall time {}, places {:.1f} on average\n",
    x.job, x.state, percent(sum.all.of(time_cause::training), all),
    worker_time(sum.all.of(time_cause::training)), worker_time(all),
    worker_time(sum.wall_us), sum.places());
}

std::string causes_text(const time_report& x) {
  const auto& all = x.time.sum.all;
  auto rows = std::vector<text_row>{{"CAUSE", "WORKER TIME", "SHARE"}};
  if (x.node_price)
    rows.front().push_back("COST");
  const auto put = [&](std::string title, uint64_t worker_us,
                       uint64_t node_us) {
    auto cells = text_row{std::move(title), worker_time(worker_us),
                          percent(worker_us, all.all_worker_us())};
    if (x.node_price)
      cells.push_back(formatted("{:.2f}", price_of(node_us, *x.node_price)));
    rows.push_back(std::move(cells));
  };
  for (size_t i = 0; i < time_cause_count; ++i)
    if (all.node_us[i] > 0)
      put(title_of(time_cause(i)), all.worker_us[i], all.node_us[i]);
  put("all", all.all_worker_us(), all.all_node_us());
  return aligned(rows);
}

text_row row_of(std::string title, const spent_time& x,
                const std::vector<column>& columns) {
  auto cells = text_row{std::move(title), worker_time(x.all_worker_us())};
  auto rest = x.all_worker_us();
  for (const auto& y : columns) {
    cells.push_back(worker_time(x.of(y.what)));
    rest -= x.of(y.what);
  }
  cells.push_back(worker_time(rest));
  return cells;
}

text_row heading_of(const char* first, const std::vector<column>& columns) {
  auto out = text_row{first, "WORKER TIME"};
  for (const auto& y : columns)
    out.push_back(y.title);
  out.push_back("OTHER");
  return out;
}

std::string generations_text(const time_account& x) {
  const auto columns = time_columns_of(x);
  auto rows = std::vector<text_row>{heading_of("GENERATION", columns)};
  if (x.outside.all_worker_us() > 0)
    rows.push_back(row_of(x.forgotten_generation_count > 0 ? formatted(
                            "first {}", x.forgotten_generation_count)
                                                           : "before",
                          x.outside, columns));
  for (const auto& y : x.generations)
    rows.push_back(row_of(to_string(y.generation), y.spent, columns));
  return aligned(rows);
}

/// Hosts, those in front whose places trained least of their time, by what they lost.
std::vector<std::pair<std::string, spent_time>>
hosts_by_loss(const time_account& x) {
  auto out = std::vector<std::pair<std::string, spent_time>>{x.hosts.begin(),
                                                             x.hosts.end()};
  std::ranges::stable_sort(out, std::greater{}, [](const auto& y) {
    return y.second.all_worker_us() - y.second.of(time_cause::training);
  });
  return out;
}

std::string hosts_text(const time_account& x) {
  const auto columns = time_columns_of(x);
  auto rows = std::vector<text_row>{heading_of("NODE", columns)};
  const auto all = hosts_by_loss(x);
  for (const auto& [host, spent] : all) {
    if (rows.size() > node_rows_max)
      break;
    rows.push_back(row_of(one_line(host, host_size_max), spent, columns));
  }
  auto text = aligned(rows);
  if (all.size() > node_rows_max)
    text += formatted("  {} more nodes lost less; --json lists them\n",
                      all.size() - node_rows_max);
  return text;
}

/// What the end of this generation cost; none: that is not known any more.
std::optional<uint64_t> cost_of(const time_account& x, generation_id which) {
  const auto i
    = std::ranges::find(x.generations, which, &generation_time::generation);
  return i == x.generations.end() ? std::nullopt
                                  : x.end_us(size_t(i - x.generations.begin()));
}

std::string ends_text(const time_report& x) {
  auto text = std::string{};
  for (const auto& y : x.ends) {
    text += "  " + y.sentence;
    if (const auto us = cost_of(x.time.sum, y.generation); us && *us > 0)
      text += formatted(" That took {} of worker time.", worker_time(*us));
    text += "\n";
  }
  return text.empty() ? text : "what ended each generation:\n" + text;
}

std::string remarks(const time_report& x) {
  auto text = std::string{};
  if (x.begins_late)
    text += "  An earlier coordinator led this job on another host, or its"
            " journal is gone: its time is not in here.\n";
  if (x.time.untold_us > 0)
    text += formatted("  Between {} coordinators are {} of which no journal"
                      " tells; they are not in here.\n",
                      x.coordinator_count, worker_time(x.time.untold_us));
  return text;
}

using json = nlohmann::ordered_json;

json to_json(const spent_time& x) {
  auto out = json::object();
  for (size_t i = 0; i < time_cause_count; ++i)
    out[to_string(time_cause(i))]
      = {{"worker_us", x.worker_us[i]}, {"node_us", x.node_us[i]}};
  return out;
}

json generations_of(const time_report& x) {
  auto out = json::array();
  const auto& sum = x.time.sum;
  for (size_t i = 0; i < sum.generations.size(); ++i) {
    const auto& y = sum.generations[i];
    const auto end
      = std::ranges::find(x.ends, y.generation, &explanation::generation);
    const auto has_end = end != x.ends.end();
    const auto end_us = sum.end_us(i);
    out.push_back(
      {{"generation", number_of(y.generation)},
       {"time", to_json(y.spent)},
       {"end", has_end ? json(end->sentence) : json{}},
       {"end_kind",
        has_end && end->cause ? json(to_string(end->cause->what)) : json{}},
       {"end_worker_us", end_us ? json(*end_us) : json{}}});
  }
  return out;
}

} // namespace

std::string to_text(const time_report& x) {
  auto text = headline(x) + remarks(x);
  const auto& sum = x.time.sum;
  if (sum.all.all_node_us() == 0)
    return text;
  text += causes_text(x);
  if (sum.generations.size() + sum.forgotten_generation_count > 1)
    text += generations_text(sum);
  if (sum.hosts.size() > 1)
    text += hosts_text(sum);
  return text + ends_text(x);
}

std::string to_json(const time_report& x) {
  const auto& sum = x.time.sum;
  auto hosts = json::array();
  for (const auto& [host, spent] : sum.hosts)
    hosts.push_back({{"host", printable(host)}, {"time", to_json(spent)}});
  auto out = json{{"version", time_version},
                  {"job", x.job},
                  {"state", x.state},
                  {"wall_us", sum.wall_us},
                  {"places", sum.places()},
                  {"worker_us", sum.all.all_worker_us()},
                  {"node_us", sum.all.all_node_us()},
                  {"goodput", sum.goodput()},
                  {"time", to_json(sum.all)},
                  {"outside", to_json(sum.outside)},
                  {"generations", generations_of(x)},
                  {"nodes", std::move(hosts)},
                  {"other_nodes", to_json(sum.other_hosts)},
                  {"coordinators", x.coordinator_count},
                  {"begins_late", x.begins_late},
                  {"untold_us", x.time.untold_us}};
  out["price_per_node_hour"] = x.node_price ? json(*x.node_price) : json{};
  out["cost"] = x.node_price
                  ? json(price_of(sum.all.all_node_us(), *x.node_price))
                  : json{};
  return out.dump() + "\n";
}

} // namespace actorrun::cli
