// RUN: na-opt %s | na-opt | FileCheck %s
// RUN: na-opt %s --mlir-print-op-generic | na-opt | FileCheck %s

// CHECK-LABEL: func @tensors
// CHECK: na.attention_grad
// CHECK-SAME: ins(%{{[^ ]*}}, %{{[^ ]*}}, %{{[^ ]*}}, %{{[^ ]*}}, %{{[^ ]*}}, %{{[^ ]*}} : tensor<1x9x4x8xbf16>, tensor<1x9x2x8xbf16>, tensor<1x9x2x6xbf16>, tensor<1x9x4x6xbf16>, tensor<1x9x4xf32>, tensor<1x9x4x6xbf16>)
// CHECK-SAME: outs(%{{[^ ]*}}, %{{[^ ]*}}, %{{[^ ]*}} : tensor<1x9x4x8xbf16>, tensor<1x9x2x8xbf16>, tensor<1x9x2x6xbf16>)
// CHECK-SAME: window(<size = [3]>)
// CHECK-SAME: -> tensor<1x9x4x8xbf16>, tensor<1x9x2x8xbf16>, tensor<1x9x2x6xbf16>
func.func @tensors(%q: tensor<1x9x4x8xbf16>, %k: tensor<1x9x2x8xbf16>,
                   %v: tensor<1x9x2x6xbf16>, %o: tensor<1x9x4x6xbf16>,
                   %lse: tensor<1x9x4xf32>, %do: tensor<1x9x4x6xbf16>)
    -> (tensor<1x9x4x8xbf16>, tensor<1x9x2x8xbf16>, tensor<1x9x2x6xbf16>) {
  %dq, %dk, %dv = na.attention_grad
      ins(%q, %k, %v, %o, %lse, %do
          : tensor<1x9x4x8xbf16>, tensor<1x9x2x8xbf16>, tensor<1x9x2x6xbf16>,
            tensor<1x9x4x6xbf16>, tensor<1x9x4xf32>, tensor<1x9x4x6xbf16>)
      outs(%q, %k, %v : tensor<1x9x4x8xbf16>, tensor<1x9x2x8xbf16>,
                        tensor<1x9x2x6xbf16>)
      window(<size = [3]>)
      -> tensor<1x9x4x8xbf16>, tensor<1x9x2x8xbf16>, tensor<1x9x2x6xbf16>
  return %dq, %dk, %dv
      : tensor<1x9x4x8xbf16>, tensor<1x9x2x8xbf16>, tensor<1x9x2x6xbf16>
}

// CHECK-LABEL: func @all_operands
// CHECK: %{{[^ ]*}}:6 = na.attention_grad
// CHECK-SAME: dlse(%{{[^ ]*}} : tensor<?x?x4xf64>)
// CHECK-SAME: bias(%{{[^ ]*}} : tensor<4x5xf32>)
// CHECK-SAME: additional(%{{[^ ]*}}, %{{[^ ]*}} : tensor<?x?x4x8xf64>, tensor<?x?x4x8xf64>)
// CHECK-SAME: dbias(%{{[^ ]*}} : tensor<4x5xf32>)
// CHECK-SAME: dadditional(%{{[^ ]*}}, %{{[^ ]*}} : tensor<?x?x4x8xf64>, tensor<?x?x4x8xf64>)
// CHECK-SAME: window(<size = [3], causal = [true]>)
// CHECK-SAME: {deterministic, scale = 0.000000e+00 : f64, schedule = #na.schedule<target = "cpu", query_tile = [8], key_tile = [8]>}
func.func @all_operands(%q: tensor<?x?x4x8xf64>, %lse: tensor<?x?x4xf64>,
                        %bias: tensor<4x5xf32>) -> tensor<4x5xf32> {
  %g:6 = na.attention_grad
      ins(%q, %q, %q, %q, %lse, %q
          : tensor<?x?x4x8xf64>, tensor<?x?x4x8xf64>, tensor<?x?x4x8xf64>,
            tensor<?x?x4x8xf64>, tensor<?x?x4xf64>, tensor<?x?x4x8xf64>)
      dlse(%lse : tensor<?x?x4xf64>) bias(%bias : tensor<4x5xf32>)
      additional(%q, %q : tensor<?x?x4x8xf64>, tensor<?x?x4x8xf64>)
      outs(%q, %q, %q : tensor<?x?x4x8xf64>, tensor<?x?x4x8xf64>,
                        tensor<?x?x4x8xf64>)
      dbias(%bias : tensor<4x5xf32>)
      dadditional(%q, %q : tensor<?x?x4x8xf64>, tensor<?x?x4x8xf64>)
      window(<size = [3], causal = [true]>)
      {scale = 0.0 : f64, deterministic,
       schedule = #na.schedule<target = "cpu", query_tile = [8],
                               key_tile = [8]>}
      -> tensor<?x?x4x8xf64>, tensor<?x?x4x8xf64>, tensor<?x?x4x8xf64>,
         tensor<4x5xf32>, tensor<?x?x4x8xf64>, tensor<?x?x4x8xf64>
  return %g#3 : tensor<4x5xf32>
}

