// RUN: na-opt %s --split-input-file --verify-diagnostics

func.func @alloc(%map: !nagpu.tensor_map<1x64x64xbf16, tma128>, %t: !nagpu.shared<64x128xbf16, tma128>, %bar: !nagpu.barrier<2>, %i: index, %p: i32) {
    // expected-error @+1 {{'nagpu.alloc' op 'offset' is 512, expected a multiple of 1024}}
    %0 = nagpu.alloc {offset = 512 : i64} : !nagpu.shared<64x128xbf16, tma128>
  return
}

// -----

func.func @alloc64(%map: !nagpu.tensor_map<1x64x64xbf16, tma128>, %t: !nagpu.shared<64x128xbf16, tma128>, %bar: !nagpu.barrier<2>, %i: index, %p: i32) {
    // expected-error @+1 {{'nagpu.alloc' op 'offset' is 256, expected a multiple of 512}}
    %0 = nagpu.alloc {offset = 256 : i64} : !nagpu.shared<8x32xbf16, tma64>
  return
}

// -----

func.func @ldmatrix(%map: !nagpu.tensor_map<1x64x64xbf16, tma128>, %t: !nagpu.shared<64x128xbf16, tma128>, %bar: !nagpu.barrier<2>, %i: index, %p: i32) {
    // expected-error @+1 {{'nagpu.ldmatrix' op 'source' is '!nagpu.shared<64x128xbf16, tma128>', in panels of the TMA, expected linear, xor or padded}}
    %0 = nagpu.ldmatrix %t[0, 0] : !nagpu.shared<64x128xbf16, tma128> -> !nagpu.fragment<64x16xbf16, lhs, 4>
  return
}

// -----

func.func @async_copy(%map: !nagpu.tensor_map<1x64x64xbf16, tma128>, %t: !nagpu.shared<64x128xbf16, tma128>, %bar: !nagpu.barrier<2>, %i: index, %p: i32, %m: memref<1x64x2x120xbf16>) {
    // expected-error @+1 {{'nagpu.async_copy' op 'source' dimension 3 (channels) is 120, expected 128, the columns of 'dest', which is in panels of the TMA}}
    %0 = nagpu.async_copy %m[%i, %i] at(%i) box [64] dilation [1] into %t warps 4 : memref<1x64x2x120xbf16>, !nagpu.shared<64x128xbf16, tma128>
  return
}

// -----

func.func @init_arrivals(%map: !nagpu.tensor_map<1x64x64xbf16, tma128>, %t: !nagpu.shared<64x128xbf16, tma128>, %bar: !nagpu.barrier<2>, %i: index, %p: i32) {
    // expected-error @+1 {{'nagpu.mbarrier_init' op 'arrivals' is 0, expected 1 to 1048575}}
    %0 = nagpu.mbarrier_init arrivals 0 : !nagpu.barrier<2>
  return
}

// -----

func.func @init_offset(%map: !nagpu.tensor_map<1x64x64xbf16, tma128>, %t: !nagpu.shared<64x128xbf16, tma128>, %bar: !nagpu.barrier<2>, %i: index, %p: i32) {
    // expected-error @+1 {{'nagpu.mbarrier_init' op 'offset' is 4, expected a multiple of 8 from 0 on}}
    %0 = nagpu.mbarrier_init arrivals 1 {offset = 4 : i64} : !nagpu.barrier<2>
  return
}

// -----

func.func @init_roles(%map: !nagpu.tensor_map<1x64x64xbf16, tma128>, %t: !nagpu.shared<64x128xbf16, tma128>, %bar: !nagpu.barrier<2>, %i: index, %p: i32) {
  nagpu.roles registers(24, 240) producer {
  } consumers(%group in 2) {
    // expected-error @+1 {{'nagpu.mbarrier_init' op is in nagpu.roles, expected it before}}
    %0 = nagpu.mbarrier_init arrivals 1 : !nagpu.barrier<2>
  }
  return
}

