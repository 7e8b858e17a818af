# Writes a kernel of attention over one tile of keys for each consumer
# warpgroup, as nagpu operations of Hopper: the producers load the queries, keys
# and values by TMA; each consumer computes S = Q K^T, the weights of a softmax
# and O = P V, with P in registers. The weights are not normalised.
# Arguments: consumer warpgroups, registers of a producer and of a consumer.

import sys

GROUPS, PRODUCER, CONSUMER = map(int, sys.argv[1:4])
N, D = 176, 128
Q_MAP = "!nagpu.tensor_map<1x8x8x64xbf16, tma128>"
K_MAP = "!nagpu.tensor_map<1x8x22x64xbf16, tma128>"
Q_RING = f"!nagpu.shared<{GROUPS}x64x{D}xbf16, tma128>"
Q_TILE = f"!nagpu.shared<64x{D}xbf16, tma128>"
K_TILE = f"!nagpu.shared<{N}x{D}xbf16, tma128>"
S = f"!nagpu.fragment<64x{N}xf32, accumulator, 4>"
P = f"!nagpu.fragment<64x{N}xbf16, lhs, 4>"
O = f"!nagpu.fragment<64x{D}xf32, accumulator, 4>"
ROW = "!nagpu.fragment<64xf32, row, 4>"
ONE = "!nagpu.barrier<1>"
QUERIES = f"!nagpu.barrier<{GROUPS}>"
Q_BYTES, K_BYTES = 64 * D * 2, N * D * 2
K_AT = GROUPS * Q_BYTES
BARRIERS = K_AT + 2 * K_BYTES


def load_queries():
    for g in range(GROUPS):
        yield f"""    %qp{g} = nagpu.slot %q[%g{g}] : {Q_RING} -> {Q_TILE}
    %qx{g} = arith.addi %x, %q_at{g} : index
    nagpu.mbarrier_expect_tx %q_full[%g{g}] bytes {Q_BYTES} : {QUERIES}
    nagpu.tma_load %q_map[%c0, %qx{g}, %x, %channel] into %qp{g} signal %q_full[%g{g}]
      : {Q_MAP}, {Q_TILE}, {QUERIES}"""


print(f"""
gpu.module @kernels {{
gpu.func @attention(%q_map: {Q_MAP}, %k_map: {K_MAP}, %v_map: {K_MAP},
                    %out: memref<1x256x256x24x{D}xbf16>, %scale: f32) kernel {{
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %phase = arith.constant 0 : i32
  %head = gpu.block_id x
  %channels = arith.constant {D} : index
  %channel = arith.muli %head, %channels : index
  %block = gpu.block_id y
  %x = arith.muli %block, %c8 : index""")
for g in range(GROUPS):
    print(f"  %g{g} = arith.constant {g} : index\n"
          f"  %q_at{g} = arith.constant {8 * g} : index")
print(f"""  %q = nagpu.alloc {{offset = 0 : i64}} : {Q_RING}
  %k = nagpu.alloc {{offset = {K_AT} : i64}} : {K_TILE}
  %v = nagpu.alloc {{offset = {K_AT + K_BYTES} : i64}} : {K_TILE}
  %q_full = nagpu.mbarrier_init arrivals 1 {{offset = {BARRIERS} : i64}} : {QUERIES}
  %k_full = nagpu.mbarrier_init arrivals 1 {{offset = {BARRIERS + 64} : i64}} : {ONE}
  %v_full = nagpu.mbarrier_init arrivals 1 {{offset = {BARRIERS + 72} : i64}} : {ONE}
  nagpu.roles registers({PRODUCER}, {CONSUMER}) producer {{""")
print("\n".join(load_queries()))
print(f"""    nagpu.mbarrier_expect_tx %k_full[%c0] bytes {K_BYTES} : {ONE}
    nagpu.tma_load %k_map[%c0, %x, %x, %channel] into %k signal %k_full[%c0]
      : {K_MAP}, {K_TILE}, {ONE}
  }} producer {{
    nagpu.mbarrier_expect_tx %v_full[%c0] bytes {K_BYTES} : {ONE}
    nagpu.tma_load %v_map[%c0, %x, %x, %channel] into %v signal %v_full[%c0]
      : {K_MAP}, {K_TILE}, {ONE}
  }} consumers(%group in {GROUPS}) {{
    %qt = nagpu.slot %q[%group] : {Q_RING} -> {Q_TILE}
    nagpu.mbarrier_wait %q_full[%group] parity %phase : {QUERIES}
    nagpu.mbarrier_wait %k_full[%c0] parity %phase : {ONE}
    nagpu.wgmma_fence
    %s0 = nagpu.wgmma %qt, %k transposed : {Q_TILE}, {K_TILE} -> {S}
    nagpu.wgmma_commit
    %s = nagpu.wgmma_wait pending 0 (%s0 : {S})
    %max = nagpu.reduce max %s : {S} -> {ROW}
    %w = nagpu.map(%s, %max : {S}, {ROW}) {{
    ^bb0(%score: f32, %most: f32):
      %shift = arith.mulf %most, %scale : f32
      %negative = arith.negf %shift : f32
      %exponent = math.fma %score, %scale, %negative : f32
      %weight = math.exp2 %exponent : f32
      nagpu.yield %weight : f32
    }} : {S}
    %p = nagpu.convert %w : {S} -> {P}
    nagpu.mbarrier_wait %v_full[%c0] parity %phase : {ONE}
    %pf = nagpu.wgmma_fence(%p : {P})
    %o0 = nagpu.wgmma %pf, %v : {P}, {K_TILE} -> {O}
    nagpu.wgmma_commit
    %o = nagpu.wgmma_wait pending 0 (%o0 : {O})
    %gx = arith.muli %group, %c8 : index
    %ox = arith.addi %x, %gx : index
    nagpu.store %o into %out[%c0, %head] at(%ox, %x) box [8, 8] dilation [1, 1]
      : {O}, memref<1x256x256x24x{D}xbf16>
  }}
  gpu.return
}}
}}""")
