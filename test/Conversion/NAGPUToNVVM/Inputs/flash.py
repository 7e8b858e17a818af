# Writes the kernel of attention over a box of tokens, as nagpu operations, in
# the order that hides the copies: queries stay in shared memory, the keys of
# the next tile and the values of this one are copied while products run.
# Arguments: query rows, key rows (multiples of 16), channels (a power of two
# from 16 on), warps, element type.

import sys

M, N, D, WARPS = map(int, sys.argv[1:5])
T = sys.argv[5]

MEMORY = f"memref<2x48x80x4x{D}x{T}>"
ROWS = "memref<2x48x80x4xf32>"
Q_TILE = f"!nagpu.shared<{M}x{D}x{T}, xor>"
K_TILE = f"!nagpu.shared<{N}x{D}x{T}, xor>"
K_RING = f"!nagpu.shared<2x{N}x{D}x{T}, xor>"


def fragment(rows, columns, kind, role):
    return f"!nagpu.fragment<{rows}x{columns}x{kind}, {role}, {WARPS}>"


S = fragment(M, N, "f32", "accumulator")
O = fragment(M, D, "f32", "accumulator")
P = fragment(M, N, T, "lhs")
ROW = f"!nagpu.fragment<{M}xf32, row, {WARPS}>"
PARTIAL = f"!nagpu.fragment<{M}xf32, partial_row, {WARPS}>"


def copy(name, source, at, rows, dest, tile):
    return (f"{name} = nagpu.async_copy %{source}[%b, %h] at({at})"
            f" box [{rows // 16}, 16] dilation [1, 1] into {dest} warps {WARPS}"
            f" : {MEMORY}, {tile}")


def scores():
    last = "%s_zero"
    for k in range(0, D, 16):
        a, b = fragment(M, 16, T, "lhs"), fragment(16, N, T, "rhs")
        yield f"    %a{k} = nagpu.ldmatrix %q1[0, {k}] : {Q_TILE} -> {a}"
        yield f"    %b{k} = nagpu.ldmatrix %k1[0, {k}] transposed : {K_TILE} -> {b}"
        yield f"    %s{k} = nagpu.mma %a{k}, %b{k}, {last} : {a}, {b}, {S}"
        last = f"%s{k}"


def output():
    last = "%o_scaled"
    for k in range(0, N, 16):
        a, b = fragment(M, 16, T, "lhs"), fragment(16, D, T, "rhs")
        yield f"    %p{k} = nagpu.extract %p[{k}] : {P} -> {a}"
        yield f"    %v{k} = nagpu.ldmatrix %v1[{k}, 0] : {K_TILE} -> {b}"
        yield f"    %o{k} = nagpu.mma %p{k}, %v{k}, {last} : {a}, {b}, {O}"
        last = f"%o{k}"


print(f"""
gpu.module @kernels {{
gpu.func @attention(%q: {MEMORY}, %k: {MEMORY}, %v: {MEMORY}, %o: {MEMORY},
                    %sums: {ROWS}, %scale: f32)
    kernel attributes {{known_block_size = array<i32: {32 * WARPS}, 1, 1>}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %halo = arith.constant 6 : index
  %steps = arith.constant 7 : index
  %key_rows = arith.constant {N // 16} : index
  %query_rows = arith.constant {M // 16} : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %block = gpu.block_id x
  %ty = arith.remui %block, %c5 : index
  %rest = arith.divui %block, %c5 : index
  %h = arith.remui %rest, %c4 : index
  %rest1 = arith.divui %rest, %c4 : index
  %b = arith.remui %rest1, %c2 : index
  %tx = arith.divui %rest1, %c2 : index
  %x = arith.muli %tx, %query_rows : index
  %y = arith.muli %ty, %c16 : index
  %key_x = arith.subi %x, %halo : index
  %key_y = arith.subi %y, %halo : index
  %qt = nagpu.alloc {{offset = 0 : i64}} : {Q_TILE}
  %ring = nagpu.alloc {{offset = {2 * M * D} : i64}} : {K_RING}
  %vt = nagpu.alloc {{offset = {2 * (M + 2 * N) * D} : i64}} : {K_TILE}
  %k0 = nagpu.slot %ring[%c0] : {K_RING} -> {K_TILE}
  {copy("%tq", "q", "%x, %y", M, "%qt", Q_TILE)}
  {copy("%tk", "k", "%key_x, %key_y", N, "%k0", K_TILE)}
  %g = nagpu.async_commit %tq, %tk
  %o_zero = nagpu.splat %zero : f32 -> {O}
  %s_zero = nagpu.splat %zero : f32 -> {S}
  %l_zero = nagpu.splat %zero : f32 -> {PARTIAL}
  %m_low = nagpu.splat %low : f32 -> {ROW}
  %r:3 = scf.for %i = %c0 to %steps step %c1
      iter_args(%oi = %o_zero, %li = %l_zero, %mi = %m_low)
      -> ({O}, {PARTIAL}, {ROW}) {{
    %next = arith.addi %i, %c1 : index
    %dx = arith.muli %i, %key_rows : index
    %vx = arith.addi %key_x, %dx : index
    %kx = arith.addi %vx, %key_rows : index
    %slot = arith.remui %i, %c2 : index
    %next_slot = arith.remui %next, %c2 : index
    %ks = nagpu.slot %ring[%slot] : {K_RING} -> {K_TILE}
    %kn = nagpu.slot %ring[%next_slot] : {K_RING} -> {K_TILE}
    %q1, %k1 = nagpu.async_wait %g pending 0 tiles(%qt, %ks) : {Q_TILE}, {K_TILE}
    {copy("%tv", "v", "%vx, %key_y", N, "%vt", K_TILE)}
    %gv = nagpu.async_commit %tv""")
