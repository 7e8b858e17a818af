/*===- na-c/Runtime.h - Compiles and runs neighborhood attention --*- C -*-===*\
|*                                                                            *|
|* Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.  *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

/* A program is compiled once and launched any number of times, on memory of the
 * caller: of the host, or of a CUDA device on a stream of the caller's. No type
 * of MLIR or CUDA appears here.
 *
 * Errors are values: every function that can fail returns an NaStatus. Nothing
 * here aborts, exits or writes to stderr.
 *
 * Threads: every function may be called from any thread, and one program may be
 * launched by several threads at the same time. Only naProgramRelease needs the
 * program for itself. */

#ifndef NA_C_RUNTIME_H
#define NA_C_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define NA_EXPORTED __attribute__((visibility("default")))
#else
#define NA_EXPORTED
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*===----------------------------------------------------------------------===*\
|* Errors
\*===----------------------------------------------------------------------===*/

enum {
  NA_OK = 0,
  NA_INVALID_ARGUMENT = 1, /* An argument outside of its limits. */
  NA_COMPILE_FAILED = 2,   /* The program is illegal or cannot be compiled. */
  NA_UNSUPPORTED = 3,      /* Legal, but not on this target. */
  NA_NO_DEVICE = 4,        /* No driver, no GPU, or not the one asked for. */
  NA_DEVICE_ERROR = 5,     /* The driver refused a call. */
  NA_OUT_OF_MEMORY = 6
};

typedef struct NaStatus {
  int32_t code;  /* NA_OK or another of the above. */
  char *message; /* Null on success; names argument, axis, value and limit. */
} NaStatus;

/* Frees the message. */
NA_EXPORTED void naStatusRelease(NaStatus status);

/* "namlir 0.1.0, LLVM 22.1.0"; lives as long as the process. */
NA_EXPORTED const char *naVersion(void);

/*===----------------------------------------------------------------------===*\
|* What to compile, and for what
\*===----------------------------------------------------------------------===*/

enum { /* Element types. */
       NA_TYPE_NONE = 0,
       NA_TYPE_F64 = 1,
       NA_TYPE_F32 = 2,
       NA_TYPE_F16 = 3,
       NA_TYPE_BF16 = 4,
       NA_TYPE_I64 = 5,
       NA_TYPE_I32 = 6,
       NA_TYPE_I16 = 7,
       NA_TYPE_I8 = 8,
       NA_TYPE_I1 = 9,
       NA_TYPE_INDEX = 10
};
enum { NA_TARGET_CPU = 0, NA_TARGET_CUDA = 1 };
enum { NA_MODE_FUSED = 0, NA_MODE_UNFUSED = 1, NA_MODE_NAIVE = 2 };
enum { NA_F32_IEEE = 0, NA_F32_TF32 = 1 };

/* One neighborhood attention. Its arguments, in this order:
 *   q [batch, tokens.., heads, head_dim]      k [batch, tokens.., kv_heads, ..]
 *   v [batch, tokens.., kv_heads, value_dim]
 *   bias [heads, 2 * window - 1, ..]          if bias_type is not NA_TYPE_NONE
 *   additional_keys [batch, additional, kv_heads, head_dim] and
 *   additional_values                         if additional is not 0
 *   o [batch, tokens.., heads, value_dim]     (output)
 *   lse [batch, tokens.., heads]              (output, if lse)
 * The LSE is f32, or f64 where `type` is.
 */
typedef struct NaProblem {
  size_t struct_size; /* sizeof(NaProblem): see naProblemInit. */
  int32_t rank;       /* Spatial axes, 1 to 3. */
  int32_t type;       /* F64, F32, F16 or BF16. */
  int32_t bias_type;  /* NA_TYPE_NONE, F32 or `type`. */
  int32_t lse;        /* Not 0: the log-sum-exp is an output too. */
  int32_t has_scale;  /* 0: the scale is 1 / sqrt(head_dim). */
  int32_t causal[3];
  int64_t batch, tokens[3], heads;
  int64_t kv_heads; /* 0: as `heads`. */
  int64_t head_dim;
  int64_t value_dim;               /* 0: as `head_dim`. */
  int64_t window[3], stride[3];    /* Entries of 0 in `stride`, */
  int64_t dilation[3], additional; /* `dilation` stand for 1. */
  double scale;
} NaProblem;

