// RUN: na-opt %s --split-input-file --verify-diagnostics

func.func @no_producer() {
  // expected-error @+1 {{'nagpu.roles' op has 0 producers, expected 1 to 4 (one per warp)}}
  nagpu.roles registers(24, 240) consumers(%group in 2) {
  }
  return
}

// -----

func.func @five_producers() {
  // expected-error @+1 {{'nagpu.roles' op has 5 producers, expected 1 to 4 (one per warp)}}
  nagpu.roles registers(24, 240) producer {
  } producer {
  } producer {
  } producer {
  } producer {
  } consumers(%group in 2) {
  }
  return
}

// -----

func.func @groups() {
  // expected-error @+1 {{'nagpu.roles' op 'groups' is 8, expected 1 to 7}}
  nagpu.roles registers(24, 240) producer {
  } consumers(%group in 8) {
  }
  return
}

// -----

func.func @range() {
  // expected-error @+1 {{'nagpu.roles' op 'producerRegisters' is 16, expected 24 to 240}}
  nagpu.roles registers(16, 240) producer {
  } consumers(%group in 2) {
  }
  return
}

// -----

func.func @multiple() {
  // expected-error @+1 {{'nagpu.roles' op 'consumerRegisters' is 236, expected a multiple of 8}}
  nagpu.roles registers(24, 236) producer {
  } consumers(%group in 2) {
  }
  return
}

// -----

func.func @increase() {
  // expected-error @+1 {{'nagpu.roles' op the CTA starts with 168 registers a thread; expected at most as many 'producerRegisters' (got 24) and at least as many 'consumerRegisters' (got 160)}}
  nagpu.roles registers(24, 160) producer {
  } consumers(%group in 2) {
  }
  return
}

// -----

func.func @decrease() {
  // expected-error @+1 {{'nagpu.roles' op the CTA starts with 128 registers a thread; expected at most as many 'producerRegisters' (got 136) and at least as many 'consumerRegisters' (got 136)}}
  nagpu.roles registers(136, 136) producer {
  } consumers(%group in 3) {
  }
  return
}

// -----

func.func @total() {
  // expected-error @+1 {{'nagpu.roles' op 'producerRegisters' and 2 times 'consumerRegisters' are 512, expected at most 504}}
  nagpu.roles registers(32, 240) producer {
  } consumers(%group in 2) {
  }
  return
}

// -----

func.func @nested() {
  nagpu.roles registers(24, 240) producer {
  } consumers(%group in 2) {
    // expected-error @+1 {{'nagpu.roles' op is in another nagpu.roles}}
    nagpu.roles registers(24, 240) producer {
    } consumers(%inner in 2) {
    }
  }
  return
}

// -----

func.func @barrier() {
  nagpu.roles registers(24, 240) producer {
  } consumers(%group in 2) {
    // expected-error @+1 {{'nagpu.barrier' op waits for all threads of the CTA, which do not come here; expected nagpu.named_barrier}}
    nagpu.barrier
  }
  return
}

// -----

func.func @async_wait(%g: !nagpu.token) {
  nagpu.roles registers(24, 240) producer {
    // expected-error @+1 {{'nagpu.async_wait' op waits for all threads of the CTA, which do not come here; expected nagpu.named_barrier}}
    nagpu.async_wait %g pending 0
  } consumers(%group in 2) {
  }
  return
}

// -----

func.func @producer_warp() {
  nagpu.roles registers(24, 240) producer {
    // expected-error @+1 {{'nagpu.wgmma_commit' op is of whole warps, but a producer is one thread}}
    nagpu.wgmma_commit
  } consumers(%group in 2) {
  }
  return
}

// -----

func.func @producer_fragment(%z: f32) {
  nagpu.roles registers(24, 240) producer {
    // expected-error @+1 {{'nagpu.splat' op has a fragment, but a producer is one thread}}
    %0 = nagpu.splat %z : f32 -> !nagpu.fragment<64x8xf32, accumulator, 4>
  } consumers(%group in 2) {
  }
  return
}

// -----

func.func @warps(%z: f32) {
  nagpu.roles registers(24, 240) producer {
  } consumers(%group in 2) {
    // expected-error @+1 {{'nagpu.splat' op has a fragment of 8 warps, expected 4, those of a warpgroup}}
    %0 = nagpu.splat %z : f32 -> !nagpu.fragment<128x8xf32, accumulator, 8>
  }
  return
}

// -----

func.func @id() {
  %c = arith.constant 16 : index
    // expected-error @+1 {{'nagpu.named_barrier' op 'id' is 16, expected 1 to 15}}
    nagpu.named_barrier %c threads 128
  return
}

// -----

func.func @threads(%i: index) {
    // expected-error @+1 {{'nagpu.named_barrier' op 'threads' is 100, expected a multiple of 32}}
    nagpu.named_barrier %i threads 100
  return
}

// -----

func.func @many_threads(%i: index) {
    // expected-error @+1 {{'nagpu.named_barrier' op 'threads' is 1056, expected 32 to 1024}}
    nagpu.named_barrier %i threads 1056
  return
}

// -----

// expected-error @+2 {{'nagpu.roles' op the consumers have 0 arguments, expected one of type 'index'}}
func.func @arguments() {
  "nagpu.roles"() <{consumerRegisters = 240 : i64, groups = 2 : i64, producerRegisters = 24 : i64}> ({
    nagpu.proxy_fence
  }, {
    nagpu.proxy_fence
  }) : () -> ()
  return
}

// -----

// expected-error @+2 {{'nagpu.roles' op a producer has 1 arguments, expected none}}
func.func @producer_arguments() {
  "nagpu.roles"() <{consumerRegisters = 240 : i64, groups = 2 : i64, producerRegisters = 24 : i64}> ({
  ^bb0(%group: index):
    nagpu.proxy_fence
  }, {
  ^bb0(%x: index):
    nagpu.proxy_fence
  }) : () -> ()
  return
}

// -----

func.func @producer_fence() {
  nagpu.roles registers(24, 240) producer {
    // expected-error @+1 {{'nagpu.wgmma_fence' op is of whole warps, but a producer is one thread}}
    nagpu.wgmma_fence
  } consumers(%group in 2) {
  }
  return
}

// -----

func.func @producer_wait() {
  nagpu.roles registers(24, 240) producer {
    // expected-error @+1 {{'nagpu.wgmma_wait' op is of whole warps, but a producer is one thread}}
    nagpu.wgmma_wait pending 0
  } consumers(%group in 2) {
  }
  return
}

// -----

func.func @producer_barrier(%i: index) {
  nagpu.roles registers(24, 240) producer {
    // expected-error @+1 {{'nagpu.named_barrier' op is of whole warps, but a producer is one thread}}
    nagpu.named_barrier %i threads 128
  } consumers(%group in 2) {
  }
  return
}

// -----

func.func @id_zero() {
  %zero = arith.constant 0 : index
  // expected-error @+1 {{'nagpu.named_barrier' op 'id' is 0, expected 1 to 15}}
  nagpu.named_barrier %zero threads 128
  return
}