// -----

func.func @arrive_index(%map: !nagpu.tensor_map<1x64x64xbf16, tma128>, %t: !nagpu.shared<64x128xbf16, tma128>, %bar: !nagpu.barrier<2>, %i: index, %p: i32) {
  %c = arith.constant 2 : index
    // expected-error @+1 {{'nagpu.mbarrier_arrive' op 'index' is 2, expected 0 to 1}}
    nagpu.mbarrier_arrive %bar[%c] : !nagpu.barrier<2>
  return
}

// -----

func.func @arrive_lanes(%bar: !nagpu.barrier<2>, %i: index) {
  nagpu.roles registers(24, 240) producer {
    // expected-error @+1 {{'nagpu.mbarrier_arrive' op 'lanes' has no place in a producer, of which one lane arrives}}
    nagpu.mbarrier_arrive lanes %bar[%i] : !nagpu.barrier<2>
  } consumers(%group in 2) {
  }
  return
}

// -----

func.func @wait_parity(%map: !nagpu.tensor_map<1x64x64xbf16, tma128>, %t: !nagpu.shared<64x128xbf16, tma128>, %bar: !nagpu.barrier<2>, %i: index, %p: i32) {
  %c = arith.constant 2 : i32
    // expected-error @+1 {{'nagpu.mbarrier_wait' op 'parity' is 2, expected 0 to 1}}
    nagpu.mbarrier_wait %bar[%i] parity %c : !nagpu.barrier<2>
  return
}

// -----

func.func @arrive_copies_place(%t: !nagpu.token, %bar: !nagpu.barrier<2>, %i: index) {
  // expected-error @+1 {{'nagpu.mbarrier_arrive_copies' op is not in a producer of nagpu.roles}}
  nagpu.mbarrier_arrive_copies %bar[%i] after %t : !nagpu.barrier<2>
  return
}

// -----

func.func @arrive_copies_slot(%t: !nagpu.token, %bar: !nagpu.barrier<2>) {
  nagpu.roles registers(24, 240) producer {
    %two = arith.constant 2 : index
    // expected-error @+1 {{'nagpu.mbarrier_arrive_copies' op 'index' is 2, expected 0 to 1}}
    nagpu.mbarrier_arrive_copies %bar[%two] after %t : !nagpu.barrier<2>
  } consumers(%group in 2) {
  }
  return
}

// -----

func.func @expect_place(%map: !nagpu.tensor_map<1x64x64xbf16, tma128>, %t: !nagpu.shared<64x128xbf16, tma128>, %bar: !nagpu.barrier<2>, %i: index, %p: i32) {
    // expected-error @+1 {{'nagpu.mbarrier_expect_tx' op is not in a producer of nagpu.roles}}
    nagpu.mbarrier_expect_tx %bar[%i] bytes 16 : !nagpu.barrier<2>
  return
}

// -----

func.func @expect_consumer(%map: !nagpu.tensor_map<1x64x64xbf16, tma128>, %t: !nagpu.shared<64x128xbf16, tma128>, %bar: !nagpu.barrier<2>, %i: index, %p: i32) {
  nagpu.roles registers(24, 240) producer {
  } consumers(%group in 2) {
    // expected-error @+1 {{'nagpu.mbarrier_expect_tx' op is not in a producer of nagpu.roles}}
    nagpu.mbarrier_expect_tx %bar[%i] bytes 16 : !nagpu.barrier<2>
  }
  return
}

// -----

func.func @expect_multiple(%map: !nagpu.tensor_map<1x64x64xbf16, tma128>, %t: !nagpu.shared<64x128xbf16, tma128>, %bar: !nagpu.barrier<2>, %i: index, %p: i32) {
  nagpu.roles registers(24, 240) producer {
    // expected-error @+1 {{'nagpu.mbarrier_expect_tx' op 'bytes' is 8, expected a multiple of 16}}
    nagpu.mbarrier_expect_tx %bar[%i] bytes 8 : !nagpu.barrier<2>
  } consumers(%group in 2) {
  }
  return
}

