/* Compiles 2-D neighborhood attention for the CPU and runs it on this program's
 * memory; with the argument `cuda`, shows the size of the kernels for sm_90
 * instead, which needs no GPU.
 *
 *   cmake -S examples/embedding-c -B build-example \
 *     -DCMAKE_PREFIX_PATH=<where namlir is installed>
 *   cmake --build build-example && build-example/attention
 */

#include "na-c/Runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed(NaStatus status) {
  if (status.code == NA_OK)
    return 0;
  fprintf(stderr, "error %d: %s\n", status.code, status.message);
  naStatusRelease(status);
  return 1;
}

int main(int argc, char **argv) {
  NaProblem problem;
  NaOptions options;
  NaProgram *program = NULL;

  naProblemInit(&problem);
  problem.type = NA_TYPE_F32;
  problem.rank = 2;
  problem.tokens[0] = problem.tokens[1] = 14;
  problem.window[0] = problem.window[1] = 7;
  problem.heads = 2;
  problem.head_dim = 16;

  naOptionsInit(&options);
  if (argc > 1 && strcmp(argv[1], "cuda") == 0) {
    const char *ptx;
    options.target = NA_TARGET_CUDA;
    options.device = -1;
    options.chip = "sm_90";
    if (failed(naCompileProblem(&problem, &options, &program)) ||
        failed(naProgramGetText(program, NA_TEXT_PTX, &ptx)))
      return 1;
    printf("%zu bytes of PTX\n", strlen(ptx));
    naProgramRelease(program);
    return 0;
  }

  if (failed(naCompileProblem(&problem, &options, &program)))
    return 1;

  /* q, k and v of ones: every output is 1. */
  enum { elements = 14 * 14 * 2 * 16 };
  float *memory = malloc(4 * elements * sizeof(float));
  if (!memory)
    return 1;
  for (int i = 0; i < 3 * elements; ++i)
    memory[i] = 1.0f;
  void *addresses[] = {memory, memory + elements, memory + 2 * elements,
                       memory + 3 * elements};
  if (failed(naLaunchAddresses(program, addresses, 4, NULL)))
    return 1;
  printf("%s: the output starts with %.3f\n", naVersion(),
         memory[3 * elements]);
  free(memory);
  naProgramRelease(program);
  return 0;
}
