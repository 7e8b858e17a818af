// RUN: na-opt %s -exp-to-arith | FileCheck %s

// exp(x) = 2^n exp(r): n by rounding through a large constant, r in two steps,
// a polynomial of degree 6, and 2^n by its bits.
// CHECK-LABEL: func @scalar
// CHECK-SAME:    %[[X:.*]]: f32
// CHECK:         %[[C:.*]] = arith.select %{{.*}}, %{{.*}}, %[[X]]
// CHECK:         %[[S:.*]] = math.fma %[[C]], %{{.*}}, %[[MAGIC:.*]] : f32
// CHECK:         %[[N:.*]] = arith.subf %[[S]], %[[MAGIC]]
// CHECK:         %[[R0:.*]] = math.fma %[[N]], %{{.*}}, %[[C]]
// CHECK:         %[[R:.*]] = math.fma %[[N]], %{{.*}}, %[[R0]]
// CHECK-COUNT-6: math.fma %{{.*}}, %[[R]], %{{.*}}
// CHECK:         %[[BITS:.*]] = arith.bitcast %[[S]] : f32 to i32
// CHECK:         %[[SHIFTED:.*]] = arith.shli %[[BITS]]
// CHECK:         %[[SUM:.*]] = arith.addi %[[SHIFTED]]
// CHECK:         %[[POWER:.*]] = arith.bitcast %[[SUM]] : i32 to f32
// CHECK:         %[[RESULT:.*]] = arith.mulf %{{.*}}, %[[POWER]]
// CHECK:         %[[TINY:.*]] = arith.cmpf olt, %[[X]]
// CHECK:         %[[E:.*]] = arith.select %[[TINY]], %{{.*}}, %[[RESULT]]
// CHECK:         return %[[E]]
func.func @scalar(%x: f32) -> f32 {
  %e = math.exp %x : f32
  return %e : f32
}

// CHECK-LABEL: func @vectors
// CHECK-NOT:     math.exp
// CHECK:         math.fma {{.*}} : vector<16xf32>
// CHECK:         arith.shli {{.*}} : vector<16xi32>
// CHECK:         math.fma {{.*}} : vector<2x3xf32>
// CHECK:         math.fma {{.*}} : vector<[4]xf32>
// CHECK:         math.fma {{.*}} : vector<f32>
// CHECK-NOT:     math.exp
// CHECK:         return
func.func @vectors(%a: vector<16xf32>, %b: vector<2x3xf32>, %c: vector<[4]xf32>,
                   %d: vector<f32>)
    -> (vector<16xf32>, vector<2x3xf32>, vector<[4]xf32>, vector<f32>) {
  %0 = math.exp %a : vector<16xf32>
  %1 = math.exp %b : vector<2x3xf32>
  %2 = math.exp %c : vector<[4]xf32>
  %3 = math.exp %d : vector<f32>
  return %0, %1, %2, %3 : vector<16xf32>, vector<2x3xf32>, vector<[4]xf32>, vector<f32>
}

// Everywhere in a module.
// CHECK-LABEL: func @nested
// CHECK-NOT:     math.exp
// CHECK:         return
func.func @nested(%m: memref<8xf32>, %c: i1) {
  scf.forall (%i) in (8) {
    scf.if %c {
      %x = memref.load %m[%i] : memref<8xf32>
      %e = math.exp %x : f32
      memref.store %e, %m[%i] : memref<8xf32>
    }
  }
  return
}

// Other types and other functions stay, and so does what is beside them.
// CHECK-LABEL: func @no_op
// CHECK-NEXT:    math.exp %{{.*}} : f64
// CHECK-NEXT:    math.exp %{{.*}} : f16
// CHECK-NEXT:    math.exp %{{.*}} : vector<4xbf16>
// CHECK-NEXT:    math.exp %{{.*}} : tensor<4xf32>
// CHECK-NEXT:    math.exp2 %{{.*}} : f32
// CHECK-NEXT:    %[[DEAD:.*]] = arith.addf
// CHECK-NEXT:    return
func.func @no_op(%a: f64, %b: f16, %c: vector<4xbf16>, %d: tensor<4xf32>, %e: f32)
    -> (f64, f16, vector<4xbf16>, tensor<4xf32>, f32) {
  %0 = math.exp %a : f64
  %1 = math.exp %b : f16
  %2 = math.exp %c : vector<4xbf16>
  %3 = math.exp %d : tensor<4xf32>
  %4 = math.exp2 %e : f32
  %dead = arith.addf %e, %e : f32
  return %0, %1, %2, %3, %4 : f64, f16, vector<4xbf16>, tensor<4xf32>, f32
}
