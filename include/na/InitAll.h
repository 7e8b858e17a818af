//===- InitAll.h - Registers the dialects, passes and pipelines ---*- C++
//-*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_INITALL_H
#define NA_INITALL_H

namespace mlir {
class DialectRegistry;

namespace na {

/// Adds the project's dialects, the upstream dialects that its pipelines go
/// through, and the interfaces of both to `registry`.
void registerAllDialects(DialectRegistry &registry);

/// Registers the project's passes and pipelines, and the upstream passes that
/// are useful beside them, with the global pass registry.
void registerAllPasses();

/// Registers the project's passes and pipelines, and the upstream passes that
/// programs need before those: what a tool that only runs them needs.
void registerPipelinePasses();

} // namespace na
} // namespace mlir

#endif // NA_INITALL_H
