//===- FakeCuda.h - Controls of the driver without a GPU --------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_UNITTESTS_RUNTIME_FAKECUDA_H
#define NA_UNITTESTS_RUNTIME_FAKECUDA_H

extern "C" {
/// Makes the next call of the symbol `function` return `code`.
void fakeFail(const char *function, int code);
void fakeClearCalls();
/// How often the symbol `function` was called since fakeClearCalls.
int fakeCalls(const char *function);
/// How many contexts the calling thread has on its stack.
int fakeContextDepth();
/// How many streams, events and modules there are.
int fakeObjects();
/// How often the primary context of `device` is retained.
int fakeRetained(int device);
/// The stream of the last launch.
void *fakeStream();
/// Makes launches of kernels of this name call `body`, which reads the
/// arguments as the device would; null makes them do nothing again.
void fakeKernel(const char *name, void (*body)(unsigned grid, unsigned block,
                                               unsigned shared, void **args));
}

#endif // NA_UNITTESTS_RUNTIME_FAKECUDA_H
