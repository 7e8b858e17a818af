//===- TilingInterfaceImpl.h - Tiling of the na operations ------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loops of na.attention, na.qk and na.av are [batch, key heads]; a tile of
// key heads takes the query heads that read them. The loops of na.merge are all
// dimensions of its output but the last. Spatial axes are no loops here: a tile
// of tokens needs the keys around it, which na-tile-and-fuse provides.
//
//===----------------------------------------------------------------------===//

#ifndef NA_DIALECT_NA_INTERFACES_TILINGINTERFACEIMPL_H
#define NA_DIALECT_NA_INTERFACES_TILINGINTERFACEIMPL_H

namespace mlir {
class DialectRegistry;

namespace na {
/// Attaches TilingInterface to na.attention, na.qk, na.av and na.merge.
void registerTilingInterfaceExternalModels(DialectRegistry &registry);
} // namespace na
} // namespace mlir

#endif // NA_DIALECT_NA_INTERFACES_TILINGINTERFACEIMPL_H
