//===- Npy.cpp - Arrays in NumPy's file format ----------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The header is read and written by xtensor, which reports errors by
// exceptions: this is the only file of the project that is compiled with them.
// xtensor trusts lengths in the file, so they are checked here first.
//
//===----------------------------------------------------------------------===//

#include "Npy.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <sstream>
#include <xtensor/xnpy.hpp>

using namespace mlir;
using namespace mlir::na;
using namespace mlir::na::run;

namespace {

/// The type strings that stand for a type; the first one is written.
ArrayRef<StringRef> getTypeStrings(ElementType type) {
  static const StringRef f64[] = {"<f8"}, f32[] = {"<f4"}, f16[] = {"<f2"},
                         bf16[] = {"<u2", "<V2", "|V2"}, i64[] = {"<i8", "<u8"},
                         i32[] = {"<i4", "<u4"}, i16[] = {"<i2", "<u2"},
                         i8[] = {"|i1", "|u1"}, i1[] = {"|b1", "|u1", "|i1"};
  switch (type) {
  case ElementType::F64:
    return f64;
  case ElementType::F32:
    return f32;
  case ElementType::F16:
    return f16;
  case ElementType::BF16:
    return bf16;
  case ElementType::I64:
  case ElementType::Index:
    return i64;
  case ElementType::I32:
    return i32;
  case ElementType::I16:
    return i16;
  case ElementType::I8:
    return i8;
  case ElementType::I1:
    return i1;
  }
  llvm_unreachable("unknown element type");
}

/// Cuts the header and the data out of a file; true if it is malformed.
bool splitFile(StringRef file, StringRef &header, StringRef &data) {
  if (!file.consume_front("\x93NUMPY") || file.size() < 6)
    return true;
  unsigned char major = file[0];
  size_t lengthBytes = major == 1 ? 2 : 4;
  if (major < 1 || major > 3)
    return true;
  size_t length = 0;
  for (size_t i = 0; i < lengthBytes; ++i)
    length |= static_cast<size_t>(static_cast<unsigned char>(file[2 + i]))
              << (8 * i);
  file = file.drop_front(2 + lengthBytes);
  if (file.size() < length)
    return true;
  header = file.take_front(length);
  data = file.drop_front(length);
  // A short dictionary with a tuple for the shape, then padding and a newline.
  size_t shape = header.find("'shape'");
  return header.size() > 4096 || !header.ends_with("\n") ||
         !header.starts_with("{") || !header.rtrim().ends_with("}") ||
         shape == StringRef::npos ||
         !header.substr(shape + 7).ltrim(' ').starts_with(":") ||
         llvm::any_of(header.drop_back(),
                      [](char c) { return !llvm::isPrint(c); });
}

/// Copies column-major data to row-major.
void transpose(const char *from, HostTensor &to) {
  ArrayRef<int64_t> shape = to.getShape();
  int64_t width = getByteWidth(to.getType());
  auto *out = static_cast<char *>(to.getData());
  SmallVector<int64_t> strides(shape.size()), index(shape.size(), 0);
  int64_t stride = 1;
  for (auto [axis, size] : llvm::enumerate(shape)) {
    strides[axis] = stride;
    stride *= size;
  }
  int64_t offset = 0;
  for (int64_t i = 0, e = to.getNumElements(); i < e; ++i) {
    std::memcpy(out + i * width, from + offset * width, width);
    for (size_t axis = shape.size(); axis-- > 0;) {
      offset += strides[axis];
      if (++index[axis] < shape[axis])
        break;
      offset -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
  }
}

} // namespace

llvm::Expected<HostTensor> run::readNpy(StringRef path, StringRef name,
                                        ElementType type) {
  auto fail = [&](const Twine &why) {
    return llvm::createStringError("cannot read '" + name + "' from '" + path +
                                   "': " + why);
  };
  // One that has no end would take all memory.
  llvm::sys::fs::file_status status;
  if (!llvm::sys::fs::status(path, status) &&
      status.type() == llvm::sys::fs::file_type::character_file)
    return fail("it is a device");
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> buffer =
      llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                  /*RequiresNullTerminator=*/false);
  if (!buffer)
    return fail(buffer.getError().message());
  StringRef header, data;
  if (splitFile((*buffer)->getBuffer(), header, data))
    return fail("it is not a .npy file, or its header is cut off");

  std::string descr;
  bool fortranOrder = false;
  std::vector<std::size_t> sizes;
  try {
    // xtensor does not know voids, which have the layout of integers here.
    std::string text = header.str();
    if (size_t at = text.find("V2'"); at != std::string::npos)
      text[at] = 'u', descr = "V2";
    std::string parsed;
    xt::detail::parse_header(text, parsed, &fortranOrder, sizes);
    descr = descr.empty() ? parsed : parsed.substr(0, 1) + descr;
  } catch (const std::exception &error) {
    return fail(StringRef("its header is not understood: ") + error.what());
  }
  if (!llvm::is_contained(getTypeStrings(type), descr))
    return fail("it holds '" + descr + "', but " + getName(type) +
                " is stored as '" + llvm::join(getTypeStrings(type), "' or '") +
                "'");
  SmallVector<int64_t> shape;
  for (std::size_t size : sizes) {
    if (size > static_cast<std::size_t>(std::numeric_limits<int64_t>::max()))
      return fail("a size overflows");
    shape.push_back(static_cast<int64_t>(size));
  }
  llvm::Expected<HostTensor> tensor = HostTensor::allocate(name, type, shape);
  if (!tensor)
    return fail(llvm::toString(tensor.takeError()));
  if (static_cast<int64_t>(data.size()) < tensor->getNumBytes())
    return fail(llvm::formatv("it is cut off: {0} bytes of data, {1} needed",
                              data.size(), tensor->getNumBytes())
                    .str());
  if (fortranOrder)
    transpose(data.data(), *tensor);
  else
    std::memcpy(tensor->getData(), data.data(), tensor->getNumBytes());
  return tensor;
}

llvm::Error run::writeNpy(StringRef path, const HostTensor &tensor) {
  std::ostringstream header;
  std::vector<std::size_t> shape(tensor.getShape().begin(),
                                 tensor.getShape().end());
  xt::detail::write_header(header, getTypeStrings(tensor.getType())[0].str(),
                           /*fortran_order=*/false, shape);
  std::error_code code;
  llvm::raw_fd_ostream file(path, code);
  if (!code) {
    file << header.str();
    file.write(static_cast<const char *>(tensor.getData()),
               tensor.getNumBytes());
    file.close();
    code = file.error();
    file.clear_error();
  }
  if (code)
    return llvm::createStringError("cannot write '" + tensor.getName() +
                                   "' to '" + path + "': " + code.message());
  return llvm::Error::success();
}
