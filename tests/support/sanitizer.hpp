// Names the sanitizer that the tests are compiled with.
#pragma once

namespace actorrun::test {

#ifdef __SANITIZE_THREAD__
inline constexpr bool has_thread_sanitizer = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
inline constexpr bool has_thread_sanitizer = true;
#else
inline constexpr bool has_thread_sanitizer = false;
#endif
#else
inline constexpr bool has_thread_sanitizer = false;
#endif

} // namespace actorrun::test