// -----

func.func @expect_bytes(%map: !nagpu.tensor_map<1x64x64xbf16, tma128>, %t: !nagpu.shared<64x128xbf16, tma128>, %bar: !nagpu.barrier<2>, %i: index, %p: i32) {
  nagpu.roles registers(24, 240) producer {
    // expected-error @+1 {{'nagpu.mbarrier_expect_tx' op 'bytes' is 1048576, expected 16 to 1048575}}
    nagpu.mbarrier_expect_tx %bar[%i] bytes 1048576 : !nagpu.barrier<2>
  } consumers(%group in 2) {
  }
  return
}

// -----

func.func @advance(%map: !nagpu.tensor_map<1x64x64xbf16, tma128>, %t: !nagpu.shared<64x128xbf16, tma128>, %bar: !nagpu.barrier<2>, %i: index, %p: i32) {
    // expected-error @+1 {{'nagpu.advance' op 'slots' is 0, expected 1 to 256}}
    %0, %1 = nagpu.advance %i, %p in 0
  return
}

// -----

func.func @load_place(%map: !nagpu.tensor_map<1x64x64xbf16, tma128>, %t: !nagpu.shared<64x128xbf16, tma128>, %bar: !nagpu.barrier<2>, %i: index, %p: i32) {
    // expected-error @+1 {{'nagpu.tma_load' op is not in a producer of nagpu.roles}}
    nagpu.tma_load %map[%i, %i, %i] into %t signal %bar[%i] : !nagpu.tensor_map<1x64x64xbf16, tma128>, !nagpu.shared<64x128xbf16, tma128>, !nagpu.barrier<2>
  return
}

// -----

func.func @load_at(%map: !nagpu.tensor_map<1x64x64xbf16, tma128>, %t: !nagpu.shared<64x128xbf16, tma128>, %bar: !nagpu.barrier<2>, %i: index, %p: i32) {
  nagpu.roles registers(24, 240) producer {
    // expected-error @+1 {{'nagpu.tma_load' op 'at' has 2 entries, expected 3 (one per dimension of 'map')}}
    nagpu.tma_load %map[%i, %i] into %t signal %bar[%i] : !nagpu.tensor_map<1x64x64xbf16, tma128>, !nagpu.shared<64x128xbf16, tma128>, !nagpu.barrier<2>
  } consumers(%group in 2) {
  }
  return
}

// -----

func.func @load_xor(%map: !nagpu.tensor_map<1x64x64xbf16, tma128>, %t: !nagpu.shared<64x128xbf16, tma128>, %bar: !nagpu.barrier<2>, %i: index, %p: i32, %u: !nagpu.shared<64x128xbf16, xor>) {
  nagpu.roles registers(24, 240) producer {
    // expected-error @+1 {{'nagpu.tma_load' op 'dest' is '!nagpu.shared<64x128xbf16, xor>', expected swizzle tma128, tma64 or tma32}}
    nagpu.tma_load %map[%i, %i, %i] into %u signal %bar[%i] : !nagpu.tensor_map<1x64x64xbf16, tma128>, !nagpu.shared<64x128xbf16, xor>, !nagpu.barrier<2>
  } consumers(%group in 2) {
  }
  return
}

// -----

func.func @load_ring(%map: !nagpu.tensor_map<1x64x64xbf16, tma128>, %t: !nagpu.shared<64x128xbf16, tma128>, %bar: !nagpu.barrier<2>, %i: index, %p: i32, %u: !nagpu.shared<2x64x128xbf16, tma128>) {
  nagpu.roles registers(24, 240) producer {
    // expected-error @+1 {{'nagpu.tma_load' op 'dest' is '!nagpu.shared<2x64x128xbf16, tma128>', a ring, expected one tile}}
    nagpu.tma_load %map[%i, %i, %i] into %u signal %bar[%i] : !nagpu.tensor_map<1x64x64xbf16, tma128>, !nagpu.shared<2x64x128xbf16, tma128>, !nagpu.barrier<2>
  } consumers(%group in 2) {
  }
  return
}

