// Loads libcurl when it is first needed: a launcher without etcd starts without
// it.
#pragma once

#include "messages/result.hpp"

// Its checks of argument types are macros around the names that we load.
#define CURL_DISABLE_TYPECHECK
#include <string>
#include <vector>

#include <curl/curl.h>

namespace actorrun::detail {

/// The functions of libcurl that we call.
struct curl_library {
  decltype(&::curl_global_init) global_init = nullptr;
  decltype(&::curl_easy_init) easy_init = nullptr;
  decltype(&::curl_easy_cleanup) easy_cleanup = nullptr;
  decltype(&::curl_easy_setopt) easy_setopt = nullptr;
  decltype(&::curl_easy_getinfo) easy_getinfo = nullptr;
  decltype(&::curl_easy_strerror) easy_strerror = nullptr;
  decltype(&::curl_multi_init) multi_init = nullptr;
  decltype(&::curl_multi_cleanup) multi_cleanup = nullptr;
  decltype(&::curl_multi_add_handle) multi_add_handle = nullptr;
  decltype(&::curl_multi_remove_handle) multi_remove_handle = nullptr;
  decltype(&::curl_multi_perform) multi_perform = nullptr;
  decltype(&::curl_multi_poll) multi_poll = nullptr;
  decltype(&::curl_multi_wakeup) multi_wakeup = nullptr;
  decltype(&::curl_multi_info_read) multi_info_read = nullptr;
  decltype(&::curl_slist_append) slist_append = nullptr;
  decltype(&::curl_slist_free_all) slist_free_all = nullptr;
};

/// Loads the first library found; it stays loaded.
/// @retval errc::system_failure  there is none, or it is too old; the text says
///                               what to install
result<curl_library> load_curl(const std::vector<std::string>& names);

/// The system's libcurl, loaded once. Thread-safe.
result<const curl_library*> curl();

} // namespace actorrun::detail
