//===- naive_window.h - Window arithmetic of the naive kernels --*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Written apart from the project's own window arithmetic, as a hand-written
// kernel would be. Compiles as host code too, where a test compares it with the
// conformance oracle.
//
//===----------------------------------------------------------------------===//

#ifndef NA_BENCHMARKS_PEERS_NAIVE_WINDOW_H
#define NA_BENCHMARKS_PEERS_NAIVE_WINDOW_H

#ifdef __CUDACC__
#define NAIVE_HD __host__ __device__ __forceinline__
#else
#define NAIVE_HD inline
#endif

struct NaiveAxis {
  int length, window, stride, dilation, causal;
};

/// The keys residue + dilation * p, p in [begin, end), of one query.
struct NaiveRange {
  int residue, begin, end;
};

NAIVE_HD NaiveRange naiveWindow(const NaiveAxis &axis, int query) {
  int residue = query % axis.dilation, position = query / axis.dilation;
  int size = (axis.length - residue + axis.dilation - 1) / axis.dilation;
  int leader = position / axis.stride * axis.stride +
               (axis.causal ? axis.stride - 1 : axis.stride / 2);
  if (leader > size - 1)
    leader = size - 1;
  int begin = leader - (axis.causal ? axis.window - 1 : axis.window / 2);
  if (!axis.causal && begin > size - axis.window)
    begin = size - axis.window;
  if (begin < 0)
    begin = 0;
  return {residue, begin, axis.causal ? position + 1 : begin + axis.window};
}

#endif // NA_BENCHMARKS_PEERS_NAIVE_WINDOW_H
