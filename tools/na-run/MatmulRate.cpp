//===- MatmulRate.cpp - The host's rate of f32 matrix products ------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatmulRate.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "na/ExecutionEngine/HostTensor.h"
#include "na/ExecutionEngine/JITModule.h"
#include "na/Runtime/Runtime.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <chrono>
#include <vector>

using namespace mlir;
using namespace mlir::na;
using namespace mlir::na::run;

namespace {

/// A block of C, `rows` x `vectors * lanes`, is held in registers.
struct Blocking {
  int64_t lanes, rows, vectors;
};

/// Depth of the panels: with these blockings A and B fit in 24 KiB.
constexpr int64_t depth = 128;
constexpr int64_t repeats = 200;

/// The program: `repeats` times, C = A * B with A packed [depth, rows] and B
/// packed [depth, vectors * lanes].
std::string writeKernel(const Blocking &blocking) {
  std::string text;
  llvm::raw_string_ostream os(text);
  int64_t columns = blocking.lanes * blocking.vectors;
  std::string vector = llvm::formatv("vector<{0}xf32>", blocking.lanes);
  std::string a = llvm::formatv("memref<{0}x{1}xf32>", depth, blocking.rows);
  std::string b = llvm::formatv("memref<{0}x{1}xf32>", depth, columns);
  std::string c = llvm::formatv("memref<{0}x{1}xf32>", blocking.rows, columns);
  int64_t count = blocking.rows * blocking.vectors;
  auto list = [&](const char *prefix) {
    for (int64_t i = 0; i < count; ++i)
      os << (i ? ", " : "") << prefix << i;
  };
  auto types = [&] {
    for (int64_t i = 0; i < count; ++i)
      os << (i ? ", " : "") << vector;
  };
  os << "func.func @kernel(%a: " << a << ", %b: " << b << ", %c: " << c
     << ") {\n"
     << "%i0 = arith.constant 0 : index\n%i1 = arith.constant 1 : index\n"
     << "%depth = arith.constant " << depth << " : index\n"
     << "%repeats = arith.constant " << repeats << " : index\n";
  for (int64_t i = 1; i < std::max(blocking.rows, blocking.vectors); ++i)
    os << "%row" << i << " = arith.constant " << i << " : index\n"
       << "%column" << i << " = arith.constant " << i * blocking.lanes
       << " : index\n";
  auto row = [](int64_t i) {
    return i ? "%row" + std::to_string(i) : std::string("%i0");
  };
  auto column = [](int64_t j) {
    return j ? "%column" + std::to_string(j) : std::string("%i0");
  };
  os << "scf.for %r = %i0 to %repeats step %i1 {\n";
  // Reading C keeps the repetitions apart.
  for (int64_t i = 0; i < blocking.rows; ++i)
    for (int64_t j = 0; j < blocking.vectors; ++j)
      os << "%c" << i * blocking.vectors + j << " = vector.load %c[" << row(i)
         << ", " << column(j) << "] : " << c << ", " << vector << "\n";
  os << "%sum:" << count << " = scf.for %k = %i0 to %depth step %i1 iter_args(";
  for (int64_t i = 0; i < count; ++i)
    os << (i ? ", " : "") << "%s" << i << " = %c" << i;
  os << ") -> (";
  types();
  os << ") {\n";
  for (int64_t j = 0; j < blocking.vectors; ++j)
    os << "%b" << j << " = vector.load %b[%k, " << column(j) << "] : " << b
       << ", " << vector << "\n";
  for (int64_t i = 0; i < blocking.rows; ++i) {
    os << "%e" << i << " = memref.load %a[%k, " << row(i) << "] : " << a << "\n"
       << "%a" << i << " = vector.broadcast %e" << i << " : f32 to " << vector
       << "\n";
    for (int64_t j = 0; j < blocking.vectors; ++j) {
      int64_t at = i * blocking.vectors + j;
      os << "%n" << at << " = vector.fma %a" << i << ", %b" << j << ", %s" << at
         << " : " << vector << "\n";
    }
  }
  os << "scf.yield ";
  list("%n");
  os << " : ";
  types();
  os << "\n}\n";
  for (int64_t i = 0; i < blocking.rows; ++i)
    for (int64_t j = 0; j < blocking.vectors; ++j)
      os << "vector.store %sum#" << i * blocking.vectors + j << ", %c["
         << row(i) << ", " << column(j) << "] : " << c << ", " << vector
         << "\n";
  os << "}\nreturn\n}\n";
  return text;
}

/// The panels of one thread.
struct Panels {
  HostTensor a, b, c;
};

struct Work {
  JITModule::PackedFunction kernel;
  std::vector<Panels> panels;