// Either gradient of keys and values alone.
// CHECK-LABEL: func @apart
// CHECK: na.attention_dkv {{.*}} stats({{.*}}) dk(%{{[^ ]*}} : tensor<1x9x2x8xbf16>) window(<size = [3]>) -> tensor<1x9x2x8xbf16>{{$}}
// CHECK: na.attention_dkv {{.*}} bias(%{{[^ ]*}} : memref<4x5xf32>) dv(%{{[^ ]*}} : memref<1x9x4x8xf16>) window(<size = [3]>){{$}}
func.func @apart(%q: tensor<1x9x4x8xbf16>, %k: tensor<1x9x2x8xbf16>,
                 %lse: tensor<1x9x4xf32>, %m: memref<1x9x4x8xf16>,
                 %l: memref<1x9x4xf32>, %bias: memref<4x5xf32>)
    -> tensor<1x9x2x8xbf16> {
  %dk = na.attention_dkv
      ins(%q, %k, %k, %q
          : tensor<1x9x4x8xbf16>, tensor<1x9x2x8xbf16>, tensor<1x9x2x8xbf16>,
            tensor<1x9x4x8xbf16>)
      stats(%lse, %lse : tensor<1x9x4xf32>, tensor<1x9x4xf32>)
      dk(%k : tensor<1x9x2x8xbf16>) window(<size = [3]>)
      -> tensor<1x9x2x8xbf16>
  na.attention_dkv
      ins(%m, %m, %m, %m
          : memref<1x9x4x8xf16>, memref<1x9x4x8xf16>, memref<1x9x4x8xf16>,
            memref<1x9x4x8xf16>)
      stats(%l, %l : memref<1x9x4xf32>, memref<1x9x4xf32>)
      bias(%bias : memref<4x5xf32>)
      dv(%m : memref<1x9x4x8xf16>) window(<size = [3]>)
  return %dk : tensor<1x9x2x8xbf16>
}

// CHECK-LABEL: func @memrefs
// CHECK: na.attention_grad {{.*}} window(<size = [3]>){{$}}
func.func @memrefs(%q: memref<1x9x4x8xf16>, %lse: memref<1x9x4xf32>) {
  na.attention_grad
      ins(%q, %q, %q, %q, %lse, %q
          : memref<1x9x4x8xf16>, memref<1x9x4x8xf16>, memref<1x9x4x8xf16>,
            memref<1x9x4x8xf16>, memref<1x9x4xf32>, memref<1x9x4x8xf16>)
      outs(%q, %q, %q : memref<1x9x4x8xf16>, memref<1x9x4x8xf16>,
                        memref<1x9x4x8xf16>)
      window(<size = [3]>)
  return
}

