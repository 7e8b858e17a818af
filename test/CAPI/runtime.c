// RUN: env NA_CUDA_DRIVER=nowhere.so na-capi-runtime-test 2>&1 | FileCheck %s
// RUN: env NA_CUDA_DRIVER=%fake_cuda na-capi-runtime-test device 2>&1 \
// RUN:   | FileCheck %s --check-prefix=DEVICE
// RUN: touch %t.file
// RUN: env NA_CACHE_DIR=%t.file/cache na-capi-runtime-test cache 2>&1 \
// RUN:   | FileCheck %s --check-prefix=CACHE

/* The run time API: problems, programs from text, errors, threads, texts. */

#include "na-c/Runtime.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void report(const char *what, NaStatus status) {
  printf("%s: %d%s%s\n", what, status.code, status.message ? ", " : "",
         status.message ? status.message : "");
  naStatusRelease(status);
}

/* 1-D, window 3, one head of 8 channels. */
enum { channels = 8 };

static NaProblem makeProblem(int64_t tokens) {
  NaProblem problem;
  naProblemInit(&problem);
  problem.type = NA_TYPE_F32;
  problem.rank = 1;
  problem.tokens[0] = tokens;
  problem.window[0] = 3;
  problem.head_dim = channels;
  problem.lse = 1;
  return problem;
}

static float fill(float *data, int64_t count, unsigned seed) {
  for (int64_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    data[i] = (float)(seed >> 8) / 16777216.0f - 0.5f;
  }
  return 0;
}

/* The largest error of the output and the LSE of one call. */
static double run(const NaProgram *program, int64_t tokens, unsigned seed) {
  int64_t count = tokens * channels;
  float *q = malloc((size_t)(4 * count + tokens) * sizeof(float));
  float *k = q + count, *v = k + count, *o = v + count, *lse = o + count;
  double worst = 0;
  fill(q, 3 * count, seed);
  for (int64_t i = 0; i < count + tokens; ++i)
    o[i] = NAN;
  void *addresses[] = {q, k, v, o, lse};
  NaStatus status = naLaunchAddresses(program, addresses, 5, NULL);
  if (status.code != NA_OK)
    report("launch", status);
  for (int64_t i = 0; i < tokens; ++i) {
    int64_t first = i - 1;
    if (first < 0)
      first = 0;
    if (first > tokens - 3)
      first = tokens - 3;
    double weights[3], sum = 0;
    for (int j = 0; j < 3; ++j) {
      double dot = 0;
      for (int c = 0; c < channels; ++c)
        dot += (double)q[i * channels + c] * k[(first + j) * channels + c];
      sum += weights[j] = exp(dot / sqrt(channels));
    }
    for (int c = 0; c < channels; ++c) {
      double expected = 0;
      for (int j = 0; j < 3; ++j)
        expected += weights[j] / sum * v[(first + j) * channels + c];
      double error = fabs(expected - o[i * channels + c]);
      worst = error <= worst ? worst : error;
    }
    double error = fabs(log(sum) - lse[i]);
    worst = error <= worst ? worst : error;
  }
  free(q);
  return worst;
}

