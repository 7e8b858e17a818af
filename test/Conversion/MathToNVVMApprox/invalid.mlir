// RUN: na-opt %s -math-to-nvvm-approx -split-input-file -verify-diagnostics

func.func @double(%x: f64) -> f64 {
  // expected-error @+1 {{'math.exp' op math-to-nvvm-approx: is on 'f64'; the GPU path computes it on f32, f16 and bf16}}
  %0 = math.exp %x : f64
  return %0 : f64
}

// -----

func.func @scalable(%x: vector<[4]xf32>) -> vector<[4]xf32> {
  // expected-error @+1 {{'math.rsqrt' op math-to-nvvm-approx: is on 'vector<[4]xf32>'}}
  %0 = math.rsqrt %x : vector<[4]xf32>
  return %0 : vector<[4]xf32>
}

// -----

func.func @unknown(%x: f32) -> f32 {
  // expected-error @+1 {{'math.tan' op math-to-nvvm-approx: is a function that the GPU has no instruction for}}
  %0 = math.tan %x : f32
  return %0 : f32
}
