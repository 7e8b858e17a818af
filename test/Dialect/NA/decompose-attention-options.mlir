// RUN: na-opt %s -na-decompose-attention=weights-limit=2240 | FileCheck %s --check-prefixes=CHECK,FITS
// RUN: na-opt %s -na-decompose-attention=weights-limit=2239 | FileCheck %s --check-prefixes=CHECK,ABOVE
// RUN: na-opt %s -na-decompose-attention=narrow-weights | FileCheck %s --check-prefix=NARROW

// 4 * 20 * 4 * 7 = 2240 bytes.
// CHECK-LABEL:  func @attention(
// FITS:           na.qk
// FITS-NOT:       truncf
// FITS:           na.av
// ABOVE:          na.attention
// NARROW-LABEL: func @attention(
// NARROW:         %[[S:.*]] = na.qk
// NARROW:         tensor.empty() : tensor<1x20x4x7xbf16>
// NARROW:         %[[W:.*]] = linalg.generic
// NARROW:           arith.mulf
// NARROW:           arith.truncf %{{.*}} : f32 to bf16
// NARROW:         -> tensor<1x20x4x7xbf16>
// NARROW:         na.av ins(%[[W]], %{{.*}} : tensor<1x20x4x7xbf16>, tensor<1x20x4x8xbf16>)
func.func @attention(%q: tensor<1x20x4x8xbf16>, %o: tensor<1x20x4x8xbf16>)
    -> tensor<1x20x4x8xbf16> {
  %r = na.attention
      ins(%q, %q, %q : tensor<1x20x4x8xbf16>, tensor<1x20x4x8xbf16>,
                       tensor<1x20x4x8xbf16>)
      outs(%o : tensor<1x20x4x8xbf16>) window(<size = [7]>)
      -> tensor<1x20x4x8xbf16>
  return %r : tensor<1x20x4x8xbf16>
}

// Sizes that are not known are not known to fit. What is joined by na.merge
// keeps the accumulator's type.
// CHECK-LABEL:  func @dynamic(
// CHECK:          na.attention
// NARROW-LABEL: func @dynamic(
// NARROW-NOT:     truncf
// NARROW:         na.merge
func.func @dynamic(%q: tensor<?x20x4x8xbf16>, %e: tensor<?x2x4x8xbf16>,
                   %o: tensor<?x20x4x8xbf16>) -> tensor<?x20x4x8xbf16> {
  %r = na.attention
      ins(%q, %q, %q : tensor<?x20x4x8xbf16>, tensor<?x20x4x8xbf16>,
                       tensor<?x20x4x8xbf16>)
      additional(%e, %e : tensor<?x2x4x8xbf16>, tensor<?x2x4x8xbf16>)
      outs(%o : tensor<?x20x4x8xbf16>) window(<size = [7]>)
      -> tensor<?x20x4x8xbf16>
  return %r : tensor<?x20x4x8xbf16>
}