static void testAttention(void) {
  NaProblem problem = makeProblem(16);
  NaProgram *program = NULL;
  // CHECK: compile: 0
  report("compile", naCompileProblem(&problem, NULL, &program));
  // CHECK: right: 1 1
  printf("right: %d %d\n", run(program, 16, 1) < 1e-6,
         run(program, 16, 2) < 1e-6);
  // CHECK: argument: q, type 2, kind 0, 1x16x1x8
  // CHECK: argument: k, type 2, kind 0, 1x16x1x8
  // CHECK: argument: v, type 2, kind 0, 1x16x1x8
  // CHECK: argument: o, type 2, kind 1, 1x16x1x8
  // CHECK: argument: lse, type 2, kind 1, 1x16x1
  for (int i = 0; i < naProgramGetNumArguments(program); ++i) {
    NaArgumentInfo info;
    naStatusRelease(naProgramGetArgument(program, i, &info));
    printf("argument: %s, type %d, kind %d, ", info.name, info.type, info.kind);
    for (int axis = 0; axis < info.rank; ++axis)
      printf("%s%d", axis ? "x" : "", (int)info.shape[axis]);
    printf("\n");
  }
  NaArgumentInfo info;
  // CHECK: no argument: 1, index: 5 is not in 0 to 4
  report("no argument", naProgramGetArgument(program, 5, &info));

  const char *text = NULL;
  // CHECK: mlir: 0
  report("mlir", naProgramGetText(program, NA_TEXT_MLIR, &text));
  // CHECK: na.attention
  printf("%s\n", text);
  // CHECK: schedule: 0
  report("schedule", naProgramGetText(program, NA_TEXT_SCHEDULE, &text));
  // CHECK: #na.schedule<target = "cpu"
  printf("%s\n", text);
  // CHECK: lowered: 0
  report("lowered", naProgramGetText(program, NA_TEXT_LOWERED, &text));
  // CHECK: llvm 1, na 0
  printf("llvm %d, na %d\n", strstr(text, "llvm.func") != NULL,
         strstr(text, "na.attention") != NULL);
  // CHECK: no ptx: 1, kind: a program for the CPU has no PTX
  report("no ptx", naProgramGetText(program, NA_TEXT_PTX, &text));
  // CHECK: no text: 1, kind: 7 is not in 0 to 6
  report("no text", naProgramGetText(program, 7, &text));
  naProgramRelease(program);
  naProgramRelease(NULL);
}

static void testProblems(void) {
  NaProgram *program = NULL;
  NaProblem problem = makeProblem(16);
  problem.window[0] = 17;
  // CHECK: window: 1, window, axis 0: 17 times dilation 1 exceeds the length, 16
  report("window", naCompileProblem(&problem, NULL, &program));
  problem = makeProblem(16);
  problem.stride[0] = 4;
  // CHECK: stride: 1, stride, axis 0: 4 is not in 1 to the window, 3
  report("stride", naCompileProblem(&problem, NULL, &program));
  problem = makeProblem(16);
  problem.rank = 4;
  // CHECK: rank: 1, rank: 4 is not in 1 to 3
  report("rank", naCompileProblem(&problem, NULL, &program));
  problem = makeProblem(16);
  problem.heads = 3;
  problem.kv_heads = 2;
  // CHECK: heads: 1, kv_heads: 2 does not divide heads, 3
  report("heads", naCompileProblem(&problem, NULL, &program));
  problem = makeProblem(16);
  problem.type = NA_TYPE_I32;
  // CHECK: type: 1, type: 6 is not
  report("type", naCompileProblem(&problem, NULL, &program));
  problem = makeProblem(INT64_MAX / 2);
  // CHECK: overflow: 1, the number of elements overflows 64 bits
  report("overflow", naCompileProblem(&problem, NULL, &program));
  problem = makeProblem(16);
  problem.struct_size = 8;
  // CHECK: struct: 1, problem: struct_size is not
  report("struct", naCompileProblem(&problem, NULL, &program));
  // CHECK: null: 1, problem: null
  report("null", naCompileProblem(NULL, NULL, &program));

  problem = makeProblem(16);
  NaOptions options;
  naOptionsInit(&options);
  options.mode = 3;
  // CHECK: mode: 1, options.mode: 3 is not
  report("mode", naCompileProblem(&problem, &options, &program));
  naOptionsInit(&options);
  options.target = NA_TARGET_CUDA;
  // CHECK: no driver: 4, {{.*}}nowhere.so
  report("no driver", naCompileProblem(&problem, &options, &program));
  options.device = -1;
  // CHECK: no chip: 1, options.chip: null
  report("no chip", naCompileProblem(&problem, &options, &program));
  options.chip = "sm_12";
  // CHECK: chip: 1, unknown chip 'sm_12'; available: sm_80
  report("chip", naCompileProblem(&problem, &options, &program));
  // CHECK: untouched: 1
  printf("untouched: %d\n", program == NULL);

  options.chip = "sm_80";
  const char *text = NULL;
  void *addresses[5] = {0};
  // CHECK: for sm_80: 0
  report("for sm_80", naCompileProblem(&problem, &options, &program));
  // CHECK: ptx: 0
  report("ptx", naProgramGetText(program, NA_TEXT_PTX, &text));
  // CHECK: entry 1
  printf("entry %d\n", strstr(text, ".visible .entry") != NULL);
  // CHECK: launch: 1, program: was compiled without a device
  report("launch", naLaunchAddresses(program, addresses, 5, NULL));
  naProgramRelease(program);
}

