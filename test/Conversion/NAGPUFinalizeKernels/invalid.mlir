// RUN: na-opt %s -nagpu-finalize-kernels -split-input-file -verify-diagnostics

func.func @use(%m: memref<1x64x2x128xbf16>) -> !nagpu.tensor_map<1x64x64xbf16, tma128> {
  // expected-error @+1 {{nagpu-finalize-kernels: the map is used by 'func.return', expected 'gpu.launch_func'}}
  %0 = nagpu.tensor_map %m : memref<1x64x2x128xbf16> -> !nagpu.tensor_map<1x64x64xbf16, tma128>
  return %0 : !nagpu.tensor_map<1x64x64xbf16, tma128>
}

// -----

// expected-error @+1 {{nagpu-finalize-kernels: symbol 'naCudaEncodeTensorMap' is taken; expected a declaration of type '(!llvm.ptr, i64, i64, i64, i64, !llvm.ptr, i64) -> ()'}}
func.func private @naCudaEncodeTensorMap(!llvm.ptr)

func.func @name(%m: memref<1x64x2x128xbf16>) {
  %0 = nagpu.tensor_map %m : memref<1x64x2x128xbf16> -> !nagpu.tensor_map<1x64x64xbf16, tma128>
  return
}
