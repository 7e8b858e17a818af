// RUN: na-opt %s --split-input-file --verify-diagnostics

func.func @alloc_offset(%box: !nagpu.mailbox<2x2x2>, %i: index, %w: i32) {
  %c2 = arith.constant 2 : index
  // expected-error @+1 {{'nagpu.mailbox_alloc' op 'offset' is 8, expected a multiple of 16 from 0 on}}
  %0 = nagpu.mailbox_alloc {offset = 8 : i64} : !nagpu.mailbox<2x2x2>
  return
}

// -----

func.func @alloc_roles(%box: !nagpu.mailbox<2x2x2>, %i: index, %w: i32) {
  %c2 = arith.constant 2 : index
  nagpu.roles registers(24, 240) producer {
    // expected-error @+1 {{'nagpu.mailbox_alloc' op is in nagpu.roles, expected it before}}
    %0 = nagpu.mailbox_alloc : !nagpu.mailbox<2x2x2>
  } consumers(%group in 2) {
  }
  return
}

// -----

func.func @put_consumer(%box: !nagpu.mailbox<2x2x2>, %i: index, %w: i32) {
  %c2 = arith.constant 2 : index
  nagpu.roles registers(24, 240) producer {
  } consumers(%group in 2) {
    // expected-error @+1 {{'nagpu.mailbox_put' op is not in a producer of nagpu.roles}}
    nagpu.mailbox_put %box[%i, %i] %w, %w : !nagpu.mailbox<2x2x2>
  }
  return
}

// -----

func.func @put_words(%box: !nagpu.mailbox<2x2x2>, %i: index, %w: i32) {
  %c2 = arith.constant 2 : index
  nagpu.roles registers(24, 240) producer {
    // expected-error @+1 {{'nagpu.mailbox_put' op has 1 words, expected 2}}
    nagpu.mailbox_put %box[%i, %i] %w : !nagpu.mailbox<2x2x2>
  } consumers(%group in 2) {
  }
  return
}

// -----

func.func @put_slot(%box: !nagpu.mailbox<2x2x2>, %i: index, %w: i32) {
  %c2 = arith.constant 2 : index
  nagpu.roles registers(24, 240) producer {
    // expected-error @+1 {{'nagpu.mailbox_put' op 'slot' is 2, expected 0 to 1}}
    nagpu.mailbox_put %box[%c2, %i] %w, %w : !nagpu.mailbox<2x2x2>
  } consumers(%group in 2) {
  }
  return
}

// -----

func.func @get_reader(%box: !nagpu.mailbox<2x2x2>, %i: index, %w: i32) {
  %c2 = arith.constant 2 : index
  nagpu.roles registers(24, 240) producer {
  } consumers(%group in 2) {
    // expected-error @+1 {{'nagpu.mailbox_get' op 'reader' is 2, expected 0 to 1}}
    %0:2 = nagpu.mailbox_get %box[%i, %c2] : !nagpu.mailbox<2x2x2>
  }
  return
}

// -----

func.func @map_rank(%m: memref<1x64x2x128xbf16>) {
  // expected-error @+1 {{'nagpu.tensor_map' op 'source' has rank 4, expected 5 (that of the box, with heads and channels apart)}}
  %0 = nagpu.tensor_map %m : memref<1x64x2x128xbf16> -> !nagpu.tensor_map<1x1x64x64xbf16, tma128>
  return
}

// -----

func.func @map_element(%m: memref<1x64x2x128xf16>) {
  // expected-error @+1 {{'nagpu.tensor_map' op 'source' has element type 'f16', expected 'bf16' as in 'result'}}
  %0 = nagpu.tensor_map %m : memref<1x64x2x128xf16> -> !nagpu.tensor_map<1x64x64xbf16, tma128>
  return
}

// -----

func.func @map_dynamic_channels(%m: memref<1x64x2x?xbf16>) {
  // expected-error @+1 {{'nagpu.tensor_map' op 'source' dimension 3 (channels) is dynamic, expected a static size}}
  %0 = nagpu.tensor_map %m : memref<1x64x2x?xbf16> -> !nagpu.tensor_map<1x64x64xbf16, tma128>
  return
}

// -----

func.func @map_channels(%m: memref<1x64x2x96xbf16>) {
  // expected-error @+1 {{'nagpu.tensor_map' op 'source' dimension 3 (channels) is 96, expected a multiple of 64, the channels of a box}}
  %0 = nagpu.tensor_map %m : memref<1x64x2x96xbf16> -> !nagpu.tensor_map<1x64x64xbf16, tma128>
  return
}

// -----

func.func @map_channel_stride(%m: memref<1x64x2x128xbf16, strided<[?, ?, ?, ?]>>) {
  // expected-error @+1 {{'nagpu.tensor_map' op 'source' has stride ? between channels, expected 1}}
  %0 = nagpu.tensor_map %m : memref<1x64x2x128xbf16, strided<[?, ?, ?, ?]>> -> !nagpu.tensor_map<1x64x64xbf16, tma128>
  return
}

// -----

func.func @map_head_stride(%m: memref<1x64x2x128xbf16, strided<[16384, 128, 8192, 1]>>) {
  // expected-error @+1 {{'nagpu.tensor_map' op 'source' has stride 8192 between heads, expected 128, its channels}}
  %0 = nagpu.tensor_map %m : memref<1x64x2x128xbf16, strided<[16384, 128, 8192, 1]>> -> !nagpu.tensor_map<1x64x64xbf16, tma128>
  return
}

