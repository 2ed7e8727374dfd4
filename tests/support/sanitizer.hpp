// Names the sanitizer that the tests are compiled with.
#pragma once

#ifndef __has_feature // GCC has macros instead.
#define __has_feature(x) 0
#endif

namespace actorrun::test {

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
inline constexpr bool has_address_sanitizer = true;
#else
inline constexpr bool has_address_sanitizer = false;
#endif

#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
inline constexpr bool has_thread_sanitizer = true;
#else
inline constexpr bool has_thread_sanitizer = false;
#endif

} // namespace actorrun::test
