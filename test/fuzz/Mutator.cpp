//===- Mutator.cpp - Changes MLIR text token by token -----------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Mutator.h"

#include <cctype>
#include <cstddef>
#include <random>
#include <utility>
#include <vector>

using namespace na::fuzz;

namespace {

using Tokens = std::vector<std::string>;

class Random {
public:
  explicit Random(uint32_t seed) : engine(seed) {}
  /// A number in [0, limit); `limit` is at least 1. (The distributions of the
  /// standard library differ between implementations, the engine does not.)
  size_t below(size_t limit) { return engine() % limit; }

private:
  std::minstd_rand engine;
};

bool isDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }
bool isWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
}
bool isSpace(const std::string &token) {
  return std::isspace(static_cast<unsigned char>(token[0]));
}
bool isNumber(const std::string &token) { return isDigit(token[0]); }

/// Splits so that joining the tokens gives the text back. The sizes of a shape
/// ("2x?x4xf32") become tokens of their own.
Tokens tokenize(const std::string &text) {
  Tokens tokens;
  size_t i = 0;
  auto take = [&](auto &&belongs) {
    size_t begin = i++;
    while (i < text.size() && belongs(text[i]))
      ++i;
    tokens.push_back(text.substr(begin, i - begin));
  };
  while (i < text.size()) {
    char c = text[i];
    bool afterSize =
        !tokens.empty() && (isNumber(tokens.back()) || tokens.back() == "?");
    if (std::isspace(static_cast<unsigned char>(c)))
      take([](char d) { return std::isspace(static_cast<unsigned char>(d)); });
    else if (isDigit(c))
      take(isDigit);
    else if (c == 'x' && afterSize)
      take([](char) { return false; });
    else if (isWord(c) || c == '%' || c == '@' || c == '#' || c == '!')
      take(isWord);
    else
      take([](char) { return false; });
  }
  return tokens;
}

/// Words that may stand in each other's place.
const std::vector<Tokens> &alternatives() {
  static const std::vector<Tokens> groups = {
      {"f64", "f32", "f16", "bf16", "f8E4M3FN", "i8", "i1", "i32", "i64",
       "index", "complex<f32>", "none", "vector<4xf32>"},
      {"tensor", "memref", "vector"},
      {"true", "false"},
      {"na.attention", "na.qk", "na.av", "na.merge"},
      {"size", "stride", "dilation", "causal"},
      {"query_tile", "key_tile"},
      {"ins", "outs", "bias", "additional", "window"},
  };
  return groups;
}

const Tokens *alternativesOf(const std::string &token) {
  for (const Tokens &group : alternatives())
    for (const std::string &word : group)
      if (word == token)
        return &group;
  return nullptr;
}

std::string otherNumber(const std::string &number, Random &random) {
  static const Tokens extremes = {"0",
                                  "1",
                                  "2",
                                  "3",
                                  "-1",
                                  "?",
                                  "64",
                                  "4096",
                                  "2147483647",
                                  "4294967296",
                                  "9223372036854775807",
                                  "99999999999999999999999",
                                  "1.5"};
  size_t choice = random.below(extremes.size() + 6);
  if (choice < extremes.size())
    return extremes[choice];
  if (number.size() > 9 || !isNumber(number))
    return "5";
  long value = std::stol(number);
  return std::to_string(choice % 2 ? value + 1 : (value > 0 ? value - 1 : 7));
}

std::string otherToken(const std::string &token, const Tokens &tokens,
                       Random &random) {
  if ((isNumber(token) || token == "?") && random.below(8))
    return otherNumber(token, random);
  if (const Tokens *group = alternativesOf(token))
    return (*group)[random.below(group->size())];
  // Another token that starts alike: a value for a value, a word for a word.
  for (int attempt = 0; attempt < 16; ++attempt) {
    const std::string &other = tokens[random.below(tokens.size())];
    bool alike =
        other[0] == token[0] || (isWord(other[0]) && isWord(token[0]) &&
                                 isDigit(other[0]) == isDigit(token[0]));
    if (alike && other != token)
      return other;
  }
  return tokens[random.below(tokens.size())];
}

/// A token that is no blank; mostly one whose change can leave a valid program.
size_t anyToken(const Tokens &tokens, Random &random) {
  bool preferred = random.below(4) != 0;
  size_t index = random.below(tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    const std::string &token = tokens[index];
    if (preferred ? isNumber(token) || token == "?" || alternativesOf(token)
                  : !isSpace(token))
      break;
    index = (index + 1) % tokens.size();
  }
  return index;
}

/// The tokens of the line that token `index` is on: [begin, end).
std::pair<size_t, size_t> lineOf(const Tokens &tokens, size_t index) {
  auto endsLine = [&](size_t i) {
    return tokens[i].find('\n') != std::string::npos;
  };
  size_t begin = index, end = index;
  while (begin > 0 && !endsLine(begin - 1))
    --begin;
  while (end < tokens.size() && !endsLine(end))
    ++end;
  return {begin, end < tokens.size() ? end + 1 : end};
}

void mutateOnce(Tokens &tokens, Random &random) {
  size_t index = anyToken(tokens, random);
  auto at = tokens.begin() + index;
  switch (random.below(12)) {
  case 0:
  case 1:
  case 2:
  case 3:
  case 4: {
    // Everywhere at once: shapes and types stay consistent with each other.
    std::string from = tokens[index], to = otherToken(from, tokens, random);
    for (std::string &token : tokens)
      if (token == from)
        token = to;
    break;
  }
  case 5:
  case 6:
  case 7:
    *at = otherToken(*at, tokens, random);
    break;
  case 8:
    tokens.erase(at);
    break;
  case 9: {
    std::string copy = *at;
    tokens.insert(at, copy);
    break;
  }
  case 10: {
    auto [begin, end] = lineOf(tokens, index);
    tokens.erase(tokens.begin() + begin, tokens.begin() + end);
    break;
  }
  default: {
    auto [begin, end] = lineOf(tokens, index);
    Tokens line(tokens.begin() + begin, tokens.begin() + end);
    tokens.insert(tokens.begin() + end, line.begin(), line.end());
    break;
  }
  }
}

} // namespace

std::string na::fuzz::mutate(const std::string &text, uint32_t seed) {
  Random random(seed);
  Tokens tokens = tokenize(text);
  size_t count = 1 + random.below(2);
  for (size_t i = 0; i < count && !tokens.empty(); ++i)
    mutateOnce(tokens, random);
  std::string result;
  for (const std::string &token : tokens)
    result += token;
  return result;
}
