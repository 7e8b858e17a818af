// RUN: na-opt %s -convert-nagpu-to-nvvm -canonicalize -cse | FileCheck %s

// The kernel takes the descriptor by value; its threads are known, so that the
// register budgets hold.
// CHECK-LABEL: gpu.func @copies(
// CHECK-SAME:    %[[MAP:[^ :]*]]: !llvm.ptr {llvm.byval = !llvm.array<16 x i64>}
// CHECK-SAME:    kernel attributes {
// CHECK-DAG:       known_block_size = array<i32: 384, 1, 1>
// CHECK-DAG:       nagpu.tensor_maps = array<i64: 0>
// CHECK-DAG:       nvvm.minctasm = 1 : i32
gpu.module @kernels {
gpu.func @copies(%map: !nagpu.tensor_map<1x8x8x64xbf16, tma128>, %b: index,
                 %x: index, %y: index, %c: index, %slot: index, %phase: i32)
    kernel {
  %id = arith.constant 1 : index
  %tile = nagpu.alloc {offset = 1024 : i64} : !nagpu.shared<64x128xbf16, tma128>
  // CHECK: llvm.inline_asm {{.*}}"@$1 mbarrier.init.shared::cta.b64 [$0+0], 1;\0A@$1 mbarrier.init.shared::cta.b64 [$0+8], 1;\0Afence.mbarrier_init.release.cluster;\0Afence.proxy.async.shared::cta;", "r,b,~{memory}"
  %full = nagpu.mbarrier_init arrivals 1 {offset = 0 : i64} : !nagpu.barrier<2>
  %free = nagpu.mbarrier_init arrivals 8 {offset = 16 : i64} : !nagpu.barrier<2>
  // CHECK: gpu.barrier
  // CHECK: %[[WG:.*]] = nvvm.shfl.sync idx
  // CHECK: scf.if
  // CHECK: "setmaxnreg.dec.sync.aligned.u32 24;"
  nagpu.roles registers(24, 240) producer {
    // All lanes of a producer's warp come here; one of them copies and arrives.
    // CHECK: scf.if
    // CHECK: mbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1;
    nagpu.mbarrier_wait %free[%slot] parity %phase : !nagpu.barrier<2>
    // CHECK: {{elect.sync _\|leader, 0xffffffff;.*}}@leader mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], 16384;{{.*}}}", "r,~{memory}"
    nagpu.mbarrier_expect_tx %full[%slot] bytes 16384 : !nagpu.barrier<2>
    // Two panels of 64 rows; coordinates from the innermost on.
    // CHECK: {{elect.sync _\|leader, 0xffffffff;.*}}@leader cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1, {$3,$4,$5,$6}], [$2];{{.*}}}", "r,l,r,r,r,r,r,~{memory}" %[[TILE:[^,]*]], %[[MAP]], %[[BAR:[^,]*]], %[[C:[^,]*]], %[[Y:[^,]*]], %[[X:[^,]*]], %[[B:[^ ]*]] :
    // CHECK: %[[C64:.*]] = arith.addi %[[C]], %c64_i32
    // CHECK: %[[NEXT:.*]] = arith.addi %{{.*}}, %c{{[0-9]+}}_i32
    // CHECK: cp.async.bulk.tensor.4d.shared::cluster{{.*}} %[[NEXT]], %[[MAP]], %[[BAR]], %[[C64]], %[[Y]], %[[X]], %[[B]] :
    nagpu.tma_load %map[%b, %x, %y, %c] into %tile signal %full[%slot]
      : !nagpu.tensor_map<1x8x8x64xbf16, tma128>,
        !nagpu.shared<64x128xbf16, tma128>, !nagpu.barrier<2>
  // CHECK: } else {
  // CHECK: "setmaxnreg.inc.sync.aligned.u32 240;"
  } consumers(%group in 2) {
    %next, %parity = nagpu.advance %slot, %phase in 2
    // CHECK: mbarrier.try_wait
    nagpu.mbarrier_wait %full[%next] parity %parity : !nagpu.barrier<2>
    // CHECK: nvvm.bar.warp.sync
    // CHECK: "@$1 mbarrier.arrive.shared::cta.b64 _, [$0];", "r,b,~{memory}"
    nagpu.mbarrier_arrive %free[%slot] : !nagpu.barrier<2>
    // CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];", "r,~{memory}"
    nagpu.mbarrier_arrive lanes %free[%slot] : !nagpu.barrier<2>
    // CHECK: "fence.proxy.async.shared::cta;"
    nagpu.proxy_fence
    // CHECK: "bar.sync $0, 128;"
    nagpu.named_barrier %id threads 128
    // CHECK: scf.if
    // CHECK: "cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [$1, {$2,$3,$4,$5}], [$0];", "r,l,r,r,r,r,~{memory}"
    // CHECK: cp.async.bulk.tensor.4d.global
    // CHECK: "cp.async.bulk.commit_group;"
    nagpu.tma_store %tile to %map[%b, %x, %y, %c]
      : !nagpu.shared<64x128xbf16, tma128>,
        !nagpu.tensor_map<1x8x8x64xbf16, tma128>
    // CHECK: "cp.async.bulk.wait_group.read 0;"
    nagpu.tma_store_wait pending 0
    // CHECK: "bar.arrive $0, 256;"
    nagpu.named_barrier arrive %id threads 256
  }
  // CHECK: gpu.return
  gpu.return
}
}