typedef struct NaOptions {
  size_t struct_size; /* sizeof(NaOptions): see naOptionsInit. */
  int32_t target;
  int32_t mode;
  int32_t f32_math; /* CUDA: how products of f32 run on tensor cores. */
  /* CUDA: the device that the program is for. -1: none; it needs `chip`, and
   * serves to look at the code. */
  int32_t device;
  const char *chip; /* CUDA: "sm_80", ..; null: the device's. */
  /* Tiles, one entry per axis; 0: chosen by the cost model. */
  int64_t query_tile[3], key_tile[3];
  /* A file of measured schedules, as na-tune writes it; null: the one that
   * the environment variable NA_TUNING_FILE names, if any; "": none. Tiles come
   * first. */
  const char *tuning_file;
} NaOptions;

/* Defaults: everything 0, and a head of each (batch 1, heads 1). */
NA_EXPORTED void naProblemInit(NaProblem *problem);
/* Defaults: fused, for the CPU, device 0, f32 as IEEE has it. */
NA_EXPORTED void naOptionsInit(NaOptions *options);

/*===----------------------------------------------------------------------===*\
|* Programs
\*===----------------------------------------------------------------------===*/

typedef struct NaProgram NaProgram;

/* These set `*program` on success only. `options` may be null for the defaults.
 * A program for a device is loaded there too. Programs for CUDA are kept as
 * files where the environment variable NA_CACHE_DIR names a directory. */
NA_EXPORTED NaStatus naCompileProblem(const NaProblem *problem,
                                      const NaOptions *options,
                                      NaProgram **program);

/* Flags of naCompileGradients. */
enum {
  NA_GRADIENT_LSE = 1,        /* The gradient of the LSE is an input. */
  NA_GRADIENT_BIAS = 2,       /* That of the bias is an output. */
  NA_GRADIENT_ADDITIONAL = 4, /* Those of additional keys and values are. */
  /* The same bits in every run: no sum is made in the order in which threads
   * happen to run. */
  NA_GRADIENT_DETERMINISTIC = 8
};

/* The gradients of a problem. The program's arguments, in this order:
 *   q, k, v            as of the problem
 *   o, lse             what the problem's program wrote
 *   do, dlse           gradients of those, of their shapes and types;
 *                      dlse if flags have NA_GRADIENT_LSE, and 0 if not
 *   bias, additional_keys, additional_values      as of the problem
 *   dq, dk, dv         (output) of the shapes and types of q, k and v
 *   dbias              (output) if flags have NA_GRADIENT_BIAS
 *   dadditional_keys, dadditional_values
 *                      (output) if flags have NA_GRADIENT_ADDITIONAL
 * `problem->lse` is not looked at: the LSE is always an input. */
NA_EXPORTED NaStatus naCompileGradients(const NaProblem *problem, int32_t flags,
                                        const NaOptions *options,
                                        NaProgram **program);

/* `text` (not null-terminated) is a module as MLIR text or bytecode; `entry` is
 * a function of it, or null for the only public one, or `main`. Its arguments
 * are those of the function, then one output per result; results need static
 * sizes. */
NA_EXPORTED NaStatus naCompileMLIR(const char *text, size_t length,
                                   const char *entry, const NaOptions *options,
                                   NaProgram **program);
NA_EXPORTED void naProgramRelease(NaProgram *program);

enum { NA_ARGUMENT_INPUT = 0, NA_ARGUMENT_OUTPUT = 1, NA_ARGUMENT_VALUE = 2 };

typedef struct NaArgumentInfo {
  const char *name; /* Lives as long as the program, and so does `shape`. */
  int32_t type;
  int32_t kind; /* VALUE: `data` is the address of one element on the host. */
  int32_t rank;
  const int64_t *shape; /* Dynamic sizes are negative. */
} NaArgumentInfo;

NA_EXPORTED int32_t naProgramGetNumArguments(const NaProgram *program);
NA_EXPORTED NaStatus naProgramGetArgument(const NaProgram *program,
                                          int32_t index, NaArgumentInfo *info);

