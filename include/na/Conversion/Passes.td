//===- Passes.td - Conversions of the na dialect -*- tablegen -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_CONVERSION_PASSES_TD
#define NA_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertNAToLoopsPass : Pass<"convert-na-to-loops"> {
  let summary = "Lower na operations on memrefs to plain loops";
  let description = [{
    Lowers `na.attention`, `na.qk`, `na.av` and `na.merge` to `scf`, `memref`,
    `arith` and `math`, straight from their definitions: no tiles, no masks.
    This is the oracle that other lowerings are compared with.

    Batch, tokens and heads become one `scf.parallel`; the loops over keys run
    exactly over the window of the query. Softmax takes two passes over the keys
    of a row, the first for the largest logit, the second for the sums; both
    compute the logits. All element types, sizes (static or dynamic) and
    options of the operations are supported. Sums are in f32, or f64 for f64,
    and rounded to the output's type once, at the end. Where that type is
    narrower, `na.attention` sums in a temporary buffer with the shape of the
    output; otherwise it sums in the output.

    The result may hold `arith.floordivsi` and `arith.ceildivsi`, which
    `arith-expand` lowers.

    Example: `-convert-na-to-loops` turns

    ```mlir
    na.av ins(%w, %v : memref<1x56x2x7xf32>, memref<1x56x2x32xf32>)
          outs(%o : memref<1x56x2x32xf32>) window(<size = [7]>)
    ```

    into

    ```mlir
    scf.parallel (%b, %x, %h, %d) = (%c0, %c0, %c0, %c0)
        to (%c1, %c56, %c2, %c32) step (%c1, %c1, %c1, %c1) {
      %0 = arith.addi %x, %c-3 : index
      %1 = arith.minsi %0, %c49 : index
      %begin = arith.maxsi %1, %c0 : index
      %end = arith.addi %begin, %c7 : index
      %sum = scf.for %key = %begin to %end step %c1
          iter_args(%s = %zero) -> (f32) {
        %slot = arith.subi %key, %begin : index
        %2 = memref.load %w[%b, %x, %h, %slot] : memref<1x56x2x7xf32>
        %3 = memref.load %v[%b, %key, %h, %d] : memref<1x56x2x32xf32>
        %4 = arith.mulf %2, %3 : f32
        %5 = arith.addf %s, %4 : f32
        scf.yield %5 : f32
      }
      memref.store %sum, %o[%b, %x, %h, %d] : memref<1x56x2x32xf32>
      scf.reduce
    }
    ```

    Errors: an operation on tensors (bufferize before this pass); an unknown
    name in `ops`.
  }];
  let options = [
    ListOption<"ops", "ops", "std::string",
               "Operations to lower: any of attention, qk, av, merge (default: "
               "all)">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"
  ];
}

def LinalgToVectorLoopsPass : Pass<"linalg-to-vector-loops"> {
  let summary = "Lower linalg on static buffers to register-blocked vector loops";
  let description = [{
    Lowers every `linalg` operation on memrefs of static shape whose body is
    elementwise to `scf` loops over 1-D vectors. The last dimension of the
    outputs runs along vectors. The innermost other parallel dimension is
    unrolled into rows, so that a block of rows times vectors of accumulators
    stays in registers while the reductions run; operands that do not depend
    on the row or on the lane are loaded once per block.

    Where inputs are not contiguous along that dimension but along the only
    reduction (the sum or maximum of each row), vectors run along the
    reduction and are combined at the end, in an order of their own.

    Values of type f16 and bf16 are computed in f32 and rounded when they are
    stored, sums once after the reductions. A product that is added to is fused
    with the sum.

    Large operations outside of any parallel loop get an outermost
    `scf.parallel`, over their outer dimensions or over panels of rows.

    Unlike a chain of tiling, `linalg` vectorisation and contraction lowering,
    accumulators are 1-D vectors carried by `scf.for` from the start, and no
    multi-dimensional vector has to be unrolled again later.

    Operations of other forms (dynamic shapes, a reduction as last output
    dimension, indices that are not dimensions, strided lanes) are left alone.

    Example: with `vector-bits=256 registers=16`

    ```mlir
    linalg.matmul ins(%a, %b : memref<1x64xf32>, memref<64x16xf32>)
                  outs(%c : memref<1x16xf32>)
    ```

    becomes (canonicalised)

    ```mlir
    %0 = vector.load %c[%c0, %c0] : memref<1x16xf32>, vector<8xf32>
    %1 = vector.load %c[%c0, %c8] : memref<1x16xf32>, vector<8xf32>
    %2:2 = scf.for %k = %c0 to %c64 step %c1 iter_args(%s0 = %0, %s1 = %1)
        -> (vector<8xf32>, vector<8xf32>) {
      %3 = memref.load %a[%c0, %k] : memref<1x64xf32>
      %4 = vector.load %b[%k, %c0] : memref<64x16xf32>, vector<8xf32>
      %5 = vector.broadcast %3 : f32 to vector<8xf32>
      %6 = math.fma %5, %4, %s0 : vector<8xf32>
      %7 = vector.load %b[%k, %c8] : memref<64x16xf32>, vector<8xf32>
      %8 = math.fma %5, %7, %s1 : vector<8xf32>
      scf.yield %6, %8 : vector<8xf32>, vector<8xf32>
    }
    vector.store %2#0, %c[%c0, %c0] : memref<1x16xf32>, vector<8xf32>
    vector.store %2#1, %c[%c0, %c8] : memref<1x16xf32>, vector<8xf32>
    ```

    Errors: `vector-bits` that is no multiple of 64 from 64 to 4096;
    `registers` outside of 4 to 256.
  }];
  let options = [
    Option<"vectorBits", "vector-bits", "int64_t", "512",
           "Width of a vector register in bits">,
    Option<"registers", "registers", "int64_t", "32",
           "Number of vector registers">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"
  ];
}

