// RUN: na-opt %s -split-input-file -verify-diagnostics -nagpu-assign-layouts=tf32

// The launch itself.
func.func @threads(%tile: tensor<16xf32>, %lse: memref<1x64x1xf32>, %n: index) {
  // expected-error @below {{nagpu-assign-layouts: the number of threads is not a known multiple of 32, up to 1024}}
  gpu.launch blocks(%b, %by, %bz) in (%gx = %n, %gy = %n, %gz = %n)
             threads(%tx, %ty, %tz) in (%sx = %n, %sy = %n, %sz = %n) {
    na.tile.store %tile into %lse[%b, %b] at(%b) box [16] dilation [1] : tensor<16xf32>, memref<1x64x1xf32>
    gpu.terminator
  }
  return
}

// -----

func.func @no_threads(%tile: tensor<16xf32>, %lse: memref<1x64x1xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{nagpu-assign-layouts: the number of threads is not a known multiple of 32, up to 1024}}
  gpu.launch blocks(%b, %by, %bz) in (%gx = %n, %gy = %n, %gz = %n)
             threads(%tx, %ty, %tz) in (%sx = %c0, %sy = %n, %sz = %n) {
    na.tile.store %tile into %lse[%b, %b] at(%b) box [16] dilation [1] : tensor<16xf32>, memref<1x64x1xf32>
    gpu.terminator
  }
  return
}

// -----

func.func @several_blocks(%tile: tensor<16xf32>, %lse: memref<1x64x1xf32>) {
  %c32 = arith.constant 32 : index
  // expected-error @below {{nagpu-assign-layouts: body has several blocks}}
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c32, %gy = %c32, %gz = %c32)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c32, %sz = %c32) {
    na.tile.store %tile into %lse[%b, %b] at(%b) box [16] dilation [1] : tensor<16xf32>, memref<1x64x1xf32>
    cf.br ^next
  ^next:
    gpu.terminator
  }
  return
}

// -----

func.func @load_extends(%q: memref<1x64x1x16xbf16>, %e: tensor<16x16xf32>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    // expected-error @below {{nagpu-assign-layouts: a tile on a GPU is a tensor of its source's element type, not transposed}}
    %t = na.tile.load %q[%b, %b] at(%b) box [16] dilation [1] into %e
      : memref<1x64x1x16xbf16>, tensor<16x16xf32> -> tensor<16x16xf32>
    gpu.terminator
  }
  return
}

// -----

func.func @load_transposed(%q: memref<1x64x1x16xbf16>, %e: tensor<16x16xbf16>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    // expected-error @below {{nagpu-assign-layouts: a tile on a GPU is a tensor of its source's element type, not transposed}}
    %t = na.tile.load %q[%b, %b] at(%b) box [16] dilation [1] transposed into %e
      : memref<1x64x1x16xbf16>, tensor<16x16xbf16> -> tensor<16x16xbf16>
    gpu.terminator
  }
  return
}

// -----

func.func @load_to_memref(%q: memref<1x64x1x16xbf16>, %e: memref<16x16xbf16>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    // expected-error @below {{nagpu-assign-layouts: a tile on a GPU is a tensor of its source's element type, not transposed}}
    na.tile.load %q[%b, %b] at(%b) box [16] dilation [1] into %e
      : memref<1x64x1x16xbf16>, memref<16x16xbf16>
    gpu.terminator
  }
  return
}

// -----

func.func @load_tokens(%q: memref<1x64x1x16xbf16>, %e: tensor<24x16xbf16>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    // expected-error @below {{nagpu-assign-layouts: a tile of 24 tokens; matrix instructions need a multiple of 16}}
    %t = na.tile.load %q[%b, %b] at(%b) box [24] dilation [1] into %e
      : memref<1x64x1x16xbf16>, tensor<24x16xbf16> -> tensor<24x16xbf16>
    gpu.terminator
  }
  return
}

// -----