// Behind the last slot, the first with the other parity.
// CHECK-LABEL: func @advance(
// CHECK-SAME:    %[[I:.*]]: index, %[[P:.*]]: i32)
// CHECK:         %[[N:.*]] = arith.addi %[[I]], %c1
// CHECK:         %[[W:.*]] = arith.cmpi eq, %[[N]], %c3
// CHECK:         %[[J:.*]] = arith.select %[[W]], %c0, %[[N]] : index
// CHECK:         %[[F:.*]] = arith.extui %[[W]] : i1 to i32
// CHECK:         %[[Q:.*]] = arith.xori %[[P]], %[[F]] : i32
// CHECK:         return %[[J]], %[[Q]]
func.func @advance(%i: index, %p: i32) -> (index, i32) {
  %0, %1 = nagpu.advance %i, %p in 3
  return %0, %1 : index, i32
}

// A row of 16 bytes for each slot and reader; all words in one access, which
// the memory clobber keeps behind the wait. No branch: every thread reads.
// CHECK-LABEL: gpu.func @mailbox(
// CHECK-SAME:    %[[SLOT:.*]]: index, %[[X:.*]]: i32, %[[Y:.*]]: i32) kernel
gpu.module @mailboxes {
gpu.func @mailbox(%slot: index, %x: i32, %y: i32) kernel {
  %one = arith.constant 1 : index
  %full = nagpu.mbarrier_init arrivals 1 {offset = 0 : i64} : !nagpu.barrier<2>
  %four = nagpu.mailbox_alloc {offset = 1024 : i64} : !nagpu.mailbox<2x2x4>
  %three = nagpu.mailbox_alloc {offset = 2048 : i64} : !nagpu.mailbox<2x1x3>
  %single = nagpu.mailbox_alloc {offset = 3072 : i64} : !nagpu.mailbox<1x1x1>
  // CHECK-DAG: %[[FOUR:.*]] = arith.addi %{{.*}}, %c1024_i32
  // CHECK-DAG: %[[THREE:.*]] = arith.addi %{{.*}}, %c2048_i32
  // CHECK-DAG: %[[SINGLE:.*]] = arith.addi %{{.*}}, %c3072_i32
  nagpu.roles registers(24, 240) producer {
    // CHECK: %[[I:.*]] = arith.index_cast %[[SLOT]] : index to i32
    // CHECK: %[[I2:.*]] = arith.muli %[[I]], %c2_i32
    // CHECK: %[[ROW:.*]] = arith.addi %[[I2]], %c1_i32
    // CHECK: %[[BYTE:.*]] = arith.muli %[[ROW]], %c16_i32
    // CHECK: %[[AT:.*]] = arith.addi %[[FOUR]], %[[BYTE]]
    // CHECK: {{elect.sync _\|leader, 0xffffffff;.*}}@leader st.shared.v4.b32 [$0+0], {$1, $2, $3, $4};{{.*}}}", "r,r,r,r,r,~{memory}" %[[AT]], %[[X]], %[[Y]], %[[X]], %[[Y]] :
    nagpu.mailbox_put %four[%slot, %one] %x, %y, %x, %y : !nagpu.mailbox<2x2x4>
    %zero = arith.constant 0 : index
    // CHECK: {{elect.sync _\|leader, 0xffffffff;.*}}@leader st.shared.v2.b32 [$0+0], {$1, $2};{{.*}}}", "r,r,r,~{memory}" %{{.*}}, %[[X]], %[[Y]] :
    // CHECK: {{elect.sync _\|leader, 0xffffffff;.*}}@leader st.shared.b32 [$0+8], $1;{{.*}}}", "r,r,~{memory}" %{{.*}}, %[[X]] :
    nagpu.mailbox_put %three[%slot, %zero] %x, %y, %x : !nagpu.mailbox<2x1x3>
    // CHECK: {{elect.sync _\|leader, 0xffffffff;.*}}@leader st.shared.b32 [$0+0], $1;{{.*}}}", "r,r,~{memory}" %{{.*}}, %[[Y]] :
    nagpu.mailbox_put %single[%slot, %zero] %y : !nagpu.mailbox<1x1x1>
    // CHECK: mbarrier.arrive.expect_tx
    nagpu.mbarrier_expect_tx %full[%slot] bytes 16 : !nagpu.barrier<2>
  } consumers(%group in 2) {
    %zero = arith.constant 0 : index
    // CHECK: mbarrier.try_wait
    nagpu.mbarrier_wait %full[%slot] parity %x : !nagpu.barrier<2>
    // CHECK-NOT: scf.if
    // CHECK: %[[WORDS:.*]] = llvm.inline_asm has_side_effects asm_dialect = att {nagpu.convergent} "ld.shared.v4.b32 {$0, $1, $2, $3}, [$4];", "=r,=r,=r,=r,r,~{memory}"
    // CHECK: llvm.extractvalue %[[WORDS]][0]
    // CHECK: llvm.extractvalue %[[WORDS]][3]
    %a:4 = nagpu.mailbox_get %four[%slot, %group] : !nagpu.mailbox<2x2x4>
    // CHECK: "ld.shared.v4.b32 {$0, $1, $2, $3}, [$4];"
    %b:3 = nagpu.mailbox_get %three[%slot, %zero] : !nagpu.mailbox<2x1x3>
    // CHECK: "ld.shared.b32 $0, [$1];", "=r,r,~{memory}"
    %c = nagpu.mailbox_get %single[%slot, %zero] : !nagpu.mailbox<1x1x1>
    %d = arith.addi %a#0, %a#3 : i32
    %e = arith.addi %d, %b#2 : i32
    %f = arith.addi %e, %c : i32
    %next = arith.index_cast %f : i32 to index
    nagpu.mbarrier_arrive %full[%next] : !nagpu.barrier<2>
  }
  gpu.return
}
}

