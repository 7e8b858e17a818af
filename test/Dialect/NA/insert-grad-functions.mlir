// RUN: na-opt %s -na-insert-grad | FileCheck %s --check-prefix=NONE
// RUN: na-opt %s -na-insert-grad=functions=elementwise | FileCheck %s --check-prefix=ONE

// No na operation in it: differentiated only by its name.

// NONE-LABEL: func @elementwise(
// NONE-NOT:   func @elementwise_grad
// ONE-LABEL: func @elementwise_grad(
// ONE-SAME:    %[[X:[a-z0-9]+]]: tensor<8xf32>, %[[Y:[a-z0-9]+]]: tensor<8xf32>, %[[DR:[a-z0-9]+]]: tensor<8xf32>)
// ONE:         %[[P:.*]] = arith.mulf %[[X]], %[[Y]]
// ONE:         %[[E:.*]] = math.exp %[[P]]
// ONE:         %[[DE:.*]] = arith.negf %[[DR]]
// ONE:         %[[DP:.*]] = arith.mulf %[[DE]], %[[E]]
// ONE:         %[[DX:.*]] = arith.mulf %[[DP]], %[[Y]]
// ONE:         %[[SUM:.*]] = arith.addf %[[DR]], %[[DX]]
// ONE:         %[[DY:.*]] = arith.mulf %[[DP]], %[[X]]
// ONE:         return %[[SUM]], %[[DY]]
func.func @elementwise(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %p = arith.mulf %x, %y : tensor<8xf32>
  %e = math.exp %p : tensor<8xf32>
  %r = arith.subf %x, %e : tensor<8xf32>
  return %r : tensor<8xf32>
}