func.func @load_dynamic(%q: memref<1x64x1x?xbf16>, %e: tensor<16x?xbf16>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    // expected-error @below {{nagpu-assign-layouts: expected a tile of static shape, got 'tensor<16x?xbf16>'}}
    %t = na.tile.load %q[%b, %b] at(%b) box [16] dilation [1] into %e
      : memref<1x64x1x?xbf16>, tensor<16x?xbf16> -> tensor<16x?xbf16>
    gpu.terminator
  }
  return
}

// -----

func.func @load_f64(%q: memref<1x64x1x16xf64>, %e: tensor<16x16xf64>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    // expected-error @below {{nagpu-assign-layouts: shared: element type 'f64', expected f32, f16 or bf16}}
    %t = na.tile.load %q[%b, %b] at(%b) box [16] dilation [1] into %e
      : memref<1x64x1x16xf64>, tensor<16x16xf64> -> tensor<16x16xf64>
    gpu.terminator
  }
  return
}

// -----

func.func @store_loaded(%q: memref<1x64x1x16xbf16>, %e: tensor<16x16xbf16>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %t = na.tile.load %q[%b, %b] at(%b) box [16] dilation [1] into %e
      : memref<1x64x1x16xbf16>, tensor<16x16xbf16> -> tensor<16x16xbf16>
    // expected-error @below {{nagpu-assign-layouts: expected a computed f32 tile [queries, channels] or [queries]}}
    na.tile.store %t into %q[%b, %b] at(%b) box [16] dilation [1]
      : tensor<16x16xbf16>, memref<1x64x1x16xbf16>
    gpu.terminator
  }
  return
}

// -----

func.func @store_transposed(%q: memref<1x64x1x16xbf16>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %s0 = tensor.empty() : tensor<16x16xf32>
    %s = linalg.fill ins(%f0 : f32) outs(%s0 : tensor<16x16xf32>) -> tensor<16x16xf32>
    // expected-error @below {{nagpu-assign-layouts: expected a computed f32 tile [queries, channels] or [queries]}}
    na.tile.store %s into %q[%b, %b] at(%b) box [16] dilation [1] transposed
      : tensor<16x16xf32>, memref<1x64x1x16xbf16>
    gpu.terminator
  }
  return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @store_rounded(%q: memref<1x64x1x16xbf16>, %e: tensor<16x16xbf16>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %s0 = tensor.empty() : tensor<16x16xf32>
    %s = linalg.fill ins(%f0 : f32) outs(%s0 : tensor<16x16xf32>) -> tensor<16x16xf32>
    %p = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<16x16xf32>) outs(%e : tensor<16x16xbf16>) {
    ^bb0(%x: f32, %y: bf16):
      %z = arith.truncf %x : f32 to bf16
      linalg.yield %z : bf16
    } -> tensor<16x16xbf16>
    // expected-error @below {{nagpu-assign-layouts: expected a computed f32 tile [queries, channels] or [queries]}}
    na.tile.store %p into %q[%b, %b] at(%b) box [16] dilation [1]
      : tensor<16x16xbf16>, memref<1x64x1x16xbf16>
    gpu.terminator
  }
  return
}

// -----

func.func @fill_memref(%lse: memref<1x64x1xf32>, %r: tensor<16xf32>, %m: memref<16xf32>, %x: f32) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    // expected-error @below {{nagpu-assign-layouts: fill of a memref in a kernel}}
    linalg.fill ins(%x : f32) outs(%m : memref<16xf32>)
    na.tile.store %r into %lse[%b, %b] at(%b) box [16] dilation [1] : tensor<16xf32>, memref<1x64x1xf32>
    gpu.terminator
  }
  return
}

// -----

func.func @fill_rounded(%lse: memref<1x64x1xf32>, %r: tensor<16xf32>, %e: tensor<16x16xbf16>, %x: bf16) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    // expected-error @below {{nagpu-assign-layouts: fill with 'bf16', expected 'f32'}}
    %t = linalg.fill ins(%x : bf16) outs(%e : tensor<16x16xbf16>) -> tensor<16x16xbf16>
    na.tile.store %r into %lse[%b, %b] at(%b) box [16] dilation [1] : tensor<16xf32>, memref<1x64x1xf32>
    gpu.terminator
  }
  return
}

// -----

