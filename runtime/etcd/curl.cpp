#include "runtime/etcd/curl.hpp"

#include "messages/formatted.hpp"
#include "runtime/os/shared_library.hpp"

namespace actorrun::detail {

namespace {

/// @returns the name of a function that the library does not have; empty if it
///          has all
std::string read_all(const shared_library& from, curl_library& out) {
  auto missing = std::string{};
  const auto read = [&](const char* name, auto& target) {
    if (!from.find(name, target) && missing.empty())
      missing = name;
  };
  read("curl_global_init", out.global_init);
  read("curl_easy_init", out.easy_init);
  read("curl_easy_cleanup", out.easy_cleanup);
  read("curl_easy_setopt", out.easy_setopt);
  read("curl_easy_getinfo", out.easy_getinfo);
  read("curl_easy_strerror", out.easy_strerror);
  read("curl_multi_init", out.multi_init);
  read("curl_multi_cleanup", out.multi_cleanup);
  read("curl_multi_add_handle", out.multi_add_handle);
  read("curl_multi_remove_handle", out.multi_remove_handle);
  read("curl_multi_perform", out.multi_perform);
  read("curl_multi_poll", out.multi_poll);
  read("curl_multi_wakeup", out.multi_wakeup);
  read("curl_multi_info_read", out.multi_info_read);
  read("curl_slist_append", out.slist_append);
  read("curl_slist_free_all", out.slist_free_all);
  return missing;
}

} // namespace

result<curl_library> load_curl(const std::vector<std::string>& names) {
  auto why = std::string{"it has no name"};
  for (const auto& name : names) {
    const auto library = shared_library::load(name);
    if (!library) {
      why = library.error().text;
      continue;
    }
    auto out = curl_library{};
    const auto missing = read_all(*library, out);
    if (missing.empty() && out.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK)
      return out;
    why = missing.empty() ? name + " cannot be initialised"
                          : formatted("{} has no function {}", name, missing);
  }
  return failure{errc::system_failure,
                 formatted("etcd is reached through libcurl, which cannot be "
                           "loaded ({}); install libcurl4",
                           why)};
}

result<const curl_library*> curl() {
  static const auto library
    = load_curl({"libcurl.so.4", "libcurl-gnutls.so.4"});
  if (!library)
    return library.error();
  return &*library;
}

} // namespace actorrun::detail