// -----

func.func @map_stride(%m: memref<1x64x2x128xbf16, strided<[?, 260, 128, 1]>>) {
  // expected-error @+1 {{'nagpu.tensor_map' op 'source' has stride 260 in dimension 1, expected a multiple of 8 (16 bytes)}}
  %0 = nagpu.tensor_map %m : memref<1x64x2x128xbf16, strided<[?, 260, 128, 1]>> -> !nagpu.tensor_map<1x64x64xbf16, tma128>
  return
}

// -----

func.func @map_kernel(%m: memref<1x64x2x128xbf16>, %c1: index) {
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    // expected-error @+1 {{'nagpu.tensor_map' op is in a kernel, expected it on the host}}
    %0 = nagpu.tensor_map %m : memref<1x64x2x128xbf16> -> !nagpu.tensor_map<1x64x64xbf16, tma128>
    gpu.terminator
  }
  return
}

// -----

func.func @map_dilations(%m: memref<1x64x2x128xbf16>) {
  // expected-error @+1 {{'nagpu.tensor_map' op 'dilation' has 2 entries, expected 1 (one per axis)}}
  %0 = nagpu.tensor_map %m dilation [2, 2] : memref<1x64x2x128xbf16> -> !nagpu.tensor_map<1x32x64xbf16, tma128>
  return
}

// -----

func.func @map_dilation(%m: memref<1x64x2x128xbf16>) {
  // expected-error @+1 {{'nagpu.tensor_map' op 'dilation'[0] is 65, expected 1 to the length 64 of the axis}}
  %0 = nagpu.tensor_map %m dilation [65] : memref<1x64x2x128xbf16> -> !nagpu.tensor_map<1x32x64xbf16, tma128>
  return
}

// -----

func.func @map_dilation_divisor(%m: memref<1x64x2x128xbf16>) {
  // expected-error @+1 {{'nagpu.tensor_map' op 'dilation'[0] is 3, expected a divisor of the length 64 of the axis}}
  %0 = nagpu.tensor_map %m dilation [3] : memref<1x64x2x128xbf16> -> !nagpu.tensor_map<1x32x64xbf16, tma128>
  return
}

// -----

func.func @map_dilation_zero(%m: memref<1x?x2x128xbf16>) {
  // expected-error @+1 {{'nagpu.tensor_map' op 'dilation'[0] is 0, expected 1 to the length ? of the axis}}
  %0 = nagpu.tensor_map %m dilation [0] : memref<1x?x2x128xbf16> -> !nagpu.tensor_map<1x32x64xbf16, tma128>
  return
}

// -----

func.func @map_dilation_dynamic(%m: memref<1x?x2x128xbf16>) {
  // expected-error @+1 {{'nagpu.tensor_map' op 'source' dimension 1 is dynamic, expected a static length of an axis with dilation}}
  %0 = nagpu.tensor_map %m dilation [2] : memref<1x?x2x128xbf16> -> !nagpu.tensor_map<1x32x64xbf16, tma128>
  return
}

// -----

func.func @alloc_negative() {
  // expected-error @+1 {{'nagpu.mailbox_alloc' op 'offset' is -16, expected a multiple of 16 from 0 on}}
  %0 = nagpu.mailbox_alloc {offset = -16 : i64} : !nagpu.mailbox<2x2x2>
  return
}

// -----

func.func @put_reader(%box: !nagpu.mailbox<2x2x2>, %i: index, %w: i32) {
  %c2 = arith.constant 2 : index
  nagpu.roles registers(24, 240) producer {
    // expected-error @+1 {{'nagpu.mailbox_put' op 'reader' is 2, expected 0 to 1}}
    nagpu.mailbox_put %box[%i, %c2] %w, %w : !nagpu.mailbox<2x2x2>
  } consumers(%group in 2) {
  }
  return
}

// -----

func.func @get_slot(%box: !nagpu.mailbox<2x2x2>, %i: index) {
  %c2 = arith.constant 2 : index
  // expected-error @+1 {{'nagpu.mailbox_get' op 'slot' is 2, expected 0 to 1}}
  %0:2 = nagpu.mailbox_get %box[%c2, %i] : !nagpu.mailbox<2x2x2>
  return
}

// -----

func.func @map_layout(%m: memref<1x64x2x128xbf16, affine_map<(b, x, h, d) -> (b, x floordiv 2, h, d)>>) {
  // expected-error @+1 {{'nagpu.tensor_map' op 'source' is 'memref<1x64x2x128xbf16, affine_map<(d0, d1, d2, d3) -> (d0, d1 floordiv 2, d2, d3)>>', expected a strided layout}}
  %0 = nagpu.tensor_map %m : memref<1x64x2x128xbf16, affine_map<(b, x, h, d) -> (b, x floordiv 2, h, d)>> -> !nagpu.tensor_map<1x64x64xbf16, tma128>
  return
}

// -----

gpu.module @kernels {
  gpu.func @multiprocessors() kernel {
    // expected-error @+1 {{'nagpu.multiprocessors' op is in a kernel, expected it on the host}}
    %0 = nagpu.multiprocessors : index
    gpu.return
  }
}
