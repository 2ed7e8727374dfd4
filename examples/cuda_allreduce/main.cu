// Sums numbers over the GPUs of all ranks, again and again, and checks every
// sum. If a rank is killed, its peers fail or hang; the launcher ends and
// restarts them together, and the sums go on.
//
//   cuda_allreduce [STEPS]
//
// The ranks of a generation meet at its store. ncclCommGetAsyncError reports the
// death of a peer, so that no rank hangs in the driver.
#include "environment.hpp"
#include "store.hpp"

#include <cuda_runtime.h>
#include <nccl.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

namespace {

constexpr int element_count = 1 << 20;
constexpr int threads_per_block = 256;
constexpr int steps_per_line = 100;
constexpr int steps_default = 1000;

void check(cudaError_t code, const char* what) {
  if (code == cudaSuccess)
    return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(code));
  std::exit(1);
}

void check(ncclResult_t code, const char* what) {
  if (code == ncclSuccess)
    return;
  std::fprintf(stderr, "%s: %s: %s\n", what, ncclGetErrorString(code),
               ncclGetLastError(nullptr));
  std::exit(1);
}

__global__ void fill(float* data, int count, float value) {
  const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count)
    data[i] = value;
}

// Counts the elements with a wrong value.
__global__ void compare(const float* data, int count, float expected,
                        int* wrong) {
  const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count && data[i] != expected)
    atomicAdd(wrong, 1);
}

/// The GPU of a rank is the visible one at its local rank, or the only one with
/// `--virtual-local-rank`; NCCL does not let two ranks share a GPU.
void choose_gpu(int local_rank) {
  int count = 0;
  check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  if (local_rank >= count) {
    std::fprintf(stderr,
                 "local rank %d has no GPU: this node shows %d; start as many"
                 " workers, with --nproc-per-node=gpu\n",
                 local_rank, count);
    std::exit(2);
  }
  check(cudaSetDevice(local_rank), "cudaSetDevice");
}

/// NCCL's id of this generation's communicator: rank 0 creates it for all.
ncclUniqueId agree_on_id(const worker_identity& self) {
  constexpr auto key = "nccl id";
  auto meeting = store{};
  ncclUniqueId id;
  if (self.rank == 0) {
    check(ncclGetUniqueId(&id), "ncclGetUniqueId");
    meeting.set(key, {id.internal, sizeof id.internal});
    return id;
  }
  const auto bytes = meeting.get(key);
  if (bytes.size() != sizeof id.internal) {
    std::fprintf(stderr, "rank 0 has another NCCL than rank %d\n", self.rank);
    std::exit(1);
  }
  std::memcpy(id.internal, bytes.data(), bytes.size());
  return id;
}

/// One rank: its GPU, its communicator, its numbers.
struct trainer {
  worker_identity self = read_identity();
  cudaStream_t stream = nullptr;
  ncclComm_t peers = nullptr;
  float* data = nullptr;
  int* wrong = nullptr;

  trainer() {
    choose_gpu(self.local_rank);
    check(cudaStreamCreate(&stream), "cudaStreamCreate");
    check(cudaMalloc(&data, element_count * sizeof(float)), "cudaMalloc");
    check(cudaMalloc(&wrong, sizeof(int)), "cudaMalloc");
    check(
      ncclCommInitRank(&peers, self.world_size, agree_on_id(self), self.rank),
      "ncclCommInitRank");
  }

  /// Waits for the stream, and checks meanwhile whether a peer has gone. The
  /// kernel would wait for that peer forever, so it is aborted before the exit.
  void await() {
    for (;;) {
      const auto state = cudaStreamQuery(stream);
      if (state == cudaSuccess)
        return;
      if (state != cudaErrorNotReady)
        check(state, "cudaStreamQuery");
      ncclResult_t trouble = ncclSuccess;
      check(ncclCommGetAsyncError(peers, &trouble), "ncclCommGetAsyncError");
      if (trouble != ncclSuccess) {
        ncclCommAbort(peers);
        check(trouble, "a peer has gone");
      }
      std::this_thread::yield();
    }
  }

  /// Every rank contributes step + rank; small whole numbers, so sums are
  /// exact.
  void step(int number) {
    const int blocks
      = (element_count + threads_per_block - 1) / threads_per_block;
    const auto base = float(number % 1000);
    fill<<<blocks, threads_per_block, 0, stream>>>(data, element_count,
                                                   base + float(self.rank));
    check(cudaGetLastError(), "fill");
    check(ncclAllReduce(data, data, element_count, ncclFloat, ncclSum, peers,
                        stream),
          "ncclAllReduce");
    const auto size = float(self.world_size);
    const auto expected = base * size + size * (size - 1) / 2;
    check(cudaMemsetAsync(wrong, 0, sizeof(int), stream), "cudaMemsetAsync");
    compare<<<blocks, threads_per_block, 0, stream>>>(data, element_count,
                                                      expected, wrong);
    check(cudaGetLastError(), "compare");
    await();
    int wrong_count = 0;
    check(cudaMemcpy(&wrong_count, wrong, sizeof(int), cudaMemcpyDeviceToHost),
          "cudaMemcpy");
    if (wrong_count != 0) {
      std::fprintf(stderr, "rank %d: step %d: %d sums are wrong\n", self.rank,
                   number, wrong_count);
      std::exit(1);
    }
  }

  void report(int number) const {
    if (self.rank != 0 || number % steps_per_line != 0)
      return;
    std::printf("generation %llu, step %d: sums over %d GPUs are right\n",
                static_cast<unsigned long long>(self.generation), number,
                self.world_size);
    std::fflush(stdout);
  }
};

} // namespace

int main(int argc, char** argv) {
  if (argc > 2) {
    std::fprintf(stderr, "usage: cuda_allreduce [STEPS]\n");
    return 2;
  }
  const int steps = argc > 1 ? number_from(argv[1], "STEPS") : steps_default;
  auto one = trainer{};
  for (int i = 1; i <= steps; ++i) {
    one.step(i);
    one.report(i);
  }
  check(ncclCommDestroy(one.peers), "ncclCommDestroy");
  return 0;
}
