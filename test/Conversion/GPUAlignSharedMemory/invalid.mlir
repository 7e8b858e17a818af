// RUN: na-opt %s -pass-pipeline="builtin.module(gpu.module(gpu-align-shared-memory{alignment=48}))" -verify-diagnostics
// RUN: not na-opt %s -pass-pipeline="builtin.module(gpu.module(gpu-align-shared-memory{alignment=131072}))" 2>&1 | FileCheck %s

// CHECK: 'alignment' is 131072, expected a power of two from 1 to 65536
// expected-error @below {{gpu-align-shared-memory: 'alignment' is 48, expected a power of two from 1 to 65536}}
gpu.module @kernels {
}
