// RUN: env NA_CUDA_DRIVER=nowhere.so na-capi-gradients-test 2>&1 | FileCheck %s
// RUN: env NA_CUDA_DRIVER=%fake_cuda na-capi-gradients-test device 2>&1 \
// RUN:   | FileCheck %s --check-prefix=DEVICE

/* Programs of gradients: against differences of the attention's own program,
 * without a part, wrong flags, texts, and for a device. */

#include "na-c/Runtime.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void report(const char *what, NaStatus status) {
  printf("%s: %d%s%s\n", what, status.code, status.message ? ", " : "",
         status.message ? status.message : "");
  naStatusRelease(status);
}

/* With everything that a problem can have, in one dimension. */
static NaProblem makeProblem(int32_t type) {
  NaProblem problem;
  naProblemInit(&problem);
  problem.type = type;
  problem.bias_type = type;
  problem.lse = 1;
  problem.rank = 1;
  problem.batch = 2;
  problem.tokens[0] = 11;
  problem.window[0] = 4;
  problem.stride[0] = 2;
  problem.dilation[0] = 2;
  problem.causal[0] = 1;
  problem.heads = 4;
  problem.kv_heads = 2;
  problem.head_dim = 4;
  problem.value_dim = 3;
  problem.additional = 2;
  return problem;
}

/* The arguments of a program, one buffer each. */
enum { maxArguments = 16 };
typedef struct Buffers {
  int32_t count;
  const char *names[maxArguments];
  int64_t sizes[maxArguments];
  double *data[maxArguments];
} Buffers;

static double random01(unsigned *seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return (double)(*seed >> 8) / 16777216.0;
}

/* Inputs are random, outputs are NaN. */
static Buffers makeBuffers(const NaProgram *program, unsigned seed) {
  Buffers buffers;
  buffers.count = naProgramGetNumArguments(program);
  for (int i = 0; i < buffers.count; ++i) {
    NaArgumentInfo info;
    naStatusRelease(naProgramGetArgument(program, i, &info));
    int64_t size = 1;
    for (int axis = 0; axis < info.rank; ++axis)
      size *= info.shape[axis];
    buffers.names[i] = info.name;
    buffers.sizes[i] = size;
    buffers.data[i] = malloc((size_t)size * sizeof(double));
    for (int64_t j = 0; j < size; ++j)
      buffers.data[i][j] =
          info.kind == NA_ARGUMENT_OUTPUT ? NAN : random01(&seed) - 0.5;
  }
  return buffers;
}

static void freeBuffers(Buffers *buffers) {
  for (int i = 0; i < buffers->count; ++i)
    free(buffers->data[i]);
}

static int find(const Buffers *buffers, const char *name) {
  for (int i = 0; i < buffers->count; ++i)
    if (strcmp(buffers->names[i], name) == 0)
      return i;
  return -1;
}

/* Copies what both have by name. */
static void copyBuffers(const Buffers *from, Buffers *to) {
  for (int i = 0; i < to->count; ++i) {
    int source = find(from, to->names[i]);
    if (source >= 0)
      memcpy(to->data[i], from->data[source],
             (size_t)to->sizes[i] * sizeof(double));
  }
}

static void launch(const NaProgram *program, Buffers *buffers) {
  NaStatus status = naLaunchAddresses(program, (void *const *)buffers->data,
                                      buffers->count, NULL);
  if (status.code != NA_OK)
    report("launch", status);
}

/* sum(o * do) + sum(lse * dlse), the function whose gradients are asked for. */
static double evaluate(const NaProgram *program, Buffers *attention,
                       const Buffers *gradients) {
  double sum = 0;
  launch(program, attention);
  const char *const names[2][2] = {{"o", "do"}, {"lse", "dlse"}};
  for (int i = 0; i < 2; ++i) {
    int output = find(attention, names[i][0]);
    int weight = find(gradients, names[i][1]);
    for (int64_t j = 0; weight >= 0 && j < attention->sizes[output]; ++j)
      sum += attention->data[output][j] * gradients->data[weight][j];
  }
  return sum;
}