  static void body(int64_t begin, int64_t end, void *ctx) {
    auto &work = *static_cast<Work *>(ctx);
    for (int64_t i = begin; i < end; ++i) {
      Panels &panels = work.panels[i];
      SmallVector<int64_t> descriptors[] = {panels.a.getDescriptor(),
                                            panels.b.getDescriptor(),
                                            panels.c.getDescriptor()};
      void *values[] = {descriptors[0].data(), descriptors[1].data(),
                        descriptors[2].data()};
      void *slots[] = {&values[0], &values[1], &values[2]};
      work.kernel(slots);
    }
  }
};

llvm::Expected<double> measure(MLIRContext &context, const Blocking &blocking) {
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(
      writeKernel(blocking), ParserConfig(&context));
  if (!module)
    return llvm::createStringError("the matmul kernel cannot be parsed");
  JITOptions options;
  options.pipeline =
      "convert-scf-to-cf,convert-vector-to-llvm,finalize-memref-to-llvm,"
      "convert-arith-to-llvm,convert-index-to-llvm,convert-func-to-llvm,"
      "convert-cf-to-llvm,reconcile-unrealized-casts";
  llvm::Expected<std::unique_ptr<JITModule>> jit =
      JITModule::compile(*module, options);
  if (!jit)
    return jit.takeError();
  llvm::Expected<JITModule::PackedFunction> kernel = (*jit)->lookup("kernel");
  if (!kernel)
    return kernel.takeError();

  Work work{*kernel, {}};
  int64_t columns = blocking.lanes * blocking.vectors;
  int threads = naGetNumThreads();
  for (int i = 0; i < threads; ++i) {
    Panels panels;
    for (auto [tensor, shape] : {std::pair<HostTensor &, SmallVector<int64_t>>{
                                     panels.a, {depth, blocking.rows}},
                                 {panels.b, {depth, columns}},
                                 {panels.c, {blocking.rows, columns}}}) {
      llvm::Expected<HostTensor> allocated =
          HostTensor::allocate("panel", ElementType::F32, shape);
      if (!allocated)
        return allocated.takeError();
      tensor = std::move(*allocated);
      for (int64_t k = 0; k < tensor.getNumElements(); ++k)
        tensor.set(k, 1e-3 * static_cast<double>(k % 7));
    }
    work.panels.push_back(std::move(panels));
  }
  using Clock = std::chrono::steady_clock;
  double operations = 2.0 * depth * blocking.rows * columns * repeats * threads;
  double best = 0;
  // The best of 60 ms: what the host can do, not what it does on average.
  for (auto end = Clock::now() + std::chrono::milliseconds(60);
       Clock::now() < end;) {
    auto start = Clock::now();
    naParallelFor(threads, Work::body, &work);
    std::chrono::duration<double> seconds = Clock::now() - start;
    best = std::max(best, operations / seconds.count());
  }
  return best;
}

} // namespace

llvm::Expected<double> run::measureMatmulRate(MLIRContext &context) {
  double best = 0;
  // For 16 and for 32 vector registers; 512-bit vectors are two operations
  // where the host has none.
  for (const Blocking &blocking :
       {Blocking{8, 6, 2}, Blocking{8, 12, 2}, Blocking{16, 12, 2}}) {
    llvm::Expected<double> rate = measure(context, blocking);
    if (!rate)
      return rate.takeError();
    best = std::max(best, *rate);
  }
  return best;
}