// More than four words are in rows of 32 bytes, of which each access takes half.
// CHECK-LABEL: gpu.func @wide_mailbox(
gpu.module @wide_mailboxes {
gpu.func @wide_mailbox(%slot: index, %x: i32) kernel {
  %full = nagpu.mbarrier_init arrivals 1 {offset = 0 : i64} : !nagpu.barrier<2>
  %box = nagpu.mailbox_alloc {offset = 1024 : i64} : !nagpu.mailbox<2x2x5>
  nagpu.roles registers(24, 240) producer {
    %zero = arith.constant 0 : index
    // CHECK: {{elect.sync _\|leader, 0xffffffff;.*}}@leader st.shared.v4.b32 [$0+0], {$1, $2, $3, $4};
    // CHECK: {{elect.sync _\|leader, 0xffffffff;.*}}@leader st.shared.b32 [$0+16], $1;
    nagpu.mailbox_put %box[%slot, %zero] %x, %x, %x, %x, %x : !nagpu.mailbox<2x2x5>
    nagpu.mbarrier_expect_tx %full[%slot] bytes 16 : !nagpu.barrier<2>
  } consumers(%group in 2) {
    nagpu.mbarrier_wait %full[%slot] parity %x : !nagpu.barrier<2>
    // CHECK: arith.muli %{{.*}}, %c32_i32
    // CHECK: "ld.shared.v4.b32 {$0, $1, $2, $3}, [$4];"
    // CHECK: "ld.shared.b32 $0, [$1+16];"
    %a:5 = nagpu.mailbox_get %box[%slot, %group] : !nagpu.mailbox<2x2x5>
    %sum = arith.addi %a#0, %a#4 : i32
    %next = arith.index_cast %sum : i32 to index
    nagpu.mbarrier_arrive %full[%next] : !nagpu.barrier<2>
  }
  gpu.return
}
}
