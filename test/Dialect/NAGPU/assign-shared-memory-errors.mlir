// RUN: na-opt %s -split-input-file -verify-diagnostics -nagpu-assign-shared-memory=limit=1000
// RUN: not na-opt %s -split-input-file -nagpu-assign-shared-memory 2>&1 | FileCheck %s --check-prefix=NO-LIMIT
// RUN: not na-opt %s -split-input-file -nagpu-assign-shared-memory=limit=-5 2>&1 | FileCheck %s --check-prefix=NEGATIVE

// Without an option the limit is what a launch can ask for.
// NO-LIMIT-NOT: the kernel takes 1024 bytes
// NO-LIMIT:     nagpu-assign-shared-memory: the kernel takes 4294967296 bytes of shared memory, but a CTA can have 2147483647
// NEGATIVE:     nagpu-assign-shared-memory: 'limit' is -5, expected at least 0

func.func @small() {
  %c1 = arith.constant 1 : index
  // expected-error @below {{nagpu-assign-shared-memory: the kernel takes 1024 bytes of shared memory, but a CTA can have 1000}}
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %a = nagpu.alloc : !nagpu.shared<16x16xf32, linear>
    %w = nagpu.async_wait pending 0 tiles(%a) : !nagpu.shared<16x16xf32, linear>
    gpu.terminator
  }
  return
}

// -----

func.func @huge() {
  %c1 = arith.constant 1 : index
  // expected-error @below {{nagpu-assign-shared-memory: the kernel takes 4294967296 bytes of shared memory, but a CTA can have 1000}}
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %a = nagpu.alloc : !nagpu.shared<65536x16384xf32, linear>
    %w = nagpu.async_wait pending 0 tiles(%a) : !nagpu.shared<65536x16384xf32, linear>
    gpu.terminator
  }
  return
}

// -----

func.func @several_blocks() {
  %c1 = arith.constant 1 : index
  // expected-error @below {{nagpu-assign-shared-memory: body has several blocks}}
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %a = nagpu.alloc : !nagpu.shared<16x16xf32, linear>
    cf.br ^next
  ^next:
    %w = nagpu.async_wait pending 0 tiles(%a) : !nagpu.shared<16x16xf32, linear>
    gpu.terminator
  }
  return
}

// -----

func.func @roles() {
  %c1 = arith.constant 1 : index
  // expected-error @below {{nagpu-assign-shared-memory: the kernel takes 1048 bytes of shared memory, but a CTA can have 1000}}
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %full = nagpu.mbarrier_init arrivals 1 : !nagpu.barrier<1>
    %box = nagpu.mailbox_alloc : !nagpu.mailbox<1x1x4>
    %q = nagpu.alloc : !nagpu.shared<8x64xbf16, tma128>
    nagpu.roles registers(24, 240) producer {
      nagpu.mbarrier_arrive %full[%bx] : !nagpu.barrier<1>
    } consumers(%group in 2) {
      %words:4 = nagpu.mailbox_get %box[%group, %group] : !nagpu.mailbox<1x1x4>
      %true = arith.constant true
      %tile = arith.select %true, %q, %q : !nagpu.shared<8x64xbf16, tma128>
    }
    gpu.terminator
  }
  return
}
