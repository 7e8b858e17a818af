//===- Pipelines.h - Pass pipelines ---*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_PIPELINES_PIPELINES_H
#define NA_PIPELINES_PIPELINES_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace mlir::na {

/// How `na.attention` is lowered.
enum class LoweringMode {
  /// Loops straight from the definition.
  Naive,
  /// na.qk, softmax, na.av; attention weights in memory.
  Unfused,
  /// Tiles with an online softmax; memory linear in tokens.
  Fused
};

/// Options of the pipeline `na-to-cpu`.
struct CPUPipelineOptions : PassPipelineOptions<CPUPipelineOptions> {
  Option<LoweringMode> mode{
      *this, "mode", llvm::cl::desc("How attention is lowered"),
      llvm::cl::init(LoweringMode::Fused),
      llvm::cl::values(clEnumValN(LoweringMode::Naive, "naive",
                                  "loops straight from the definition"),
                       clEnumValN(LoweringMode::Unfused, "unfused",
                                  "two products with the weights in memory"),
                       clEnumValN(LoweringMode::Fused, "fused",
                                  "tiles with an online softmax"))};
  ListOption<int64_t> queryTile{
      *this, "query-tile",
      llvm::cl::desc("Query tile per axis, instead of the cost model's")};
  ListOption<int64_t> keyTile{
      *this, "key-tile",
      llvm::cl::desc("Key tile per axis, instead of the cost model's")};
  ListOption<int64_t> warpgroupTile{
      *this, "warpgroup-tile",
      llvm::cl::desc("Part of the query tile that one warpgroup owns, per "
                     "axis; needs query-tile and key-tile")};
  Option<int64_t> headsPerTile{
      *this, "heads-per-tile",
      llvm::cl::desc("Query heads of a key head that share a tile; 0 (default) "
                     "means 1"),
      llvm::cl::init(0)};
  Option<std::string> tuningFile{
      *this, "tuning-file",
      llvm::cl::desc("File of measured schedules, which come before the cost "
                     "model's"),
      llvm::cl::init("")};
  Option<std::string> scheduleTarget{
      *this, "schedule-target",
      llvm::cl::desc("What the tiles are made for; those of a GPU such as "
                     "sm_80 run on the CPU too, slowly (default: cpu)"),
      llvm::cl::init("cpu")};
  Option<int64_t> vectorBits{
      *this, "vector-bits",
      llvm::cl::desc("Width of a vector register in bits: 512 for AVX-512, "
                     "256 for AVX2 (default: this host's)"),
      llvm::cl::init(0)};
  Option<int64_t> registers{
      *this, "registers",
      llvm::cl::desc("Number of vector registers: 32 for AVX-512, 16 for AVX2 "
                     "(default: this host's)"),
      llvm::cl::init(0)};
  Option<bool> parallel{
      *this, "parallel",
      llvm::cl::desc("Run the grid on the run time's threads"),
      llvm::cl::init(true)};
};

/// Lowers a module with na operations, on tensors or memrefs, beside upstream
/// operations, to the LLVM dialect for a CPU.
void buildCPUPipeline(OpPassManager &pm, const CPUPipelineOptions &options);

/// The part of `buildCPUPipeline` up to loops and vectors: bufferized, tiled,
/// no operation of na or linalg left.
void buildCPULoopsPipeline(OpPassManager &pm,
                           const CPUPipelineOptions &options);

/// The rest of `buildCPUPipeline`: scf, vector, math, arith, memref and func
/// to the LLVM dialect.
void buildCPUToLLVMPipeline(OpPassManager &pm,
                            const CPUPipelineOptions &options);

/// How f32 products run on the tensor cores of a GPU.
enum class F32Math {
  /// Not on tensor cores: products and sums in f32.
  IEEE,
  /// Factors rounded to tf32, sums in f32.
  TF32
};

