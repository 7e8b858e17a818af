//===- Explain.cpp - Explains the schedules of a program ------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Explain.h"

#include "Program.h"
#include "mlir/Pass/PassManager.h"
#include "na/Dialect/NA/Transforms/Passes.h"
#include "na/Dialect/NA/Transforms/Workload.h"
#include "na/ExecutionEngine/Diagnostics.h"
#include "na/Schedule/Explain.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::na;
using namespace mlir::na::run;
namespace schedule = ::na::schedule;

llvm::Error run::writeFile(StringRef path, const llvm::Twine &text) {
  if (path.empty()) {
    llvm::outs() << text;
    return llvm::Error::success();
  }
  std::error_code code;
  llvm::raw_fd_ostream file(path, code);
  if (!code) {
    file << text;
    file.close();
    code = file.error();
    file.clear_error();
  }
  if (code)
    return llvm::createStringError("cannot write '" + path +
                                   "': " + code.message());
  return llvm::Error::success();
}

llvm::Error run::writeJSON(const Options &options, llvm::json::Object json) {
  return writeFile(
      options.jsonFile,
      llvm::formatv("{0:2}\n", llvm::json::Value(std::move(json))).str());
}

static llvm::Expected<std::vector<schedule::Explanation>>
explainAll(const Options &options, MLIRContext &context) {
  // Tiles that are given are for the ranking: several schedules may have them.
  Options plain = options;
  plain.queryTile.clear();
  plain.keyTile.clear();
  plain.warpgroupTile.clear();
  plain.headsPerTile = 0;
  llvm::Expected<Program> program = loadProgram(plain, context);
  if (!program)
    return program.takeError();
  StringRef target = options.cuda ? options.chip : options.scheduleTarget;
  if (target.empty())
    return llvm::createStringError(
        "--target=cuda: no chip to explain for; give --target=sm_80, ..");
  ErrorCollector errors(&context);
  // Schedules are of what the pipelines make of the operations.
  PassManager manager(&context);
  NADecomposeAttentionGradOptions gradients;
  gradients.unfused = options.pipeline == "unfused";
  gradients.together = target == "sm_90a" && options.pipeline == "fused";
  manager.addPass(createNADecomposeAttentionGrad(gradients));
  if (options.pipeline == "unfused") {
    NADecomposeAttentionOptions decompose;
    decompose.narrowWeights = options.cuda;
    manager.addPass(createNADecomposeAttention(decompose));
    manager.addPass(createNADecomposeProductGrad());
  }
  if (failed(manager.run(*program->module)))
    return llvm::createStringError(errors.take("invalid program"));
  schedule::ExplainOptions explainOptions;
  schedule::RankingOptions &ranking = explainOptions.ranking;
  ranking.target = target;
  ranking.count = options.candidates;
  ranking.fixed.queryTile = options.queryTile;
  ranking.fixed.keyTile = options.keyTile;
  ranking.fixed.warpgroupTile = options.warpgroupTile;
  ranking.headsPerTile = options.headsPerTile;
  explainOptions.queryTile = options.drawTile;
  std::optional<schedule::TuningFile> tuning;
  if (!options.tuningFile.empty()) {
    auto file = schedule::TuningFile::read(options.tuningFile);
    if (!file)
      return file.takeError();
    tuning = std::move(*file);
    explainOptions.tuning = &*tuning;
  }
  std::vector<schedule::Explanation> explanations;
  llvm::Error failure = llvm::Error::success();
  program->module->walk([&](Operation *op) {
    std::optional<schedule::Workload> workload = getWorkload(op);
    if (!workload)
      return WalkResult::advance();
    if (workload->axes.size() != ranking.fixed.queryTile.size() &&
        !ranking.fixed.queryTile.empty()) {
      failure = llvm::createStringError(
          llvm::formatv("--query-tile={0} has {1} axes, but the window of the "
                        "operation has {2}",
                        schedule::formatBox(ranking.fixed.queryTile),
                        ranking.fixed.queryTile.size(), workload->axes.size())
              .str());
      return WalkResult::interrupt();
    }
    auto explanation = schedule::explain(*workload, explainOptions);
    if (!explanation) {
      failure = explanation.takeError();
      return WalkResult::interrupt();
    }
    explanations.push_back(std::move(*explanation));
    return WalkResult::advance();
  });
  if (failure)
    return std::move(failure);
  if (explanations.empty())
    return llvm::createStringError(
        "the program has no na.attention, na.qk, na.av or gradient of these");
  if (!options.svgFile.empty())
    if (llvm::Error error = writeFile(options.svgFile,
                                      schedule::printSVG(explanations.front())))
      return std::move(error);
  return explanations;
}

llvm::Expected<std::string> run::explainText(const Options &options,
                                             MLIRContext &context) {
  auto explanations = explainAll(options, context);
  if (!explanations)
    return explanations.takeError();
  std::string text;
  for (const schedule::Explanation &explanation : *explanations)
    text += (text.empty() ? "" : "\n") + schedule::printText(explanation);
  return text;
}

llvm::Expected<llvm::json::Object> run::explainJSON(const Options &options,
                                                    MLIRContext &context) {
  auto explanations = explainAll(options, context);
  if (!explanations)
    return explanations.takeError();
  llvm::json::Array operations;
  for (const schedule::Explanation &explanation : *explanations)
    operations.push_back(schedule::toJSON(explanation));
  return llvm::json::Object{{"ok", true},
                            {"operations", std::move(operations)}};
}

llvm::Error run::explainProgram(const Options &options, MLIRContext &context) {
  if (!options.json || !options.jsonFile.empty()) {
    llvm::Expected<std::string> text = explainText(options, context);
    if (!text)
      return text.takeError();
    llvm::outs() << *text;
    if (!options.json)
      return llvm::Error::success();
  }
  llvm::Expected<llvm::json::Object> json = explainJSON(options, context);
  if (!json)
    return json.takeError();
  return writeJSON(options, std::move(*json));
}
