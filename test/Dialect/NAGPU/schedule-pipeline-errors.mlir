// RUN: not na-opt %s -nagpu-schedule-pipeline=stages=-1 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not na-opt %s -nagpu-schedule-pipeline=stages=65 2>&1 | FileCheck %s --check-prefix=MANY

// NEGATIVE: error: nagpu-schedule-pipeline: 'stages' is -1, expected 0 to 64
// MANY: error: nagpu-schedule-pipeline: 'stages' is 65, expected 0 to 64
module {
}
