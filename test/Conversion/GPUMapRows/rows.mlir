// RUN: na-opt %s -gpu-map-rows -canonicalize -cse -split-input-file | FileCheck %s

// A softmax: one kernel, in which every element is loaded and stored once.
// Seven elements of 49 for each of 8 lanes; 32 rows a block.
// CHECK-LABEL: func @softmax(
// CHECK-SAME:    %[[S:[a-z0-9]+]]: memref<100x49xf32>)
// CHECK-NOT:     memref.alloc
// CHECK:         gpu.launch blocks(%[[B:.*]], %{{.*}}, %{{.*}}) in (%{{.*}} = %c4, {{.*}}) threads(%[[T:.*]], %{{.*}}, %{{.*}}) in (%{{.*}} = %c256,
// CHECK:           %[[LANE:.*]] = arith.remui %[[T]], %c8 : index
// CHECK:           %[[FIRST:.*]] = arith.muli %[[B]], %c32 : index
// CHECK:           %[[TEAM:.*]] = arith.divui %[[T]], %c8 : index
// CHECK:           %[[ROW:.*]] = arith.addi %[[FIRST]], %[[TEAM]] : index
// CHECK:           %[[ACTIVE:.*]] = arith.cmpi ult, %[[ROW]], %c100 : index
// CHECK:           arith.minui %[[ROW]], %c99 : index
// CHECK:           %[[NEXT:.*]] = arith.addi %[[LANE]], %c8 : index
// CHECK:           %[[END:.*]] = arith.addi %[[LANE]], %c48 : index
// CHECK:           %[[INSIDE:.*]] = arith.cmpi ult, %[[END]], %c49 : index
// CHECK:           %[[AT:.*]] = arith.minui %[[END]], %c48 : index
// CHECK-COUNT-7:   memref.load %[[S]]
// CHECK-COUNT-3:   gpu.shuffle xor
// CHECK-COUNT-7:   math.exp
// CHECK-COUNT-3:   gpu.shuffle xor
// CHECK-COUNT-7:   arith.divf
// CHECK-NOT:       memref.load
// CHECK-NOT:       gpu.barrier
// CHECK:           scf.if %[[ACTIVE]] {
// CHECK:             memref.store %{{.*}}, %[[S]][%{{.*}}, %[[LANE]]]
// CHECK:             memref.store %{{.*}}, %[[S]][%{{.*}}, %[[NEXT]]]
// CHECK:           %[[BOTH:.*]] = arith.andi %[[ACTIVE]], %[[INSIDE]] : i1
// CHECK:           scf.if %[[BOTH]] {
// CHECK:             memref.store %{{.*}}, %[[S]][%{{.*}}, %[[AT]]]
// CHECK-NOT:       memref.store
// CHECK-NOT:     linalg
#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @softmax(%s: memref<100x49xf32>) {
  %lowest = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %max = memref.alloc() : memref<100xf32>
  linalg.fill ins(%lowest : f32) outs(%max : memref<100xf32>)
  linalg.generic {indexing_maps = [#all, #row],
                  iterator_types = ["parallel", "reduction"]}
      ins(%s : memref<100x49xf32>) outs(%max : memref<100xf32>) {
    ^bb0(%x: f32, %m: f32):
      %0 = arith.cmpf ogt, %x, %m : f32
      %1 = arith.select %0, %x, %m : f32
      linalg.yield %1 : f32
  }
  linalg.generic {indexing_maps = [#row, #all],
                  iterator_types = ["parallel", "parallel"]}
      ins(%max : memref<100xf32>) outs(%s : memref<100x49xf32>) {
    ^bb0(%m: f32, %x: f32):
      %0 = arith.subf %x, %m : f32
      %1 = math.exp %0 : f32
      linalg.yield %1 : f32
  }
  %sum = memref.alloc() : memref<100xf32>
  linalg.fill ins(%zero : f32) outs(%sum : memref<100xf32>)
  linalg.generic {indexing_maps = [#all, #row],
                  iterator_types = ["parallel", "reduction"]}
      ins(%s : memref<100x49xf32>) outs(%sum : memref<100xf32>) {
    ^bb0(%x: f32, %t: f32):
      %0 = arith.addf %x, %t : f32
      linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#row, #all],
                  iterator_types = ["parallel", "parallel"]}
      ins(%sum : memref<100xf32>) outs(%s : memref<100x49xf32>) {
    ^bb0(%t: f32, %x: f32):
      %0 = arith.divf %x, %t : f32
      linalg.yield %0 : f32
  }
  memref.dealloc %max : memref<100xf32>
  memref.dealloc %sum : memref<100xf32>
  return
}

// -----

// Rows shorter than a warp share it: four lanes each. The combined value gets
// the one that was there; lane 0 stores it when all have loaded that one. Types
// of 16 bits are computed in f32.
// CHECK-LABEL: func @short(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<64x3xf16>, %[[Y:[a-z0-9]+]]: memref<64xf16>)
// CHECK:         gpu.launch blocks({{.*}}) in (%{{.*}} = %c1, {{.*}}) threads(%[[T:.*]], %{{.*}}, %{{.*}}) in (%{{.*}} = %c256,
// CHECK:           %[[LANE:.*]] = arith.remui %[[T]], %c4 : index
// CHECK:           arith.extf %{{.*}} : f16 to f32
// CHECK:           gpu.shuffle xor %{{.*}}, %c2_i32, %c32_i32 : f32
// CHECK:           gpu.shuffle xor %{{.*}}, %c1_i32, %c32_i32 : f32
// CHECK-NOT:       gpu.shuffle
// CHECK:           %[[OLD:.*]] = memref.load %[[Y]]
// CHECK:           %[[INIT:.*]] = arith.extf %[[OLD]] : f16 to f32
// CHECK:           %[[ALL:.*]] = arith.maximumf %[[INIT]], %{{.*}} : f32
// CHECK:           %[[NEW:.*]] = arith.truncf %[[ALL]] : f32 to f16
// CHECK:           gpu.barrier
// CHECK:           %[[IS0:.*]] = arith.cmpi eq, %[[LANE]], %c0 : index
// CHECK:           scf.if %[[IS0]] {
// CHECK:             memref.store %[[NEW]], %[[Y]]
func.func @short(%x: memref<64x3xf16>, %y: memref<64xf16>) {
  linalg.reduce { arith.maximumf } ins(%x : memref<64x3xf16>)
      outs(%y : memref<64xf16>) dimensions = [1]
  return
}

// -----

// Shuffles are of 32 bits.
// CHECK-LABEL: func @integers(
// CHECK:           %[[WORD:.*]] = arith.extui %[[BYTE:.*]] : i8 to i32
// CHECK:           %[[OTHER:.*]], %{{.*}} = gpu.shuffle xor %[[WORD]], %c1_i32, %c32_i32 : i32
// CHECK:           %[[PART:.*]] = arith.trunci %[[OTHER]] : i32 to i8
// CHECK:           arith.addi %[[BYTE]], %[[PART]] : i8
func.func @integers(%x: memref<64x2xi8>, %y: memref<64xi8>) {
  linalg.reduce { arith.addi } ins(%x : memref<64x2xi8>)
      outs(%y : memref<64xi8>) dimensions = [1]
  return
}

// -----

// A row of 10000 elements: a block of 1024 threads with 10 elements each, and
// shared memory between its warps.
// CHECK-LABEL: func @long(
// CHECK:         gpu.launch blocks({{.*}}) in (%{{.*}} = %c7, {{.*}}) threads(%[[T:.*]], %{{.*}}, %{{.*}}) in (%{{.*}} = %c1024,
// CHECK-SAME:      workgroup(%[[SHARED:.*]] : memref<32xf32, #gpu.address_space<workgroup>>)
// CHECK-COUNT-10:  memref.load
// CHECK-COUNT-5:   gpu.shuffle xor
// CHECK:           %[[WARP:.*]] = arith.divui %[[T]], %c32 : index
// CHECK:           memref.store %{{.*}}, %[[SHARED]][%[[WARP]]]
// CHECK:           gpu.barrier
// CHECK:           memref.load %[[SHARED]]
// CHECK-COUNT-5:   gpu.shuffle xor
func.func @long(%x: memref<7x10000xf32>, %y: memref<7xf32>) {
  linalg.reduce { arith.addf } ins(%x : memref<7x10000xf32>)
      outs(%y : memref<7xf32>) dimensions = [1]
  return
}

// -----

// Scores that nothing reads afterwards are not written, the weights are.
// CHECK-LABEL: func @scores(
// CHECK-SAME:    %[[IN:[a-z0-9]+]]: memref<64x4xf32>, %[[OUT:[a-z0-9]+]]: memref<64x4xf16>, %[[SUM:[a-z0-9]+]]: memref<64xf32>)
// CHECK:         %[[SCORES:.*]] = memref.alloc() : memref<64x4xf32>
// CHECK:         memref.copy %[[IN]], %[[SCORES]]
// CHECK:         gpu.launch
// CHECK-NOT:       memref.store %{{.*}}, %[[SCORES]]
// CHECK:           memref.store %{{.*}}, %[[SUM]]
// CHECK-NOT:       memref.store %{{.*}}, %[[SCORES]]
// CHECK:           memref.store %{{.*}}, %[[OUT]]
// CHECK-NOT:       memref.store
// CHECK:         memref.dealloc %[[SCORES]]
#sall = affine_map<(i, j) -> (i, j)>
#srow = affine_map<(i, j) -> (i)>
func.func @scores(%in: memref<64x4xf32>, %out: memref<64x4xf16>,
                  %sum: memref<64xf32>) {
  %scores = memref.alloc() : memref<64x4xf32>
  memref.copy %in, %scores : memref<64x4xf32> to memref<64x4xf32>
  linalg.exp ins(%scores : memref<64x4xf32>) outs(%scores : memref<64x4xf32>)
  linalg.reduce { arith.addf } ins(%scores : memref<64x4xf32>)
      outs(%sum : memref<64xf32>) dimensions = [1]
  linalg.generic {indexing_maps = [#sall, #srow, #sall],
                  iterator_types = ["parallel", "parallel"]}
      ins(%scores, %sum : memref<64x4xf32>, memref<64xf32>)
      outs(%out : memref<64x4xf16>) {
    ^bb0(%e: f32, %s: f32, %o: f16):
      %0 = arith.divf %e, %s : f32
      %1 = arith.truncf %0 : f32 to f16
      linalg.yield %1 : f16
  }
  memref.dealloc %scores : memref<64x4xf32>
  return
}

// -----

// Of dynamic length: loops over memory, in which a thread reads what it wrote.
// CHECK-LABEL: func @dynamic(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<?x?xf32>, %[[Y:[a-z0-9]+]]: memref<?xf32>)
// CHECK:         %[[ROWS:.*]] = memref.dim %[[X]], %c0
// CHECK:         %[[SIZE:.*]] = memref.dim %[[X]], %c1
// CHECK:         gpu.launch blocks({{.*}}) in (%{{.*}} = %[[ROWS]], {{.*}}) threads(%[[T:.*]], %{{.*}}, %{{.*}}) in (%{{.*}} = %c256,
// CHECK:           scf.for %{{.*}} = %[[T]] to %[[SIZE]] step %c256 iter_args
// CHECK:             memref.load %[[X]]
// CHECK:           gpu.barrier
// CHECK:           scf.for %{{.*}} = %[[T]] to %[[SIZE]] step %c256
// CHECK:             memref.load %[[X]]
// CHECK:             memref.store %{{.*}}, %[[X]]
#dall = affine_map<(i, j) -> (i, j)>
#drow = affine_map<(i, j) -> (i)>
func.func @dynamic(%x: memref<?x?xf32>, %y: memref<?xf32>) {
  linalg.reduce { arith.addf } ins(%x : memref<?x?xf32>)
      outs(%y : memref<?xf32>) dimensions = [1]
  linalg.generic {indexing_maps = [#drow, #dall],
                  iterator_types = ["parallel", "parallel"]}
      ins(%y : memref<?xf32>) outs(%x : memref<?x?xf32>) {
    ^bb0(%t: f32, %e: f32):
      %0 = arith.divf %e, %t : f32
      linalg.yield %0 : f32
  }
  return
}