// -----

func.func @load_swizzle(%map: !nagpu.tensor_map<1x64x64xbf16, tma128>, %t: !nagpu.shared<64x128xbf16, tma128>, %bar: !nagpu.barrier<2>, %i: index, %p: i32, %u: !nagpu.shared<64x128xbf16, tma64>) {
  nagpu.roles registers(24, 240) producer {
    // expected-error @+1 {{'nagpu.tma_load' op 'dest' is '!nagpu.shared<64x128xbf16, tma64>', expected element type 'bf16' and swizzle tma128 as in 'map'}}
    nagpu.tma_load %map[%i, %i, %i] into %u signal %bar[%i] : !nagpu.tensor_map<1x64x64xbf16, tma128>, !nagpu.shared<64x128xbf16, tma64>, !nagpu.barrier<2>
  } consumers(%group in 2) {
  }
  return
}

// -----

func.func @load_element(%map: !nagpu.tensor_map<1x64x64xbf16, tma128>, %t: !nagpu.shared<64x128xbf16, tma128>, %bar: !nagpu.barrier<2>, %i: index, %p: i32, %u: !nagpu.shared<64x128xf16, tma128>) {
  nagpu.roles registers(24, 240) producer {
    // expected-error @+1 {{'nagpu.tma_load' op 'dest' is '!nagpu.shared<64x128xf16, tma128>', expected element type 'bf16' and swizzle tma128 as in 'map'}}
    nagpu.tma_load %map[%i, %i, %i] into %u signal %bar[%i] : !nagpu.tensor_map<1x64x64xbf16, tma128>, !nagpu.shared<64x128xf16, tma128>, !nagpu.barrier<2>
  } consumers(%group in 2) {
  }
  return
}

// -----

func.func @load_rows(%map: !nagpu.tensor_map<1x64x64xbf16, tma128>, %t: !nagpu.shared<64x128xbf16, tma128>, %bar: !nagpu.barrier<2>, %i: index, %p: i32, %u: !nagpu.shared<56x128xbf16, tma128>) {
  nagpu.roles registers(24, 240) producer {
    // expected-error @+1 {{'nagpu.tma_load' op 'dest' has 56 rows, expected 64, those of the box of 'map'}}
    nagpu.tma_load %map[%i, %i, %i] into %u signal %bar[%i] : !nagpu.tensor_map<1x64x64xbf16, tma128>, !nagpu.shared<56x128xbf16, tma128>, !nagpu.barrier<2>
  } consumers(%group in 2) {
  }
  return
}

// -----

func.func @store_rows(%map: !nagpu.tensor_map<1x64x64xbf16, tma128>, %t: !nagpu.shared<64x128xbf16, tma128>, %bar: !nagpu.barrier<2>, %i: index, %p: i32, %u: !nagpu.shared<56x128xbf16, tma128>) {
    // expected-error @+1 {{'nagpu.tma_store' op 'source' has 56 rows, expected 64, those of the box of 'map'}}
    nagpu.tma_store %u to %map[%i, %i, %i] : !nagpu.shared<56x128xbf16, tma128>, !nagpu.tensor_map<1x64x64xbf16, tma128>
  return
}

// -----

func.func @store_wait(%map: !nagpu.tensor_map<1x64x64xbf16, tma128>, %t: !nagpu.shared<64x128xbf16, tma128>, %bar: !nagpu.barrier<2>, %i: index, %p: i32) {
    // expected-error @+1 {{'nagpu.tma_store_wait' op 'pending' is -1, expected 0 to 2147483647}}
    nagpu.tma_store_wait pending -1
  return
}

