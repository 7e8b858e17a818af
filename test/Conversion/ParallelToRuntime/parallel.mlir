// RUN: na-opt %s -parallel-to-runtime -cse | FileCheck %s

// CHECK: llvm.func @naParallelFor(i64, !llvm.ptr, !llvm.ptr)

// The body, over a part of the linearised iterations: the last of the two
// loops varies fastest, and runs from 2 in steps of 3.
// CHECK-LABEL: func.func private @forall_parallel_0
// CHECK-SAME:    %[[BEGIN:[a-z0-9_]+]]: i64, %[[END:[a-z0-9_]+]]: i64, %[[CONTEXT:[a-z0-9_]+]]: !llvm.ptr
// CHECK:         %[[PACKED:.*]] = llvm.load %[[CONTEXT]] : !llvm.ptr -> !llvm.struct<(f32, struct<(ptr, ptr, i64, array<2 x i64>, array<2 x i64>)>)>
// CHECK:         %[[RAW:.*]] = llvm.extractvalue %[[PACKED]][0]
// CHECK:         %[[X:.*]] = builtin.unrealized_conversion_cast %[[RAW]] : f32 to f32
// CHECK:         %[[FIELD:.*]] = llvm.extractvalue %[[PACKED]][1]
// CHECK:         %[[M:.*]] = builtin.unrealized_conversion_cast %[[FIELD]] : {{.*}} to memref<8x9xf32>
// CHECK-DAG:     %[[FROM:.*]] = arith.index_cast %[[BEGIN]] : i64 to index
// CHECK-DAG:     %[[TO:.*]] = arith.index_cast %[[END]] : i64 to index
// CHECK:         scf.for %[[N:.*]] = %[[FROM]] to %[[TO]] step %c1
// CHECK:           %[[J:.*]] = arith.remui %[[N]], %c2
// CHECK:           %[[I:.*]] = arith.divui %[[N]], %c2
// CHECK:           %[[JSTEP:.*]] = arith.muli %[[J]], %c3
// CHECK:           %[[JAT:.*]] = arith.addi %[[JSTEP]], %c2
// CHECK:           memref.store %[[X]], %[[M]][%[[I]], %[[JAT]]]
// CHECK:         return

// CHECK-LABEL: func.func @forall(
// CHECK-SAME:    %[[M:[a-z0-9_]+]]: memref<8x9xf32>, %[[X:[a-z0-9_]+]]: f32
// CHECK-NOT:     scf.forall
// CHECK:         %[[CONTEXT:.*]] = llvm.alloca
// CHECK:         %[[RAW:.*]] = builtin.unrealized_conversion_cast %[[X]] : f32 to f32
// CHECK:         llvm.insertvalue %[[RAW]]
// CHECK:         llvm.store %{{.*}}, %[[CONTEXT]]
// CHECK:         %[[F:.*]] = constant @forall_parallel_0
// CHECK:         %[[BODY:.*]] = builtin.unrealized_conversion_cast %[[F]] : (i64, i64, !llvm.ptr) -> () to !llvm.ptr
// 8 times the 2 steps from 2 to 8.
// CHECK:         %[[COUNT:.*]] = arith.index_cast %c16 : index to i64
// CHECK:         llvm.call @naParallelFor(%[[COUNT]], %[[BODY]], %[[CONTEXT]])
func.func @forall(%m: memref<8x9xf32>, %x: f32) {
  scf.forall (%i, %j) = (0, 2) to (8, 8) step (1, 3) {
    memref.store %x, %m[%i, %j] : memref<8x9xf32>
  }
  return
}

// Bounds that are not known; none or negative are no iterations.
// CHECK-LABEL: func.func @parallel(
// CHECK-SAME:    %[[LB:[a-z0-9_]+]]: index, %[[UB:[a-z0-9_]+]]: index, %[[STEP:[a-z0-9_]+]]: index
// CHECK:         %[[SPAN:.*]] = arith.subi %[[UB]], %[[LB]]
// CHECK:         %[[CLAMPED:.*]] = arith.maxsi %[[SPAN]], %c0
// CHECK:         %[[COUNT:.*]] = arith.ceildivsi %[[CLAMPED]], %[[STEP]]
// CHECK:         %[[COUNT64:.*]] = arith.index_cast %[[COUNT]] : index to i64
// CHECK:         llvm.call @naParallelFor(%[[COUNT64]],
func.func @parallel(%lb: index, %ub: index, %step: index, %m: memref<?xf32>,
                    %x: f32) {
  scf.parallel (%i) = (%lb) to (%ub) step (%step) {
    memref.store %x, %m[%i] : memref<?xf32>
  }
  return
}

// Only outermost loops, wherever they are; the structure of a loop in a loop is
// allocated once.
// CHECK-LABEL: func.func private @nested_parallel_0
// CHECK:         scf.for
// CHECK:           scf.parallel
// CHECK-LABEL: func.func private @nested_parallel_1
// CHECK-NOT:   func.func private @nested_parallel_2
// CHECK-LABEL: func.func @nested(
// CHECK-COUNT-2: llvm.alloca
// CHECK:         scf.for
// CHECK:           llvm.call @naParallelFor
// CHECK:         cf.br ^bb1
// CHECK:       ^bb1:
// CHECK:         llvm.call @naParallelFor
// CHECK:         return
func.func @nested(%m: memref<8x8xf32>, %x: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %k = %c0 to %n step %c1 {
    scf.forall (%i) in (8) {
      scf.parallel (%j) = (%c0) to (%k) step (%c1) {
        memref.store %x, %m[%i, %j] : memref<8x8xf32>
      }
    }
  }
  cf.br ^bb1
^bb1:
  scf.forall (%i) in (8) {
    memref.store %x, %m[%i, %i] : memref<8x8xf32>
  }
  return
}

// One buffer for all iterations of a call, on the heap or the stack.
// CHECK-LABEL: func.func private @buffers_parallel_0
// CHECK-DAG:     %[[STACK:.*]] = memref.alloca() : memref<4xf32>
// CHECK-DAG:     %[[HEAP:.*]] = memref.alloc() : memref<5xf32>
// CHECK:         scf.for
// CHECK-NEXT:      memref.store %{{.*}}, %[[STACK]]
// CHECK-NEXT:      memref.store %{{.*}}, %[[HEAP]]
// Its size may change; it lives on; it is freed elsewhere.
// CHECK-NEXT:      memref.alloc(%{{.*}}) : memref<?xf32>
// CHECK:           memref.dealloc %{{.*}} : memref<?xf32>
// CHECK:           memref.alloc() : memref<6xf32>
// CHECK:         }
// CHECK:         memref.dealloc %[[HEAP]]
func.func @buffers(%m: memref<8xmemref<6xf32>>, %x: f32) {
  scf.forall (%i) in (8) {
    %a = memref.alloca() : memref<4xf32>
    memref.store %x, %a[%i] : memref<4xf32>
    %b = memref.alloc() : memref<5xf32>
    memref.store %x, %b[%i] : memref<5xf32>
    %c = memref.alloc(%i) : memref<?xf32>
    memref.store %x, %c[%i] : memref<?xf32>
    memref.dealloc %c : memref<?xf32>
    %d = memref.alloc() : memref<6xf32>
    memref.store %d, %m[%i] : memref<8xmemref<6xf32>>
    memref.dealloc %b : memref<5xf32>
  }
  return
}
