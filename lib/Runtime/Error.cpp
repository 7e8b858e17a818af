//===- Error.cpp - Errors of the run time as values -----------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Runtime/Error.h"

using namespace na::runtime;

const char *na::runtime::nameOf(ErrorKind kind) {
  switch (kind) {
  case ErrorKind::None:
    return "None";
  case ErrorKind::NoDriver:
    return "NoDriver";
  case ErrorKind::DriverTooOld:
    return "DriverTooOld";
  case ErrorKind::NoDevice:
    return "NoDevice";
  case ErrorKind::InvalidArgument:
    return "InvalidArgument";
  case ErrorKind::NullPointer:
    return "NullPointer";
  case ErrorKind::MisalignedPointer:
    return "MisalignedPointer";
  case ErrorKind::NotDeviceMemory:
    return "NotDeviceMemory";
  case ErrorKind::WrongDevice:
    return "WrongDevice";
  case ErrorKind::OutOfBounds:
    return "OutOfBounds";
  case ErrorKind::OutOfMemory:
    return "OutOfMemory";
  case ErrorKind::Unsupported:
    return "Unsupported";
  case ErrorKind::InUse:
    return "InUse";
  case ErrorKind::CompileFailed:
    return "CompileFailed";
  case ErrorKind::DriverCall:
    return "DriverCall";
  case ErrorKind::File:
    return "File";
  case ErrorKind::Internal:
    return "Internal";
  }
  return "Internal";
}

static const std::string emptyString;

Error Error::make(ErrorKind kind, std::string message) {
  Payload payload;
  payload.kind = kind;
  payload.message = std::move(message);
  Error error;
  error.payload = std::make_shared<const Payload>(std::move(payload));
  return error;
}

Error Error::fromCall(ErrorKind kind, std::string call, int code,
                      std::string codeName, std::string detail) {
  Payload payload;
  payload.kind = kind;
  payload.code = code;
  payload.message = call + ": " + codeName + " (" + std::to_string(code) + ")";
  if (!detail.empty())
    payload.message += ": " + detail;
  payload.call = std::move(call);
  payload.codeName = std::move(codeName);
  Error error;
  error.payload = std::make_shared<const Payload>(std::move(payload));
  return error;
}

const std::string &Error::message() const {
  return payload ? payload->message : emptyString;
}

const std::string &Error::call() const {
  return payload ? payload->call : emptyString;
}

const std::string &Error::codeName() const {
  return payload ? payload->codeName : emptyString;
}

Error Error::withPrefix(const std::string &prefix) const {
  if (!payload)
    return *this;
  Payload copy = *payload;
  copy.message = prefix + ": " + copy.message;
  Error error;
  error.payload = std::make_shared<const Payload>(std::move(copy));
  return error;
}