static const char *const rowMean =
    "func.func @f(%x: tensor<?x4xf32>, %y: memref<?x4xf32>) {\n"
    "  bufferization.materialize_in_destination %x in restrict writable %y\n"
    "    : (tensor<?x4xf32>, memref<?x4xf32>) -> ()\n"
    "  return\n"
    "}\n";

static void testText(void) {
  NaProgram *program = NULL;
  const char *text = "func.func @f(%x: tensor<4xf33>) { return }";
  // CHECK: parse: 2, {{.*}}program:1:27
  report("parse", naCompileMLIR(text, strlen(text), NULL, NULL, &program));
  text = "func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {\n"
         "  return %x : tensor<?xf32>\n}";
  // CHECK: dynamic: 3, result 'result0' of shape ? has dynamic sizes
  report("dynamic", naCompileMLIR(text, strlen(text), NULL, NULL, &program));
  // CHECK: entry: 1, {{.*}}'g'
  report("entry", naCompileMLIR(text, strlen(text), "g", NULL, &program));
  // CHECK: text: 0
  report("text", naCompileMLIR(rowMean, strlen(rowMean), "f", NULL, &program));
  float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[8] = {0};
  int64_t shape[2] = {2, 4}, transposed[2] = {1, 2}, row[2] = {4, 1};
  NaTensor tensors[2] = {{x, NA_TYPE_F32, 2, shape, row},
                         {y, NA_TYPE_F32, 2, shape, NULL}};
  // CHECK: launch: 0
  report("launch", naLaunch(program, tensors, 2, NULL));
  // CHECK: copied: 1
  printf("copied: %d\n", memcmp(x, y, sizeof(x)) == 0);
  // CHECK: few: 1, count: the program has 2 arguments, not 1
  report("few", naLaunch(program, tensors, 1, NULL));
  tensors[0].strides = transposed;
  // CHECK: strides: 1, argument 'arg0': axis 0 has stride 1; a tensor must be row-major, which is 4 there
  report("strides", naLaunch(program, tensors, 2, NULL));
  tensors[0].strides = NULL;
  tensors[0].type = NA_TYPE_F64;
  // CHECK: element: 1, argument 'arg0': the element type must be f32, not f64
  report("element", naLaunch(program, tensors, 2, NULL));
  tensors[0].type = NA_TYPE_F32;
  tensors[0].rank = 1;
  // CHECK: rank: 1, argument 'arg0': the rank must be 2 (?x4), not 1
  report("rank", naLaunch(program, tensors, 2, NULL));
  tensors[0].rank = 2;
  int64_t wide[2] = {1, 8};
  tensors[1].shape = wide;
  // CHECK: shape: 1, argument 'arg1': axis 1 has size 8; the shape must be ?x4
  report("shape", naLaunch(program, tensors, 2, NULL));
  tensors[1].shape = shape;
  tensors[1].data = NULL;
  // CHECK: null: 1, argument 'arg1': the address is null
  report("null", naLaunch(program, tensors, 2, NULL));
  tensors[1].data = (char *)y + 1;
  // CHECK: aligned: 1, argument 'arg1': address {{.*}} is not a multiple of 4 bytes
  report("aligned", naLaunch(program, tensors, 2, NULL));
  void *addresses[2] = {x, y};
  // CHECK: sizes: 1, program: has dynamic sizes
  report("sizes", naLaunchAddresses(program, addresses, 2, NULL));
  naProgramRelease(program);
}

static NaProgram *shared;

/* Compiles a shape of its own, and launches that and a program that all the
 * threads share. */