// -----

func.func @wait_index(%bar: !nagpu.barrier<2>, %p: i32) {
  %c2 = arith.constant 2 : index
  // expected-error @+1 {{'nagpu.mbarrier_wait' op 'index' is 2, expected 0 to 1}}
  nagpu.mbarrier_wait %bar[%c2] parity %p : !nagpu.barrier<2>
  return
}

// -----

func.func @expect_index(%bar: !nagpu.barrier<2>) {
  %c2 = arith.constant 2 : index
  nagpu.roles registers(24, 240) producer {
    // expected-error @+1 {{'nagpu.mbarrier_expect_tx' op 'index' is 2, expected 0 to 1}}
    nagpu.mbarrier_expect_tx %bar[%c2] bytes 16 : !nagpu.barrier<2>
  } consumers(%group in 2) {
  }
  return
}

// -----

func.func @advance_index(%p: i32) {
  %c2 = arith.constant 2 : index
  // expected-error @+1 {{'nagpu.advance' op 'index' is 2, expected 0 to 1}}
  %0, %1 = nagpu.advance %c2, %p in 2
  return
}

// -----

func.func @advance_parity(%i: index) {
  %two = arith.constant 2 : i32
  // expected-error @+1 {{'nagpu.advance' op 'parity' is 2, expected 0 to 1}}
  %0, %1 = nagpu.advance %i, %two in 2
  return
}

// -----

func.func @load_index(%map: !nagpu.tensor_map<1x64x64xbf16, tma128>, %t: !nagpu.shared<64x128xbf16, tma128>, %bar: !nagpu.barrier<2>, %i: index) {
  %c2 = arith.constant 2 : index
  nagpu.roles registers(24, 240) producer {
    // expected-error @+1 {{'nagpu.tma_load' op 'index' is 2, expected 0 to 1}}
    nagpu.tma_load %map[%i, %i, %i] into %t signal %bar[%c2] : !nagpu.tensor_map<1x64x64xbf16, tma128>, !nagpu.shared<64x128xbf16, tma128>, !nagpu.barrier<2>
  } consumers(%group in 2) {
  }
  return
}

// -----

func.func @store_at(%map: !nagpu.tensor_map<1x64x64xbf16, tma128>, %t: !nagpu.shared<64x128xbf16, tma128>, %i: index) {
  // expected-error @+1 {{'nagpu.tma_store' op 'at' has 2 entries, expected 3 (one per dimension of 'map')}}
  nagpu.tma_store %t to %map[%i, %i] : !nagpu.shared<64x128xbf16, tma128>, !nagpu.tensor_map<1x64x64xbf16, tma128>
  return
}

// -----

func.func @store_padded(%map: !nagpu.tensor_map<1x64x64xbf16, tma128>, %u: !nagpu.shared<64x128xbf16, padded>, %i: index) {
  // expected-error @+1 {{'nagpu.tma_store' op 'source' is '!nagpu.shared<64x128xbf16, padded>', expected swizzle tma128, tma64 or tma32}}
  nagpu.tma_store %u to %map[%i, %i, %i] : !nagpu.shared<64x128xbf16, padded>, !nagpu.tensor_map<1x64x64xbf16, tma128>
  return
}

// -----

func.func @store_element(%map: !nagpu.tensor_map<1x64x64xbf16, tma128>, %u: !nagpu.shared<64x128xf16, tma128>, %i: index) {
  // expected-error @+1 {{'nagpu.tma_store' op 'source' is '!nagpu.shared<64x128xf16, tma128>', expected element type 'bf16' and swizzle tma128 as in 'map'}}
  nagpu.tma_store %u to %map[%i, %i, %i] : !nagpu.shared<64x128xf16, tma128>, !nagpu.tensor_map<1x64x64xbf16, tma128>
  return
}