/* The largest difference of all gradients from central differences. */
static double compare(int32_t flags, int32_t mode) {
  NaProblem problem = makeProblem(NA_TYPE_F64);
  NaOptions options;
  NaProgram *forward = NULL, *backward = NULL;
  naOptionsInit(&options);
  options.mode = mode;
  report("attention", naCompileProblem(&problem, &options, &forward));
  report("gradients", naCompileGradients(&problem, flags, &options, &backward));
  Buffers attention = makeBuffers(forward, 1);
  Buffers gradients = makeBuffers(backward, 2);
  launch(forward, &attention);
  copyBuffers(&attention, &gradients);
  launch(backward, &gradients);
  double worst = 0;
  for (int i = 0; i < gradients.count; ++i) {
    /* A gradient is named d and what it is the gradient of. */
    int input = find(&attention, gradients.names[i] + 1);
    if (gradients.names[i][0] != 'd' || input < 0 ||
        strcmp(gradients.names[i], "do") == 0 ||
        strcmp(gradients.names[i], "dlse") == 0)
      continue;
    for (int64_t j = 0; j < gradients.sizes[i]; ++j) {
      double *place = &attention.data[input][j], kept = *place, step = 1e-5;
      *place = kept + step;
      double above = evaluate(forward, &attention, &gradients);
      *place = kept - step;
      double below = evaluate(forward, &attention, &gradients);
      *place = kept;
      double error = fabs((above - below) / (2 * step) - gradients.data[i][j]);
      worst = error <= worst ? worst : error;
    }
  }
  freeBuffers(&attention);
  freeBuffers(&gradients);
  naProgramRelease(forward);
  naProgramRelease(backward);
  return worst;
}

static void testGradients(void) {
  int32_t all = NA_GRADIENT_LSE | NA_GRADIENT_BIAS | NA_GRADIENT_ADDITIONAL |
                NA_GRADIENT_DETERMINISTIC;
  // CHECK: attention: 0
  // CHECK: gradients: 0
  // CHECK: fused: 1
  printf("fused: %d\n", compare(all, NA_MODE_FUSED) < 1e-8);
  // CHECK: attention: 0
  // CHECK: gradients: 0
  // CHECK: unfused: 1
  printf("unfused: %d\n", compare(all, NA_MODE_UNFUSED) < 1e-8);
  // CHECK: attention: 0
  // CHECK: gradients: 0
  // CHECK: naive: 1
  printf("naive: %d\n", compare(all, NA_MODE_NAIVE) < 1e-8);
  // CHECK: attention: 0
  // CHECK: gradients: 0
  // CHECK: without options: 1
  printf("without options: %d\n", compare(0, NA_MODE_FUSED) < 1e-8);
}

static void testArguments(void) {
  NaProblem problem = makeProblem(NA_TYPE_BF16);
  problem.bias_type = NA_TYPE_F32;
  NaProgram *program = NULL;
  // CHECK: compile: 0
  report("compile", naCompileGradients(&problem,
                                       NA_GRADIENT_LSE | NA_GRADIENT_BIAS |
                                           NA_GRADIENT_ADDITIONAL,
                                       NULL, &program));
  // CHECK: argument: q, type 4, kind 0, 2x11x4x4
  // CHECK: argument: k, type 4, kind 0, 2x11x2x4
  // CHECK: argument: v, type 4, kind 0, 2x11x2x3
  // CHECK: argument: o, type 4, kind 0, 2x11x4x3
  // CHECK: argument: lse, type 2, kind 0, 2x11x4
  // CHECK: argument: do, type 4, kind 0, 2x11x4x3
  // CHECK: argument: dlse, type 2, kind 0, 2x11x4
  // CHECK: argument: bias, type 2, kind 0, 4x7
  // CHECK: argument: additional_keys, type 4, kind 0, 2x2x2x4
  // CHECK: argument: additional_values, type 4, kind 0, 2x2x2x3
  // CHECK: argument: dq, type 4, kind 1, 2x11x4x4
  // CHECK: argument: dk, type 4, kind 1, 2x11x2x4
  // CHECK: argument: dv, type 4, kind 1, 2x11x2x3
  // CHECK: argument: dbias, type 2, kind 1, 4x7
  // CHECK: argument: dadditional_keys, type 4, kind 1, 2x2x2x4
  // CHECK: argument: dadditional_values, type 4, kind 1, 2x2x2x3
  for (int i = 0; i < naProgramGetNumArguments(program); ++i) {
    NaArgumentInfo info;
    naStatusRelease(naProgramGetArgument(program, i, &info));
    printf("argument: %s, type %d, kind %d, ", info.name, info.type, info.kind);
    for (int axis = 0; axis < info.rank; ++axis)
      printf("%s%d", axis ? "x" : "", (int)info.shape[axis]);
    printf("\n");
  }
  const char *text = NULL;
  // CHECK: mlir: 0
  report("mlir", naProgramGetText(program, NA_TEXT_MLIR, &text));
  // CHECK: na.attention_grad
  printf("%s\n", text);
  // CHECK: deterministic: 0
  printf("deterministic: %d\n", strstr(text, "deterministic") != NULL);
  void *addresses[maxArguments] = {0};
  // CHECK: null: 1, argument 'q': the address is null
  report("null", naLaunchAddresses(program, addresses, 16, NULL));
  naProgramRelease(program);
}

