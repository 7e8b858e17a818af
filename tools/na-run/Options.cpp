//===- Options.cpp - What na-run is asked to do ---------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include "na/Semantics/Window.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::na;
using namespace mlir::na::run;
namespace cl = llvm::cl;

static const char *const overview =
    R"(Compiles a neighborhood attention program for this machine and runs it, on
the CPU or on an NVIDIA GPU.

The program is an .mlir file, or one attention operation given by flags.
Arguments come from .npy files or from a seeded random generator.

Examples:

  Run a 2-D neighborhood attention of 56x56 tokens with a 7x7 window, compare
  it with the plain loop lowering and time it:
    na-run --shape=56x56 --window=7x7 --heads=4 --head-dim=32 --verify --bench

  A causal sliding window over 4096 tokens, 8 query heads for 2 key heads:
    na-run --shape=4096 --window=256 --causal=t --heads=8 --kv-heads=2 --bench

  Arrays from NumPy in, results out:
    na-run --shape=14x14 --window=7x7 --inputs=q=q.npy,k=k.npy,v=v.npy \
           --outputs=o=o.npy,lse=lse.npy

  The gradients of the same operation; the time is that of the backward alone:
    na-run --backward --shape=56x56 --window=7x7 --heads=4 --verify --bench
    na-run --backward --shape=14x14 --window=7x7 --inputs=do=do.npy,dlse=g.npy \
           --outputs=dq=dq.npy,dk=dk.npy,dv=dv.npy

  A whole layer from a file; its arguments keep their names:
    na-run layer.mlir --inputs=x=features.npy --outputs=result0=y.npy --verify

  On an NVIDIA GPU that has nothing but its driver:
    na-run --target=cuda --shape=56x56 --window=7x7 --heads=4 --head-dim=32 \
           --dtype=bf16 --verify --bench

  What the compiler makes of it:
    na-run --shape=14x14 --window=7x7 --emit-mlir
    na-run --shape=14x14 --window=7x7 --print-ir-after=one-shot-bufferize

The exit code is 1 if anything fails, a verification included.
)";

static const char *const explainOverview =
    R"(Explains which schedule the compiler selects for a neighborhood attention, on
the CPU or an NVIDIA GPU (which need not be there), and why: the ranking of the
cost model, with what each schedule executes, loads and wastes, and the key tiles
that one of its query tiles visits.

Takes the flags of na-run; those about running have no effect.

Examples:

  A 2-D problem on Hopper:
    na-explain --shape=256x256 --window=80x80 --heads=24 --head-dim=128 \
               --dtype=bf16 --target=sm_90a

  The query tile in the corner, as a picture:
    na-explain --shape=56x56 --window=7x7 --target=sm_80 --dtype=f16 \
               --draw-tile=0x0 --svg=corner.svg

  All operations of a file, for a program to read:
    na-explain layer.mlir --target=sm_89 --json
)";

namespace {

using Text = cl::opt<std::string>;

/// LLVM has an option `threads`, and hundreds more that are of no use here.
struct ForgetOptionsOfLLVM {
  ForgetOptionsOfLLVM() { cl::ResetCommandLineParser(); }
};

struct Flags {
  ForgetOptionsOfLLVM first;

