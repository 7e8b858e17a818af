# How the project's libraries and tools are linked to LLVM and MLIR.
#
# The Debian archives' CMake targets pull libMLIR.so in, so the two ways to
# link must never be mixed in one binary: every library of ours is a plain
# static library that names no LLVM target, and the final binary chooses.

include(NAMLIRLinkLLVM)

# namlir_add_library(NAME sources... [DEPENDS targets...] [LINK libraries...])
function(namlir_add_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  add_library(NAMLIR::${name} ALIAS ${name})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  target_include_directories(${name} INTERFACE
    $<BUILD_INTERFACE:${NAMLIR_INCLUDE_DIR}>
    $<BUILD_INTERFACE:${NAMLIR_GENERATED_INCLUDE_DIR}>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
  install(TARGETS ${name} EXPORT NAMLIRTargets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  set_property(GLOBAL APPEND PROPERTY NAMLIR_LIBRARIES ${name})
endfunction()

# namlir_add_tool(NAME sources... [LINK libraries...])
function(namlir_add_tool name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  namlir_link_llvm(${name})
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()
