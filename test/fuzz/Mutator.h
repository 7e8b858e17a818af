//===- Mutator.h - Changes MLIR text token by token -------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_TEST_FUZZ_MUTATOR_H
#define NA_TEST_FUZZ_MUTATOR_H

#include <cstdint>
#include <string>

namespace na::fuzz {

/// Changes a few tokens of `text`. Most results still parse, so that verifiers
/// and passes see them; random bytes would end in the parser. Equal seeds give
/// equal results.
std::string mutate(const std::string &text, uint32_t seed);

} // namespace na::fuzz

#endif // NA_TEST_FUZZ_MUTATOR_H
