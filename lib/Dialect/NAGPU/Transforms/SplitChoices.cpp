//===- SplitChoices.cpp - Branches that only choose between copies --------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WarpgroupLoop.h"

#include "na/Dialect/NAGPU/IR/NAGPU.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::nagpu;

/// The copy in `block` whose token is the result `number` of its branch; null
/// if it is something else.
static AsyncCopyOp getCopy(Block *block, unsigned number) {
  Value token = block->getTerminator()->getOperand(number);
  auto copy = token.getDefiningOp<AsyncCopyOp>();
  return copy && copy->getBlock() == block && token.hasOneUse() ? copy
                                                                : AsyncCopyOp();
}

/// Builds a branch behind `branch` that yields the token of result `number`.
static void splitOff(RewriterBase &rewriter, scf::IfOp branch,
                     unsigned number) {
  rewriter.setInsertionPointAfter(branch);
  Location loc = branch.getLoc();
  auto choice = scf::IfOp::create(
      rewriter, loc, branch.getResult(number).getType(), branch.getCondition(),
      /*addThenBlock=*/true, /*addElseBlock=*/true);
  for (auto [from, to] : {std::pair(branch.thenBlock(), choice.thenBlock()),
                          std::pair(branch.elseBlock(), choice.elseBlock())}) {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToEnd(to);
    AsyncCopyOp copy = getCopy(from, number);
    IRMapping mapping;
    // What the copy does not need is dead there.
    for (Operation &op : from->without_terminator())
      if (&op == copy || (op.getNumRegions() == 0 && isMemoryEffectFree(&op)))
        rewriter.clone(op, mapping);
    scf::YieldOp::create(rewriter, loc, mapping.lookup(copy.getToken()));
  }
  rewriter.replaceAllUsesWith(branch.getResult(number), choice.getResult(0));
}

/// Builds `branch` anew without the results in `dropped`, whose copies go.
static void rebuildWithout(RewriterBase &rewriter, scf::IfOp branch,
                           ArrayRef<unsigned> dropped) {
  rewriter.setInsertionPoint(branch);
  SmallVector<Value> kept;
  SmallVector<Type> types;
  for (OpResult result : branch->getResults())
    if (!llvm::is_contained(dropped, result.getResultNumber())) {
      kept.push_back(result);
      types.push_back(result.getType());
    }
  auto rest =
      scf::IfOp::create(rewriter, branch.getLoc(), types, branch.getCondition(),
                        /*addThenBlock=*/false, /*addElseBlock=*/false);
  rest.getThenRegion().takeBody(branch.getThenRegion());
  rest.getElseRegion().takeBody(branch.getElseRegion());
  for (Block *block : {rest.thenBlock(), rest.elseBlock()}) {
    SmallVector<Operation *> copies;
    for (unsigned number : dropped)
      copies.push_back(getCopy(block, number));
    Operation *yield = block->getTerminator();
    for (unsigned number : llvm::reverse(dropped))
      yield->eraseOperand(number);
    for (Operation *copy : copies)
      rewriter.eraseOp(copy);
  }
  for (auto [old, value] : llvm::zip_equal(kept, rest.getResults()))
    rewriter.replaceAllUsesWith(old, value);
  rewriter.eraseOp(branch);
}

void mlir::nagpu::splitChoices(scf::ForallOp groups) {
  SmallVector<scf::IfOp> branches;
  groups.walk([&](scf::IfOp branch) {
    if (branch.getNumResults() > 1 && branch.elseBlock())
      branches.push_back(branch);
  });
  IRRewriter rewriter(groups.getContext());
  for (scf::IfOp branch : branches) {
    SmallVector<unsigned> tokens;
    for (unsigned i = 0; i < branch.getNumResults(); ++i) {
      AsyncCopyOp first, second;
      if (isa<TokenType>(branch.getResult(i).getType())) {
        first = getCopy(branch.thenBlock(), i);
        second = getCopy(branch.elseBlock(), i);
      }
      if (first && second)
        tokens.push_back(i);
    }
    if (tokens.empty())
      continue;
    for (unsigned token : tokens)
      splitOff(rewriter, branch, token);
    rebuildWithout(rewriter, branch, tokens);
  }
}
