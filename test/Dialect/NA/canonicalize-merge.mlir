// RUN: na-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func @unused_lse
// CHECK: na.merge ins(%{{.+}}, %{{.+}} : {{.*}}) lses({{.*}}) outs(%{{.+}} : tensor<4x16xf32>) {other = "kept"} -> tensor<4x16xf32>{{$}}
func.func @unused_lse(%o: tensor<4x16xf32>, %l: tensor<4xf32>)
    -> tensor<4x16xf32> {
  %0:2 = na.merge ins(%o, %o : tensor<4x16xf32>, tensor<4x16xf32>)
      lses(%l, %l : tensor<4xf32>, tensor<4xf32>)
      outs(%o, %l : tensor<4x16xf32>, tensor<4xf32>) {other = "kept"}
      -> tensor<4x16xf32>, tensor<4xf32>
  return %0#0 : tensor<4x16xf32>
}

// CHECK-LABEL: func @used_lse
// CHECK: na.merge
// CHECK-SAME: -> tensor<4x16xf32>, tensor<4xf32>
func.func @used_lse(%o: tensor<4x16xf32>, %l: tensor<4xf32>) -> tensor<4xf32> {
  %0:2 = na.merge ins(%o, %o : tensor<4x16xf32>, tensor<4x16xf32>)
      lses(%l, %l : tensor<4xf32>, tensor<4xf32>)
      outs(%o, %l : tensor<4x16xf32>, tensor<4xf32>)
      -> tensor<4x16xf32>, tensor<4xf32>
  return %0#1 : tensor<4xf32>
}

// A part whose LSE is -inf has no keys.

// CHECK-LABEL: func @empty_parts
// CHECK-SAME: %[[A:[^:]+]]: tensor<4x16xf32>, %[[B:[^:]+]]: tensor<4x16xf32>, %[[L:[^:]+]]: tensor<4xf32>
// CHECK: na.merge ins(%[[A]] : tensor<4x16xf32>) lses(%[[L]] : tensor<4xf32>)
func.func @empty_parts(%a: tensor<4x16xf32>, %b: tensor<4x16xf32>,
                       %l: tensor<4xf32>) -> tensor<4x16xf32> {
  %ninf = arith.constant 0xFF800000 : f32
  %constant = arith.constant dense<0xFF800000> : tensor<4xf32>
  %fill = linalg.fill ins(%ninf : f32) outs(%l : tensor<4xf32>)
      -> tensor<4xf32>
  %0 = na.merge
      ins(%b, %a, %b : tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>)
      lses(%constant, %l, %fill : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
      outs(%a : tensor<4x16xf32>) -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

// One part stays where all are empty; other constants are parts like any.

// CHECK-LABEL: func @kept_parts
// CHECK: na.merge ins(%{{[^,]+}} : tensor<4x16xf32>)
// CHECK: na.merge ins(%{{.+}}, %{{.+}} : tensor<4x16xf32>, tensor<4x16xf32>)
func.func @kept_parts(%a: tensor<4x16xf32>, %b: tensor<4x16xf32>,
                      %l: tensor<4xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>) {
  %ninf = arith.constant dense<0xFF800000> : tensor<4xf32>
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %0 = na.merge ins(%a, %b : tensor<4x16xf32>, tensor<4x16xf32>)
      lses(%ninf, %ninf : tensor<4xf32>, tensor<4xf32>)
      outs(%a : tensor<4x16xf32>) -> tensor<4x16xf32>
  %1 = na.merge ins(%a, %b : tensor<4x16xf32>, tensor<4x16xf32>)
      lses(%l, %zero : tensor<4xf32>, tensor<4xf32>)
      outs(%a : tensor<4x16xf32>) -> tensor<4x16xf32>
  return %0, %1 : tensor<4x16xf32>, tensor<4x16xf32>
}

// A merge of one part is not that part: where its LSE is -inf the output is 0.

// CHECK-LABEL: func @one_part
// CHECK: na.merge
func.func @one_part(%a: tensor<4x16xf32>, %l: tensor<4xf32>)
    -> tensor<4x16xf32> {
  %0 = na.merge ins(%a : tensor<4x16xf32>) lses(%l : tensor<4xf32>)
      outs(%a : tensor<4x16xf32>) -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

// CHECK-LABEL: func @filled_destination
// CHECK-SAME: %[[A:[^:]+]]: tensor<4x16xf32>
// CHECK-NOT: linalg.fill
// CHECK: na.merge
// CHECK-SAME: outs(%[[A]] :
func.func @filled_destination(%a: tensor<4x16xf32>, %l: tensor<4xf32>)
    -> tensor<4x16xf32> {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%a : tensor<4x16xf32>)
      -> tensor<4x16xf32>
  %0 = na.merge ins(%a, %a : tensor<4x16xf32>, tensor<4x16xf32>)
      lses(%l, %l : tensor<4xf32>, tensor<4xf32>)
      outs(%f : tensor<4x16xf32>) -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}
