//===- naive.cu - Neighborhood attention as three plain CUDA kernels ------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The base of the comparison, as published naive kernels have it: one thread
// per score, a softmax over each row, one thread per output element (two
// neighbours of half precision), with the weights in memory between them. Loads
// are 16 bytes wide where the head dimension allows it, neighbouring threads
// share keys, and sums are f32.
//
//   nvcc -O3 -std=c++17 -arch=native -o naive naive.cu
//   ./naive --shape=56x56 --window=7x7 --heads=2 --head-dim=32 --dtype=bf16
//
// Takes na-run's flags of a problem, and
//   --weights=input|f32  the type in which scores and weights are stored
//   --runs=20 --pause=0  timed runs; milliseconds of pause before each
//   --verify=1           compare sampled rows with an f64 reference on the host
// and prints one JSON object.
//
//===----------------------------------------------------------------------===//

#include "naive_window.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#define CHECK(call)                                                            \
  do {                                                                         \
    cudaError_t error = (call);                                                \
    if (error != cudaSuccess) {                                                \
      fprintf(stderr, "error: %s: %s\n", #call, cudaGetErrorString(error));    \
      exit(1);                                                                 \
    }                                                                          \
  } while (0)

namespace {

struct Problem {
  int rank = 0;
  NaiveAxis axes[3];
  int batch = 1, heads = 1, kvHeads = 0, dim = 32, valueDim = 0, extra = 0;
  float scale = 0;
  // Derived: tokens, keys of a window, keys of a row.
  int tokens = 1, windowKeys = 1, keys = 0;
  int64_t rows = 0;
};

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// A row is (batch, head, token), the token fastest: neighbouring rows share
/// most of their keys.
struct Row {
  int batch, head, token;
};

__device__ Row decodeRow(const Problem &p, uint32_t row) {
  uint32_t rest = row / p.tokens;
  return {static_cast<int>(rest / p.heads), static_cast<int>(rest % p.heads),
          static_cast<int>(row - rest * p.tokens)};
}

template <int rank>
__device__ void decodeWindows(const Problem &p, int token, NaiveRange *ranges) {
#pragma unroll
  for (int a = rank - 1; a >= 0; --a) {
    ranges[a] = naiveWindow(p.axes[a], token % p.axes[a].length);
    token /= p.axes[a].length;
  }
}

__device__ float toFloat(float x) { return x; }
__device__ float toFloat(__half x) { return __half2float(x); }
__device__ float toFloat(__nv_bfloat16 x) { return __bfloat162float(x); }
template <class T> __host__ __device__ T fromFloat(float x);
template <> __host__ __device__ float fromFloat(float x) { return x; }
template <> __host__ __device__ __half fromFloat(float x) {
  return __float2half_rn(x);
}
template <> __host__ __device__ __nv_bfloat16 fromFloat(float x) {
  return __float2bfloat16_rn(x);
}

template <class T> __device__ float2 toFloat2(const T *x) {
  return {toFloat(x[0]), toFloat(x[1])};
}
template <> __device__ float2 toFloat2(const __half *x) {
  return __half22float2(*reinterpret_cast<const __half2 *>(x));
}
template <> __device__ float2 toFloat2(const __nv_bfloat16 *x) {
  return __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162 *>(x));
}

template <class T, bool wide>
__device__ float dot(const T *a, const T *b, int count) {
  float sum = 0;
  if constexpr (wide) {
    constexpr int lanes = 16 / sizeof(T);
#pragma unroll 4
    for (int i = 0; i < count; i += lanes) {
      uint4 x = __ldg(reinterpret_cast<const uint4 *>(a + i));
      uint4 y = __ldg(reinterpret_cast<const uint4 *>(b + i));
      auto *xs = reinterpret_cast<const T *>(&x);
      auto *ys = reinterpret_cast<const T *>(&y);
#pragma unroll
      for (int j = 0; j < lanes; j += 2) {
        float2 u = toFloat2(xs + j), v = toFloat2(ys + j);
        sum = fmaf(u.x, v.x, sum);
        sum = fmaf(u.y, v.y, sum);
      }
    }
  } else {
    for (int i = 0; i < count; ++i)
      sum = fmaf(toFloat(a[i]), toFloat(b[i]), sum);
  }
  return sum;
}

/// One thread per score; scores of keys that a causal row does not see are
/// minus infinity.
template <class T, class W, int rank, bool wide>
__global__ void scoresKernel(Problem p, const T *__restrict__ q,
                             const T *__restrict__ k, const T *__restrict__ ek,
                             W *__restrict__ weights) {
  int slot = blockIdx.y * blockDim.x + threadIdx.x;
  int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  if (row >= p.rows || slot >= p.keys)
    return;
  Row at = decodeRow(p, row);
  int kvHead = at.head / (p.heads / p.kvHeads);
  const T *key = nullptr;
  if (slot < p.windowKeys) {
    NaiveRange ranges[rank];
    decodeWindows<rank>(p, at.token, ranges);
    bool visible = true;
    int token = 0, stride = 1, rest = slot;
#pragma unroll
    for (int a = rank - 1; a >= 0; --a) {
      int position = ranges[a].begin + rest % p.axes[a].window;
      rest /= p.axes[a].window;
      visible &= position < ranges[a].end;
      token +=
          (ranges[a].residue + position * p.axes[a].dilation) * stride;
      stride *= p.axes[a].length;
    }
    if (visible)
      key = k + ((static_cast<int64_t>(at.batch) * p.tokens + token) *
                     p.kvHeads +
                 kvHead) *
                    p.dim;
  } else {
    key = ek + ((static_cast<int64_t>(at.batch) * p.extra + slot -
                 p.windowKeys) *
                    p.kvHeads +
                kvHead) *
                   p.dim;
  }
  const T *query =
      q + ((static_cast<int64_t>(at.batch) * p.tokens + at.token) * p.heads +
           at.head) *
              p.dim;
  weights[row * p.keys + slot] = fromFloat<W>(
      key ? p.scale * dot<T, wide>(query, key, p.dim) : -INFINITY);
}

/// One warp per row, in place.
template <class W>
__global__ void softmaxKernel(Problem p, W *__restrict__ weights) {
  int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  if (row >= p.rows)
    return;
  W *line = weights + row * p.keys;
  float most = -INFINITY, sum = 0;
  for (int i = threadIdx.x; i < p.keys; i += 32) {
    float x = toFloat(line[i]), next = fmaxf(most, x);
    // Of a lane that has seen nothing but minus infinity nothing remains.
    sum = next == -INFINITY
              ? 0.f
              : sum * __expf(most - next) + __expf(x - next);
    most = next;
  }
  float top = most;
  for (int step = 16; step; step /= 2)
    top = fmaxf(top, __shfl_xor_sync(0xffffffff, top, step));
  sum = most == -INFINITY ? 0.f : sum * __expf(most - top);
  for (int step = 16; step; step /= 2)
    sum += __shfl_xor_sync(0xffffffff, sum, step);
  float inverse = 1 / sum;
  for (int i = threadIdx.x; i < p.keys; i += 32)
    line[i] = fromFloat<W>(__expf(toFloat(line[i]) - top) * inverse);
}

/// One thread per `lanes` output elements, channels fastest.
template <class T, class W, int rank, int lanes>
__global__ void outputKernel(Problem p, const W *__restrict__ weights,
                             const T *__restrict__ v, const T *__restrict__ ev,
                             T *__restrict__ o) {
  int64_t index = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  int groups = p.valueDim / lanes;
  int64_t row = index / groups;
  if (row >= p.rows)
    return;
  int channel = static_cast<int>(index - row * groups) * lanes;
  Row at = decodeRow(p, row);
  int kvHead = at.head / (p.heads / p.kvHeads);
  NaiveRange ranges[3] = {{0, 0, 1}, {0, 0, 1}, {0, 0, 1}};
  decodeWindows<rank>(p, at.token, ranges + 3 - rank);
  auto axis = [&](int a) {
    return a < 3 - rank ? NaiveAxis{1, 1, 1, 1, 0} : p.axes[a - (3 - rank)];
  };
  const NaiveAxis x = axis(0), y = axis(1), z = axis(2);
  const int64_t step = static_cast<int64_t>(p.kvHeads) * p.valueDim;
  const T *values = v + static_cast<int64_t>(at.batch) * p.tokens * step +
                    static_cast<int64_t>(kvHead) * p.valueDim + channel;
  const W *line = weights + row * p.keys;
  float sums[lanes] = {};
  auto add = [&](float weight, const T *value) {
    if constexpr (lanes == 2) {
      float2 pair = toFloat2(value);
      sums[0] = fmaf(weight, pair.x, sums[0]);
      sums[1] = fmaf(weight, pair.y, sums[1]);
    } else {
      sums[0] = fmaf(weight, toFloat(*value), sums[0]);
    }
  };
  for (int i = ranges[0].begin; i < ranges[0].end; ++i) {
    for (int j = ranges[1].begin; j < ranges[1].end; ++j) {
      const W *weight = line + ((i - ranges[0].begin) * y.window +
                                (j - ranges[1].begin)) *
                                   z.window;
      int64_t token =
          (static_cast<int64_t>(ranges[0].residue + i * x.dilation) * y.length +
           ranges[1].residue + j * y.dilation) *
              z.length +
          ranges[2].residue + ranges[2].begin * z.dilation;
      const T *value = values + token * step;
      int count = ranges[2].end - ranges[2].begin;
#pragma unroll 4
      for (int m = 0; m < count; ++m, value += step * z.dilation)
        add(toFloat(weight[m]), value);
    }
  }
  const T *extra = ev + static_cast<int64_t>(at.batch) * p.extra * step +
                   static_cast<int64_t>(kvHead) * p.valueDim + channel;
  for (int m = 0; m < p.extra; ++m)
    add(toFloat(line[p.windowKeys + m]), extra + m * step);
  T *out = o + ((static_cast<int64_t>(at.batch) * p.tokens + at.token) *
                    p.heads +
                at.head) *
                   p.valueDim +
           channel;
  for (int i = 0; i < lanes; ++i)
    out[i] = fromFloat<T>(sums[i]);
}

//===----------------------------------------------------------------------===//
// Data and reference
//===----------------------------------------------------------------------===//

/// About normal, the same on host and device: the sum of four 16-bit numbers is
/// exact, and the product is rounded once.
__host__ __device__ float randomValue(uint64_t index, uint64_t seed) {
  uint64_t z = (index + 1) * 0x9E3779B97F4A7C15ull + seed * 0xD1B54A32D192ED03ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  z ^= z >> 31;
  int sum = static_cast<int>(z & 0xffff) + static_cast<int>(z >> 16 & 0xffff) +
            static_cast<int>(z >> 32 & 0xffff) + static_cast<int>(z >> 48);
  return static_cast<float>(sum - 2 * 65535) * 2.6428e-5f;
}

template <class T>
__global__ void fillKernel(T *out, int64_t count, uint64_t seed) {
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < count; i += static_cast<int64_t>(gridDim.x) * blockDim.x)
    out[i] = fromFloat<T>(randomValue(i, seed));
}

