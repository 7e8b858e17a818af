//===- RaiseExpr.h - Tensor programs as expressions of an element -*- C++
//-*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What na-raise-attention reads a program as. An element of a tensor is an
// expression of the loops that enumerate the tensor: transposes, broadcasts,
// reshapes and the way elementwise operations are cut into linalg operations
// leave no trace in it, so that one pattern covers them all.
//
//===----------------------------------------------------------------------===//

#ifndef NA_LIB_DIALECT_NA_TRANSFORMS_RAISEEXPR_H
#define NA_LIB_DIALECT_NA_TRANSFORMS_RAISEEXPR_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <deque>
#include <optional>

namespace mlir::na::raise {

/// An index as a mixed-radix number of loops, outermost first; empty where the
/// index is always 0.
using Index = SmallVector<unsigned, 2>;
/// One index per dimension of a tensor.
using Indices = SmallVector<Index, 4>;

/// Loops, which split into an outer and an inner one when a reshape is found
/// that takes their dimension apart.
class Loops {
public:
  Index make(int64_t size);
  /// `index` by loops that are not split.
  Index resolve(ArrayRef<unsigned> index) const;
  Index resolve(const Indices &indices) const;
  int64_t getSize(ArrayRef<unsigned> index) const;
  /// The digits of `index` for the radices `sizes`; nullopt where those cut a
  /// loop between its divisors.
  std::optional<Indices> split(ArrayRef<unsigned> index,
                               ArrayRef<int64_t> sizes);
  bool equal(const Indices &a, const Indices &b) const;
  unsigned size() const { return loops.size(); }

private:
  struct Loop {
    int64_t size;
    std::optional<std::pair<unsigned, unsigned>> parts;
  };
  std::vector<Loop> loops;
};

/// An element, by the loops. f64, f32, f16 and bf16 are one type.
struct Expr {
  enum class Kind {
    /// Something else.
    Unknown,
    /// `integer` or `number`.
    Constant,
    /// An element of `table` at `indices`.
    Table,
    /// The value of indices[0].
    Position,
    /// The elementwise operation `op` on `operands`.
    Scalar,
    /// The contraction `op`, whose loops have the values `indices`.
    Product,
    /// Over all keys, of operands[0].
    Maximum,
    Sum,
    /// At the current key, over all keys, of operands[0].
    Softmax,
  };
  Kind kind = Kind::Unknown;
  Type type;
  Operation *op = nullptr;
  int64_t integer = 0;
  double number = 0;
  DenseElementsAttr table;
  Indices indices;
  SmallVector<const Expr *, 2> operands;
  /// Whether the value depends on a Product.
  bool hasProduct = false;
};

/// A contraction's operand behind transposes, reshapes, broadcasts and factors.
struct Operand {
  Value value;
  Indices indices;
  double factor = 1;
};

class ExprBuilder {
public:
  /// The reductions of a softmax run over `keys`.
  ExprBuilder(Loops &loops, Index keys) : loops(loops), keys(keys) {}

  /// The element of a tensor at `indices`.
  const Expr *build(Value tensor, Indices indices);
  /// Follows a tensor of the first or second product to where it comes from,
  /// to elements of `type` at least; with `scaled` through constant factors.
  Operand trace(Value tensor, Indices indices, Type type, bool scaled);
  bool equal(const Expr *a, const Expr *b) const;
  /// The operations whose results depend on a Product.
  const SetVector<Operation *> &getProductOps() const { return productOps; }

private:
  struct Body {
    linalg::LinalgOp op;
    Indices loops;
  };
  Expr *make(Expr::Kind kind, Type type);
  const Expr *makeScalar(Operation *op, ArrayRef<const Expr *> operands);
  const Expr *buildConstant(Attribute attribute, Type type);
  const Expr *buildDefinition(Value tensor, const Indices &indices);
  const Expr *buildLinalg(linalg::LinalgOp op, unsigned result,
                          const Indices &indices);
  const Expr *buildReduction(Body &body, unsigned result,
                             ArrayRef<unsigned> reductions);
  const Expr *buildScalar(Value scalar, const Body &body);
  /// Where `body` reads an operand; nullopt where that is no whole tensor.
  std::optional<Indices> getIndices(OpOperand *operand, const Body &body) const;
  /// Gives the loops that `map` enumerates the values `indices`.
  bool bind(Body &body, AffineMap map, const Indices &indices) const;

  Loops &loops;
  Index keys;
  std::deque<Expr> exprs;
  unsigned depth = 0;
  SetVector<Operation *> productOps;
};

/// The indices of the operand of a reshape or cast whose result has `indices`;
/// nullopt if `op` is something else or the sizes do not allow it.
std::optional<Indices> getViewedIndices(Loops &loops, Operation *op,
                                        const Indices &indices);

/// The number that a scalar, or every element of a tensor, is known to be.
std::optional<double> getConstantNumber(Value value);

/// Whether the body sums up products of one element of each of two inputs from
/// zero, and has a reduction.
bool isProduct(linalg::LinalgOp op);

} // namespace mlir::na::raise

#endif // NA_LIB_DIALECT_NA_TRANSFORMS_RAISEEXPR_H