static void *work(void *argument) {
  int64_t tokens = 8 + *(int *)argument;
  NaProblem problem = makeProblem(tokens);
  NaProgram *program = NULL;
  NaStatus status = naCompileProblem(&problem, NULL, &program);
  int wrong = 0;
  if (status.code != NA_OK)
    report("thread", status);
  for (unsigned i = 0; program && i < 50; ++i)
    wrong += !(run(program, tokens, i) < 1e-6) + !(run(shared, 32, i) < 1e-6);
  naProgramRelease(program);
  *(int *)argument = wrong;
  return NULL;
}

static void testThreads(void) {
  pthread_t threads[8];
  int numbers[8], wrong = 0;
  NaProblem problem = makeProblem(32);
  naStatusRelease(naCompileProblem(&problem, NULL, &shared));
  for (int i = 0; i < 8; ++i) {
    numbers[i] = i;
    pthread_create(&threads[i], NULL, work, &numbers[i]);
  }
  for (int i = 0; i < 8; ++i) {
    pthread_join(threads[i], NULL);
    wrong += numbers[i];
  }
  naProgramRelease(shared);
  // CHECK: threads: 0 wrong
  printf("threads: %d wrong\n", wrong);
}

static void testExplain(void) {
  NaProblem problem = makeProblem(16);
  NaOptions options;
  char *text = NULL;
  int64_t tile[1] = {1000};
  naOptionsInit(&options);
  // CHECK: explain: 0
  report("explain",
         naExplainProblem(&problem, NULL, 3, NULL, NA_EXPLAIN_JSON, &text));
  // CHECK: {"bytes":{{.*}}"target":"cpu"
  printf("%s\n", text);
  naTextRelease(text);
  options.target = NA_TARGET_CUDA;
  options.device = -1;
  options.chip = "sm_80";
  // CHECK: explain: 0
  report("explain",
         naExplainProblem(&problem, &options, 3, NULL, NA_EXPLAIN_TEXT, &text));
  // CHECK: target    sm_80, 108 multiprocessors
  printf("%s\n", text);
  naTextRelease(text);
  // CHECK: picture: 0
  report("picture",
         naExplainProblem(&problem, &options, 1, NULL, NA_EXPLAIN_SVG, &text));
  // CHECK: <svg xmlns
  printf("%s\n", text);
  naTextRelease(text);
  // CHECK: tile: 1, query tile, axis 0: 1000 is not in 0 to
  report("tile",
         naExplainProblem(&problem, &options, 1, tile, NA_EXPLAIN_SVG, &text));
  // CHECK: count: 1, count: 0 is less than 1
  report("count",
         naExplainProblem(&problem, &options, 0, NULL, NA_EXPLAIN_SVG, &text));
  // CHECK: form: 1, form: 3 is not NA_EXPLAIN_JSON, TEXT or SVG
  report("form", naExplainProblem(&problem, &options, 1, NULL, 3, &text));
  // CHECK: null text: 1, text: null
  report("null text", naExplainProblem(&problem, &options, 1, NULL, 0, NULL));
  options.mode = NA_MODE_NAIVE;
  // CHECK: mode: 1, options.mode: only schedules of NA_MODE_FUSED
  report("mode", naExplainProblem(&problem, &options, 1, NULL, 0, &text));
}

static void testKeys(void) {
  NaProblem problem = makeProblem(16);
  int64_t first, count, step;
  problem.dilation[0] = 2;
  // CHECK: keys: 0
  report("keys", naProblemGetKeys(&problem, 0, 15, &first, &count, &step));
  // CHECK: 11 3 2
  printf("%d %d %d\n", (int)first, (int)count, (int)step);
  // CHECK: query: 1, query: 16 is not in 0 to 15
  report("query", naProblemGetKeys(&problem, 0, 16, &first, &count, &step));
  // CHECK: axis: 1, axis: 1 is not in 0 to 0
  report("axis", naProblemGetKeys(&problem, 1, 0, &first, &count, &step));
  problem.window[0] = 9;
  // CHECK: window: 1, window, axis 0: 9 times dilation 2 exceeds
  report("window", naProblemGetKeys(&problem, 0, 0, &first, &count, &step));
}