template <class T>
__global__ void countKernel(const T *x, int64_t count,
                            unsigned long long *notFinite) {
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < count; i += static_cast<int64_t>(gridDim.x) * blockDim.x)
    if (!isfinite(toFloat(x[i])))
      atomicAdd(notFinite, 1ull);
}

float hostFloat(float x) { return x; }
float hostFloat(__half x) { return __half2float(x); }
float hostFloat(__nv_bfloat16 x) { return __bfloat162float(x); }

enum Seed : uint64_t { seedQ = 1, seedK, seedV, seedEK, seedEV };

/// One row in f64 on the host, whose inputs are generated again.
template <class T>
void referenceRow(const Problem &p, int batch, int head, int token,
                  double *out) {
  auto value = [](int64_t index, Seed seed) {
    return static_cast<double>(
        hostFloat(fromFloat<T>(randomValue(index, seed))));
  };
  int kvHead = head / (p.heads / p.kvHeads);
  std::vector<int> flat{0};
  int divisor = p.tokens, rest = token;
  for (int a = 0; a < p.rank; ++a) {
    divisor /= p.axes[a].length;
    NaiveRange range = naiveWindow(p.axes[a], rest / divisor);
    rest %= divisor;
    std::vector<int> next;
    for (int base : flat)
      for (int i = range.begin; i < range.end; ++i)
        next.push_back(base * p.axes[a].length + range.residue +
                       i * p.axes[a].dilation);
    flat.swap(next);
  }
  std::vector<double> query(p.dim);
  for (int c = 0; c < p.dim; ++c)
    query[c] = value(((int64_t(batch) * p.tokens + token) * p.heads + head) *
                             p.dim +
                         c,
                     seedQ);
  auto rowOf = [&](size_t i, bool &extra) {
    extra = i >= flat.size();
    return (extra ? int64_t(batch) * p.extra + int64_t(i - flat.size())
                  : int64_t(batch) * p.tokens + flat[i]) *
               p.kvHeads +
           kvHead;
  };
  std::vector<double> scores(flat.size() + p.extra);
  bool extra;
  double most = -INFINITY, sum = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    int64_t row = rowOf(i, extra);
    double dot = 0;
    for (int c = 0; c < p.dim; ++c)
      dot += query[c] * value(row * p.dim + c, extra ? seedEK : seedK);
    scores[i] = dot * p.scale;
    most = std::max(most, scores[i]);
  }
  for (double &score : scores)
    sum += score = std::exp(score - most);
  std::fill(out, out + p.valueDim, 0.0);
  for (size_t i = 0; i < scores.size(); ++i) {
    int64_t row = rowOf(i, extra);
    for (int c = 0; c < p.valueDim; ++c)
      out[c] += scores[i] / sum *
                value(row * p.valueDim + c, extra ? seedEV : seedV);
  }
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