def ExpToArithPass : Pass<"exp-to-arith"> {
  let summary = "Expand f32 exponentials to arithmetic";
  let description = [{
    Replaces `math.exp` on f32 and on vectors of f32 by a range reduction and a
    polynomial of degree 6 with fused multiply-adds. The relative error is at
    most 2e-7 (measured: 9e-8) down to exp(-86.98) = 1.7e-38; smaller results
    are 0. exp(-inf) is 0, exp(inf) is inf, a NaN stays one.

    Example: `%e = math.exp %x : f32` becomes

    ```mlir
    // exp(x) = 2^n exp(r), n = round(x / ln 2) by adding 1.5 * 2^23
    %above = arith.cmpf olt, %c89, %x : f32
    %clamped = arith.select %above, %c89, %x : f32
    %shifted = math.fma %clamped, %log2e, %magic : f32
    %n = arith.subf %shifted, %magic : f32
    %r0 = math.fma %n, %minus_ln2_high, %clamped : f32
    %r = math.fma %n, %minus_ln2_low, %r0 : f32
    %p1 = math.fma %a6, %r, %a5 : f32
    // .. four more steps of the polynomial ..
    %p = math.fma %p5, %r, %a0 : f32
    %bits = arith.bitcast %shifted : f32 to i32
    %exponent = arith.shli %bits, %c23 : i32
    %biased = arith.addi %exponent, %bias : i32
    %power = arith.bitcast %biased : i32 to f32
    %product = arith.mulf %p, %power : f32
    %tiny = arith.cmpf olt, %x, %smallest : f32
    %e = arith.select %tiny, %zero, %product : f32
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::vector::VectorDialect"
  ];
}

def NATileToLoopsPass : Pass<"convert-na-tile-to-loops"> {
  let summary = "Lower operations that move data of tiles to loops";
  let description = [{
    Lowers `na.tile.load`, `na.tile.store` and `na.tile.windows` on memrefs to
    `scf` loops: over the lanes, then over the channels of a token, which are
    contiguous and move as vectors. Rows outside the tensor are zeroed by loads
    and skipped by stores.

    `na.tile.scatter` and `na.tile.gather` go over the queries of the tile and,
    for each, over the runs of keys inside its window: such keys have
    consecutive slots along the last axis. `na.tile.bias` goes over lanes that
    are consecutive in the table. Both use masked vectors where the rows of tile
    and operand are contiguous; slots move one by one if the tile is key-major,
    or if their element type is not the tile's.

    Example: `na.tile.gather` of 16 queries and 20 keys becomes, after zeros
    have been stored to the tile,

    ```mlir
    scf.for %m = %c0 to %queries step %c1 {
      // %lower, %slot, %length: first key lane, its slot, number of keys
      scf.for %i = %c0 to %length step %c8 {
        %to = arith.addi %lower, %i : index
        %from = arith.addi %slot, %i : index
        %rest = arith.subi %length, %i : index
        %mask = vector.create_mask %rest : vector<8xi1>
        %w = vector.maskedload %weights[%b, %x, %h, %from], %mask, %zeros
            : memref<1x56x2x7xf32>, vector<8xi1>, vector<8xf32>
              into vector<8xf32>
        vector.maskedstore %tile[%m, %to], %mask, %w
            : memref<16x20xf32>, vector<8xi1>, vector<8xf32>
      }
    }
    ```

    Example: with `vector-bits=512`

    ```mlir
    na.tile.load %q[%b, %h] at(%x) box [6] dilation [2] into %tile
        : memref<1x9x2x16xbf16>, memref<6x16xf32>
    ```

    becomes (canonicalised)

    ```mlir
    scf.for %lane = %c0 to %c6 step %c1 {
      %0 = arith.muli %lane, %c2 : index
      %1 = arith.addi %x, %0 : index
      %2 = arith.cmpi sge, %1, %c0 : index
      %3 = arith.cmpi slt, %1, %c9 : index
      %4 = arith.andi %2, %3 : i1
      scf.if %4 {
        %5 = vector.load %q[%b, %1, %h, %c0]
            : memref<1x9x2x16xbf16>, vector<16xbf16>
        %6 = arith.extf %5 : vector<16xbf16> to vector<16xf32>
        vector.store %6, %tile[%lane, %c0] : memref<6x16xf32>, vector<16xf32>
      } else {
        vector.store %zeros, %tile[%lane, %c0]
            : memref<6x16xf32>, vector<16xf32>
      }
    }
    ```

    Errors: a tile operation on tensors (bufferize before this pass);
    `vector-bits` that is no multiple of 64 from 64 to 4096.
  }];
  let options = [
    Option<"vectorBits", "vector-bits", "int64_t", "512",
           "Width of a vector register in bits">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"
  ];
}

def ParallelToRuntimePass
    : Pass<"parallel-to-runtime", "::mlir::ModuleOp"> {
  let summary = "Run outermost parallel loops on the run time's threads";
  let description = [{
    Outlines the body of every outermost `scf.forall` or `scf.parallel` without
    results into a function `(begin, end, context)` over the linearised
    iterations (the last loop varies fastest) and calls

    ```c
    void naParallelFor(int64_t count, void (*body)(int64_t, int64_t, void *),
                       void *context);
    ```

    of the run time in its place. What the body uses from outside is passed in
    a structure on the caller's stack. Buffers of static size that are
    allocated and freed at the top of the body, or on the stack there, are
    allocated once per call of the function instead of once per iteration.
    Parallel loops inside are left to run sequentially, and so are, with a
    remark, loops that use values from outside that have no LLVM type.

    The result mixes `llvm` with the dialects of the loops through casts that
    `reconcile-unrealized-casts` removes after the rest is lowered.

    Example:

    ```mlir
    func.func @f(%m: memref<8xf32>, %x: f32) {
      scf.forall (%i) in (8) {
        memref.store %x, %m[%i] : memref<8xf32>
      }
      return
    }
    ```

    becomes, with `!context` for the structure of `f32` and the memref's
    descriptor, and without the casts,

    ```mlir
    llvm.func @naParallelFor(i64, !llvm.ptr, !llvm.ptr)
    func.func private @f_parallel_0(%begin: i64, %end: i64, %p: !llvm.ptr) {
      %context = llvm.load %p : !llvm.ptr -> !context
      %x = llvm.extractvalue %context[0] : !context
      %m = llvm.extractvalue %context[1] : !context
      %from = arith.index_cast %begin : i64 to index
      %to = arith.index_cast %end : i64 to index
      scf.for %i = %from to %to step %c1 {
        memref.store %x, %m[%i] : memref<8xf32>
      }
      return
    }
    func.func @f(%m: memref<8xf32>, %x: f32) {
      %p = llvm.alloca %one x !context : (i64) -> !llvm.ptr
      %0 = llvm.insertvalue %x, %undef[0] : !context
      %1 = llvm.insertvalue %m, %0[1] : !context
      llvm.store %1, %p : !context, !llvm.ptr
      %body = func.constant @f_parallel_0 : (i64, i64, !llvm.ptr) -> ()
      llvm.call @naParallelFor(%c8, %body, %p)
          : (i64, !llvm.ptr, !llvm.ptr) -> ()
      return
    }
    ```

    Errors: the name `naParallelFor` is taken by something else.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect"
  ];
}

def SetVectorWidthPass : Pass<"llvm-set-vector-width"> {
  let summary = "Tell LLVM which vectors to use";
  let description = [{
    Sets `prefer_vector_width` on every `llvm.func` with a body that has none.
    On CPUs for which LLVM prefers narrower vectors than the registers are, it
    would otherwise split the vectors that the loops were blocked for.

    Example: with `vector-bits=256`, `llvm.func @f() { llvm.return }` becomes
    `llvm.func @f() attributes {prefer_vector_width = "256"} { llvm.return }`.

    Errors: a width outside 64 to 4096.
  }];
  let options = [
    Option<"vectorBits", "vector-bits", "int64_t", "512",
           "Width of a vector register in bits">
  ];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def ApproximateMathPass : Pass<"approximate-math"> {
  let summary = "Replace f32 erf and tanh by polynomials";
  let description = [{
    Applies upstream's polynomial approximations of `math.erf` and `math.tanh`
    to f32 and to vectors of f32, which would otherwise become one call of the
    mathematical library per element. Other types keep the library's precision.

    Example: `math.tanh %x : vector<16xf32>` becomes a clamped rational
    polynomial in `arith` and `math.fma`.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::vector::VectorDialect"
  ];
}

def DecomposeAggregatesPass : Pass<"linalg-decompose-aggregates"> {
  let summary = "Split linalg.softmax and its like into plain linalg";
  let description = [{
    Replaces operations on tensors that stand for several `linalg` operations by
    these, as their `AggregatedOpInterface` says. Nothing else lowers
    `linalg.softmax`. Operations on memrefs are left alone.

    Example:

    ```mlir
    %r = linalg.softmax dimension(1) ins(%x : tensor<4x8xf32>)
         outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
    ```

    becomes a `linalg.generic` for the maximum of each row, one for the
    exponentials, one for their sum and one for the division.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect"
  ];
}

def CheckLoweredPass : Pass<"llvm-check-lowered"> {
  let summary = "Refuse operations that are not in the LLVM dialect";
  let description = [{
    Fails at the first operation that is neither a module nor of the LLVM
    dialect. The conversions before leave what they do not know, and the
    translation to LLVM IR would say no more than that some cast is unknown.

    Example: after `na-to-cpu` of a `linalg.softmax` on memrefs

    ```
    error: 'linalg.softmax' op has no lowering to the LLVM dialect
    ```
  }];
}

def ConvertNAGPUToNVVMPass : Pass<"convert-nagpu-to-nvvm"> {
  let summary = "Lower nagpu operations to those of one thread";
  let description = [{
    Lowers `nagpu` in `gpu.launch`, `gpu.func` and functions to `arith`, `scf`,
    `memref`, `gpu`, `nvvm` and `llvm`. A fragment becomes one value for each
    of its registers (in the order that its type documents; two 16-bit elements
    are a `vector<2xT>`), also where `scf` operations carry it; a shared tile
    becomes its address in the window of shared memory (i32); a token nothing.

    Copies take `cp.async` with the largest of 16, 8 and 4 bytes that divides
    the channels, all strides and the offset of the tensor. The address of the
    tensor must be a multiple of it; whoever launches the kernel checks that.
    Where not even 4 bytes do, the elements are loaded and stored.

    Example, for one warp:

    ```mlir
    %r = nagpu.reduce max %s
      : !nagpu.fragment<16x8xf32, accumulator, 1> -> !nagpu.fragment<16xf32, row, 1>
    ```

    becomes, for the first of the two rows of a thread,

    ```mlir
    %0 = llvm.intr.maxnum(%s0, %s1) : (f32, f32) -> f32
    %1 = nvvm.shfl.sync bfly %all, %0, %c1, %c31 : f32 -> f32
    %2 = llvm.intr.maxnum(%0, %1) : (f32, f32) -> f32
    %3 = nvvm.shfl.sync bfly %all, %2, %c2, %c31 : f32 -> f32
    %r0 = llvm.intr.maxnum(%2, %3) : (f32, f32) -> f32
    ```

    Errors: a `nagpu.alloc` without an offset; a tensor whose channels are not
    static or not contiguous.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::scf::SCFDialect"
  ];
}

#endif // NA_CONVERSION_PASSES_TD