/* Measured schedules. */
static void testTuningFile(void) {
  NaProblem problem = makeProblem(16);
  NaOptions options;
  NaProgram *program = NULL;
  naOptionsInit(&options);
  options.tuning_file = "no-such-file.json";
  // CHECK: tuning: 2, {{.*}}tuning file 'no-such-file.json': No such file
  // CHECK-NOT: current operation
  report("tuning", naCompileProblem(&problem, &options, &program));
  options.tuning_file = "/dev/zero";
  // CHECK: device: 2, {{.*}}tuning file '/dev/zero': is a device
  report("device", naCompileProblem(&problem, &options, &program));
  options.tuning_file = NULL;
  setenv("NA_TUNING_FILE", "another.json", 1);
  // CHECK: variable: 2, {{.*}}tuning file 'another.json': No such file
  report("variable", naCompileProblem(&problem, &options, &program));
  options.tuning_file = "";
  // CHECK: none: 0
  report("none", naCompileProblem(&problem, &options, &program));
  unsetenv("NA_TUNING_FILE");
  naProgramRelease(program);
}

/* On the stand-in for the driver, whose kernels do nothing. */
static void testDevice(void) {
  NaProblem problem = makeProblem(16);
  NaOptions options;
  NaProgram *program = NULL;
  naOptionsInit(&options);
  options.target = NA_TARGET_CUDA;
  // DEVICE: compile: 0
  report("compile", naCompileProblem(&problem, &options, &program));
  void *driver = dlopen(getenv("NA_CUDA_DRIVER"), RTLD_NOW);
  int (*allocate)(void **, size_t) =
      (int (*)(void **, size_t))dlsym(driver, "cuMemAlloc_v2");
  int (*retain)(void **, int) =
      (int (*)(void **, int))dlsym(driver, "cuDevicePrimaryCtxRetain");
  int (*push)(void *) = (int (*)(void *))dlsym(driver, "cuCtxPushCurrent_v2");
  void *context = NULL;
  if (retain(&context, 0) != 0 || push(context) != 0)
    printf("no context\n");
  int64_t shape[4] = {1, 16, 1, channels};
  NaTensor tensors[5];
  void *addresses[5];
  for (int i = 0; i < 5; ++i) {
    if (allocate(&addresses[i], 16 * channels * sizeof(float)) != 0)
      printf("no memory\n");
    NaTensor tensor = {addresses[i], NA_TYPE_F32, i < 4 ? 4 : 3, shape, NULL};
    tensors[i] = tensor;
  }
  // DEVICE: launch: 0
  report("launch", naLaunch(program, tensors, 5, NULL));
  // DEVICE: addresses: 0
  report("addresses", naLaunchAddresses(program, addresses, 5, NULL));
  tensors[1].data = shape;
  // DEVICE: host memory: 1, {{.*}}'k'
  report("host memory", naLaunch(program, tensors, 5, NULL));
  addresses[2] = NULL;
  // DEVICE: null: 1, argument 'v': the address is null
  report("null", naLaunchAddresses(program, addresses, 5, NULL));
  naProgramRelease(program);
  options.device = 1000;
  // DEVICE: no device: 4,
  report("no device", naCompileProblem(&problem, &options, &program));
}

/* A folder that cannot be written makes no program wrong, and is remarked. */
static void testCache(void) {
  NaProblem problem = makeProblem(16);
  NaOptions options;
  NaProgram *program = NULL;
  const char *text = NULL;
  naOptionsInit(&options);
  options.target = NA_TARGET_CUDA;
  options.device = -1;
  options.chip = "sm_80";
  // CACHE: compile: 0
  report("compile", naCompileProblem(&problem, &options, &program));
  // CACHE: remarks: 0
  report("remarks", naProgramGetText(program, NA_TEXT_REMARKS, &text));
  // CACHE: not kept as a file: cannot make the directory {{.*}}.file/cache: Not a directory
  printf("%s\n", text);
  naProgramRelease(program);
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "cache") == 0) {
    testCache();
    return 0;
  }
  if (argc > 1 && strcmp(argv[1], "device") == 0) {
    testDevice();
    return 0;
  }
  testAttention();
  testProblems();
  testText();
  testThreads();
  testExplain();
  testKeys();
  testTuningFile();
  return 0;
}