struct Settings {
  Problem problem;
  std::string dtype = "f32", weights = "input";
  int runs = 20;
  double pause = 0;
  bool verify = true;
};

template <class T> struct Buffer {
  T *data = nullptr;
  int64_t count;
  explicit Buffer(int64_t count) : count(count) {
    CHECK(cudaMalloc(&data, std::max<int64_t>(count, 1) * sizeof(T)));
  }
  Buffer(const Buffer &) = delete;
  ~Buffer() { cudaFree(data); }
  void fill(uint64_t seed) {
    if (count)
      fillKernel<<<2048, 256>>>(data, count, seed);
  }
};

template <class T, class W, int rank> struct Program {
  const Settings &settings;
  const Problem &p;
  Buffer<T> q, k, v, ek, ev, o;
  Buffer<W> weights;

  explicit Program(const Settings &s)
      : settings(s), p(s.problem), q(p.rows * p.dim),
        k(int64_t(p.batch) * p.tokens * p.kvHeads * p.dim),
        v(int64_t(p.batch) * p.tokens * p.kvHeads * p.valueDim),
        ek(int64_t(p.batch) * p.extra * p.kvHeads * p.dim),
        ev(int64_t(p.batch) * p.extra * p.kvHeads * p.valueDim),
        o(p.rows * p.valueDim), weights(p.rows * p.keys) {
    q.fill(seedQ), k.fill(seedK), v.fill(seedV);
    ek.fill(seedEK), ev.fill(seedEV);
    CHECK(cudaGetLastError());
    CHECK(cudaMemset(o.data, 0xff, o.count * sizeof(T)));
    CHECK(cudaMemset(weights.data, 0xff, weights.count * sizeof(W)));
  }

  void scores() {
    int width = std::min(p.keys, 128), height = std::max(1, 256 / width);
    dim3 block(width, height);
    dim3 grid((p.rows + height - 1) / height, (p.keys + width - 1) / width);
    if (p.dim * sizeof(T) % 16 == 0)
      scoresKernel<T, W, rank, true>
          <<<grid, block>>>(p, q.data, k.data, ek.data, weights.data);
    else
      scoresKernel<T, W, rank, false>
          <<<grid, block>>>(p, q.data, k.data, ek.data, weights.data);
  }
  void softmax() {
    softmaxKernel<W><<<(p.rows + 7) / 8, dim3(32, 8)>>>(p, weights.data);
  }
  template <int lanes> void outputs() {
    int64_t threads = p.rows * (p.valueDim / lanes);
    outputKernel<T, W, rank, lanes><<<(threads + 255) / 256, 256>>>(
        p, weights.data, v.data, ev.data, o.data);
  }
  void output() {
    if (sizeof(T) == 2 && p.valueDim % 2 == 0)
      outputs<2>();
    else
      outputs<1>();
  }

  void verify(double &whole, double &worst, unsigned long long &notFinite) {
    Buffer<unsigned long long> count(1);
    CHECK(cudaMemset(count.data, 0, sizeof(notFinite)));
    countKernel<<<2048, 256>>>(o.data, o.count, count.data);
    CHECK(cudaMemcpy(&notFinite, count.data, sizeof(notFinite),
                     cudaMemcpyDeviceToHost));
    constexpr int samples = 64;
    std::vector<double> expected(samples * p.valueDim);
    std::vector<T> got(samples * p.valueDim);
    auto pick = [&](int i, int &batch, int &head, int &token) {
      uint64_t bits = static_cast<uint64_t>(i) * 0x9E3779B97F4A7C15ull;
      batch = (bits >> 40) % p.batch, head = (bits >> 20) % p.heads;
      // A quarter of them at the ends and in the corners.
      token = i % 4 ? (bits >> 8) % p.tokens : 0;
      if (i % 4 == 0) {
        for (int a = 0; a < p.rank; ++a) {
          int length = p.axes[a].length, at = (i >> (2 + a)) & 1;
          int inward = static_cast<int>((bits >> (30 + 5 * a)) % 3);
          at = at ? length - 1 - inward : inward;
          token = token * length + std::min(std::max(at, 0), length - 1);
        }
      }
    };
    std::vector<std::thread> threads;
    constexpr int parts = 8;
    for (int part = 0; part < parts; ++part)
      threads.emplace_back([&, part] {
        for (int i = part; i < samples; i += parts) {
          int batch, head, token;
          pick(i, batch, head, token);
          referenceRow<T>(p, batch, head, token,
                          &expected[size_t(i) * p.valueDim]);
        }
      });
    for (std::thread &thread : threads)
      thread.join();
    double difference = 0, norm = 0;
    worst = 0;
    for (int i = 0; i < samples; ++i) {
      int batch, head, token;
      pick(i, batch, head, token);
      T *row = &got[size_t(i) * p.valueDim];
      CHECK(cudaMemcpy(
          row,
          o.data + ((int64_t(batch) * p.tokens + token) * p.heads + head) *
                       p.valueDim,
          p.valueDim * sizeof(T), cudaMemcpyDeviceToHost));
      double rowDifference = 0, rowNorm = 0;
      for (int c = 0; c < p.valueDim; ++c) {
        double want = expected[size_t(i) * p.valueDim + c];
        double off = hostFloat(row[c]) - want;
        rowDifference += off * off, rowNorm += want * want;
      }
      difference += rowDifference, norm += rowNorm;
      double error = std::sqrt(rowDifference / rowNorm);
      worst = error > worst || error != error ? error : worst;
    }
    whole = std::sqrt(difference / norm);
  }

  int run() {
    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    Buffer<char> flush(std::max<int64_t>(4ll * device.l2CacheSize, 256 << 20));
    cudaEvent_t events[4];
    for (cudaEvent_t &event : events)
      CHECK(cudaEventCreate(&event));
    auto launch = [&](bool inner) {
      CHECK(cudaMemsetAsync(flush.data, 0, flush.count));
      CHECK(cudaEventRecord(events[0]));
      scores();
      if (inner)
        CHECK(cudaEventRecord(events[1]));
      softmax();
      if (inner)
        CHECK(cudaEventRecord(events[2]));
      output();
      CHECK(cudaEventRecord(events[3]));
      CHECK(cudaGetLastError());
      CHECK(cudaEventSynchronize(events[3]));
    };
    auto elapsed = [&](int from, int to) {
      float ms;
      CHECK(cudaEventElapsedTime(&ms, events[from], events[to]));
      return ms * 1e-3;
    };
    launch(false);
    launch(true);
    double kernels[3] = {elapsed(0, 1), elapsed(1, 2), elapsed(2, 3)};

    double whole = 0, worst = 0;
    unsigned long long notFinite = 0;
    if (settings.verify)
      verify(whole, worst, notFinite);
    bool half = settings.dtype == "f16", brain = settings.dtype == "bf16";
    double limit = brain ? 1e-2 : half ? 2e-3 : 1e-5;
    bool ok = whole <= limit && worst <= 5 * limit && notFinite == 0;

    if (settings.pause == 0) {
      using Clock = std::chrono::steady_clock;
      for (auto end = Clock::now() + std::chrono::milliseconds(300);
           Clock::now() < end;)
        launch(false);
    }
    std::vector<double> times;
    for (int i = 0; i < settings.runs; ++i) {
      if (settings.pause > 0)
        std::this_thread::sleep_for(
            std::chrono::duration<double, std::milli>(settings.pause));
      launch(false);
      times.push_back(elapsed(0, 3));
    }
    std::vector<double> sorted = times;
    std::sort(sorted.begin(), sorted.end());
    size_t middle = sorted.size() / 2;
    double median = sorted.size() % 2
                        ? sorted[middle]
                        : (sorted[middle - 1] + sorted[middle]) / 2;
    printf("{\"ok\": %s, \"median_s\": %.9g, \"fastest_s\": %.9g, "
           "\"kernels_s\": [%.9g, %.9g, %.9g], \"weights\": \"%s\", "
           "\"weights_bytes\": %lld, \"error\": %.4g, "
           "\"worst_row_error\": %.4g, \"not_finite\": %llu, \"times_s\": [",
           ok ? "true" : "false", median, sorted.front(), kernels[0],
           kernels[1], kernels[2], settings.weights.c_str(),
           static_cast<long long>(weights.count * sizeof(W)),
           std::isfinite(whole) ? whole : 1e30,
           std::isfinite(worst) ? worst : 1e30, notFinite);
    for (size_t i = 0; i < times.size(); ++i)
      printf("%s%.9g", i ? ", " : "", times[i]);
    printf("]}\n");
    return 0;
  }
};

