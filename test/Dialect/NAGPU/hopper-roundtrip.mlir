// RUN: na-opt %s | na-opt | FileCheck %s
// RUN: na-opt %s --mlir-print-op-generic | na-opt | FileCheck %s
// RUN: na-opt %s --emit-bytecode | na-opt | FileCheck %s

// CHECK-LABEL: func private @types
// CHECK-SAME: !nagpu.tensor_map<1x2x8x12x64xbf16, tma128>
// CHECK-SAME: !nagpu.tensor_map<8x32xf16, tma64>
// CHECK-SAME: !nagpu.barrier<2>
// CHECK-SAME: !nagpu.shared<192x128xbf16, tma128>
// CHECK-SAME: !nagpu.shared<3x8x96xf16, tma64>
// CHECK-SAME: !nagpu.shared<8x16xbf16, tma32>
func.func private @types(
    !nagpu.tensor_map<1x2x8x12x64xbf16, tma128>,
    !nagpu.tensor_map<8x32xf16, tma64>, !nagpu.barrier<2>,
    !nagpu.shared<192x128xbf16, tma128>, !nagpu.shared<3x8x96xf16, tma64>,
    !nagpu.shared<8x16xbf16, tma32>)

// CHECK-LABEL: func @copies
func.func @copies(%map: !nagpu.tensor_map<1x2x8x12x64xbf16, tma128>,
                  %b: index, %x: index, %y: index, %z: index, %c: index,
                  %p: i32, %id: index, %copies: !nagpu.token) {
  %i = arith.constant 1 : index
  // CHECK: %[[TILE:.*]] = nagpu.alloc {offset = 1024 : i64} : <192x128xbf16, tma128>
  %tile = nagpu.alloc {offset = 1024 : i64} : !nagpu.shared<192x128xbf16, tma128>
  // CHECK: %[[FULL:.*]] = nagpu.mbarrier_init arrivals 1 : <2>
  %full = nagpu.mbarrier_init arrivals 1 : !nagpu.barrier<2>
  // CHECK: %[[FREE:.*]] = nagpu.mbarrier_init arrivals 8 {offset = 8 : i64} : <2>
  %free = nagpu.mbarrier_init arrivals 8 {offset = 8 : i64} : !nagpu.barrier<2>
  // CHECK: nagpu.roles registers(24, 240) producer {
  nagpu.roles registers(24, 240) producer {
    // CHECK: nagpu.mbarrier_wait %[[FREE]][%{{.*}}] parity %{{.*}} : <2>
    nagpu.mbarrier_wait %free[%i] parity %p : !nagpu.barrier<2>
    // CHECK: nagpu.mbarrier_expect_tx %[[FULL]][%{{.*}}] bytes 49152 : <2>
    nagpu.mbarrier_expect_tx %full[%i] bytes 49152 : !nagpu.barrier<2>
    // CHECK: nagpu.mbarrier_arrive_copies %[[FULL]][%{{.*}}] after %{{.*}} : <2>
    nagpu.mbarrier_arrive_copies %full[%i] after %copies : !nagpu.barrier<2>
    // CHECK: nagpu.tma_load %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] into %[[TILE]] signal %[[FULL]][%{{.*}}] : <1x2x8x12x64xbf16, tma128>, <192x128xbf16, tma128>, <2>
    nagpu.tma_load %map[%b, %x, %y, %z, %c] into %tile signal %full[%i]
      : !nagpu.tensor_map<1x2x8x12x64xbf16, tma128>,
        !nagpu.shared<192x128xbf16, tma128>, !nagpu.barrier<2>
    // CHECK: nagpu.advance %{{.*}}, %{{.*}} in 2
    %i1, %p1 = nagpu.advance %i, %p in 2
  // CHECK: } producer {
  } producer {
  // CHECK: } consumers(%[[GROUP:.*]] in 2) {
  } consumers(%group in 2) {
    // CHECK: nagpu.mbarrier_arrive %[[FREE]][%[[GROUP]]] : <2>
    nagpu.mbarrier_arrive %free[%group] : !nagpu.barrier<2>
    // CHECK: nagpu.mbarrier_arrive lanes %[[FREE]][%[[GROUP]]] : <2>
    nagpu.mbarrier_arrive lanes %free[%group] : !nagpu.barrier<2>
    // CHECK: nagpu.proxy_fence
    nagpu.proxy_fence
    // CHECK: nagpu.named_barrier %{{.*}} threads 128
    nagpu.named_barrier %id threads 128
    // CHECK: nagpu.named_barrier arrive %{{.*}} threads 256
    nagpu.named_barrier arrive %id threads 256
    // CHECK: nagpu.tma_store %[[TILE]] to %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] : <192x128xbf16, tma128>, <1x2x8x12x64xbf16, tma128>
    nagpu.tma_store %tile to %map[%b, %x, %y, %z, %c]
      : !nagpu.shared<192x128xbf16, tma128>,
        !nagpu.tensor_map<1x2x8x12x64xbf16, tma128>
    // CHECK: nagpu.tma_store_wait pending 0
    nagpu.tma_store_wait pending 0
  }
  return
}

