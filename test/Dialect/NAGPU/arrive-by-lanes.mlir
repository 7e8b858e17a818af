// RUN: na-opt %s -nagpu-arrive-by-lanes | FileCheck %s

// Consumers arrive at %free only; a producer at %full and, too, at %both.
// CHECK-LABEL: func @arrivals
func.func @arrivals(%slot: index, %phase: i32) {
  // CHECK: %[[FULL:.*]] = nagpu.mbarrier_init arrivals 1 :
  %full = nagpu.mbarrier_init arrivals 1 : !nagpu.barrier<2>
  // CHECK: %[[FREE:.*]] = nagpu.mbarrier_init arrivals 256 :
  %free = nagpu.mbarrier_init arrivals 8 : !nagpu.barrier<2>
  // CHECK: %[[BOTH:.*]] = nagpu.mbarrier_init arrivals 9 :
  %both = nagpu.mbarrier_init arrivals 9 : !nagpu.barrier<2>
  nagpu.roles registers(24, 240) producer {
    nagpu.mbarrier_wait %free[%slot] parity %phase : !nagpu.barrier<2>
    // CHECK: nagpu.mbarrier_arrive %[[FULL]]
    nagpu.mbarrier_arrive %full[%slot] : !nagpu.barrier<2>
    // CHECK: nagpu.mbarrier_arrive %[[BOTH]]
    nagpu.mbarrier_arrive %both[%slot] : !nagpu.barrier<2>
  } consumers(%group in 2) {
    nagpu.mbarrier_wait %full[%slot] parity %phase : !nagpu.barrier<2>
    // CHECK: nagpu.mbarrier_arrive lanes %[[FREE]]
    nagpu.mbarrier_arrive %free[%slot] : !nagpu.barrier<2>
    // CHECK: nagpu.mbarrier_arrive %[[BOTH]]
    nagpu.mbarrier_arrive %both[%slot] : !nagpu.barrier<2>
  }
  return
}
