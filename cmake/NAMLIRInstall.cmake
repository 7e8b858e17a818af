# cmake --install: headers (the generated ones and the .td files too), the
# libraries and what find_package(NAMLIR) needs.

include(CMakePackageConfigHelpers)

set(NAMLIR_INSTALL_CMAKEDIR "${CMAKE_INSTALL_LIBDIR}/cmake/namlir")

install(DIRECTORY "${NAMLIR_INCLUDE_DIR}/na"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILES_MATCHING PATTERN "*.h" PATTERN "*.td")
install(DIRECTORY "${NAMLIR_GENERATED_INCLUDE_DIR}/na"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILES_MATCHING PATTERN "*.h" PATTERN "*.inc"
  PATTERN "CMakeFiles" EXCLUDE)

get_property(libraries GLOBAL PROPERTY NAMLIR_LIBRARIES)
list(TRANSFORM libraries PREPEND "NAMLIR::"
  OUTPUT_VARIABLE NAMLIR_EXPORTED_LIBRARIES)

install(EXPORT NAMLIRTargets NAMESPACE NAMLIR::
  DESTINATION "${NAMLIR_INSTALL_CMAKEDIR}")
configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/NAMLIRConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/cmake/NAMLIRConfig.cmake"
  INSTALL_DESTINATION "${NAMLIR_INSTALL_CMAKEDIR}"
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR NAMLIR_INSTALL_CMAKEDIR)
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(
  "${PROJECT_BINARY_DIR}/cmake/NAMLIRConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/cmake/NAMLIRConfig.cmake"
  "${PROJECT_BINARY_DIR}/cmake/NAMLIRConfigVersion.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/NAMLIRLinkLLVM.cmake"
  DESTINATION "${NAMLIR_INSTALL_CMAKEDIR}")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE"
  DESTINATION "${CMAKE_INSTALL_DOCDIR}")
