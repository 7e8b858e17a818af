// RUN: na-opt %s -gpu-launch-to-runtime -split-input-file -verify-diagnostics

func.func @reads(%m: memref<8xf32>, %i: index) -> f32 {
  // expected-error @+1 {{'memref.load' op reads tensor data on the host; in a program for the GPU only kernels can, and the flow of control cannot depend on it}}
  %x = memref.load %m[%i] : memref<8xf32>
  return %x : f32
}

// -----

func.func @copies(%m: memref<8xf32>, %n: memref<8xf32>) {
  // expected-error @+1 {{'memref.copy' op writes tensor data on the host}}
  memref.copy %m, %n : memref<8xf32> to memref<8xf32>
  return
}

// -----

memref.global "private" constant @table : memref<2xf32> = dense<1.0>
func.func @constant() -> memref<2xf32> {
  // expected-error @+1 {{'memref.get_global' op gives the address of constants on the host}}
  %table = memref.get_global @table : memref<2xf32>
  return %table : memref<2xf32>
}

// -----

// expected-note @+1 {{the first one is here}}
gpu.module @one {
}
// expected-error @+1 {{gpu-launch-to-runtime: is the second module of kernels; expected one}}
gpu.module @two {
}

// -----

module attributes {gpu.container_module} {
  // expected-error @+1 {{gpu-launch-to-runtime: symbol 'naCudaLaunch' is taken; expected a declaration of type '(index, index, index, index, index, index, index) -> ()'}}
  func.func private @naCudaLaunch(index)
  func.func @f(%n: index) {
    %c1 = arith.constant 1 : index
    gpu.launch_func @na_kernels::@k
        blocks in (%n, %c1, %c1) threads in (%c1, %c1, %c1)
    return
  }
  gpu.module @na_kernels {
    gpu.func @k() kernel {
      gpu.return
    }
  }
}

// -----

module attributes {gpu.container_module} {
  func.func @y(%n: index) {
    %c1 = arith.constant 1 : index
    // expected-error @+1 {{gpu-launch-to-runtime: has blocks or threads in y or z; expected them all in x}}
    gpu.launch_func @na_kernels::@k
        blocks in (%n, %n, %c1) threads in (%c1, %c1, %c1)
    return
  }
  gpu.module @na_kernels {
    gpu.func @k() kernel {
      gpu.return
    }
  }
}

// -----

module attributes {gpu.container_module} {
  func.func @clusters(%n: index) {
    %c1 = arith.constant 1 : index
    // expected-error @+1 {{gpu-launch-to-runtime: is asynchronous or has clusters; expected neither}}
    gpu.launch_func @na_kernels::@k clusters in (%n, %c1, %c1)
        blocks in (%n, %c1, %c1) threads in (%c1, %c1, %c1)
    return
  }
  gpu.module @na_kernels {
    gpu.func @k() kernel {
      gpu.return
    }
  }
}

// -----

module attributes {gpu.container_module} {
  func.func @argument(%n: index, %v: vector<4xf32>) {
    %c1 = arith.constant 1 : index
    // expected-error @+1 {{gpu-launch-to-runtime: kernel argument of type 'vector<4xf32>'; expected a memref, an index, an integer or a float of at most 64 bits, or a pointer to a parameter by value}}
    gpu.launch_func @na_kernels::@k
        blocks in (%n, %c1, %c1) threads in (%c1, %c1, %c1)
        args(%v : vector<4xf32>)
    return
  }
  gpu.module @na_kernels {
    gpu.func @k(%v: vector<4xf32>) kernel {
      gpu.return
    }
  }
}

// -----

module attributes {gpu.container_module} {
  func.func @pointer(%n: index, %p: !llvm.ptr) {
    %c1 = arith.constant 1 : index
    // expected-error @+1 {{gpu-launch-to-runtime: kernel argument of type '!llvm.ptr'; expected a memref, an index, an integer or a float of at most 64 bits, or a pointer to a parameter by value}}
    gpu.launch_func @na_kernels::@k
        blocks in (%n, %c1, %c1) threads in (%c1, %c1, %c1)
        args(%p : !llvm.ptr)
    return
  }
  gpu.module @na_kernels {
    gpu.func @k(%p: !llvm.ptr) kernel {
      gpu.return
    }
  }
}