func.func @fill_rows(%lse: memref<1x64x1xf32>, %r: tensor<16xf32>, %e: tensor<8x16xf32>, %x: f32) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    // expected-error @below {{nagpu-assign-layouts: no fragment for 'tensor<8x16xf32>': fragment: size 8 of dimension 0 is not a positive multiple of 16 (role accumulator, 1 warps)}}
    %t = linalg.fill ins(%x : f32) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
    na.tile.store %r into %lse[%b, %b] at(%b) box [16] dilation [1] : tensor<16xf32>, memref<1x64x1xf32>
    gpu.terminator
  }
  return
}

// -----

func.func @fill_rank(%lse: memref<1x64x1xf32>, %r: tensor<16xf32>, %e: tensor<16x16x2xf32>, %x: f32) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    // expected-error @below {{nagpu-assign-layouts: no fragment for 'tensor<16x16x2xf32>': expected one or two static dimensions}}
    %t = linalg.fill ins(%x : f32) outs(%e : tensor<16x16x2xf32>) -> tensor<16x16x2xf32>
    na.tile.store %r into %lse[%b, %b] at(%b) box [16] dilation [1] : tensor<16xf32>, memref<1x64x1xf32>
    gpu.terminator
  }
  return
}

// -----

func.func @other_operation(%lse: memref<1x64x1xf32>, %r: tensor<16xf32>, %e: tensor<16x16xf32>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    // expected-error @below {{nagpu-assign-layouts: no layout for this operation}}
    %t = tensor.extract_slice %e[0, 0] [16, 8] [1, 1] : tensor<16x16xf32> to tensor<16x8xf32>
    na.tile.store %r into %lse[%b, %b] at(%b) box [16] dilation [1] : tensor<16xf32>, memref<1x64x1xf32>
    gpu.terminator
  }
  return
}

// -----

func.func @other_region(%lse: memref<1x64x1xf32>, %r: tensor<16xf32>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    // expected-error @below {{nagpu-assign-layouts: no layout for this operation}}
    scf.execute_region {
      scf.yield
    }
    na.tile.store %r into %lse[%b, %b] at(%b) box [16] dilation [1] : tensor<16xf32>, memref<1x64x1xf32>
    gpu.terminator
  }
  return
}

// -----

func.func @carries_nothing(%lse: memref<1x64x1xf32>, %r: tensor<16xf32>, %e: tensor<16xf32>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %e0 = tensor.empty() : tensor<16xf32>
    // expected-error @below {{nagpu-assign-layouts: a loop carries a tile that is not in registers}}
    %t = scf.for %i = %b to %c32 step %c1 iter_args(%c = %e0) -> (tensor<16xf32>) {
      scf.yield %c : tensor<16xf32>
    }
    na.tile.store %r into %lse[%b, %b] at(%b) box [16] dilation [1] : tensor<16xf32>, memref<1x64x1xf32>
    gpu.terminator
  }
  return
}

// -----

func.func @carries_loaded(%q: memref<1x64x1x16xf32>, %e: tensor<16x16xf32>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %s0 = tensor.empty() : tensor<16x16xf32>
    %s = linalg.fill ins(%f0 : f32) outs(%s0 : tensor<16x16xf32>) -> tensor<16x16xf32>
    %r = scf.for %i = %b to %c32 step %c1 iter_args(%c = %s) -> (tensor<16x16xf32>) {
      %t = na.tile.load %q[%b, %b] at(%i) box [16] dilation [1] into %e
        : memref<1x64x1x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
      // expected-error @below {{nagpu-assign-layouts: operand 0 is not in registers as '!nagpu.fragment<16x16xf32, accumulator, 1>'}}
      scf.yield %t : tensor<16x16xf32>
    }
    gpu.terminator
  }
  return
}

// -----

