//===- Reference.cpp - The layer in plain C++ -----------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reference.h"

#include <algorithm>
#include <cmath>

/// The first key of the window of query `i`: centred, moved inward at borders.
static int windowStart(int i) {
  return std::clamp(i - window / 2, 0, side - window);
}

/// The attention of one query and head, added to `row`. The rows of `qkv` are
/// queries, keys and values of a token.
static void addAttention(const std::vector<double> &qkv, int i, int j, int head,
                         double *row) {
  auto at = [&](int token, int which) {
    return &qkv[(token * 3 + which) * features + head * headDim];
  };
  const double *query = at(i * side + j, 0);
  double total = 0, sums[headDim] = {};
  for (int y = windowStart(i); y < windowStart(i) + window; ++y)
    for (int x = windowStart(j); x < windowStart(j) + window; ++x) {
      const double *key = at(y * side + x, 1), *value = at(y * side + x, 2);
      double score = 0;
      for (int d = 0; d < headDim; ++d)
        score += query[d] * key[d];
      double weight = std::exp(score / std::sqrt(double(headDim)));
      total += weight;
      for (int d = 0; d < headDim; ++d)
        sums[d] += weight * value[d];
    }
  for (int d = 0; d < headDim; ++d)
    row[head * headDim + d] += sums[d] / total;
}

std::vector<float> computeReference(const std::vector<float> &x,
                                    const std::vector<float> &weight) {
  std::vector<double> qkv(tokens * 3 * features);
  for (int token = 0; token < tokens; ++token)
    for (int c = 0; c < 3 * features; ++c)
      for (int f = 0; f < features; ++f)
        qkv[token * 3 * features + c] +=
            double(x[token * features + f]) * weight[f * 3 * features + c];

  std::vector<double> sum(x.begin(), x.end());
  for (int token = 0; token < tokens; ++token)
    for (int head = 0; head < heads; ++head)
      addAttention(qkv, token / side, token % side, head,
                   &sum[token * features]);

  std::vector<float> result(sum.size());
  std::transform(sum.begin(), sum.end(), result.begin(),
                 [](double value) { return std::tanh(value); });
  return result;
}