  cl::OptionCategory programCategory{
      "Program: a file, or one of these problems"};
  cl::OptionCategory compileCategory{"Compilation"};
  cl::OptionCategory dataCategory{"Data"};
  cl::OptionCategory actionCategory{"What to do beside running"};
  Text file{cl::Positional, cl::desc("[program.mlir]"),
            cl::cat(programCategory)};
  Text entry{"entry", cl::value_desc("function"), cl::cat(programCategory),
             cl::desc("Function of the file to run (default: the only public "
                      "one, or main)")};
  Text shape{"shape", cl::value_desc("XxYxZ"), cl::cat(programCategory),
             cl::desc("Tokens per axis, 1 to 3 axes")};
  Text window{"window", cl::value_desc("XxYxZ"), cl::cat(programCategory),
              cl::desc("Keys that a query sees, per axis")};
  Text stride{"stride", cl::value_desc("XxYxZ"), cl::cat(programCategory),
              cl::desc("Queries that share a window, per axis (default: 1)")};
  Text dilation{
      "dilation", cl::value_desc("XxYxZ"), cl::cat(programCategory),
      cl::desc("Distance of neighbouring keys, per axis (default: 1)")};
  Text causal{"causal", cl::value_desc("t,f,.."), cl::cat(programCategory),
              cl::desc("Whether later keys are hidden, per axis (default: f)")};
  Text batch{"batch", cl::value_desc("n"), cl::cat(programCategory),
             cl::desc("Batch size (default: 1)")};
  Text heads{"heads", cl::value_desc("n"), cl::cat(programCategory),
             cl::desc("Query heads (default: 1)")};
  Text kvHeads{"kv-heads", cl::value_desc("n"), cl::cat(programCategory),
               cl::desc("Key and value heads, a divisor of --heads "
                        "(default: --heads)")};
  Text headDim{"head-dim", cl::value_desc("n"), cl::cat(programCategory),
               cl::desc("Features of queries and keys (default: "
                        "32)")};
  Text valueDim{"value-dim", cl::value_desc("n"), cl::cat(programCategory),
                cl::desc("Features of values (default: "
                         "--head-dim)")};
  Text scale{"scale", cl::value_desc("x"), cl::cat(programCategory),
             cl::desc("Factor of the scores (default: "
                      "1/sqrt(--head-dim))")};
  Text extraKV{"extra-kv", cl::value_desc("n"), cl::cat(programCategory),
               cl::desc("Additional keys that every query sees "
                        "(default: 0)")};
  Text bias{"bias", cl::ValueOptional, cl::value_desc("dtype"),
            cl::cat(programCategory),
            cl::desc("Add a relative position bias (default type: f32, f64 for "
                     "--dtype=f64)")};
  Text dtype{"dtype", cl::init("f32"), cl::value_desc("dtype"),
             cl::cat(programCategory),
             cl::desc("Element type: f64, f32, f16 or bf16 (default: f32)")};
  cl::opt<bool> lse{"lse", cl::init(true), cl::cat(programCategory),
                    cl::desc("Also return the log-sum-exp (default: true)")};
  cl::opt<bool> deterministic{
      "deterministic", cl::cat(programCategory),
      cl::desc("With --backward, gradients that are the same bit for bit in "
               "every run. Otherwise a kernel of sm_90a may add those of the "
               "queries up in memory, in any order")};
  cl::opt<bool> backward{
      "backward", cl::cat(programCategory),
      cl::desc("The gradients of the operation: inputs also do and, if given, "
               "dlse, o and lse; outputs dq, dk, dv, with a bias dbias, with "
               "additional keys dek and dev. The output and the LSE are "
               "computed first unless given; with --bench or tiles by hand, "
               "in a program of their own")};
  cl::opt<bool> dynamic{"dynamic", cl::cat(programCategory),
                        cl::desc("Compile with dynamic batch and token sizes")};
  cl::opt<bool> dynamicBatch{"dynamic-batch", cl::cat(programCategory),
                             cl::desc("Compile with a dynamic batch")};
  Text target{"target", cl::value_desc("name"), cl::init("cpu"),
              cl::cat(compileCategory),
              cl::desc("Machine to compile for: cpu (default), cuda, an "
                       "NVIDIA GPU, or cuda with its chip: sm_80, ..")};
  Text device{"device", cl::value_desc("n"), cl::cat(compileCategory),
              cl::desc("Which GPU, counted from 0 (default: 0)")};
  Text chip{"chip", cl::value_desc("name"), cl::cat(compileCategory),
            cl::desc("GPU code to generate: sm_80, sm_86, sm_87, sm_89, sm_90 "
                     "or sm_90a (default: the newest that the GPU can run)")};
  cl::opt<bool> noFallback{
      "no-fallback", cl::cat(compileCategory),
      cl::desc("Fail, with the reason, where the pipeline would leave an "
               "operation to a slower one")};
  cl::opt<bool> tf32{"tf32", cl::cat(compileCategory),
                     cl::desc("Round factors of f32 products to tf32 on a "
                              "GPU, for its tensor cores")};
  cl::opt<bool> arriveByLanes{
      "arrive-by-lanes", cl::cat(compileCategory),
      cl::desc("All lanes of a warp arrive at the barriers of sm_90a, so that "
               "compute-sanitizer's racecheck sees their order; slower")};
  cl::opt<bool> persistentGrid{
      "persistent-grid", cl::init(true), cl::cat(compileCategory),
      cl::desc("Kernels of sm_90a with as many thread blocks as run at a time "
               "(default); with =false, one for each tile, in the order in "
               "which the GPU starts them")};
  Text dumpPtx{"dump-ptx", cl::value_desc("file"), cl::cat(compileCategory),
               cl::desc("Write the GPU's assembly code")};
  cl::opt<bool> compileOnly{
      "compile-only", cl::cat(compileCategory),
      cl::desc("Stop after compilation; with --target=cuda and --chip no GPU "
               "is needed")};
  Text pipeline{"pipeline", cl::value_desc("name"), cl::init("fused"),
                cl::cat(compileCategory),
                cl::desc("Lowering: naive (plain loops), unfused (scores in "
                         "memory) or fused (default)")};
  cl::alias mode{"mode", cl::aliasopt(pipeline), cl::cat(compileCategory),
                 cl::desc("The same as --pipeline")};
  Text queryTile{"query-tile", cl::value_desc("XxYxZ"),
                 cl::cat(compileCategory),
                 cl::desc("Queries per tile, instead of the compiler's choice; "
                          "needs --key-tile. With --backward, these tiles are "
                          "those of dq and those of dk and dv")};
  Text keyTile{
      "key-tile", cl::value_desc("XxYxZ"), cl::cat(compileCategory),
      cl::desc("Keys per step, instead of the compiler's choice; needs "
               "--query-tile")};
  Text warpgroupTile{
      "warpgroup-tile", cl::value_desc("XxYxZ"), cl::cat(compileCategory),
      cl::desc("Queries of a tile that one warpgroup owns, for tiles of a GPU; "
               "needs --query-tile. With --backward it divides the query tile, "
               "for dq, and the key tile, for dk and dv")};
  Text headsPerTile{
      "heads-per-tile", cl::value_desc("n"), cl::cat(compileCategory),
      cl::desc("Query heads of a key head that share a tile (default: 1)")};
  Text tuningFile{
      "tuning-file", cl::value_desc("file"), cl::cat(compileCategory),
      cl::desc("Schedules that were measured, which come before the compiler's "
               "choice (na-tune writes such files)")};
  Text scheduleTarget{
      "schedule-target", cl::value_desc("name"), cl::init("cpu"),
      cl::cat(compileCategory),
      cl::desc("What the tiles are made for: cpu (default), or a GPU such as "
               "sm_80, whose tiles run on the CPU too, slowly")};
  Text optLevel{"opt-level", cl::value_desc("0..3"), cl::cat(compileCategory),
                cl::desc("How hard LLVM optimizes (default: 3); less compiles "
                         "faster")};
  Text vectorBits{
      "vector-bits", cl::value_desc("n"), cl::cat(compileCategory),
      cl::desc("Width of the vectors, whatever the host's registers "
               "hold: 512, 256, .. (default: the host's)")};
  cl::list<std::string> printAfter{
      "print-ir-after", cl::CommaSeparated, cl::value_desc("pass,.."),
      cl::cat(compileCategory),
      cl::desc("Print the program after these passes, or after 'all'")};
  cl::opt<bool> emitMLIR{"emit-mlir", cl::cat(compileCategory),
                         cl::desc("Print the program and stop")};
  cl::list<std::string> inputs{
      "inputs", cl::CommaSeparated, cl::value_desc("name=file.npy,.."),
      cl::cat(dataCategory),
      cl::desc("Arguments to read (with flags: q, k, v, bias, ek, ev and "
               "those of --backward); the others are random. bf16 arrays are "
               "16-bit patterns")};
  cl::list<std::string> outputs{
      "outputs", cl::CommaSeparated, cl::value_desc("name=file.npy,.."),
      cl::cat(dataCategory),
      cl::desc("Results to write (with flags: o, lse, or the gradients of "
               "--backward)")};
  Text seed{"seed", cl::value_desc("n"), cl::cat(dataCategory),
            cl::desc("Seed of the random inputs (default: 0)")};
  cl::opt<bool> verify{"verify", cl::cat(actionCategory),
                       cl::desc("Compare with the naive lowering of the same "
                                "program")};
  cl::opt<bool> bench{"bench", cl::cat(actionCategory),
                      cl::desc("Time the program")};
  Text runs{"runs", cl::value_desc("n"), cl::cat(actionCategory),
            cl::desc("Timed runs at least (default: 20)")};
  cl::opt<bool> cold{"cold", cl::cat(actionCategory),
                     cl::desc("Flush the caches before each timed run "
                              "(default: on a GPU only)")};
  Text pause{"pause", cl::value_desc("ms"), cl::cat(actionCategory),
             cl::desc("Let the GPU rest before each timed run, so that its "
                      "clock stays high (default: 0)")};
  Text lock{"lock", cl::value_desc("file"), cl::cat(actionCategory),
            cl::desc("Wait for this file's lock before kernels run, and hold "
                     "it until the last has: processes that share a GPU then "
                     "prepare side by side and run in turn")};
  Text threads{"threads", cl::value_desc("n"), cl::cat(actionCategory),
               cl::desc("Threads to run on (default: one per CPU)")};
  cl::opt<bool> explain{
      "explain", cl::cat(actionCategory),
      cl::desc("Print the compiler's ranking of schedules, with its reasons, "
               "and stop; with --json for programs")};
  Text candidates{"candidates", cl::value_desc("n"), cl::cat(actionCategory),
                  cl::desc("Schedules that --explain prints (default: 10)")};
  Text drawTile{
      "draw-tile", cl::value_desc("XxYxZ"), cl::cat(actionCategory),
      cl::desc("The query tile whose key tiles --explain draws, counted from 0 "
               "on each axis (default: one in the middle)")};
  Text svg{"svg", cl::value_desc("file"), cl::cat(actionCategory),
           cl::desc("Write this picture of --explain as SVG")};
  Text json{"json", cl::ValueOptional, cl::value_desc("file"),
            cl::cat(actionCategory),
            cl::desc("Report as JSON, to the file or to standard output")};
  Text jobs{"jobs", cl::value_desc("file.jsonl"), cl::cat(actionCategory),
            cl::desc("Run many problems: each line holds {\"args\": [\"--shape="
                     "..\", ..]}; prints a line of JSON for each")};