static void testErrors(void) {
  NaProgram *program = NULL;
  NaProblem problem = makeProblem(NA_TYPE_F32);
  // CHECK: bits: 1, flags: 17 has bits other than those of NA_GRADIENT_*, 15
  report("bits", naCompileGradients(&problem, 17, NULL, &program));
  problem.bias_type = NA_TYPE_NONE;
  // CHECK: bias: 1, flags: NA_GRADIENT_BIAS, but bias_type is NA_TYPE_NONE
  report("bias",
         naCompileGradients(&problem, NA_GRADIENT_BIAS, NULL, &program));
  problem.additional = 0;
  // CHECK: additional: 1, flags: NA_GRADIENT_ADDITIONAL, but additional is 0
  report("additional",
         naCompileGradients(&problem, NA_GRADIENT_ADDITIONAL, NULL, &program));
  problem.window[0] = 6;
  // CHECK: window: 1, window, axis 0: 6 times dilation 2 exceeds the length, 11
  report("window", naCompileGradients(&problem, 0, NULL, &program));
  problem.struct_size = 8;
  // CHECK: struct: 1, problem: struct_size is not
  report("struct", naCompileGradients(&problem, 0, NULL, &program));
  // CHECK: null: 1, problem: null
  report("null", naCompileGradients(NULL, 0, NULL, &program));
  // CHECK: untouched: 1
  printf("untouched: %d\n", program == NULL);

  problem = makeProblem(NA_TYPE_BF16);
  NaOptions options;
  naOptionsInit(&options);
  options.target = NA_TARGET_CUDA;
  // CHECK: no driver: 4, {{.*}}nowhere.so
  report("no driver", naCompileGradients(&problem, 0, &options, &program));
  options.device = -1;
  options.chip = "sm_80";
  // CHECK: for sm_80: 0
  report("for sm_80", naCompileGradients(&problem, NA_GRADIENT_DETERMINISTIC,
                                         &options, &program));
  const char *text = NULL;
  // CHECK: deterministic: 0, 1
  NaStatus status = naProgramGetText(program, NA_TEXT_MLIR, &text);
  printf("deterministic: %d, %d\n", status.code,
         strstr(text, "deterministic") != NULL);
  naStatusRelease(status);
  // CHECK: ptx: 0
  report("ptx", naProgramGetText(program, NA_TEXT_PTX, &text));
  // CHECK: entry 1
  printf("entry %d\n", strstr(text, ".visible .entry") != NULL);
  naProgramRelease(program);
}

/* On the stand-in for the driver, whose kernels do nothing. */
static void testDevice(void) {
  NaProblem problem = makeProblem(NA_TYPE_F32);
  NaOptions options;
  NaProgram *program = NULL;
  naOptionsInit(&options);
  options.target = NA_TARGET_CUDA;
  // DEVICE: compile: 0
  report("compile",
         naCompileGradients(&problem, NA_GRADIENT_BIAS, &options, &program));
  // DEVICE: arguments: 13
  printf("arguments: %d\n", naProgramGetNumArguments(program));
  void *addresses[maxArguments];
  /* Multiples of 16 bytes that the stand-in never looks at. */
  for (int i = 0; i < 13; ++i)
    addresses[i] = (void *)(intptr_t)(4096 * (i + 1));
  // DEVICE: launch: 0
  report("launch", naLaunchAddresses(program, addresses, 13, NULL));
  // DEVICE: workspace 1
  int64_t bytes = naProgramGetWorkspaceSize(program);
  printf("workspace %d\n", bytes > 0 && bytes % 256 == 0);
  void *workspace = (void *)(intptr_t)(1 << 20);
  // DEVICE: in workspace: 0
  report("in workspace",
         naLaunchInWorkspace(program, addresses, 13, workspace, bytes, NULL));
  // DEVICE: no workspace: 1, workspace: null
  report("no workspace",
         naLaunchInWorkspace(program, addresses, 13, NULL, bytes, NULL));
  // DEVICE: short: 1, bytes: {{[0-9]+}} is less than the {{[0-9]+}} of the
  report("short", naLaunchInWorkspace(program, addresses, 13, workspace,
                                      bytes - 1, NULL));
  // DEVICE: misaligned: 1, workspace: address {{.*}} is not a multiple of 256
  report("misaligned",
         naLaunchInWorkspace(program, addresses, 13, (char *)workspace + 16,
                             bytes, NULL));
  // DEVICE: count: 1, count: the program has 13 arguments, not 12
  report("count", naLaunchAddresses(program, addresses, 12, NULL));
  naProgramRelease(program);
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "device") == 0) {
    testDevice();
    return 0;
  }
  testGradients();
  testArguments();
  testErrors();
  return 0;
}
