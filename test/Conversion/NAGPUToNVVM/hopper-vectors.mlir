// RUN: na-opt %s -convert-nagpu-to-nvvm -canonicalize -cse | FileCheck %s

// Every lane of the producer copies two of 64 numbers, and arrives when they
// are there.
// CHECK-LABEL: gpu.func @vectors
// CHECK:         %[[THREAD:.*]] = nvvm.read.ptx.sreg.tid.x range <i32, 0, 384>
// CHECK:         %[[LANE:.*]] = arith.andi %[[THREAD]], %c31_i32
// CHECK-COUNT-2: cp.async.ca.shared.global
// CHECK-NOT:     cp.async.ca.shared.global
// CHECK-NOT:     elect.sync
// CHECK:         "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [$0];"
gpu.module @kernels {
gpu.func @vectors(%lse: memref<1x1024x2xf32>, %b: index, %h: index, %x: index,
                  %slot: index) kernel {
  %ring = nagpu.alloc {offset = 1024 : i64} : !nagpu.shared<2x1x64xf32, linear>
  %full = nagpu.mbarrier_init arrivals 32 {offset = 0 : i64} : !nagpu.barrier<2>
  nagpu.roles registers(24, 240) producer {
    %tile = nagpu.slot %ring[%slot] : !nagpu.shared<2x1x64xf32, linear> -> !nagpu.shared<1x64xf32, linear>
    %token = nagpu.async_copy %lse[%b, %h] at(%x) box [64] dilation [1] into %tile warps 1
      : memref<1x1024x2xf32>, !nagpu.shared<1x64xf32, linear>
    nagpu.mbarrier_arrive_copies %full[%slot] after %token : !nagpu.barrier<2>
  } consumers(%group in 2) {
  }
  gpu.return
}
}