enum {
  NA_TEXT_MLIR = 0,     /* The program. */
  NA_TEXT_SCHEDULE = 1, /* The program with a schedule on each operation. */
  NA_TEXT_LOWERED = 2,  /* The program after all passes, without kernels. */
  NA_TEXT_PTX = 3,      /* The kernels of a program for CUDA. */
  NA_TEXT_REMARKS = 4,  /* What the passes remarked, a line each. */
  NA_TEXT_CHIP = 5,     /* The chip, or the host's CPU. */
  NA_TEXT_TIMES = 6     /* Where the time of the compilation went. */
};

/* `*text` is null-terminated and lives as long as the program. */
NA_EXPORTED NaStatus naProgramGetText(const NaProgram *program, int32_t kind,
                                      const char **text);

/* The keys that the query at coordinate `query` of an axis sees there: `count`
 * coordinates from `first` on, `step` apart. */
NA_EXPORTED NaStatus naProblemGetKeys(const NaProblem *problem, int32_t axis,
                                      int64_t query, int64_t *first,
                                      int64_t *count, int64_t *step);

enum { NA_EXPLAIN_JSON = 0, NA_EXPLAIN_TEXT = 1, NA_EXPLAIN_SVG = 2 };

/* Why a schedule is selected, as JSON, as text for people, or as a picture of
 * the key tiles that a query tile visits: the `count` best schedules of the
 * cost model for the target of `options`, in fused mode. Nothing is compiled,
 * and no device is needed where `options` gives the chip. `query_tile` has the
 * index of the query tile on each axis; null: one in the middle. `*text` is
 * null-terminated and the caller's, see naTextRelease. */
NA_EXPORTED NaStatus naExplainProblem(const NaProblem *problem,
                                      const NaOptions *options, int32_t count,
                                      const int64_t *query_tile, int32_t form,
                                      char **text);
NA_EXPORTED void naTextRelease(char *text);

/*===----------------------------------------------------------------------===*\
|* Launches
\*===----------------------------------------------------------------------===*/

typedef struct NaTensor {
  void *data;
  int32_t type;
  int32_t rank;
  const int64_t *shape;
  const int64_t *strides; /* In elements; null: row-major. */
} NaTensor;

/* Runs the program on one tensor per argument, which must be row-major: axes of
 * size 1 may have any stride. Output and input memory must not overlap.
 *
 * CPU: returns when the outputs are written; `stream` is ignored. CUDA: returns
 * when everything is enqueued on `stream`, a CUstream (cudaStream_t) of the
 * device of the program or null for its legacy default stream. Each tensor is
 * checked to be memory of that device. */
NA_EXPORTED NaStatus naLaunch(const NaProgram *program, const NaTensor *tensors,
                              int32_t count, void *stream);

/* The same for callers that checked the tensors: one address per argument. All
 * sizes of the program must be static. Null addresses are refused, and so are,
 * on a device, those that a kernel cannot use for their alignment. */
NA_EXPORTED NaStatus naLaunchAddresses(const NaProgram *program,
                                       void *const *addresses, int32_t count,
                                       void *stream);

/* What a launch of a program for a device needs of its memory beside the
 * arguments, in bytes: 0 for most attentions, some for gradients. 0 too for
 * programs for the CPU and of naCompileMLIR. */
NA_EXPORTED int64_t naProgramGetWorkspaceSize(const NaProgram *program);

/* naLaunchAddresses in memory of the caller's allocator: `workspace`, aligned
 * to 256 bytes, has at least naProgramGetWorkspaceSize bytes and is in use
 * until the stream has passed the launch. Without it, that memory is allocated
 * by the driver in the order of the stream. */
NA_EXPORTED NaStatus naLaunchInWorkspace(const NaProgram *program,
                                         void *const *addresses, int32_t count,
                                         void *workspace, int64_t bytes,
                                         void *stream);

/* Threads of programs for the CPU, at most 4096; 0 or less means one per CPU.
 * The child of a fork has as many of its own. */
NA_EXPORTED void naSetNumThreads(int count);
NA_EXPORTED int naGetNumThreads(void);

#ifdef __cplusplus
}
#endif

#endif /* NA_C_RUNTIME_H */
