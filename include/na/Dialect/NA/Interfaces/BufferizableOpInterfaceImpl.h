//===- BufferizableOpInterfaceImpl.h - Bufferization ------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_DIALECT_NA_INTERFACES_BUFFERIZABLEOPINTERFACEIMPL_H
#define NA_DIALECT_NA_INTERFACES_BUFFERIZABLEOPINTERFACEIMPL_H

namespace mlir {
class DialectRegistry;

namespace na {
/// Attaches BufferizableOpInterface to the na operations.
void registerBufferizableOpInterfaceExternalModels(DialectRegistry &registry);
} // namespace na
} // namespace mlir

#endif // NA_DIALECT_NA_INTERFACES_BUFFERIZABLEOPINTERFACEIMPL_H
