/*===- na-c/Dialects.h - The dialects for MLIR's C API ------------*- C -*-===*\
|*                                                                            *|
|* Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.  *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

/* For programs that use MLIR through its C API: the dialects, builders of
 * their attributes, and the passes. They must share one copy of MLIR with the
 * program, so link the library of a build with libMLIR.so; a library that
 * holds its own MLIR is for na-c/Runtime.h only. */

#ifndef NA_C_DIALECTS_H
#define NA_C_DIALECTS_H

#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

/* mlirGetDialectHandle__na__() and mlirGetDialectHandle__nagpu__(). */
MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(NA, na);
MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(NAGPU, nagpu);

/* Adds the project's dialects, the upstream ones that its pipelines go through,
 * and the interfaces of both. */
MLIR_CAPI_EXPORTED void naRegisterAllDialects(MlirDialectRegistry registry);

/* Registers the project's passes and pipelines (na-to-cpu, na-to-nvvm) with the
 * process; further calls do nothing. */
MLIR_CAPI_EXPORTED void naRegisterPasses(void);

/*===----------------------------------------------------------------------===*\
|* #na.window
\*===----------------------------------------------------------------------===*/

MLIR_CAPI_EXPORTED bool naAttributeIsAWindow(MlirAttribute attribute);

/* Lists have `rank` entries; `stride`, `dilation` and `causal` may be null for
 * their defaults. The null attribute, and a diagnostic, for illegal values. The
 * context must have the dialect loaded. */
MLIR_CAPI_EXPORTED MlirAttribute naWindowAttrGet(
    MlirContext context, intptr_t rank, const int64_t *size,
    const int64_t *stride, const int64_t *dilation, const bool *causal);

MLIR_CAPI_EXPORTED intptr_t naWindowAttrGetRank(MlirAttribute window);
/* `axis` is less than the rank. */
MLIR_CAPI_EXPORTED int64_t naWindowAttrGetSize(MlirAttribute window,
                                               intptr_t axis);
MLIR_CAPI_EXPORTED int64_t naWindowAttrGetStride(MlirAttribute window,
                                                 intptr_t axis);
MLIR_CAPI_EXPORTED int64_t naWindowAttrGetDilation(MlirAttribute window,
                                                   intptr_t axis);
MLIR_CAPI_EXPORTED bool naWindowAttrGetCausal(MlirAttribute window,
                                              intptr_t axis);

/*===----------------------------------------------------------------------===*\
|* #na.schedule
\*===----------------------------------------------------------------------===*/

MLIR_CAPI_EXPORTED bool naAttributeIsASchedule(MlirAttribute attribute);

/* Tiles have `rank` entries; `warpgroupTile` may be null for none. For
 * `stages`, `warps` and `valueTile` 0 means the compiler's choice.
 * `headsPerTile` is 1 for tiles of one head. The null attribute, and a
 * diagnostic, for illegal values. */
MLIR_CAPI_EXPORTED MlirAttribute
naScheduleAttrGet(MlirContext context, MlirStringRef target, intptr_t rank,
                  const int64_t *queryTile, const int64_t *keyTile,
                  const int64_t *warpgroupTile, int64_t stages, int64_t warps,
                  int64_t valueTile, int64_t headsPerTile);

MLIR_CAPI_EXPORTED MlirStringRef naScheduleAttrGetTarget(MlirAttribute);
MLIR_CAPI_EXPORTED intptr_t naScheduleAttrGetRank(MlirAttribute schedule);
MLIR_CAPI_EXPORTED int64_t naScheduleAttrGetQueryTile(MlirAttribute schedule,
                                                      intptr_t axis);
MLIR_CAPI_EXPORTED int64_t naScheduleAttrGetKeyTile(MlirAttribute schedule,
                                                    intptr_t axis);

#ifdef __cplusplus
}
#endif

#endif /* NA_C_DIALECTS_H */
