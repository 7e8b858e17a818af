//===- windows.cpp - Prints the windows of the naive CUDA kernels ---------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads axes, five numbers a line; prints the keys of each query on a line.
//
//===----------------------------------------------------------------------===//

#include "naive_window.h"

#include <cstdio>

int main() {
  NaiveAxis axis;
  while (scanf("%d %d %d %d %d", &axis.length, &axis.window, &axis.stride,
               &axis.dilation, &axis.causal) == 5) {
    for (int query = 0; query < axis.length; ++query) {
      NaiveRange range = naiveWindow(axis, query);
      for (int i = range.begin; i < range.end; ++i)
        printf(" %d", range.residue + axis.dilation * i);
      printf("\n");
    }
  }
}
