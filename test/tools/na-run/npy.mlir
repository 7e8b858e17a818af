// Arrays in NumPy's format, in every type, and what damaged files do.

// RUN: rm -rf %t && mkdir %t
// RUN: %python %S/Inputs/npy_check.py %s %t | FileCheck %s
// CHECK: passed

func.func @f64(%a: tensor<3x5x4xf64>, %b: tensor<3x5x4xf64>) -> tensor<3x5x4xf64> {
  %sum = arith.addf %a, %b : tensor<3x5x4xf64>
  return %sum : tensor<3x5x4xf64>
}
func.func @f32(%a: tensor<3x5x4xf32>, %b: tensor<3x5x4xf32>) -> tensor<3x5x4xf32> {
  %sum = arith.addf %a, %b : tensor<3x5x4xf32>
  return %sum : tensor<3x5x4xf32>
}
func.func @f16(%a: tensor<3x5x4xf16>, %b: tensor<3x5x4xf16>) -> tensor<3x5x4xf16> {
  %sum = arith.addf %a, %b : tensor<3x5x4xf16>
  return %sum : tensor<3x5x4xf16>
}
func.func @bf16(%a: tensor<3x5x4xbf16>, %b: tensor<3x5x4xbf16>) -> tensor<3x5x4xbf16> {
  %sum = arith.addf %a, %b : tensor<3x5x4xbf16>
  return %sum : tensor<3x5x4xbf16>
}
func.func @i64(%a: tensor<3x5x4xi64>, %b: tensor<3x5x4xi64>) -> tensor<3x5x4xi64> {
  %sum = arith.addi %a, %b : tensor<3x5x4xi64>
  return %sum : tensor<3x5x4xi64>
}
func.func @i32(%a: tensor<3x5x4xi32>, %b: tensor<3x5x4xi32>) -> tensor<3x5x4xi32> {
  %sum = arith.addi %a, %b : tensor<3x5x4xi32>
  return %sum : tensor<3x5x4xi32>
}
func.func @i16(%a: tensor<3x5x4xi16>, %b: tensor<3x5x4xi16>) -> tensor<3x5x4xi16> {
  %sum = arith.addi %a, %b : tensor<3x5x4xi16>
  return %sum : tensor<3x5x4xi16>
}
func.func @i8(%a: tensor<3x5x4xi8>, %b: tensor<3x5x4xi8>) -> tensor<3x5x4xi8> {
  %sum = arith.addi %a, %b : tensor<3x5x4xi8>
  return %sum : tensor<3x5x4xi8>
}
func.func @dynamic(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %sum = arith.addf %a, %b : tensor<?x?xf32>
  return %sum : tensor<?x?xf32>
}
func.func @scalar(%a: f32, %b: f32) -> f32 {
  %sum = arith.addf %a, %b : f32
  return %sum : f32
}
