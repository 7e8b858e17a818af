//===- NAVerifiers.h - Checks shared by the verifiers -----------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_LIB_DIALECT_NA_IR_NAVERIFIERS_H
#define NA_LIB_DIALECT_NA_IR_NAVERIFIERS_H

#include "na/Dialect/NA/IR/NA.h"

#include "mlir/IR/OpImplementation.h"

namespace mlir::na::detail {

inline ShapedType shaped(Value value) {
  return cast<ShapedType>(value.getType());
}

/// Names a shaped operand for messages.
struct Named {
  StringRef name;
  ShapedType type;
};

/// Fails unless the operands are all tensors or all memrefs, none of them with
/// static sizes beyond any memory, and the results are the tensor destinations'
/// types.
LogicalResult verifyDestinationStyle(Operation *op);

/// Fails unless `operand` has `rank` dimensions; `layout` names them.
LogicalResult verifyRank(Operation *op, Named operand, int64_t rank,
                         StringRef layout);

/// One dimension of a shaped operand.
struct DimOf {
  Named operand;
  int64_t dim;
};

/// Fails if two of `dims` are static and differ; `what` names the dimension.
LogicalResult verifySameDims(Operation *op, StringRef what,
                             ArrayRef<DimOf> dims);

/// Fails unless the element type of `operand` is `expected`; `why` says where
/// the expectation comes from.
LogicalResult verifyElementType(Operation *op, Named operand, Type expected,
                                StringRef why);

/// Fails unless all of `operands`, [B, X.., ...], agree in the batch and in the
/// spatial dimensions.
LogicalResult verifySameTokens(Operation *op, ArrayRef<Named> operands,
                               int64_t spatialRank);

/// Checks the window against the lengths that are static in one of `operands`,
/// [B, X.., H, ...].
LogicalResult verifyWindowFits(Operation *op, WindowAttr window,
                               ArrayRef<Named> operands);

/// Checks the heads of the queries against those of the keys, where both are
/// static.
LogicalResult verifyHeads(Operation *op, ArrayRef<DimOf> queries,
                          ArrayRef<DimOf> keys);

/// Checks dimensions 1.. of a bias table against 2 * size - 1.
LogicalResult verifyTableAxes(Operation *op, Named table, WindowAttr window);

/// Checks the last dimension of weights or scores, prod(size).
LogicalResult verifySlotCount(Operation *op, Named slots, WindowAttr window);

/// Checks a bias of [Hq, 2 * size - 1, ..].
LogicalResult verifyBias(Operation *op, Named bias, Named query,
                         WindowAttr window);

/// Fails if `scale` is not finite.
LogicalResult verifyScale(Operation *op, std::optional<APFloat> scale);

/// Fails if a last dimension (head dim or value dim) is 0: that leaves nothing
/// to attend with.
LogicalResult verifyChannels(Operation *op, ArrayRef<Named> operands);

/// Fails unless `schedule`, where there is one, is for `rank` axes.
LogicalResult verifySchedule(Operation *op, ScheduleAttr schedule,
                             int64_t rank);

/// The operands of na.attention, or of one of its gradients.
struct AttentionOperands {
  AttentionOperands(Operation *op, Value query, Value key, Value value)
      : op(op), query{"query", shaped(query)}, key{"key", shaped(key)},
        value{"value", shaped(value)} {}

  Operation *op;
  Named query, key, value;
  /// Operands of [B, X.., Hq, Dv].
  SmallVector<Named> outputs;
  /// Operands of [B, X.., Hq].
  SmallVector<Named> statistics;
  /// Null where there is none.
  Value bias, additionalKey, additionalValue;
  WindowAttr window;
  std::optional<APFloat> scale;
  ScheduleAttr schedule;
};

/// Checks destination style and every shape and attribute of `operands`.
LogicalResult verifyAttention(const AttentionOperands &operands);

/// Checks additional keys and values, [B, T, Hkv, D] and [B, T, Hkv, Dv],
/// against queries, [B, X.., Hq, D], outputs, [B, X.., Hq, Dv], and, where
/// there are any, keys, [B, X.., Hkv, D], and values, [B, X.., Hkv, Dv].
LogicalResult verifyAdditional(Operation *op, Named additionalKey,
                               Named additionalValue, Named query,
                               ArrayRef<Named> outputs,
                               std::optional<Named> key,
                               std::optional<Named> value);

/// Checks everything of na.qk but the bias.
LogicalResult verifyQK(Operation *op, Named query, Named key, Named scores,
                       WindowAttr window, std::optional<APFloat> scale,
                       ScheduleAttr schedule);

/// Checks everything of na.av.
LogicalResult verifyAV(Operation *op, Named weights, Named value, Named output,
                       WindowAttr window, ScheduleAttr schedule);

/// Checks everything of na.merge.
LogicalResult verifyMerge(Operation *op, ValueRange outputs, ValueRange lses,
                          Named output, std::optional<Named> lse);

/// Fails unless `grad` has the shape and element type of `operand`.
LogicalResult verifyGradient(Operation *op, Named grad, Named operand);

/// The types of the results that `destinations` (null: none) call for.
SmallVector<Type> resultTypes(ValueRange destinations);

/// `scale`, or 1 / sqrt(D) where `query` states D.
std::optional<double> scaleValue(std::optional<APFloat> scale,
                                 ShapedType query);

/// f64 for f64, f32 otherwise.
FloatType accumulatorType(Type elementType);

/// Parses and prints the destinations of na.attention_dkv: "outs(%dk, %dv :
/// ..)", "dk(%dk : ..)" or "dv(%dv : ..)".
using OptionalOperand = std::optional<OpAsmParser::UnresolvedOperand>;
ParseResult parseKeyGradients(OpAsmParser &parser, OptionalOperand &keyGrad,
                              OptionalOperand &valueGrad, Type &keyType,
                              Type &valueType);
void printKeyGradients(OpAsmPrinter &printer, Operation *op, Value keyGrad,
                       Value valueGrad, Type keyType, Type valueType);

} // namespace mlir::na::detail

#endif // NA_LIB_DIALECT_NA_IR_NAVERIFIERS_H
