// Sums numbers over the GPUs of all ranks, again and again, and checks every
// sum. A rank that is killed makes its peers fail or hang; the launcher ends and
// restarts them together, and the sums go on.
//
//   cuda_allreduce FOLDER [STEPS]
//
// FOLDER is seen by all nodes. A death of a peer is noticed by
// ncclCommGetAsyncError, so that nobody hangs in the driver.
#include "meeting.hpp"

#include <cuda_runtime.h>
#include <nccl.h>

#include <cstdio>
#include <cstdlib>

namespace {

constexpr int element_count = 1 << 20;
constexpr int threads_per_block = 256;
constexpr int steps_per_line = 100;

void check(cudaError_t code, const char* what) {
  if (code == cudaSuccess)
    return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(code));
  std::exit(1);
}

void check(ncclResult_t code, const char* what) {
  if (code == ncclSuccess)
    return;
  std::fprintf(stderr, "%s: %s\n", what, ncclGetErrorString(code));
  std::exit(1);
}

__global__ void fill(float* data, int count, float value) {
  const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count)
    data[i] = value;
}

// Counts the elements that are not what they should be.
__global__ void compare(const float* data, int count, float expected,
                        int* wrong) {
  const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count && data[i] != expected)
    atomicAdd(wrong, 1);
}

/// One rank: its GPU, its communicator, its numbers.
struct trainer {
  worker_identity self;
  cudaStream_t stream = nullptr;
  ncclComm_t peers = nullptr;
  float* data = nullptr;
  int* wrong = nullptr;

  explicit trainer(const char* folder) : self(read_identity()) {
    int device_count = 0;
    check(cudaGetDeviceCount(&device_count), "cudaGetDeviceCount");
    check(cudaSetDevice(self.local_rank % device_count), "cudaSetDevice");
    check(cudaStreamCreate(&stream), "cudaStreamCreate");
    check(cudaMalloc(&data, element_count * sizeof(float)), "cudaMalloc");
    check(cudaMalloc(&wrong, sizeof(int)), "cudaMalloc");
    ncclUniqueId id;
    if (self.rank == 0)
      check(ncclGetUniqueId(&id), "ncclGetUniqueId");
    share_from_rank_0(folder, self, &id, sizeof id);
    check(ncclCommInitRank(&peers, self.world_size, id, self.rank),
          "ncclCommInitRank");
  }

  /// Waits for the stream, and looks meanwhile whether a peer has gone.
  void await() {
    for (;;) {
      const auto state = cudaStreamQuery(stream);
      if (state == cudaSuccess)
        return;
      if (state != cudaErrorNotReady)
        check(state, "cudaStreamQuery");
      ncclResult_t trouble = ncclSuccess;
      check(ncclCommGetAsyncError(peers, &trouble), "ncclCommGetAsyncError");
      check(trouble, "a peer");
    }
  }

  /// Every rank brings step + rank; small whole numbers, so sums are exact.
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
    if (self.rank == 0 && number % steps_per_line == 0) {
      std::printf("step %d: sums over %d GPUs are right, restarts %d\n", number,
                  self.world_size, self.restart_count);
      std::fflush(stdout);
    }
  }
};

} // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: cuda_allreduce FOLDER [STEPS]\n");
    return 2;
  }
  const int steps = argc > 2 ? std::atoi(argv[2]) : 1000;
  auto one = trainer{argv[1]};
  for (int i = 1; i <= steps; ++i)
    one.step(i);
  check(ncclCommDestroy(one.peers), "ncclCommDestroy");
  return 0;
}
