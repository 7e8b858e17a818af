// RUN: na-capi-dialects-test 2>&1 | FileCheck %s

/* The dialects, attributes and passes through MLIR's C API. */

#include "na-c/Dialects.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/Diagnostics.h"
#include "mlir-c/Pass.h"

#include <stdio.h>

static MlirStringRef text(const char *data) {
  return mlirStringRefCreateFromCString(data);
}

static void print(MlirStringRef string, void *file) {
  fwrite(string.data, 1, string.length, file);
}

static MlirLogicalResult printDiagnostic(MlirDiagnostic diagnostic,
                                         void *unused) {
  (void)unused;
  printf("diagnostic: ");
  mlirDiagnosticPrint(diagnostic, print, stdout);
  printf("\n");
  return mlirLogicalResultSuccess();
}

static void dump(MlirAttribute attribute) {
  mlirAttributePrint(attribute, print, stdout);
  printf("\n");
}

static void testDialects(MlirContext context) {
  // CHECK: dialects 1 1
  printf("dialects %d %d\n",
         !mlirDialectIsNull(mlirDialectHandleLoadDialect(
             mlirGetDialectHandle__na__(), context)),
         !mlirDialectIsNull(mlirDialectHandleLoadDialect(
             mlirGetDialectHandle__nagpu__(), context)));
}

static void testWindow(MlirContext context) {
  int64_t size[] = {7, 9}, stride[] = {2, 1}, dilation[] = {1, 3};
  bool causal[] = {false, true};
  // CHECK: #na.window<size = [7, 9]>
  dump(naWindowAttrGet(context, 2, size, NULL, NULL, NULL));
  MlirAttribute window =
      naWindowAttrGet(context, 2, size, stride, dilation, causal);
  // CHECK: #na.window<size = [7, 9], stride = [2, 1], dilation = [1, 3], causal = [false, true]>
  dump(window);
  // CHECK: window 1, schedule 0, rank 2, size 9, stride 2, dilation 3, causal 0 1
  printf("window %d, schedule %d, rank %d, size %d, stride %d, dilation %d, "
         "causal %d %d\n",
         naAttributeIsAWindow(window), naAttributeIsASchedule(window),
         (int)naWindowAttrGetRank(window), (int)naWindowAttrGetSize(window, 1),
         (int)naWindowAttrGetStride(window, 0),
         (int)naWindowAttrGetDilation(window, 1),
         naWindowAttrGetCausal(window, 0), naWindowAttrGetCausal(window, 1));
  MlirAttribute other = mlirUnitAttrGet(context);
  // CHECK: other: 0 0
  printf("other: %d %d\n", naAttributeIsAWindow(other),
         naAttributeIsASchedule(other));
  stride[1] = 10;
  // CHECK: diagnostic: {{.*}}stride{{.*}}10
  // CHECK-NEXT: null 1
  MlirAttribute illegal = naWindowAttrGet(context, 2, size, stride, NULL, NULL);
  printf("null %d\n", mlirAttributeIsNull(illegal));
  // CHECK: diagnostic: rank -1 is not in 1 to 3
  // CHECK-NEXT: diagnostic: rank 4 is not in 1 to 3
  // CHECK-NEXT: diagnostic: window has 0 axes
  // CHECK-NEXT: null 1 1 1
  MlirAttribute negative = naWindowAttrGet(context, -1, size, NULL, NULL, NULL);
  MlirAttribute many = naWindowAttrGet(context, 4, size, NULL, NULL, NULL);
  MlirAttribute none = naWindowAttrGet(context, 2, NULL, NULL, NULL, NULL);
  printf("null %d %d %d\n", mlirAttributeIsNull(negative),
         mlirAttributeIsNull(many), mlirAttributeIsNull(none));
}

static void testSchedule(MlirContext context) {
  int64_t query[] = {8, 16}, key[] = {8, 8};
  MlirAttribute schedule = naScheduleAttrGet(context, text("sm_90"), 2, query,
                                             key, NULL, 2, 4, 0, 1);
  // CHECK: #na.schedule<target = "sm_90", query_tile = [8, 16], key_tile = [8, 8], stages = 2, warps = 4>
  dump(schedule);
  MlirStringRef target = naScheduleAttrGetTarget(schedule);
  // CHECK: schedule 1, sm_90, rank 2, tiles 16 8
  printf("schedule %d, %.*s, rank %d, tiles %d %d\n",
         naAttributeIsASchedule(schedule), (int)target.length, target.data,
         (int)naScheduleAttrGetRank(schedule),
         (int)naScheduleAttrGetQueryTile(schedule, 1),
         (int)naScheduleAttrGetKeyTile(schedule, 1));
  // CHECK: diagnostic: {{.*}}stages
  // CHECK-NEXT: null 1
  MlirAttribute illegal = naScheduleAttrGet(context, text("cpu"), 2, query, key,
                                            NULL, 1000, 0, 0, 1);
  printf("null %d\n", mlirAttributeIsNull(illegal));
  // CHECK: diagnostic: rank -2 is not in 1 to 3
  // CHECK-NEXT: null 1
  illegal =
      naScheduleAttrGet(context, text("cpu"), -2, query, key, NULL, 0, 0, 0, 1);
  printf("null %d\n", mlirAttributeIsNull(illegal));
}

static const char *const program =
    "func.func @main(%q: tensor<1x16x1x8xf32>) -> tensor<1x16x1x8xf32> {\n"
    "  %e = tensor.empty() : tensor<1x16x1x8xf32>\n"
    "  %o = na.attention ins(%q, %q, %q : tensor<1x16x1x8xf32>,\n"
    "    tensor<1x16x1x8xf32>, tensor<1x16x1x8xf32>)\n"
    "    outs(%e : tensor<1x16x1x8xf32>) window(<size = [3]>)\n"
    "    -> tensor<1x16x1x8xf32>\n"
    "  return %o : tensor<1x16x1x8xf32>\n"
    "}\n";

static void testPasses(MlirContext context) {
  naRegisterPasses();
  naRegisterPasses();
  MlirModule module = mlirModuleCreateParse(context, text(program));
  MlirPassManager manager = mlirPassManagerCreate(context);
  MlirLogicalResult parsed = mlirParsePassPipeline(
      mlirPassManagerGetAsOpPassManager(manager),
      text("builtin.module(na-select-schedule{target=cpu})"), print, stdout);
  MlirLogicalResult ran =
      mlirPassManagerRunOnOp(manager, mlirModuleGetOperation(module));
  // CHECK: passes 1 1
  printf("passes %d %d\n", mlirLogicalResultIsSuccess(parsed),
         mlirLogicalResultIsSuccess(ran));
  // CHECK: na.attention {{.*}}schedule = #na.schedule<target = "cpu"
  mlirOperationPrint(mlirModuleGetOperation(module), print, stdout);
  mlirPassManagerDestroy(manager);
  mlirModuleDestroy(module);
}

int main(void) {
  MlirContext context = mlirContextCreate();
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  mlirDialectHandleInsertDialect(mlirGetDialectHandle__na__(), registry);
  mlirDialectHandleInsertDialect(mlirGetDialectHandle__nagpu__(), registry);
  naRegisterAllDialects(registry);
  mlirContextAppendDialectRegistry(context, registry);
  mlirDialectRegistryDestroy(registry);
  mlirContextAttachDiagnosticHandler(context, printDiagnostic, NULL, NULL);
  testDialects(context);
  testWindow(context);
  testSchedule(context);
  testPasses(context);
  mlirContextDestroy(context);
  return 0;
}
