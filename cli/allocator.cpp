// How jemalloc works in our programs, which are linked with it: a coordinator of many
// nodes allocates on three threads at once, and glibc's malloc has either one arena
// for them all, which they fight for, or several, which fill up with holes.

namespace {

/// `jemalloc(3)`, TUNING. One arena costs least memory, and the threads' own caches take
/// what they would fight for. What is freed goes back to the kernel within half a
/// second, in large jobs later (`keep_freed_memory`). Small blocks come in runs of 8
/// pages: jemalloc keeps 128 bytes for each run, which would have one page or two.
constexpr char options[]
  = "narenas:1,dirty_decay_ms:500,muzzy_decay_ms:0,background_thread:false,"
    "metadata_thp:disabled,slab_sizes:1-8192:8";

} // namespace

extern "C" {

/// Read by jemalloc at the start, before any constructor runs.
constinit const char* malloc_conf = options;

/// The same after MALLOC_CONF of the environment, which is meant for workers: PyTorch's
/// guide sets there what keeps all memory and starts a thread.
constinit const char* malloc_conf_2_conf_harder = options;
}
