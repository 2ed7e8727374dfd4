// How jemalloc works in our programs, which are linked with it: a coordinator of many
// nodes allocates on three threads at once, and glibc's malloc has either one arena
// for them all, which they fight for, or several, which fill up with holes.

extern "C" {

/// Read by jemalloc at the start: `jemalloc(3)`, TUNING. One arena costs least memory,
/// and the threads' own caches take what they would fight for. What is freed goes back
/// to the kernel within half a second.
const char* malloc_conf = "narenas:1,dirty_decay_ms:500,muzzy_decay_ms:0";
}