func.func @branch_gives_loaded(%q: memref<1x64x1x16xf32>, %e: tensor<16x16xf32>, %flag: i1) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %s0 = tensor.empty() : tensor<16x16xf32>
    %s = linalg.fill ins(%f0 : f32) outs(%s0 : tensor<16x16xf32>) -> tensor<16x16xf32>
    %t = na.tile.load %q[%b, %b] at(%b) box [16] dilation [1] into %e
      : memref<1x64x1x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
    %r:2 = scf.if %flag -> (index, tensor<16x16xf32>) {
      scf.yield %b, %s : index, tensor<16x16xf32>
    } else {
      // expected-error @below {{nagpu-assign-layouts: operand 1 is not in registers as '!nagpu.fragment<16x16xf32, accumulator, 1>'}}
      scf.yield %b, %t : index, tensor<16x16xf32>
    }
    gpu.terminator
  }
  return
}

// -----

#mk = affine_map<(d0, d1, d2) -> (d0, d2)>
#nk = affine_map<(d0, d1, d2) -> (d1, d2)>
#kn = affine_map<(d0, d1, d2) -> (d2, d1)>
#mn = affine_map<(d0, d1, d2) -> (d0, d1)>
#km = affine_map<(d0, d1, d2) -> (d2, d0)>
func.func @product_transposed_lhs(%q: memref<1x64x1x16xbf16>, %e: tensor<16x16xbf16>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %s0 = tensor.empty() : tensor<16x16xf32>
    %s = linalg.fill ins(%f0 : f32) outs(%s0 : tensor<16x16xf32>) -> tensor<16x16xf32>
    %t = na.tile.load %q[%b, %b] at(%b) box [16] dilation [1] into %e
      : memref<1x64x1x16xbf16>, tensor<16x16xbf16> -> tensor<16x16xbf16>
    // expected-error @below {{nagpu-assign-layouts: expected a product of a tile of queries or weights with a loaded tile}}
    %p = linalg.contract indexing_maps = [#km, #kn, #mn]
      ins(%t, %t : tensor<16x16xbf16>, tensor<16x16xbf16>) outs(%s : tensor<16x16xf32>) -> tensor<16x16xf32>
    gpu.terminator
  }
  return
}

// -----

#mk = affine_map<(d0, d1, d2) -> (d0, d2)>
#nk = affine_map<(d0, d1, d2) -> (d1, d2)>
#kn = affine_map<(d0, d1, d2) -> (d2, d1)>
#mn = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @product_of_computed(%q: memref<1x64x1x16xbf16>, %e: tensor<16x16xbf16>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %s0 = tensor.empty() : tensor<16x16xf32>
    %s = linalg.fill ins(%f0 : f32) outs(%s0 : tensor<16x16xf32>) -> tensor<16x16xf32>
    %t = na.tile.load %q[%b, %b] at(%b) box [16] dilation [1] into %e
      : memref<1x64x1x16xbf16>, tensor<16x16xbf16> -> tensor<16x16xbf16>
    // expected-error @below {{nagpu-assign-layouts: expected a product of a tile of queries or weights with a loaded tile}}
    %p = linalg.contract indexing_maps = [#mk, #kn, #mn]
      ins(%s, %s : tensor<16x16xf32>, tensor<16x16xf32>) outs(%s : tensor<16x16xf32>) -> tensor<16x16xf32>
    gpu.terminator
  }
  return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>
func.func @product_with_vector(%q: memref<1x64x1x16xbf16>, %e: tensor<16x16xbf16>, %x: tensor<16xbf16>, %y: tensor<16xf32>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %t = na.tile.load %q[%b, %b] at(%b) box [16] dilation [1] into %e
      : memref<1x64x1x16xbf16>, tensor<16x16xbf16> -> tensor<16x16xbf16>
    // expected-error @below {{nagpu-assign-layouts: not a product of matrices}}
    %p = linalg.contract indexing_maps = [#id, #column, #row]
      ins(%t, %x : tensor<16x16xbf16>, tensor<16xbf16>) outs(%y : tensor<16xf32>) -> tensor<16xf32>
    gpu.terminator
  }
  return
}

// -----

