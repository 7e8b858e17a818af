// RUN: na-opt %s -na-to-nvvm=mode=naive -split-input-file -verify-diagnostics -o %t.mlir

func.func @double(%q: tensor<1x9x2x8xf64>, %o: tensor<1x9x2x8xf64>)
    -> tensor<1x9x2x8xf64> {
  // expected-error @+1 {{'na.attention' op is on 'tensor<1x9x2x8xf64>'; the GPU pipeline takes element types f32, f16 and bf16, not f64}}
  %r = na.attention
    ins(%q, %q, %q : tensor<1x9x2x8xf64>, tensor<1x9x2x8xf64>, tensor<1x9x2x8xf64>)
    outs(%o : tensor<1x9x2x8xf64>) window(<size = [3]>) -> tensor<1x9x2x8xf64>
  return %r : tensor<1x9x2x8xf64>
}

// -----

// The flow of control depends on a tensor.
func.func @branch(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  // expected-error @+1 {{'memref.load' op reads tensor data on the host; in a program for the GPU only kernels can, and the flow of control cannot depend on it}}
  %e = tensor.extract %x[%c0] : tensor<8xf32>
  %positive = arith.cmpf ogt, %e, %zero : f32
  %r = scf.if %positive -> tensor<8xf32> {
    %0 = math.absf %x : tensor<8xf32>
    scf.yield %0 : tensor<8xf32>
  } else {
    scf.yield %y : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}
