# Configuration of the lit tests. Run them with `ninja check-na`, or, for a
# part of them, `lit-22 -v build/test --filter=NAME`.
#
# Tools (na-opt, na-run, mlir-opt, FileCheck, not, ...) are found by PATH;
# %python is the interpreter that has NumPy; %cxx the C++ compiler; %examples,
# %scripts, %benchmarks and %conformance are those folders of the project;
# %na_plugin is the plugin for mlir-opt, %plugin_options what loads it;
# %fake_cuda is a stand-in for the CUDA driver, whose kernels do nothing.
#
# Features, for REQUIRES lines:
#   avx2, avx512  the host has the instructions
#   ptxas         NVIDIA's assembler is installed (needs no GPU)
#   fatbinary     so is its fatbinary, which packs what ptxas assembled
#   plugin        LLVM is linked as a shared library, so there is a plugin
#   cuda          a CUDA driver answers and has a device

import ctypes
import os
import platform
import shutil

import lit.formats

config.name = "NAMLIR"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".c", ".mlir", ".test"]
config.excludes = ["Inputs", "conformance", "fuzz", "install"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = config.namlir_test_exec_root

config.environment["PATH"] = os.pathsep.join(
    [config.namlir_tools_dir, config.llvm_tools_dir, os.environ["PATH"]]
)
plugin = os.path.join(config.namlir_lib_dir, "libNAPlugin.so")
config.substitutions += [
    ("%na_plugin", plugin),
    ("%plugin_options", f"--load-dialect-plugin={plugin} --load-pass-plugin={plugin}"),
    ("%python", config.python_executable),
    ("%fake_cuda", os.path.join(config.namlir_lib_dir, "libNAFakeCuda.so")),
    ("%examples", os.path.join(config.namlir_source_dir, "examples")),
    ("%scripts", os.path.join(config.namlir_source_dir, "scripts")),
    ("%benchmarks", os.path.join(config.namlir_source_dir, "benchmarks")),
    ("%cxx", config.cxx_compiler),
    ("%conformance", os.path.join(config.test_source_root, "conformance")),
]


def host_cpu_flags():
    if platform.system() != "Linux":
        return set()
    with open("/proc/cpuinfo", encoding="utf-8") as cpuinfo:
        for line in cpuinfo:
            if line.startswith("flags"):
                return set(line.split(":", 1)[1].split())
    return set()


def has_cuda_device():
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int(0)
    return (
        driver.cuInit(0) == 0
        and driver.cuDeviceGetCount(ctypes.byref(count)) == 0
        and count.value > 0
    )


flags = host_cpu_flags()
if {"avx2", "fma"} <= flags:
    config.available_features.add("avx2")
if {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= flags:
    config.available_features.add("avx512")
for tool in ("ptxas", "fatbinary"):
    if shutil.which(tool, path=config.environment["PATH"]):
        config.available_features.add(tool)
if not config.namlir_static_llvm:
    config.available_features.add("plugin")
if has_cuda_device():
    config.available_features.add("cuda")