  static Flags &get() {
    static Flags flags;
    return flags;
  }

  // These read the values of the last command line.
  llvm::Expected<std::vector<int64_t>>
  parseAxes(const Text &option, size_t rank, int64_t byDefault) const;
  llvm::Expected<std::vector<bool>> parseCausal(size_t rank) const;
  llvm::Expected<Problem> parseProblem() const;
  llvm::Error checkCombination(bool explains) const;
  llvm::Error getExplainOptions(size_t rank, Options &options) const;
  llvm::Expected<Options> getOptions(Tool tool) const;
};

template <typename... Args>
llvm::Error fail(const char *format, Args &&...args) {
  return llvm::createStringError(
      llvm::formatv(format, std::forward<Args>(args)...).str());
}

/// "7x7" to {7, 7}.
llvm::Expected<std::vector<int64_t>> parseBox(const Text &option) {
  std::vector<int64_t> box;
  SmallVector<StringRef> parts;
  StringRef(option).split(parts, 'x');
  for (StringRef part : parts) {
    int64_t value;
    if (part.getAsInteger(10, value))
      return fail("--{0}={1}: '{2}' is not a 64-bit number", option.ArgStr,
                  option.getValue(), part);
    box.push_back(value);
  }
  return box;
}

/// A list with one entry per axis; `rank` entries of `byDefault` if not given.
llvm::Expected<std::vector<int64_t>>
Flags::parseAxes(const Text &option, size_t rank, int64_t byDefault) const {
  if (option.getNumOccurrences() == 0)
    return std::vector<int64_t>(rank, byDefault);
  llvm::Expected<std::vector<int64_t>> box = parseBox(option);
  if (box && box->size() != rank)
    return fail("--{0}={1} has {2} axes, but --shape={3} has {4}",
                option.ArgStr, option.getValue(), box->size(), shape.getValue(),
                rank);
  return box;
}

llvm::Expected<std::vector<bool>> Flags::parseCausal(size_t rank) const {
  std::vector<bool> values(rank, false);
  if (causal.getNumOccurrences() == 0)
    return values;
  SmallVector<StringRef> parts;
  StringRef(causal).split(parts, ',');
  if (parts.size() != rank)
    return fail("--causal={0} has {1} axes, but --shape={2} has {3}",
                causal.getValue(), parts.size(), shape.getValue(), rank);
  for (auto [index, part] : llvm::enumerate(parts)) {
    bool yes = part == "t" || part == "true" || part == "1";
    if (!yes && part != "f" && part != "false" && part != "0")
      return fail("--causal={0}: axis {1} is '{2}', which is neither t nor f",
                  causal.getValue(), index, part);
    values[index] = yes;
  }
  return values;
}

llvm::Expected<ElementType> parseType(const Text &option) {
  for (ElementType type : {ElementType::F64, ElementType::F32, ElementType::F16,
                           ElementType::BF16})
    if (option == getName(type))
      return type;
  return fail("--{0}={1}: the element type must be f64, f32, f16 or bf16",
              option.ArgStr, option.getValue());
}

/// Sets `value` from a flag that was given.
template <typename Number>
llvm::Error parseNumber(const Text &option, int64_t least, int64_t most,
                        Number &value) {
  if (option.getNumOccurrences() == 0)
    return llvm::Error::success();
  if (StringRef(option).getAsInteger(10, value))
    return fail("--{0}={1} is not a number of {2} bits", option.ArgStr,
                option.getValue(), 8 * sizeof(Number));
  if (value < static_cast<Number>(least))
    return fail("--{0}={1} is less than {2}", option.ArgStr, option.getValue(),
                least);
  if (value > static_cast<Number>(most))
    return fail("--{0}={1} is more than {2}", option.ArgStr, option.getValue(),
                most);
  return llvm::Error::success();
}

llvm::Expected<Problem> Flags::parseProblem() const {
  Problem problem;
  llvm::Expected<std::vector<int64_t>> sizes = parseBox(shape);
  if (!sizes)
    return sizes.takeError();
  size_t rank = sizes->size();
  if (rank > 3)
    return fail("--shape={0} has {1} axes; 1 to 3 are supported",
                shape.getValue(), rank);
  problem.shape = *sizes;
  if (window.getNumOccurrences() == 0)
    return fail("--shape needs --window, the keys that a query sees per axis");
  for (auto [option, list] :
       {std::pair<const Text &, std::vector<int64_t> &>{window, problem.window},
        {stride, problem.stride},
        {dilation, problem.dilation}}) {
    llvm::Expected<std::vector<int64_t>> values = parseAxes(option, rank, 1);
    if (!values)
      return values.takeError();
    list = *values;
  }
  llvm::Expected<std::vector<bool>> causals = parseCausal(rank);
  if (!causals)
    return causals.takeError();
  problem.causal = *causals;
  for (size_t axis = 0; axis < rank; ++axis) {
    if (problem.shape[axis] < 1)
      return fail("shape[{0}] = {1} is less than 1", axis, problem.shape[axis]);
    ::na::window::Axis arguments{problem.window[axis], problem.stride[axis],
                                 problem.dilation[axis], problem.causal[axis]};
    if (auto error = ::na::window::checkAxis(arguments, static_cast<int>(axis),
                                             problem.shape[axis]))
      return fail("{0}", error->message);
  }

  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  for (auto [option, value] :
       {std::pair<const Text &, int64_t &>{heads, problem.heads},
        {headDim, problem.headDim}})
    if (llvm::Error error = parseNumber(option, 1, most, value))
      return std::move(error);
  problem.kvHeads = problem.heads;
  problem.valueDim = problem.headDim;
  for (auto [option, value] :
       {std::pair<const Text &, int64_t &>{kvHeads, problem.kvHeads},
        {valueDim, problem.valueDim}})
    if (llvm::Error error = parseNumber(option, 1, most, value))
      return std::move(error);
  // An empty batch is a program like any other.
  for (auto [option, value] :
       {std::pair<const Text &, int64_t &>{batch, problem.batch},
        {extraKV, problem.extraKV}})
    if (llvm::Error error = parseNumber(option, 0, most, value))
      return std::move(error);
  if (problem.heads % problem.kvHeads != 0)
    return fail("--heads={0} is not a multiple of --kv-heads={1}",
                problem.heads, problem.kvHeads);
  if (scale.getNumOccurrences()) {
    double value;
    if (StringRef(scale).getAsDouble(value) || !std::isfinite(value))
      return fail("--scale={0} is not a finite number", scale.getValue());
    problem.scale = value;
  }
  llvm::Expected<ElementType> type = parseType(dtype);
  if (!type)
    return type.takeError();
  problem.type = *type;
  if (bias.getNumOccurrences()) {
    problem.bias =
        problem.type == ElementType::F64 ? ElementType::F64 : ElementType::F32;
    if (!bias.empty()) {
      llvm::Expected<ElementType> biasType = parseType(bias);
      if (!biasType)
        return biasType.takeError();
      if (*biasType != ElementType::F32 && *biasType != problem.type)
        return fail("--bias={0}: the bias must be f32 or --dtype={1}",
                    bias.getValue(), dtype.getValue());
      problem.bias = *biasType;
    }
  }
  problem.lse = lse;
  problem.dynamic = dynamic;
  problem.dynamicBatch = dynamic || dynamicBatch;
  problem.backward = backward;
  problem.deterministic = deterministic;
  return problem;
}

llvm::Error parseFiles(const cl::list<std::string> &option,
                       std::map<std::string, std::string> &files) {
  for (const std::string &item : option) {
    auto [name, path] = StringRef(item).split('=');
    if (name.empty() || path.empty())
      return fail("--{0}: '{1}' is not of the form name=file.npy",
                  option.ArgStr, item);
    if (!files.emplace(name.str(), path.str()).second)
      return fail("--{0} gives '{1}' twice", option.ArgStr, name);
  }
  return llvm::Error::success();
}

llvm::Error Flags::checkCombination(bool explains) const {
  if (!file.empty()) {
    for (const cl::Option *option :
         {static_cast<const cl::Option *>(&shape),
          static_cast<const cl::Option *>(&window),
          static_cast<const cl::Option *>(&stride),
          static_cast<const cl::Option *>(&dilation),
          static_cast<const cl::Option *>(&causal),
          static_cast<const cl::Option *>(&batch),
          static_cast<const cl::Option *>(&heads),
          static_cast<const cl::Option *>(&kvHeads),
          static_cast<const cl::Option *>(&headDim),
          static_cast<const cl::Option *>(&valueDim),
          static_cast<const cl::Option *>(&scale),
          static_cast<const cl::Option *>(&extraKV),
          static_cast<const cl::Option *>(&bias),
          static_cast<const cl::Option *>(&dtype),
          static_cast<const cl::Option *>(&lse),
          static_cast<const cl::Option *>(&backward),
          static_cast<const cl::Option *>(&deterministic),
          static_cast<const cl::Option *>(&dynamic),
          static_cast<const cl::Option *>(&dynamicBatch)})
      if (option->getNumOccurrences())
        return fail("--{0} describes a problem, but the program comes from the "
                    "file '{1}'",
                    option->ArgStr, file.getValue());
  } else if (shape.getNumOccurrences() == 0) {
    return fail("nothing to run: give a program.mlir, or --shape and --window "
                "(see --help)");
  } else if (!entry.empty()) {
    return fail("--entry needs a program from a file");
  }
  bool isChip = StringRef(target).starts_with("sm_");
  if (target != "cpu" && target != "cuda" && !isChip)
    return fail("--target={0}: unknown target; available: cpu, cuda, sm_80, ..",
                target.getValue());
  if (isChip && chip.getNumOccurrences())
    return fail("--chip={0}: --target={1} is a chip already", chip.getValue(),
                target.getValue());
  if (explains && pipeline == "naive")
    return fail("--pipeline=naive has no schedules to explain");
  if (!explains)
    for (const cl::Option *option :
         {static_cast<const cl::Option *>(&candidates),
          static_cast<const cl::Option *>(&drawTile),
          static_cast<const cl::Option *>(&svg)})
      if (option->getNumOccurrences())
        return fail("--{0} needs --explain", option->ArgStr);
  if (target == "cpu") {
    for (const cl::Option *option :
         {static_cast<const cl::Option *>(&device),
          static_cast<const cl::Option *>(&chip),
          static_cast<const cl::Option *>(&noFallback),
          static_cast<const cl::Option *>(&tf32),
          static_cast<const cl::Option *>(&arriveByLanes),
          static_cast<const cl::Option *>(&persistentGrid),
          static_cast<const cl::Option *>(&dumpPtx),
          static_cast<const cl::Option *>(&compileOnly),
          static_cast<const cl::Option *>(&pause),
          static_cast<const cl::Option *>(&lock)})
      if (option->getNumOccurrences())
        return fail("--{0} needs --target=cuda", option->ArgStr);
  } else if (vectorBits.getNumOccurrences()) {
    return fail("--vector-bits needs --target=cpu");
  }
  if (backward && lse.getNumOccurrences())
    return fail("--lse has no meaning with --backward, which always needs the "
                "LSE");
  if (tf32 && file.empty() && dtype != "f32")
    return fail("--tf32 needs --dtype=f32, not {0}", dtype.getValue());
  if (compileOnly && (verify || bench || !outputs.empty()))
    return fail("--compile-only runs nothing: --{0} is not possible",
                verify  ? "verify"
                : bench ? "bench"
                        : "outputs");
  if (pipeline != "naive" && pipeline != "unfused" && pipeline != "fused")
    return fail("--pipeline={0}: the pipeline must be naive, unfused or fused",
                pipeline.getValue());
  if (verify && pipeline == "naive" && target == "cpu")
    return fail("--verify compares with the naive pipeline; give "
                "--pipeline=unfused or fused");
  if (queryTile.empty() != keyTile.empty())
    return fail("--query-tile and --key-tile need each other");
  if (!warpgroupTile.empty() && queryTile.empty())
    return fail("--warpgroup-tile needs --query-tile and --key-tile");
  if (deterministic && !backward)
    return fail("--deterministic needs --backward: attention itself always is");
  if (!headsPerTile.empty() && backward)
    return fail("--heads-per-tile has no meaning with --backward: tiles of "
                "gradients are of one head");
  if (!headsPerTile.empty() && queryTile.empty() && target == "cpu" &&
      !explains)
    return fail("--heads-per-tile needs --query-tile and --key-tile on a CPU");
  if (!tuningFile.empty() && !(queryTile.empty() && headsPerTile.empty()))
    return fail("--tuning-file and --{0} exclude each other",
                queryTile.empty() ? "heads-per-tile" : "query-tile");
  return llvm::Error::success();
}

/// Decides what a backward program reads, and checks its tiles: dq's rows are
/// queries, those of dk and dv keys, and of all together keys too.
llvm::Error completeBackward(Options &options) {
  if (!options.problem || !options.problem->backward)
    return llvm::Error::success();
  Problem &problem = *options.problem;
  bool hasOutput = options.inputs.count("o"),
       hasLse = options.inputs.count("lse");
  if (hasOutput != hasLse)
    return fail(
        "--inputs gives '{0}' without '{1}': the backward needs both or "
        "neither",
        hasOutput ? "o" : "lse", hasOutput ? "lse" : "o");
  problem.readsOutput =
      hasOutput || options.bench || !options.queryTile.empty();
  problem.lseGrad = options.inputs.count("dlse");
  for (auto [axis, size] : llvm::enumerate(options.warpgroupTile))
    for (auto [name, tile] :
         {std::pair("query", &options.queryTile), {"key", &options.keyTile}})
      if ((*tile)[axis] % size != 0 &&
          (problem.deterministic || tile == &options.keyTile))
        return fail(
            "--warpgroup-tile: size {0} of axis {1} does not divide {2} "
            "of --{3}-tile; with --backward it divides that of the keys, with "
            "--deterministic both",
            size, axis, (*tile)[axis], name);
  return llvm::Error::success();
}

llvm::Error Flags::getExplainOptions(size_t rank, Options &options) const {
  if (llvm::Error error = parseNumber(candidates, 1, 1000, options.candidates))
    return error;
  options.svgFile = svg;
  if (drawTile.empty())
    return llvm::Error::success();
  llvm::Expected<std::vector<int64_t>> tile =
      rank ? parseAxes(drawTile, rank, 0) : parseBox(drawTile);
  if (!tile)
    return tile.takeError();
  options.drawTile = *tile;
  return llvm::Error::success();
}

llvm::Expected<Options> Flags::getOptions(Tool tool) const {
  Options options;
  if (!jobs.empty()) {
    for (const auto &[name, option] : cl::getRegisteredOptions())
      if (option != &jobs && option->getNumOccurrences())
        return fail("--jobs stands alone: --{0} goes into the jobs", name);
    options.jobs = jobs;
    return options;
  }
  options.explain = explain || tool == Tool::Explain;
  if (llvm::Error error = checkCombination(options.explain))
    return std::move(error);
  options.file = file;
  options.entry = entry;
  size_t rank = 0;
  if (file.empty()) {
    llvm::Expected<Problem> problem = parseProblem();
    if (!problem)
      return problem.takeError();
    rank = problem->shape.size();
    options.problem = *problem;
  }
  options.pipeline = pipeline;
  options.cuda = target != "cpu";
  if (llvm::Error error = parseNumber(device, 0, 1023, options.device))
    return std::move(error);
  options.chip = target == "cpu" || target == "cuda" ? chip : target;
  options.noFallback = noFallback;
  options.tf32 = tf32;
  options.arriveByLanes = arriveByLanes;
  options.persistentGrid = persistentGrid;
  options.ptxFile = dumpPtx;
  options.compileOnly = compileOnly;
  options.scheduleTarget = scheduleTarget;
  options.tuningFile = tuningFile;
  for (auto [option, tile] : {std::pair<const Text &, std::vector<int64_t> &>{
                                  queryTile, options.queryTile},
                              {keyTile, options.keyTile},
                              {warpgroupTile, options.warpgroupTile}}) {
    if (option.empty())
      continue;
    llvm::Expected<std::vector<int64_t>> box =
        rank ? parseAxes(option, rank, 1) : parseBox(option);
    if (!box)
      return box.takeError();
    tile = *box;
    for (auto [axis, size] : llvm::enumerate(tile))
      if (size < 1)
        return fail("--{0}={1}: size {2} of axis {3} is less than 1",
                    option.ArgStr, option.getValue(), size, axis);
  }
  if (!headsPerTile.empty())
    if (llvm::Error error =
            parseNumber(headsPerTile, 1, 64, options.headsPerTile))
      return std::move(error);
  llvm::append_range(options.printAfter, printAfter);
  options.emitMLIR = emitMLIR;
  if (llvm::Error error = getExplainOptions(rank, options))
    return std::move(error);
  if (llvm::Error error = parseFiles(inputs, options.inputs))
    return std::move(error);
  if (llvm::Error error = parseFiles(outputs, options.outputs))
    return std::move(error);
  if (llvm::Error error = parseNumber(
          seed, 0, std::numeric_limits<int64_t>::max(), options.seed))
    return std::move(error);
  if (llvm::Error error = parseNumber(threads, 1, 4096, options.threads))
    return std::move(error);
  if (llvm::Error error = parseNumber(runs, 1, 1000000, options.runs))
    return std::move(error);
  if (llvm::Error error = parseNumber(optLevel, 0, 3, options.optLevel))
    return std::move(error);
  if (llvm::Error error = parseNumber(vectorBits, 64, 4096, options.vectorBits))
    return std::move(error);
  options.verify = verify;
  options.bench = bench;
  if (llvm::Error error = completeBackward(options))
    return std::move(error);
  // Inputs that are still in a GPU's cache would make small problems look fast.
  options.cold = cold.getNumOccurrences() ? cold : options.cuda;
  if (llvm::Error error = parseNumber(pause, 0, 10000, options.pauseMs))
    return std::move(error);
  options.lockFile = lock;
  options.json = json.getNumOccurrences();
  options.jsonFile = json;
  return options;
}

} // namespace