print("\n".join(scores()))
print(f"""    %s_max = nagpu.reduce max %s{D - 16} : {S} -> {ROW}
    %m, %shift, %rescale = nagpu.map(%mi, %s_max : {ROW}, {ROW}) {{
    ^bb0(%old: f32, %new: f32):
      %max = arith.maxnumf %old, %new : f32
      %none = arith.cmpf oeq, %max, %low : f32
      %scaled = arith.mulf %max, %scale : f32
      %kept = arith.select %none, %zero, %scaled : f32
      %negative = arith.negf %kept : f32
      %exponent = math.fma %old, %scale, %negative : f32
      %factor = math.exp2 %exponent : f32
      nagpu.yield %max, %negative, %factor : f32, f32, f32
    }} : {ROW}, {ROW}, {ROW}
    %w = nagpu.map(%s{D - 16}, %shift : {S}, {ROW}) {{
    ^bb0(%s: f32, %negative: f32):
      %exponent = math.fma %s, %scale, %negative : f32
      %weight = math.exp2 %exponent : f32
      nagpu.yield %weight : f32
    }} : {S}
    %w_sum = nagpu.reduce add %w : {S} -> {PARTIAL}
    %l = nagpu.map(%li, %w_sum, %rescale : {PARTIAL}, {PARTIAL}, {ROW}) {{
    ^bb0(%old: f32, %new: f32, %factor: f32):
      %sum = math.fma %old, %factor, %new : f32
      nagpu.yield %sum : f32
    }} : {PARTIAL}
    %o_scaled = nagpu.map(%oi, %rescale : {O}, {ROW}) {{
    ^bb0(%old: f32, %factor: f32):
      %product = arith.mulf %old, %factor : f32
      nagpu.yield %product : f32
    }} : {O}
    %p = nagpu.convert %w : {S} -> {P}
    %v1 = nagpu.async_wait %gv pending 0 tiles(%vt) : {K_TILE}
    {copy("%tn", "k", "%kx, %key_y", N, "%kn", K_TILE)}
    %gk = nagpu.async_commit %tn""")
print("\n".join(output()))
print(f"""    scf.yield %o{N - 16}, %l, %m : {O}, {PARTIAL}, {ROW}
  }}
  %sum = nagpu.convert %r#1 : {PARTIAL} -> {ROW}
  %inverse = nagpu.map(%sum : {ROW}) {{
  ^bb0(%x0: f32):
    %one = arith.constant 1.0 : f32
    %y0 = arith.divf %one, %x0 : f32
    nagpu.yield %y0 : f32
  }} : {ROW}
  %result = nagpu.map(%r#0, %inverse : {O}, {ROW}) {{
  ^bb0(%x0: f32, %y0: f32):
    %z0 = arith.mulf %x0, %y0 : f32
    nagpu.yield %z0 : f32
  }} : {O}
  nagpu.store %result into %o[%b, %h] at(%x, %y) box [{M // 16}, 16]
    dilation [1, 1] : {O}, {MEMORY}
  nagpu.store %sum into %sums[%b, %h] at(%x, %y) box [{M // 16}, 16]
    dilation [1, 1] : {ROW}, {ROWS}
  gpu.return
}}
}}""")
