//===- Runtime.h - What compiled code calls at run time ---------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions that kernels compiled for the CPU may call. No MLIR header is
// needed here, so that programs can link the library beside compiled kernels.
//
//===----------------------------------------------------------------------===//

#ifndef NA_RUNTIME_RUNTIME_H
#define NA_RUNTIME_RUNTIME_H

#include <cstddef>
#include <cstdint>

extern "C" {

/// Calls `body(begin, end, ctx)` on disjoint ranges that together make up
/// [0, count), from the calling thread and from the pool's. Returns when all
/// of them are done. `body` must not throw.
///
/// Calls from inside a body run inline, and so do calls that find the pool
/// busy with the work of another thread. Ranges are handed out as threads
/// become free, so `body` must not rely on which thread runs which range.
/// The child of a fork has a pool of its own.
void naParallelFor(int64_t count,
                   void (*body)(int64_t begin, int64_t end, void *ctx),
                   void *ctx);

/// Sets how many threads naParallelFor uses, the calling one included: at most
/// 4096. Zero or less means the default, one per CPU that the process may run
/// on.
void naSetNumThreads(int count);

/// The number of threads that naParallelFor uses.
int naGetNumThreads();

} // extern "C"

namespace na::runtime {

struct Symbol {
  const char *name;
  void *address;
};

/// The symbols that a JIT has to offer to compiled code, terminated by an entry
/// without a name: the functions above, the copy between strided memrefs, and
/// the conversions between narrow and wide floats that hosts without the
/// instructions call.
const Symbol *symbols();

} // namespace na::runtime

#endif // NA_RUNTIME_RUNTIME_H
