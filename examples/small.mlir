// The example of docs/pipeline.md: 16 tokens on one axis, one head of 8
// features, each query sees itself and its neighbours.
//
//   na-opt --na-to-cpu="query-tile=4 key-tile=6" examples/small.mlir
//   na-run examples/small.mlir --verify

func.func @main(%q: tensor<1x16x1x8xf32>, %k: tensor<1x16x1x8xf32>,
                %v: tensor<1x16x1x8xf32>) -> tensor<1x16x1x8xf32> {
  %empty = tensor.empty() : tensor<1x16x1x8xf32>
  %o = na.attention
      ins(%q, %k, %v : tensor<1x16x1x8xf32>, tensor<1x16x1x8xf32>,
                       tensor<1x16x1x8xf32>)
      outs(%empty : tensor<1x16x1x8xf32>) window(<size = [3]>)
      -> tensor<1x16x1x8xf32>
  return %o : tensor<1x16x1x8xf32>
}