// CHECK-LABEL: func @mailbox
// CHECK-SAME: !nagpu.mailbox<1x3x1>
func.func @mailbox(%other: !nagpu.mailbox<1x3x1>, %x: i32, %flags: i32) {
  %i = arith.constant 1 : index
  // CHECK: %[[BOX:.*]] = nagpu.mailbox_alloc {offset = 16 : i64} : <2x2x2>
  %box = nagpu.mailbox_alloc {offset = 16 : i64} : !nagpu.mailbox<2x2x2>
  // CHECK: nagpu.mailbox_alloc : <2x1x4>
  %unplaced = nagpu.mailbox_alloc : !nagpu.mailbox<2x1x4>
  nagpu.roles registers(24, 240) producer {
    // CHECK: nagpu.mailbox_put %[[BOX]][%{{.*}}, %{{.*}}] %{{.*}}, %{{.*}} : <2x2x2>
    nagpu.mailbox_put %box[%i, %i] %x, %flags : !nagpu.mailbox<2x2x2>
  } consumers(%group in 2) {
    // CHECK: %[[WORDS:.*]]:2 = nagpu.mailbox_get %[[BOX]][%{{.*}}, %{{.*}}] : <2x2x2>
    %words:2 = nagpu.mailbox_get %box[%i, %group] : !nagpu.mailbox<2x2x2>
    // CHECK: arith.addi %[[WORDS]]#0, %[[WORDS]]#1 : i32
    %sum = arith.addi %words#0, %words#1 : i32
    %word = nagpu.mailbox_get %other[%group, %group] : !nagpu.mailbox<1x3x1>
  }
  return
}

// CHECK-LABEL: func @maps
// CHECK-SAME: (%[[K:.*]]: memref<?x30x48x80x24x128xbf16>, %[[V:.*]]: memref<?x4096
func.func @maps(%k: memref<?x30x48x80x24x128xbf16>,
                %v: memref<?x4096x1x64xf16, strided<[?, ?, ?, 1], offset: ?>>,
                %q: memref<1x4096x2x64xf16, strided<[3, 128, 64, 1]>>) {
  // CHECK: nagpu.tensor_map %[[K]] : memref<?x30x48x80x24x128xbf16> -> !nagpu.tensor_map<1x2x8x12x64xbf16, tma128>
  %0 = nagpu.tensor_map %k : memref<?x30x48x80x24x128xbf16>
    -> !nagpu.tensor_map<1x2x8x12x64xbf16, tma128>
  // CHECK: nagpu.tensor_map %[[V]] : memref<?x4096x1x64xf16, strided<[?, ?, ?, 1], offset: ?>> -> !nagpu.tensor_map<1x176x32xf16, tma64>
  %1 = nagpu.tensor_map %v : memref<?x4096x1x64xf16, strided<[?, ?, ?, 1], offset: ?>>
    -> !nagpu.tensor_map<1x176x32xf16, tma64>
  // CHECK: nagpu.tensor_map %[[K]] dilation [3, 1, 2] : memref
  %d = nagpu.tensor_map %k dilation [3, 1, 2] : memref<?x30x48x80x24x128xbf16>
    -> !nagpu.tensor_map<1x2x8x12x64xbf16, tma128>
  %2 = nagpu.tensor_map %q : memref<1x4096x2x64xf16, strided<[3, 128, 64, 1]>>
    -> !nagpu.tensor_map<1x64x64xf16, tma128>
  return
}

// CHECK-LABEL: func @host
func.func @host() -> index {
  // CHECK: nagpu.multiprocessors : index
  %n = nagpu.multiprocessors : index
  return %n : index
}

// CHECK-LABEL: func @products
func.func @products(%q: !nagpu.shared<64x128xbf16, tma128>,
                    %k: !nagpu.shared<176x128xbf16, tma128>,
                    %p: !nagpu.fragment<64x176xbf16, lhs, 4>,
                    %o: !nagpu.fragment<64x128xf32, accumulator, 4>) {
  // CHECK: nagpu.wgmma_fence
  // CHECK-NOT: (
  nagpu.wgmma_fence
  // CHECK: %[[S:.*]] = nagpu.wgmma %{{.*}}, %{{.*}} transposed : !nagpu.shared<64x128xbf16, tma128>, <176x128xbf16, tma128> -> <64x176xf32, accumulator, 4>
  %s = nagpu.wgmma %q, %k transposed
    : !nagpu.shared<64x128xbf16, tma128>, !nagpu.shared<176x128xbf16, tma128>
      -> !nagpu.fragment<64x176xf32, accumulator, 4>
  // CHECK: nagpu.wgmma_commit
  nagpu.wgmma_commit
  // CHECK: %[[F:.*]]:2 = nagpu.wgmma_fence(%{{.*}}, %{{.*}} : !nagpu.fragment<64x128xf32, accumulator, 4>, !nagpu.fragment<64x176xbf16, lhs, 4>)
  %o1, %p1 = nagpu.wgmma_fence(%o, %p
    : !nagpu.fragment<64x128xf32, accumulator, 4>, !nagpu.fragment<64x176xbf16, lhs, 4>)
  // CHECK: nagpu.wgmma %[[F]]#1, %{{.*}}, %[[F]]#0 : !nagpu.fragment<64x176xbf16, lhs, 4>, <176x128xbf16, tma128> -> <64x128xf32, accumulator, 4>
  %o2 = nagpu.wgmma %p1, %k, %o1
    : !nagpu.fragment<64x176xbf16, lhs, 4>, !nagpu.shared<176x128xbf16, tma128>
      -> !nagpu.fragment<64x128xf32, accumulator, 4>
  nagpu.wgmma_commit
  // CHECK: nagpu.wgmma_wait pending 1(%[[S]] : !nagpu.fragment<64x176xf32, accumulator, 4>)
  %s1 = nagpu.wgmma_wait pending 1 (%s : !nagpu.fragment<64x176xf32, accumulator, 4>)
  %o3 = nagpu.wgmma_wait pending 0 (%o2 : !nagpu.fragment<64x128xf32, accumulator, 4>)
  return
}
