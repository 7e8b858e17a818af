//===- Reference.h - The layer in plain C++ ---------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef EMBEDDING_REFERENCE_H
#define EMBEDDING_REFERENCE_H

#include <vector>

constexpr int side = 14, heads = 2, headDim = 32, window = 7;
constexpr int tokens = side * side, features = heads * headDim;

/// What layer.mlir computes of `x` (tokens x features) and `weight` (features x
/// 3 * features).
std::vector<float> computeReference(const std::vector<float> &x,
                                    const std::vector<float> &weight);

#endif // EMBEDDING_REFERENCE_H
