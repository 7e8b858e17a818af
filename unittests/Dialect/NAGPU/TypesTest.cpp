//===- TypesTest.cpp - Sizes of the types of nagpu --------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Dialect/NAGPU/IR/NAGPU.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::nagpu;

namespace {
class TypesTest : public ::testing::Test {
protected:
  TypesTest() : builder(&context) { context.loadDialect<NAGPUDialect>(); }

  FragmentType fragment(ArrayRef<int64_t> shape, Type element, Role role,
                        int64_t warps) {
    return FragmentType::get(&context, shape, element, role, warps);
  }
  SharedType shared(ArrayRef<int64_t> shape, Type element, Swizzle swizzle) {
    return SharedType::get(&context, shape, element, swizzle);
  }

  MLIRContext context;
  Builder builder;
};

TEST_F(TypesTest, RegistersOfAccumulators) {
  Type f32 = builder.getF32Type(), i1 = builder.getI1Type();
  // 16 x 8 elements over 32 lanes.
  EXPECT_EQ(fragment({16, 8}, f32, Role::Accumulator, 1).getNumRegisters(), 4);
  EXPECT_EQ(fragment({128, 64}, f32, Role::Accumulator, 4).getNumRegisters(),
            64);
  EXPECT_EQ(fragment({128, 64}, f32, Role::Accumulator, 8).getNumRegisters(),
            32);
  EXPECT_EQ(fragment({64, 24}, i1, Role::Accumulator, 4).getNumRegisters(), 12);
}

TEST_F(TypesTest, RegistersOfOperands) {
  Type f32 = builder.getF32Type(), f16 = builder.getF16Type();
  // What one mma.sync takes: m16n8k16 and m16n8k8.
  EXPECT_EQ(fragment({16, 16}, f16, Role::Lhs, 1).getNumRegisters(), 4);
  EXPECT_EQ(fragment({16, 8}, f16, Role::Rhs, 1).getNumRegisters(), 2);
  EXPECT_EQ(fragment({16, 8}, f32, Role::Lhs, 1).getNumRegisters(), 4);
  EXPECT_EQ(fragment({8, 8}, f32, Role::Rhs, 1).getNumRegisters(), 2);

  EXPECT_EQ(fragment({128, 32}, f16, Role::Lhs, 4).getNumRegisters(), 16);
  // Every warp holds the whole of an rhs.
  EXPECT_EQ(fragment({16, 64}, f16, Role::Rhs, 1).getNumRegisters(), 16);
  EXPECT_EQ(fragment({16, 64}, f16, Role::Rhs, 8).getNumRegisters(), 16);
}

TEST_F(TypesTest, RegistersOfRows) {
  Type f32 = builder.getF32Type();
  for (Role role : {Role::Row, Role::PartialRow}) {
    EXPECT_EQ(fragment({16}, f32, role, 1).getNumRegisters(), 2);
    EXPECT_EQ(fragment({128}, f32, role, 4).getNumRegisters(), 4);
  }
}

TEST_F(TypesTest, RegisterType) {
  Type f32 = builder.getF32Type(), bf16 = builder.getBF16Type();
  EXPECT_EQ(fragment({16, 8}, f32, Role::Lhs, 1).getRegisterType(), f32);
  EXPECT_EQ(fragment({16, 16}, bf16, Role::Lhs, 1).getRegisterType(),
            VectorType::get({2}, bf16));
}

TEST_F(TypesTest, RowsPerWarp) {
  FragmentType type =
      fragment({128, 64}, builder.getF32Type(), Role::Accumulator, 4);
  EXPECT_EQ(type.getRowsPerWarp(), 32);
  EXPECT_EQ(type.getColumns(), 64);
  FragmentType row = fragment({64}, builder.getF32Type(), Role::Row, 2);
  EXPECT_EQ(row.getRowsPerWarp(), 32);
  EXPECT_EQ(row.getColumns(), 1);
}

TEST_F(TypesTest, PitchOfARow) {
  Type f32 = builder.getF32Type(), f16 = builder.getF16Type();
  // Rows of 4 chunks: only 'padded' adds one.
  EXPECT_EQ(shared({8, 32}, f16, Swizzle::Linear).getPitchBytes(), 64);
  EXPECT_EQ(shared({8, 32}, f16, Swizzle::Xor).getPitchBytes(), 64);
  EXPECT_EQ(shared({8, 32}, f16, Swizzle::Padded).getPitchBytes(), 80);
  EXPECT_EQ(shared({8, 16}, f32, Swizzle::Padded).getPitchBytes(), 80);
  // Rows of 5 chunks are odd already.
  EXPECT_EQ(shared({8, 20}, f32, Swizzle::Padded).getPitchBytes(), 80);
}

TEST_F(TypesTest, BytesOfASlot) {
  Type f32 = builder.getF32Type(), f16 = builder.getF16Type();
  EXPECT_EQ(shared({64, 128}, f16, Swizzle::Xor).getSlotBytes(), 16384);
  EXPECT_EQ(shared({64, 128}, f16, Swizzle::Xor).getBytes(), 16384);
  // 3 rows of 80 bytes, rounded up to 128.
  EXPECT_EQ(shared({3, 20}, f32, Swizzle::Linear).getSlotBytes(), 256);
  EXPECT_EQ(shared({1, 8}, f16, Swizzle::Linear).getSlotBytes(), 128);
}

TEST_F(TypesTest, Rings) {
  Type f32 = builder.getF32Type();
  SharedType ring = shared({3, 3, 20}, f32, Swizzle::Padded);
  EXPECT_TRUE(ring.isRing());
  EXPECT_EQ(ring.getSlots(), 3);
  EXPECT_EQ(ring.getRows(), 3);
  EXPECT_EQ(ring.getColumns(), 20);
  EXPECT_EQ(ring.getSlotBytes(), 256);
  EXPECT_EQ(ring.getBytes(), 768);
  SharedType slot = ring.getSlotType();
  EXPECT_EQ(slot, shared({3, 20}, f32, Swizzle::Padded));
  EXPECT_EQ(slot.getSlotType(), slot);
  EXPECT_EQ(slot.getSlots(), 1);
  EXPECT_EQ(ring.withSwizzle(Swizzle::Linear),
            shared({3, 3, 20}, f32, Swizzle::Linear));
}
} // namespace
