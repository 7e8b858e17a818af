//===- Error.h - Errors of the run time as values ---------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The run time library is used without LLVM's support library and without
// exceptions, so it has its own small pair: an Error that a function returns,
// and an Expected that holds a value or an Error. Neither aborts when it is
// dropped; the compiler warns instead.
//
//===----------------------------------------------------------------------===//

#ifndef NA_RUNTIME_ERROR_H
#define NA_RUNTIME_ERROR_H

#include <cassert>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace na::runtime {

/// What went wrong, for callers that act on it (fall back, retry smaller).
enum class ErrorKind {
  None,
  NoDriver,          ///< The CUDA driver library is not there.
  DriverTooOld,      ///< It is there but lacks a function.
  NoDevice,          ///< No GPU, or not the one asked for.
  InvalidArgument,   ///< A size, name or option out of its limits.
  NullPointer,       ///< A pointer that must not be null.
  MisalignedPointer, ///< A pointer that is not aligned as it has to be.
  NotDeviceMemory,   ///< A pointer that the driver does not know as a device's.
  WrongDevice,       ///< Memory or an object of another device.
  OutOfBounds,       ///< More bytes than the allocation has.
  OutOfMemory,       ///< The device or the host has too little memory.
  Unsupported,       ///< The device or driver cannot do it.
  InUse,             ///< Something still refers to what is to be released.
  CompileFailed,     ///< The driver's compiler refused the program.
  DriverCall,        ///< Another error code of a driver call.
  File,              ///< A file or directory of the cache.
  Internal,          ///< A fault in this library.
};

/// The name of a kind, as in the enumeration.
const char *nameOf(ErrorKind kind);

/// Success, or what failed. True when it is a failure, as llvm::Error.
class [[nodiscard]] Error {
public:
  Error() = default;
  static Error success() { return Error(); }

  /// A failure of this library's own checks.
  static Error make(ErrorKind kind, std::string message);

  /// A failure of the call `call`, which returned `code`, named `codeName`.
  static Error fromCall(ErrorKind kind, std::string call, int code,
                        std::string codeName, std::string detail);

  explicit operator bool() const { return payload != nullptr; }

  ErrorKind kind() const { return payload ? payload->kind : ErrorKind::None; }
  /// The whole message, for people. Empty on success.
  const std::string &message() const;
  /// The driver function that failed, or an empty string.
  const std::string &call() const;
  /// The driver's code and its name; 0 and empty if no driver call failed.
  int code() const { return payload ? payload->code : 0; }
  const std::string &codeName() const;

  /// The same failure with "`prefix`: " before its message.
  Error withPrefix(const std::string &prefix) const;

private:
  struct Payload {
    ErrorKind kind;
    int code = 0;
    std::string call, codeName, message;
  };
  std::shared_ptr<const Payload> payload;
};

/// A T, or the Error that prevented it. True when there is a value.
template <typename T>
class [[nodiscard]] Expected {
public:
  Expected(T value) : storage(std::move(value)) {}
  Expected(Error error) : failure(std::move(error)) {
    if (!failure)
      failure = Error::make(ErrorKind::Internal, "success without a value");
  }

  explicit operator bool() const { return storage.has_value(); }
  T &operator*() {
    assert(storage && "no value; look at error() first");
    return *storage;
  }
  const T &operator*() const {
    assert(storage && "no value; look at error() first");
    return *storage;
  }
  T *operator->() { return &**this; }
  const T *operator->() const { return &**this; }

  /// The failure; success if there is a value.
  const Error &error() const { return failure; }

private:
  std::optional<T> storage;
  Error failure;
};

} // namespace na::runtime

#endif // NA_RUNTIME_ERROR_H