[[noreturn]] void fail(const std::string &message) {
  fprintf(stderr, "error: %s\n", message.c_str());
  exit(2);
}

std::vector<int> parseBox(const std::string &text) {
  std::vector<int> box;
  for (size_t at = 0; at <= text.size();) {
    size_t end = std::min(text.find_first_of("x,", at), text.size());
    std::string part = text.substr(at, end - at);
    box.push_back(part == "t" ? 1 : part == "f" ? 0 : atoi(part.c_str()));
    at = end + 1;
  }
  return box;
}

Settings parse(int argc, char **argv) {
  Settings settings;
  Problem &p = settings.problem;
  std::vector<int> shape, window, stride, dilation, causal;
  bool scaled = false;
  for (int i = 1; i < argc; ++i) {
    std::string arg = argv[i];
    size_t equals = arg.find('=');
    if (equals == std::string::npos)
      fail("'" + arg + "' is not of the form --name=value");
    std::string name = arg.substr(0, equals), value = arg.substr(equals + 1);
    int number = atoi(value.c_str());
    if (name == "--shape")
      shape = parseBox(value);
    else if (name == "--window")
      window = parseBox(value);
    else if (name == "--stride")
      stride = parseBox(value);
    else if (name == "--dilation")
      dilation = parseBox(value);
    else if (name == "--causal")
      causal = parseBox(value);
    else if (name == "--batch")
      p.batch = number;
    else if (name == "--heads")
      p.heads = number;
    else if (name == "--kv-heads")
      p.kvHeads = number;
    else if (name == "--head-dim")
      p.dim = number;
    else if (name == "--value-dim")
      p.valueDim = number;
    else if (name == "--extra-kv")
      p.extra = number;
    else if (name == "--scale")
      p.scale = static_cast<float>(atof(value.c_str())), scaled = true;
    else if (name == "--dtype")
      settings.dtype = value;
    else if (name == "--weights")
      settings.weights = value;
    else if (name == "--runs")
      settings.runs = std::max(1, number);
    else if (name == "--pause")
      settings.pause = atof(value.c_str());
    else if (name == "--verify")
      settings.verify = number != 0;
    else if (name != "--lse" || value != "false")
      fail("unknown flag '" + arg + "'");
  }
  p.rank = static_cast<int>(shape.size());
  if (p.rank < 1 || p.rank > 3 || window.size() != shape.size())
    fail("--shape and --window must have the same 1 to 3 axes");
  if (p.kvHeads == 0)
    p.kvHeads = p.heads;
  if (p.valueDim == 0)
    p.valueDim = p.dim;
  if (p.heads % p.kvHeads)
    fail("--kv-heads must divide --heads");
  if (!scaled)
    p.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(p.dim)));
  stride.resize(p.rank, 1), dilation.resize(p.rank, 1);
  causal.resize(p.rank, 0);
  for (int a = 0; a < p.rank; ++a) {
    p.axes[a] = {shape[a], window[a], stride[a], dilation[a], causal[a]};
    if (window[a] < 1 || stride[a] < 1 || stride[a] > window[a] ||
        dilation[a] < 1 || window[a] > shape[a] / dilation[a])
      fail("axis " + std::to_string(a) + ": illegal window");
    p.tokens *= shape[a];
    p.windowKeys *= window[a];
  }
  p.keys = p.windowKeys + p.extra;
  p.rows = int64_t(p.batch) * p.heads * p.tokens;
  if (p.rows > 0x7fffffff)
    fail("more than 2^31 rows");
  return settings;
}

template <class T, class W> int dispatch(const Settings &settings) {
  switch (settings.problem.rank) {
  case 1:
    return Program<T, W, 1>(settings).run();
  case 2:
    return Program<T, W, 2>(settings).run();
  default:
    return Program<T, W, 3>(settings).run();
  }
}

} // namespace

int main(int argc, char **argv) {
  Settings settings = parse(argc, argv);
  bool wide = settings.weights == "f32";
  if (!wide && settings.weights != "input")
    fail("--weights must be 'input' or 'f32'");
  if (settings.dtype == "f32")
    return dispatch<float, float>(settings);
  if (settings.dtype == "f16")
    return wide ? dispatch<__half, float>(settings)
                : dispatch<__half, __half>(settings);
  if (settings.dtype == "bf16")
    return wide ? dispatch<__nv_bfloat16, float>(settings)
                : dispatch<__nv_bfloat16, __nv_bfloat16>(settings);
  fail("--dtype must be f32, f16 or bf16");
}
