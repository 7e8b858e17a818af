// RUN: na-opt %s -convert-nagpu-to-nvvm -split-input-file -verify-diagnostics

func.func @alloc() {
  // expected-error @+1 {{'nagpu.alloc' op has no offset in shared memory; nagpu-assign-shared-memory sets it}}
  %0 = nagpu.alloc : !nagpu.shared<64x64xbf16, xor>
  return
}

// -----

func.func @mailbox() {
  // expected-error @+1 {{'nagpu.mailbox_alloc' op has no offset in shared memory; nagpu-assign-shared-memory sets it}}
  %0 = nagpu.mailbox_alloc : !nagpu.mailbox<2x2x4>
  return
}

// -----

func.func @channels(%m: memref<1x9x4x?xbf16>,
                    %tile: !nagpu.shared<4x16xbf16, xor>, %c: index) {
  // expected-error @+2 {{'nagpu.async_copy' op has a tensor of type 'memref<1x9x4x?xbf16>', whose number of channels is not static}}
  // expected-error @+1 {{failed to legalize operation 'nagpu.async_copy'}}
  %t = nagpu.async_copy %m[%c, %c] at(%c) box [4] dilation [1]
         into %tile warps 1
    : memref<1x9x4x?xbf16>, !nagpu.shared<4x16xbf16, xor>
  return
}

// -----

func.func @stride(%o: !nagpu.fragment<16x8xf32, accumulator, 1>,
                  %m: memref<1x9x4x8xf32, strided<[576, 64, 16, 2]>>,
                  %c: index) {
  // expected-error @+2 {{'nagpu.store' op has a tensor of type 'memref<1x9x4x8xf32, strided<[576, 64, 16, 2]>>', whose channels are not contiguous}}
  // expected-error @+1 {{failed to legalize operation 'nagpu.store'}}
  nagpu.store %o into %m[%c, %c] at(%c) box [16] dilation [1]
    : !nagpu.fragment<16x8xf32, accumulator, 1>,
      memref<1x9x4x8xf32, strided<[576, 64, 16, 2]>>
  return
}

// -----

func.func @left_for_the_tma(%m: memref<1x64x2x128xbf16>,
                            %tile: !nagpu.shared<64x128xbf16, tma128>, %c: index) {
  // expected-error @+2 {{'nagpu.async_copy' op copies to '!nagpu.shared<64x128xbf16, tma128>', in panels of the TMA; nagpu-specialize-warps gives such a copy to a producer as a nagpu.tma_load}}
  // expected-error @+1 {{failed to legalize operation 'nagpu.async_copy'}}
  %t = nagpu.async_copy %m[%c, %c] at(%c) box [64] dilation [1] into %tile warps 4
         : memref<1x64x2x128xbf16>, !nagpu.shared<64x128xbf16, tma128>
  return
}
