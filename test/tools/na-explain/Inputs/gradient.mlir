func.func @gradient(%q: memref<2x64x4x32xbf16>, %l: memref<2x64x4xf32>) {
  na.attention_dq
    ins(%q, %q, %q, %q : memref<2x64x4x32xbf16>, memref<2x64x4x32xbf16>, memref<2x64x4x32xbf16>, memref<2x64x4x32xbf16>)
    stats(%l, %l : memref<2x64x4xf32>, memref<2x64x4xf32>)
    outs(%q : memref<2x64x4x32xbf16>) window(<size = [7]>)
  return
}