/// Options of the pipeline `na-to-nvvm`.
struct GPUPipelineOptions : PassPipelineOptions<GPUPipelineOptions> {
  Option<std::string> chip{
      *this, "chip",
      llvm::cl::desc("GPU to compile for: sm_80, sm_86, sm_87, sm_89, sm_90 or "
                     "sm_90a"),
      llvm::cl::init("sm_80")};
  Option<std::string> format{
      *this, "format",
      llvm::cl::desc("What gpu.binary holds: isa (PTX), bin (cubin; needs "
                     "ptxas) or fatbin"),
      llvm::cl::init("isa")};
  Option<LoweringMode> mode{
      *this, "mode", llvm::cl::desc("How attention is lowered"),
      llvm::cl::init(LoweringMode::Fused),
      llvm::cl::values(clEnumValN(LoweringMode::Naive, "naive",
                                  "one thread per score, per row of weights "
                                  "and per output element"),
                       clEnumValN(LoweringMode::Unfused, "unfused",
                                  "two products with the weights in memory"),
                       clEnumValN(LoweringMode::Fused, "fused",
                                  "tiles with an online softmax"))};
  Option<F32Math> f32Math{
      *this, "f32-math",
      llvm::cl::desc("How tiled products of f32 are computed"),
      llvm::cl::init(F32Math::IEEE),
      llvm::cl::values(
          clEnumValN(F32Math::IEEE, "ieee", "in f32"),
          clEnumValN(F32Math::TF32, "tf32", "from factors rounded to tf32"))};
  ListOption<int64_t> queryTile{
      *this, "query-tile",
      llvm::cl::desc("Query tile per axis, instead of the cost model's")};
  ListOption<int64_t> keyTile{
      *this, "key-tile",
      llvm::cl::desc("Key tile per axis, instead of the cost model's")};
  ListOption<int64_t> warpgroupTile{
      *this, "warpgroup-tile",
      llvm::cl::desc("Part of the query tile that one warpgroup owns, per "
                     "axis; needs query-tile and key-tile")};
  Option<int64_t> headsPerTile{
      *this, "heads-per-tile",
      llvm::cl::desc("Query heads of a key head that share a tile; 0 (default) "
                     "means 1"),
      llvm::cl::init(0)};
  Option<std::string> tuningFile{
      *this, "tuning-file",
      llvm::cl::desc("File of measured schedules, which come before the cost "
                     "model's"),
      llvm::cl::init("")};
  Option<bool> arriveByLanes{
      *this, "arrive-by-lanes",
      llvm::cl::desc("Let all lanes of a warp arrive at the barriers of "
                     "sm_90a, for tools that look for races; slower"),
      llvm::cl::init(false)};
  Option<bool> persistentGrid{
      *this, "persistent-grid",
      llvm::cl::desc("Let the CTAs of sm_90a that run at a time share the work "
                     "in a fixed order, instead of one CTA for each tile"),
      llvm::cl::init(true)};
  Option<bool> gradientsTogether{
      *this, "gradients-together",
      llvm::cl::desc("On sm_90a, compute the gradients of queries, keys and "
                     "values of an operation that is not deterministic in one "
                     "kernel, which adds those of queries up in memory"),
      llvm::cl::init(true)};
  Option<int64_t> naiveWeightsLimit{
      *this, "naive-weights-limit",
      llvm::cl::desc("With mode=naive, the most bytes of attention weights in "
                     "memory; above, and for dynamic sizes, one thread "
                     "computes a row"),
      llvm::cl::init(40000000000)};
};

/// Lowers a module with na operations, on tensors or memrefs, beside upstream
/// operations, to host functions in the LLVM dialect, a `gpu.binary` and the
/// attribute `na.kernels` (see the pass gpu-launch-to-runtime). All memrefs
/// are in the memory of the device.
void buildGPUPipeline(OpPassManager &pm, const GPUPipelineOptions &options);

/// The part of `buildGPUPipeline` up to kernels as `gpu.launch`.
void buildGPUKernelsPipeline(OpPassManager &pm,
                             const GPUPipelineOptions &options);

/// `path` as an option of the pipelines, with a space before it; nothing if it
/// is empty.
std::string formatTuningFileOption(llvm::StringRef path);

/// Registers the pipelines with the global pass registry.
void registerNAPipelines();

} // namespace mlir::na

#endif // NA_PIPELINES_PIPELINES_H