// CHECK-LABEL: func @parts
// CHECK: na.attention_dq
// CHECK-SAME: ins(%{{[^ ]*}}, %{{[^ ]*}}, %{{[^ ]*}}, %{{[^ ]*}} : tensor<2x9x9x4x8xf32>, tensor<2x9x9x2x8xf32>, tensor<2x9x9x2x6xf32>, tensor<2x9x9x4x6xf32>)
// CHECK-SAME: stats(%{{[^ ]*}}, %{{[^ ]*}} : tensor<2x9x9x4xf32>, tensor<2x9x9x4xf32>)
// CHECK-SAME: bias(%{{[^ ]*}} : tensor<4x5x5xf32>)
// CHECK-SAME: additional(%{{[^ ]*}}, %{{[^ ]*}} : tensor<2x3x2x8xf32>, tensor<2x3x2x6xf32>)
// CHECK-SAME: outs(%{{[^ ]*}} : tensor<2x9x9x4x8xf32>)
// CHECK-SAME: window(<size = [3, 3]>)
// CHECK-SAME: -> tensor<2x9x9x4x8xf32>
// CHECK: na.attention_dkv
// CHECK-SAME: stats(
// CHECK-SAME: bias(
// CHECK-SAME: outs(%{{[^ ]*}}, %{{[^ ]*}} : tensor<2x9x9x2x8xf32>, tensor<2x9x9x2x6xf32>)
// CHECK-SAME: {scale = 2.000000e+00 : f64}
// CHECK: na.attention_dadditional
// CHECK-SAME: ins(%{{[^ ]*}}, %{{[^ ]*}}, %{{[^ ]*}}, %{{[^ ]*}} : tensor<2x9x9x4x8xf32>, tensor<2x9x9x4x6xf32>, tensor<2x3x2x8xf32>, tensor<2x3x2x6xf32>)
// CHECK-SAME: outs(%{{[^ ]*}}, %{{[^ ]*}} : tensor<2x3x2x8xf32>, tensor<2x3x2x6xf32>) -> tensor<2x3x2x8xf32>, tensor<2x3x2x6xf32>
// CHECK: na.attention_dbias
// CHECK-SAME: bias(%{{[^ ]*}} : tensor<4x5x5xf32>)
// CHECK-SAME: outs(%{{[^ ]*}} : tensor<4x5x5xf32>)
func.func @parts(%q: tensor<2x9x9x4x8xf32>, %k: tensor<2x9x9x2x8xf32>,
                 %v: tensor<2x9x9x2x6xf32>, %do: tensor<2x9x9x4x6xf32>,
                 %lse: tensor<2x9x9x4xf32>, %delta: tensor<2x9x9x4xf32>,
                 %b: tensor<4x5x5xf32>, %ek: tensor<2x3x2x8xf32>,
                 %ev: tensor<2x3x2x6xf32>)
    -> (tensor<2x9x9x4x8xf32>, tensor<2x9x9x2x8xf32>, tensor<2x3x2x8xf32>,
        tensor<4x5x5xf32>) {
  %dq = na.attention_dq
      ins(%q, %k, %v, %do : tensor<2x9x9x4x8xf32>, tensor<2x9x9x2x8xf32>,
                            tensor<2x9x9x2x6xf32>, tensor<2x9x9x4x6xf32>)
      stats(%lse, %delta : tensor<2x9x9x4xf32>, tensor<2x9x9x4xf32>)
      bias(%b : tensor<4x5x5xf32>)
      additional(%ek, %ev : tensor<2x3x2x8xf32>, tensor<2x3x2x6xf32>)
      outs(%q : tensor<2x9x9x4x8xf32>) window(<size = [3, 3]>)
      -> tensor<2x9x9x4x8xf32>
  %dk, %dv = na.attention_dkv
      ins(%q, %k, %v, %do : tensor<2x9x9x4x8xf32>, tensor<2x9x9x2x8xf32>,
                            tensor<2x9x9x2x6xf32>, tensor<2x9x9x4x6xf32>)
      stats(%lse, %delta : tensor<2x9x9x4xf32>, tensor<2x9x9x4xf32>)
      bias(%b : tensor<4x5x5xf32>)
      outs(%k, %v : tensor<2x9x9x2x8xf32>, tensor<2x9x9x2x6xf32>)
      window(<size = [3, 3]>) {scale = 2.0 : f64}
      -> tensor<2x9x9x2x8xf32>, tensor<2x9x9x2x6xf32>
  %dek, %dev = na.attention_dadditional
      ins(%q, %do, %ek, %ev : tensor<2x9x9x4x8xf32>, tensor<2x9x9x4x6xf32>,
                              tensor<2x3x2x8xf32>, tensor<2x3x2x6xf32>)
      stats(%lse, %delta : tensor<2x9x9x4xf32>, tensor<2x9x9x4xf32>)
      outs(%ek, %ev : tensor<2x3x2x8xf32>, tensor<2x3x2x6xf32>)
      -> tensor<2x3x2x8xf32>, tensor<2x3x2x6xf32>
  %db = na.attention_dbias
      ins(%q, %k, %v, %do : tensor<2x9x9x4x8xf32>, tensor<2x9x9x2x8xf32>,
                            tensor<2x9x9x2x6xf32>, tensor<2x9x9x4x6xf32>)
      stats(%lse, %delta : tensor<2x9x9x4xf32>, tensor<2x9x9x4xf32>)
      bias(%b : tensor<4x5x5xf32>) outs(%b : tensor<4x5x5xf32>)
      window(<size = [3, 3]>) -> tensor<4x5x5xf32>
  return %dq, %dk, %dek, %db
      : tensor<2x9x9x4x8xf32>, tensor<2x9x9x2x8xf32>, tensor<2x3x2x8xf32>,
        tensor<4x5x5xf32>
}