/// The error of LLVM's parser on one line, without the name of the program and
/// the pointer to --help.
static std::string tidy(StringRef message) {
  SmallVector<StringRef> lines;
  message.split(lines, '\n', -1, /*KeepEmpty=*/false);
  std::string text;
  for (StringRef line : lines) {
    line.consume_front("na-run: ");
    line.consume_front("na-explain: ");
    line = line.split("  Try:").first.split(": See:").first.rtrim(" .!");
    text += (text.empty() ? "" : "; ") + line.str();
  }
  return text;
}

llvm::Expected<Options> run::parseOptions(ArrayRef<std::string> arguments,
                                          bool mayExit, Tool tool) {
  if (!mayExit)
    for (StringRef argument : arguments) {
      StringRef name = argument.ltrim('-');
      if (argument.starts_with("-") &&
          (name == "h" || name.starts_with("help") ||
           name.starts_with("version") || name.starts_with("print-options") ||
           name.starts_with("print-all-options")))
        return fail("'{0}' is only available on the command line", argument);
    }
  Flags &flags = Flags::get();
  cl::ResetAllOptionOccurrences();
  bool explains = tool == Tool::Explain;
  SmallVector<const char *> argv = {explains ? "na-explain" : "na-run"};
  for (const std::string &argument : arguments)
    argv.push_back(argument.c_str());
  std::string message;
  llvm::raw_string_ostream errors(message);
  if (!cl::ParseCommandLineOptions(static_cast<int>(argv.size()), argv.data(),
                                   explains ? explainOverview : overview,
                                   &errors))
    return fail("{0}", message.empty() ? "a flag has an illegal value"
                                       : tidy(message));
  return flags.getOptions(tool);
}
