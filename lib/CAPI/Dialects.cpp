//===- Dialects.cpp - The dialects for MLIR's C API -----------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na-c/Dialects.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Registration.h"
#include "mlir/CAPI/Support.h"
#include "na/Dialect/NA/IR/NA.h"
#include "na/Dialect/NAGPU/IR/NAGPU.h"
#include "na/InitAll.h"

using namespace mlir;
using namespace mlir::na;

MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(NA, na, mlir::na::NADialect)
MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(NAGPU, nagpu, mlir::nagpu::NAGPUDialect)

void naRegisterAllDialects(MlirDialectRegistry registry) {
  mlir::na::registerAllDialects(*unwrap(registry));
}

void naRegisterPasses() {
  static const bool once = [] {
    registerPipelinePasses();
    return true;
  }();
  (void)once;
}

template <typename T>
static ArrayRef<T> getList(const T *entries, intptr_t rank) {
  return entries ? ArrayRef<T>(entries, rank) : ArrayRef<T>();
}

//===----------------------------------------------------------------------===//
// #na.window
//===----------------------------------------------------------------------===//

static WindowAttr getWindow(MlirAttribute attribute) {
  return cast<WindowAttr>(unwrap(attribute));
}

bool naAttributeIsAWindow(MlirAttribute attribute) {
  return isa_and_nonnull<WindowAttr>(unwrap(attribute));
}

/// Whether lists can have this rank, with a diagnostic where not: the verifiers
/// see lists, whose lengths are never negative.
static bool checkRank(MLIRContext *context, intptr_t rank) {
  if (rank >= 1 && rank <= 3)
    return true;
  emitError(UnknownLoc::get(context)) << "rank " << rank << " is not in 1 to 3";
  return false;
}

MlirAttribute naWindowAttrGet(MlirContext context, intptr_t rank,
                              const int64_t *size, const int64_t *stride,
                              const int64_t *dilation, const bool *causal) {
  if (!checkRank(unwrap(context), rank))
    return {nullptr};
  SmallVector<int64_t, 3> ones(rank, 1);
  SmallVector<bool, 3> falses(rank, false);
  MLIRContext *ctx = unwrap(context);
  return wrap(WindowAttr::getChecked(
      [ctx] { return emitError(UnknownLoc::get(ctx)); }, ctx,
      getList(size, rank), getList(stride ? stride : ones.data(), rank),
      getList(dilation ? dilation : ones.data(), rank),
      getList(causal ? causal : falses.data(), rank)));
}

intptr_t naWindowAttrGetRank(MlirAttribute window) {
  return getWindow(window).getRank();
}
int64_t naWindowAttrGetSize(MlirAttribute window, intptr_t axis) {
  return getWindow(window).getSize()[axis];
}
int64_t naWindowAttrGetStride(MlirAttribute window, intptr_t axis) {
  return getWindow(window).getStride()[axis];
}
int64_t naWindowAttrGetDilation(MlirAttribute window, intptr_t axis) {
  return getWindow(window).getDilation()[axis];
}
bool naWindowAttrGetCausal(MlirAttribute window, intptr_t axis) {
  return getWindow(window).getCausal()[axis];
}

//===----------------------------------------------------------------------===//
// #na.schedule
//===----------------------------------------------------------------------===//

static ScheduleAttr getSchedule(MlirAttribute attribute) {
  return cast<ScheduleAttr>(unwrap(attribute));
}

bool naAttributeIsASchedule(MlirAttribute attribute) {
  return isa_and_nonnull<ScheduleAttr>(unwrap(attribute));
}

MlirAttribute naScheduleAttrGet(MlirContext context, MlirStringRef target,
                                intptr_t rank, const int64_t *queryTile,
                                const int64_t *keyTile,
                                const int64_t *warpgroupTile, int64_t stages,
                                int64_t warps, int64_t valueTile,
                                int64_t headsPerTile) {
  MLIRContext *ctx = unwrap(context);
  if (!checkRank(ctx, rank))
    return {nullptr};
  return wrap(ScheduleAttr::getChecked(
      [ctx] { return emitError(UnknownLoc::get(ctx)); }, ctx, unwrap(target),
      getList(queryTile, rank), getList(keyTile, rank),
      getList(warpgroupTile, rank), stages, warps, valueTile, headsPerTile));
}

MlirStringRef naScheduleAttrGetTarget(MlirAttribute schedule) {
  return wrap(getSchedule(schedule).getTarget());
}
intptr_t naScheduleAttrGetRank(MlirAttribute schedule) {
  return static_cast<intptr_t>(getSchedule(schedule).getQueryTile().size());
}
int64_t naScheduleAttrGetQueryTile(MlirAttribute schedule, intptr_t axis) {
  return getSchedule(schedule).getQueryTile()[axis];
}
int64_t naScheduleAttrGetKeyTile(MlirAttribute schedule, intptr_t axis) {
  return getSchedule(schedule).getKeyTile()[axis];
}