// CHECK-LABEL: func @products
// CHECK: na.qk_grad ins(%{{[^ ]*}}, %{{[^ ]*}}, %{{[^ ]*}} : tensor<1x9x4x8xbf16>, tensor<1x9x2x8xbf16>, tensor<1x9x4x3xf32>)
// CHECK-SAME: outs(%{{[^ ]*}}, %{{[^ ]*}} : tensor<1x9x4x8xbf16>, tensor<1x9x2x8xbf16>)
// CHECK-SAME: dbias(%{{[^ ]*}} : tensor<4x5xf32>)
// CHECK-SAME: window(<size = [3]>) {scale = 2.000000e+00 : f64} -> tensor<1x9x4x8xbf16>, tensor<1x9x2x8xbf16>, tensor<4x5xf32>
// CHECK: na.av_grad ins(%{{[^ ]*}}, %{{[^ ]*}}, %{{[^ ]*}} : tensor<1x9x4x3xf32>, tensor<1x9x2x8xbf16>, tensor<1x9x4x8xbf16>)
// CHECK-SAME: outs(%{{[^ ]*}}, %{{[^ ]*}} : tensor<1x9x4x3xf32>, tensor<1x9x2x8xbf16>) window(<size = [3]>) -> tensor<1x9x4x3xf32>, tensor<1x9x2x8xbf16>
func.func @products(%q: tensor<1x9x4x8xbf16>, %k: tensor<1x9x2x8xbf16>,
                    %s: tensor<1x9x4x3xf32>, %b: tensor<4x5xf32>)
    -> (tensor<4x5xf32>, tensor<1x9x2x8xbf16>) {
  %0:3 = na.qk_grad
      ins(%q, %k, %s : tensor<1x9x4x8xbf16>, tensor<1x9x2x8xbf16>,
                       tensor<1x9x4x3xf32>)
      outs(%q, %k : tensor<1x9x4x8xbf16>, tensor<1x9x2x8xbf16>)
      dbias(%b : tensor<4x5xf32>) window(<size = [3]>) {scale = 2.0 : f64}
      -> tensor<1x9x4x8xbf16>, tensor<1x9x2x8xbf16>, tensor<4x5xf32>
  %1:2 = na.av_grad
      ins(%s, %k, %q : tensor<1x9x4x3xf32>, tensor<1x9x2x8xbf16>,
                       tensor<1x9x4x8xbf16>)
      outs(%s, %k : tensor<1x9x4x3xf32>, tensor<1x9x2x8xbf16>)
      window(<size = [3]>) -> tensor<1x9x4x3xf32>, tensor<1x9x2x8xbf16>
  return %0#2, %1#1 : tensor<4x5xf32>, tensor<1x9x2x8xbf16>
}

// CHECK-LABEL: func @merge
// CHECK: na.merge_grad ins(%{{[^ ]*}}, %{{[^ ]*}} : memref<9x8xf16>, memref<9x8xf16>) lses(%{{[^ ]*}}, %{{[^ ]*}} : memref<9xf32>, memref<9xf32>) grad(%{{[^ ]*}} : memref<9x8xf16>) dlse(%{{[^ ]*}} : memref<9xf32>) outs(%{{[^ ]*}}, %{{[^ ]*}} : memref<9x8xf16>, memref<9x8xf16>) dlses(%{{[^ ]*}}, %{{[^ ]*}} : memref<9xf32>, memref<9xf32>){{$}}
// CHECK: na.merge_grad ins(%{{[^ ]*}} : memref<9x8xf16>) lses(%{{[^ ]*}} : memref<9xf32>) grad(%{{[^ ]*}} : memref<9x8xf16>) outs(%{{[^ ]*}} : memref<9x8xf16>) dlses(%{{[^ ]*}} : memref<9xf32>){{$}}
func.func @merge(%o: memref<9x8xf16>, %l: memref<9xf32>) {
  na.merge_grad
      ins(%o, %o : memref<9x8xf16>, memref<9x8xf16>)
      lses(%l, %l : memref<9xf32>, memref<9xf32>) grad(%o : memref<9x8xf16>)
      dlse(%l : memref<9xf32>)
      outs(%o, %o : memref<9x8xf16>, memref<9x8xf16>)
      dlses(%l, %l : memref<9xf32>, memref<9xf32>)
  na.merge_grad
      ins(%o : memref<9x8xf16>) lses(%l : memref<9xf32>)
      grad(%o : memref<9x8xf16>) outs(%o : memref<9x8xf16>)
      dlses(%l : memref<9xf32>)
  return
}