#mk = affine_map<(d0, d1, d2) -> (d0, d2)>
#nk = affine_map<(d0, d1, d2) -> (d1, d2)>
#kn = affine_map<(d0, d1, d2) -> (d2, d1)>
#mn = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @product_mixed(%q: memref<1x64x1x16xbf16>, %e: tensor<16x16xbf16>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %s0 = tensor.empty() : tensor<16x16xf32>
    %s = linalg.fill ins(%f0 : f32) outs(%s0 : tensor<16x16xf32>) -> tensor<16x16xf32>
    %t = na.tile.load %q[%b, %b] at(%b) box [16] dilation [1] into %e
      : memref<1x64x1x16xbf16>, tensor<16x16xbf16> -> tensor<16x16xbf16>
    // expected-error @below {{nagpu-assign-layouts: a product of 'f32' and 'bf16' in 'f32', expected operands of one type and f32}}
    %p = linalg.contract indexing_maps = [#mk, #kn, #mn]
      ins(%s, %t : tensor<16x16xf32>, tensor<16x16xbf16>) outs(%s : tensor<16x16xf32>) -> tensor<16x16xf32>
    gpu.terminator
  }
  return
}

// -----

#mk = affine_map<(d0, d1, d2) -> (d0, d2)>
#nk = affine_map<(d0, d1, d2) -> (d1, d2)>
#kn = affine_map<(d0, d1, d2) -> (d2, d1)>
#mn = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @product_transposed_tf32(%q: memref<1x64x1x16xf32>, %e: tensor<16x16xf32>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %s0 = tensor.empty() : tensor<16x16xf32>
    %s = linalg.fill ins(%f0 : f32) outs(%s0 : tensor<16x16xf32>) -> tensor<16x16xf32>
    %t = na.tile.load %q[%b, %b] at(%b) box [16] dilation [1] into %e
      : memref<1x64x1x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
    // expected-error @below {{nagpu-assign-layouts: a product of computed tf32 weights with a transposed tile}}
    %p = linalg.contract indexing_maps = [#mk, #nk, #mn]
      ins(%s, %t : tensor<16x16xf32>, tensor<16x16xf32>) outs(%s : tensor<16x16xf32>) -> tensor<16x16xf32>
    gpu.terminator
  }
  return
}

// -----

// Of weights of a narrower type there are fragments only.
#km = affine_map<(d0, d1, d2) -> (d2, d0)>
#kn = affine_map<(d0, d1, d2) -> (d2, d1)>
#mn = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @transposed_weights(%w: memref<1x64x1x5xbf16>, %v: memref<1x64x1x16xf32>, %q: index, %k: index) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %r0 = tensor.empty() : tensor<2x32xi32>
    %r = na.tile.windows <size = [5]> at(%q) sizes(%c32) box [32] into %r0
      : tensor<2x32xi32> -> tensor<2x32xi32>
    %p0 = tensor.empty() : tensor<32x16xf32>
    // expected-error @below {{nagpu-assign-layouts: weights of type 'memref<1x64x1x5xbf16>' as 'f32' cannot be transposed, expected contiguous ones of the tile's type or f32}}
    %p = na.tile.gather %w[%b, %b] at(%q) ranges(%r : tensor<2x32xi32>) key_at(%k) <size = [5]>
      query_box [32] key_box [16] into %p0 : memref<1x64x1x5xbf16>, tensor<32x16xf32> -> tensor<32x16xf32>
    %v0 = tensor.empty() : tensor<32x16xf32>
    %vt = na.tile.load %v[%b, %b] at(%q) box [32] dilation [1] into %v0
      : memref<1x64x1x16xf32>, tensor<32x16xf32> -> tensor<32x16xf32>
    %o0 = tensor.empty() : tensor<16x16xf32>
    %o1 = linalg.fill ins(%f0 : f32) outs(%o0 : tensor<16x16xf32>) -> tensor<16x16xf32>
    %o = linalg.contract indexing_maps = [#km, #kn, #mn]
      ins(%p, %vt : tensor<32x16xf32>, tensor<32x16xf32>) outs(%o1 : tensor<16x16xf32>) -> tensor<16x16xf32>
    na.tile.store %o into %v[%b, %b] at(%k) box [16] dilation [1] : tensor<16x16xf32>, memref<1x64x1x16xf32>
    gpu.terminator
  }
  return
}
