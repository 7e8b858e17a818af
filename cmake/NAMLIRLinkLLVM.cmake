# Adds LLVM and MLIR to a final binary, of the project or of one that embeds
# it (the file is installed beside NAMLIRConfig.cmake).

# The static archives are found by name: their imported targets would bring
# the shared library back in.
function(namlir_static_archives out)
  file(GLOB archives "${LLVM_LIBRARY_DIR}/libMLIR*.a"
    "${LLVM_LIBRARY_DIR}/libLLVM*.a")
  set(${out} ${archives} PARENT_SCOPE)
endfunction()

# namlir_link_llvm(target): adds LLVM and MLIR to a final binary.
function(namlir_link_llvm target)
  if(NAMLIR_STATIC_LLVM)
    namlir_static_archives(archives)
    find_library(NAMLIR_ZLIB NAMES libz.a z REQUIRED)
    find_library(NAMLIR_ZSTD NAMES libzstd.a zstd REQUIRED)
    mark_as_advanced(NAMLIR_ZLIB NAMLIR_ZSTD)
    target_link_options(${target} PRIVATE -fuse-ld=lld -Wl,--gc-sections
      -static-libgcc)
    target_link_libraries(${target} PRIVATE
      -Wl,--start-group ${archives} -Wl,--end-group
      ${NAMLIR_ZLIB} ${NAMLIR_ZSTD} dl m pthread)
  else()
    target_link_libraries(${target} PRIVATE MLIR LLVM)
  endif()
endfunction()
