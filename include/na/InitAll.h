//===- InitAll.h - Registers dialects, passes and pipelines -----*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_INITALL_H
#define NA_INITALL_H

// registerNAPipelines(), and builders of the pipelines without the registry.
#include "na/Pipelines/Pipelines.h"

namespace mlir {
class DialectRegistry;

namespace na {

/// Adds the project's dialects and their interfaces to `registry`, and of
/// upstream what the project's passes and pipelines go through: dialects, the
/// interfaces of their operations, translations to LLVM IR.
void registerNADialects(DialectRegistry &registry);

/// Registers the project's passes with the global pass registry.
void registerNAPasses();

/// Adds registerNADialects() and every other upstream dialect, interface and
/// extension to `registry`: what a tool that reads any program needs.
void registerAllDialects(DialectRegistry &registry);

/// Registers the project's passes and pipelines, and all upstream passes.
void registerAllPasses();

/// Registers the project's passes and pipelines, and the upstream passes that
/// programs need before those: what a tool that only runs them needs.
void registerPipelinePasses();

} // namespace na
} // namespace mlir

#endif // NA_INITALL_H
