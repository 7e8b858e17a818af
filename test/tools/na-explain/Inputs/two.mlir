func.func @two(%q: tensor<2x56x48x8x64xbf16>, %k: tensor<2x56x48x2x64xbf16>,
               %s: tensor<?x4096x4x128xf16>) -> tensor<?x4096x4x128xf16> {
  %a = tensor.empty() : tensor<2x56x48x8x64xbf16>
  %b = na.attention
      ins(%q, %k, %k : tensor<2x56x48x8x64xbf16>, tensor<2x56x48x2x64xbf16>, tensor<2x56x48x2x64xbf16>)
      outs(%a : tensor<2x56x48x8x64xbf16>)
      window(<size = [13, 7], stride = [2, 1]>) -> tensor<2x56x48x8x64xbf16>
  %c = na.attention
      ins(%s, %s, %s : tensor<?x4096x4x128xf16>, tensor<?x4096x4x128xf16>, tensor<?x4096x4x128xf16>)
      outs(%s : tensor<?x4096x4x128xf16>)
      window(<size = [1024], causal = [true]>) -> tensor<?x4096x4x128xf16>
  return %c : tensor<?x4096x4x128xf16>
}
