// RUN: na-opt %s --split-input-file --verify-diagnostics

func.func @map_nothing() {
  // expected-error @+1 {{'nagpu.map' op has no inputs, no results and no 'over', which give the elements that it iterates over}}
  nagpu.map() {
    nagpu.yield
  }
  return
}

// -----

func.func @map_over() {
  // expected-error @+1 {{'nagpu.map' op 'over' is 'f32', expected a fragment}}
  nagpu.map() over f32 {
    nagpu.yield
  }
  return
}

// -----

func.func @map_over_shape(%a: !nagpu.fragment<128x64xf32, accumulator, 4>) {
  // expected-error @+1 {{'nagpu.map' op 'over' is '!nagpu.fragment<128xf32, row, 4>', expected the shape, role and warps of '!nagpu.fragment<128x64xf32, accumulator, 4>'}}
  %0 = nagpu.map(%a : !nagpu.fragment<128x64xf32, accumulator, 4>) over !nagpu.fragment<128xf32, row, 4> {
  ^bb0(%x0: f32):
    nagpu.yield %x0 : f32
  } : !nagpu.fragment<128x64xf32, accumulator, 4>
  return
}

// -----

func.func @map_input_shape(
    %a: !nagpu.fragment<128x64xf32, accumulator, 4>,
    %b: !nagpu.fragment<128x32xf32, accumulator, 4>) {
  // expected-error @+1 {{'nagpu.map' op input 1 is '!nagpu.fragment<128x32xf32, accumulator, 4>', expected the shape, role and warps of '!nagpu.fragment<128x64xf32, accumulator, 4>', or a row of its rows and warps, or a column of its columns and warps}}
  nagpu.map(%a, %b : !nagpu.fragment<128x64xf32, accumulator, 4>, !nagpu.fragment<128x32xf32, accumulator, 4>) {
  ^bb0(%x0: f32, %x1: f32):
    nagpu.yield
  }
  return
}

// -----

func.func @map_input_warps(
    %a: !nagpu.fragment<128x64xf32, accumulator, 4>,
    %b: !nagpu.fragment<128x64xf32, accumulator, 8>) {
  // expected-error @+1 {{'nagpu.map' op input 1 is '!nagpu.fragment<128x64xf32, accumulator, 8>', expected the shape, role and warps of '!nagpu.fragment<128x64xf32, accumulator, 4>', or a row of its rows and warps, or a column of its columns and warps}}
  nagpu.map(%a, %b : !nagpu.fragment<128x64xf32, accumulator, 4>, !nagpu.fragment<128x64xf32, accumulator, 8>) {
  ^bb0(%x0: f32, %x1: f32):
    nagpu.yield
  }
  return
}

// -----

func.func @map_input_role(
    %a: !nagpu.fragment<128x64xf32, accumulator, 4>,
    %b: !nagpu.fragment<128x64xf32, lhs, 4>) {
  // expected-error @+1 {{'nagpu.map' op input 1 is '!nagpu.fragment<128x64xf32, lhs, 4>', expected the shape, role and warps of '!nagpu.fragment<128x64xf32, accumulator, 4>', or a row of its rows and warps, or a column of its columns and warps}}
  nagpu.map(%a, %b : !nagpu.fragment<128x64xf32, accumulator, 4>, !nagpu.fragment<128x64xf32, lhs, 4>) {
  ^bb0(%x0: f32, %x1: f32):
    nagpu.yield
  }
  return
}

// -----

func.func @map_input_width(
    %a: !nagpu.fragment<128x64xbf16, lhs, 4>,
    %b: !nagpu.fragment<128x64xf32, lhs, 4>) {
  // expected-error @+1 {{'nagpu.map' op input 1 is '!nagpu.fragment<128x64xf32, lhs, 4>', expected the shape, role and warps of '!nagpu.fragment<128x64xbf16, lhs, 4>', or a row of its rows and warps}}
  nagpu.map(%a, %b : !nagpu.fragment<128x64xbf16, lhs, 4>, !nagpu.fragment<128x64xf32, lhs, 4>) {
  ^bb0(%x0: bf16, %x1: f32):
    nagpu.yield
  }
  return
}

// -----

func.func @map_row_rows(
    %a: !nagpu.fragment<128x64xf32, accumulator, 4>,
    %b: !nagpu.fragment<64xf32, row, 4>) {
  // expected-error @+1 {{'nagpu.map' op input 1 is '!nagpu.fragment<64xf32, row, 4>', expected the shape, role and warps of '!nagpu.fragment<128x64xf32, accumulator, 4>', or a row of its rows and warps, or a column of its columns and warps}}
  nagpu.map(%a, %b : !nagpu.fragment<128x64xf32, accumulator, 4>, !nagpu.fragment<64xf32, row, 4>) {
  ^bb0(%x0: f32, %x1: f32):
    nagpu.yield
  }
  return
}

// -----

func.func @map_row_warps(
    %a: !nagpu.fragment<128xf32, row, 8>,
    %b: !nagpu.fragment<128x64xf32, accumulator, 4>) {
  // expected-error @+1 {{'nagpu.map' op input 0 is '!nagpu.fragment<128xf32, row, 8>', expected the shape, role and warps of '!nagpu.fragment<128x64xf32, accumulator, 4>', or a row of its rows and warps, or a column of its columns and warps}}
  nagpu.map(%a, %b : !nagpu.fragment<128xf32, row, 8>, !nagpu.fragment<128x64xf32, accumulator, 4>) {
  ^bb0(%x0: f32, %x1: f32):
    nagpu.yield
  }
  return
}

// -----

func.func @map_row_of_rhs(
    %a: !nagpu.fragment<64x64xbf16, rhs, 4>,
    %b: !nagpu.fragment<64xf32, row, 4>) {
  // expected-error @+1 {{'nagpu.map' op input 1 is '!nagpu.fragment<64xf32, row, 4>', expected the shape, role and warps of '!nagpu.fragment<64x64xbf16, rhs, 4>'}}
  nagpu.map(%a, %b : !nagpu.fragment<64x64xbf16, rhs, 4>, !nagpu.fragment<64xf32, row, 4>) {
  ^bb0(%x0: bf16, %x1: f32):
    nagpu.yield
  }
  return
}

// -----

func.func @map_partial_row_of_tile(
    %a: !nagpu.fragment<128x64xf32, accumulator, 4>,
    %b: !nagpu.fragment<128xf32, partial_row, 4>) {
  // expected-error @+1 {{'nagpu.map' op input 1 is '!nagpu.fragment<128xf32, partial_row, 4>', expected the shape, role and warps of '!nagpu.fragment<128x64xf32, accumulator, 4>', or a row of its rows and warps, or a column of its columns and warps}}
  nagpu.map(%a, %b : !nagpu.fragment<128x64xf32, accumulator, 4>, !nagpu.fragment<128xf32, partial_row, 4>) {
  ^bb0(%x0: f32, %x1: f32):
    nagpu.yield
  }
  return
}

// -----

func.func @map_tile_of_row(%a: !nagpu.fragment<128x64xf32, accumulator, 4>) {
  // expected-error @+1 {{'nagpu.map' op input 0 is '!nagpu.fragment<128x64xf32, accumulator, 4>', expected the shape, role and warps of '!nagpu.fragment<128xf32, row, 4>'}}
  %0 = nagpu.map(%a : !nagpu.fragment<128x64xf32, accumulator, 4>) {
  ^bb0(%x0: f32):
    nagpu.yield %x0 : f32
  } : !nagpu.fragment<128xf32, row, 4>
  return
}

// -----

func.func @map_rows_of_rows(
    %a: !nagpu.fragment<128xf32, row, 4>,
    %b: !nagpu.fragment<64xf32, row, 4>) {
  // expected-error @+1 {{'nagpu.map' op input 1 is '!nagpu.fragment<64xf32, row, 4>', expected the shape, role and warps of '!nagpu.fragment<128xf32, row, 4>'}}
  nagpu.map(%a, %b : !nagpu.fragment<128xf32, row, 4>, !nagpu.fragment<64xf32, row, 4>) {
  ^bb0(%x0: f32, %x1: f32):
    nagpu.yield
  }
  return
}

// -----

func.func @map_result_shape(%a: !nagpu.fragment<128x64xf32, accumulator, 4>) {
  // expected-error @+1 {{'nagpu.map' op result 1 is '!nagpu.fragment<128x32xf32, accumulator, 4>', expected the shape, role and warps of '!nagpu.fragment<128x64xf32, accumulator, 4>'}}
  %0:2 = nagpu.map(%a : !nagpu.fragment<128x64xf32, accumulator, 4>) {
  ^bb0(%x0: f32):
    nagpu.yield %x0, %x0 : f32, f32
  } : !nagpu.fragment<128x64xf32, accumulator, 4>, !nagpu.fragment<128x32xf32, accumulator, 4>
  return
}

// -----

func.func @map_result_row(%a: !nagpu.fragment<128x64xf32, accumulator, 4>) {
  // expected-error @+1 {{'nagpu.map' op result 1 is '!nagpu.fragment<128xf32, row, 4>', expected the shape, role and warps of '!nagpu.fragment<128x64xf32, accumulator, 4>'}}
  %0:2 = nagpu.map(%a : !nagpu.fragment<128x64xf32, accumulator, 4>) {
  ^bb0(%x0: f32):
    nagpu.yield %x0, %x0 : f32, f32
  } : !nagpu.fragment<128x64xf32, accumulator, 4>, !nagpu.fragment<128xf32, row, 4>
  return
}

// -----

func.func @map_empty(%a: !nagpu.fragment<128x64xf32, accumulator, 4>) {
  // expected-error @+1 {{'nagpu.map' op expects a non-empty block}}
  nagpu.map(%a : !nagpu.fragment<128x64xf32, accumulator, 4>) {
    
  }
  return
}

// -----

func.func @map_terminator(%a: !nagpu.fragment<128x64xf32, accumulator, 4>) {
  // expected-error @+1 {{'nagpu.map' op has a region that does not end with nagpu.yield}}
  nagpu.map(%a : !nagpu.fragment<128x64xf32, accumulator, 4>) {
  ^bb0(%x0: f32):
    gpu.terminator
  }
  return
}

// -----

func.func @map_argument_count(%a: !nagpu.fragment<128x64xf32, accumulator, 4>) {
  // expected-error @+1 {{'nagpu.map' op has a region with 2 arguments, expected 1 (one per input)}}
  nagpu.map(%a : !nagpu.fragment<128x64xf32, accumulator, 4>) {
  ^bb0(%x0: f32, %x1: f32):
    nagpu.yield
  }
  return
}

// -----

func.func @map_argument_type(
    %a: !nagpu.fragment<128x64xf32, accumulator, 4>,
    %b: !nagpu.fragment<128xf32, row, 4>) {
  // expected-error @+1 {{'nagpu.map' op has a region whose argument 1 is 'i32', expected 'f32', the element type of input 1}}
  nagpu.map(%a, %b : !nagpu.fragment<128x64xf32, accumulator, 4>, !nagpu.fragment<128xf32, row, 4>) {
  ^bb0(%x0: f32, %x1: i32):
    nagpu.yield
  }
  return
}

// -----

func.func @map_yield_count(%a: !nagpu.fragment<128x64xf32, accumulator, 4>) {
  %0 = nagpu.map(%a : !nagpu.fragment<128x64xf32, accumulator, 4>) {
  ^bb0(%x0: f32):
    // expected-error @+1 {{'nagpu.yield' op has 0 values, expected 1 (one per result of 'nagpu.map')}}
    nagpu.yield
  } : !nagpu.fragment<128x64xf32, accumulator, 4>
  return
}

// -----

func.func @map_yield_type(%a: !nagpu.fragment<128x64xf32, accumulator, 4>) {
  %0:2 = nagpu.map(%a : !nagpu.fragment<128x64xf32, accumulator, 4>) {
  ^bb0(%x0: f32):
    // expected-error @+1 {{'nagpu.yield' op value 1 is 'f32', expected 'i1', the element type of result 1}}
    nagpu.yield %x0, %x0 : f32, f32
  } : !nagpu.fragment<128x64xf32, accumulator, 4>, !nagpu.fragment<128x64xi1, accumulator, 4>
  return
}

// -----

func.func @map_linear_add(
    %a: !nagpu.fragment<128xf32, partial_row, 4>,
    %b: !nagpu.fragment<128xf32, row, 4>) {
  %0 = nagpu.map(%a, %b : !nagpu.fragment<128xf32, partial_row, 4>, !nagpu.fragment<128xf32, row, 4>) {
  ^bb0(%x0: f32, %x1: f32):
    // expected-error @+1 {{'arith.addf' op is not linear in the elements of role partial_row, whose value is the sum over four lanes}}
    %y = arith.addf %x0, %x1 : f32
    nagpu.yield %y : f32
  } : !nagpu.fragment<128xf32, partial_row, 4>
  return
}

// -----

func.func @map_linear_sub(
    %a: !nagpu.fragment<128xf32, partial_row, 4>,
    %b: !nagpu.fragment<128xf32, row, 4>) {
  %0 = nagpu.map(%a, %b : !nagpu.fragment<128xf32, partial_row, 4>, !nagpu.fragment<128xf32, row, 4>) {
  ^bb0(%x0: f32, %x1: f32):
    // expected-error @+1 {{'arith.subf' op is not linear in the elements of role partial_row, whose value is the sum over four lanes}}
    %y = arith.subf %x1, %x0 : f32
    nagpu.yield %y : f32
  } : !nagpu.fragment<128xf32, partial_row, 4>
  return
}

// -----

func.func @map_linear_mul(
    %a: !nagpu.fragment<128xf32, partial_row, 4>,
    %b: !nagpu.fragment<128xf32, row, 4>) {
  %0 = nagpu.map(%a, %b : !nagpu.fragment<128xf32, partial_row, 4>, !nagpu.fragment<128xf32, row, 4>) {
  ^bb0(%x0: f32, %x1: f32):
    // expected-error @+1 {{'arith.mulf' op is not linear in the elements of role partial_row, whose value is the sum over four lanes}}
    %y = arith.mulf %x0, %x0 : f32
    nagpu.yield %y : f32
  } : !nagpu.fragment<128xf32, partial_row, 4>
  return
}

// -----

func.func @map_linear_div(
    %a: !nagpu.fragment<128xf32, partial_row, 4>,
    %b: !nagpu.fragment<128xf32, row, 4>) {
  %0 = nagpu.map(%a, %b : !nagpu.fragment<128xf32, partial_row, 4>, !nagpu.fragment<128xf32, row, 4>) {
  ^bb0(%x0: f32, %x1: f32):
    // expected-error @+1 {{'arith.divf' op is not linear in the elements of role partial_row, whose value is the sum over four lanes}}
    %y = arith.divf %x1, %x0 : f32
    nagpu.yield %y : f32
  } : !nagpu.fragment<128xf32, partial_row, 4>
  return
}

// -----

func.func @map_linear_exp(
    %a: !nagpu.fragment<128xf32, partial_row, 4>,
    %b: !nagpu.fragment<128xf32, row, 4>) {
  %0 = nagpu.map(%a, %b : !nagpu.fragment<128xf32, partial_row, 4>, !nagpu.fragment<128xf32, row, 4>) {
  ^bb0(%x0: f32, %x1: f32):
    // expected-error @+1 {{'math.exp2' op is not linear in the elements of role partial_row, whose value is the sum over four lanes}}
    %y = math.exp2 %x0 : f32
    nagpu.yield %y : f32
  } : !nagpu.fragment<128xf32, partial_row, 4>
  return
}

// -----

func.func @map_linear_fma_addend(
    %a: !nagpu.fragment<128xf32, partial_row, 4>,
    %b: !nagpu.fragment<128xf32, row, 4>) {
  %0 = nagpu.map(%a, %b : !nagpu.fragment<128xf32, partial_row, 4>, !nagpu.fragment<128xf32, row, 4>) {
  ^bb0(%x0: f32, %x1: f32):
    // expected-error @+1 {{'math.fma' op is not linear in the elements of role partial_row, whose value is the sum over four lanes}}
    %y = math.fma %x0, %x1, %x1 : f32
    nagpu.yield %y : f32
  } : !nagpu.fragment<128xf32, partial_row, 4>
  return
}

// -----

func.func @map_linear_fma_product(
    %a: !nagpu.fragment<128xf32, partial_row, 4>,
    %b: !nagpu.fragment<128xf32, row, 4>) {
  %0 = nagpu.map(%a, %b : !nagpu.fragment<128xf32, partial_row, 4>, !nagpu.fragment<128xf32, row, 4>) {
  ^bb0(%x0: f32, %x1: f32):
    // expected-error @+1 {{'math.fma' op is not linear in the elements of role partial_row, whose value is the sum over four lanes}}
    %y = math.fma %x0, %x0, %x0 : f32
    nagpu.yield %y : f32
  } : !nagpu.fragment<128xf32, partial_row, 4>
  return
}

// -----

func.func @map_linear_fma_whole_product(
    %a: !nagpu.fragment<128xf32, partial_row, 4>,
    %b: !nagpu.fragment<128xf32, row, 4>) {
  %0 = nagpu.map(%a, %b : !nagpu.fragment<128xf32, partial_row, 4>, !nagpu.fragment<128xf32, row, 4>) {
  ^bb0(%x0: f32, %x1: f32):
    // expected-error @+1 {{'math.fma' op is not linear in the elements of role partial_row, whose value is the sum over four lanes}}
    %y = math.fma %x1, %x1, %x0 : f32
    nagpu.yield %y : f32
  } : !nagpu.fragment<128xf32, partial_row, 4>
  return
}

// -----

func.func @map_linear_select(
    %a: !nagpu.fragment<128xf32, partial_row, 4>,
    %b: !nagpu.fragment<128xf32, row, 4>,
    %c: !nagpu.fragment<128xi1, row, 4>) {
  %0 = nagpu.map(%a, %b, %c : !nagpu.fragment<128xf32, partial_row, 4>, !nagpu.fragment<128xf32, row, 4>, !nagpu.fragment<128xi1, row, 4>) {
  ^bb0(%x0: f32, %x1: f32, %x2: i1):
    // expected-error @+1 {{'arith.select' op is not linear in the elements of role partial_row, whose value is the sum over four lanes}}
    %y = arith.select %x2, %x0, %x1 : f32
    nagpu.yield %y : f32
  } : !nagpu.fragment<128xf32, partial_row, 4>
  return
}

// -----

func.func @map_linear_nested(
    %a: !nagpu.fragment<128xf32, partial_row, 4>,
    %b: !nagpu.fragment<128xi1, row, 4>) {
  %0 = nagpu.map(%a, %b : !nagpu.fragment<128xf32, partial_row, 4>, !nagpu.fragment<128xi1, row, 4>) {
  ^bb0(%x0: f32, %x1: i1):
    // expected-error @+1 {{'scf.if' op is not linear in the elements of role partial_row, whose value is the sum over four lanes}}
    %y = scf.if %x1 -> f32 {
      %z = arith.negf %x0 : f32
      scf.yield %z : f32
    } else {
      scf.yield %x0 : f32
    }
    nagpu.yield %y : f32
  } : !nagpu.fragment<128xf32, partial_row, 4>
  return
}

// -----

func.func @map_partial_result(
    %a: !nagpu.fragment<128xf32, partial_row, 4>,
    %b: !nagpu.fragment<128xf32, row, 4>) {
  %0 = nagpu.map(%a, %b : !nagpu.fragment<128xf32, partial_row, 4>, !nagpu.fragment<128xf32, row, 4>) {
  ^bb0(%x0: f32, %x1: f32):
    // expected-error @+1 {{'nagpu.yield' op value 0 is not computed from elements of role partial_row, but result 0 has role partial_row}}
    nagpu.yield %x1 : f32
  } : !nagpu.fragment<128xf32, partial_row, 4>
  return
}

// -----

func.func @map_row_result(
    %a: !nagpu.fragment<128xf32, partial_row, 4>,
    %b: !nagpu.fragment<128xf32, row, 4>) {
  %0:2 = nagpu.map(%a, %b : !nagpu.fragment<128xf32, partial_row, 4>, !nagpu.fragment<128xf32, row, 4>) {
  ^bb0(%x0: f32, %x1: f32):
    %y = arith.mulf %x0, %x1 : f32
    // expected-error @+1 {{'nagpu.yield' op value 1 is computed from elements of role partial_row, but result 1 has role row}}
    nagpu.yield %y, %y : f32, f32
  } : !nagpu.fragment<128xf32, partial_row, 4>, !nagpu.fragment<128xf32, row, 4>
  return
}

// -----

func.func @map_index_dim(%a: !nagpu.fragment<128x64xf32, accumulator, 4>) {
  nagpu.map(%a : !nagpu.fragment<128x64xf32, accumulator, 4>) {
  ^bb0(%x0: f32):
    // expected-error @+1 {{'nagpu.index' op 'dim' is 2, expected 0 (row) or 1 (column)}}
    %i = nagpu.index 2
    nagpu.yield
  }
  return
}

// -----

func.func @map_index_row(%a: !nagpu.fragment<128xf32, row, 4>) {
  nagpu.map(%a : !nagpu.fragment<128xf32, row, 4>) {
  ^bb0(%x0: f32):
    // expected-error @+1 {{'nagpu.index' op 'dim' is 1, expected 0: '!nagpu.fragment<128xf32, row, 4>' has no columns}}
    %i = nagpu.index 1
    nagpu.yield
  }
  return
}

// -----

func.func @map_index_permuted(%a: !nagpu.fragment<128x64xf32, lhs, 4>) {
  nagpu.map(%a : !nagpu.fragment<128x64xf32, lhs, 4>) {
  ^bb0(%x0: f32):
    // expected-error @+1 {{'nagpu.index' op 'dim' is 1, expected 0: the columns of '!nagpu.fragment<128x64xf32, lhs, 4>' may be permuted}}
    %i = nagpu.index 1
    nagpu.yield
  }
  return
}

// -----

func.func @index_parent() {
  // expected-error @+1 {{'nagpu.index' op expects parent op 'nagpu.map'}}
  %0 = nagpu.index 0
  return
}

// -----

func.func @yield_parent() {
  // expected-error @+1 {{'nagpu.yield' op expects parent op 'nagpu.map'}}
  nagpu.yield
  return
}

// -----

func.func @map_column_size(
    %a: !nagpu.fragment<128x64xf32, accumulator, 4>,
    %b: !nagpu.fragment<128xf32, column, 4>) {
  // expected-error @+1 {{'nagpu.map' op input 1 is '!nagpu.fragment<128xf32, column, 4>', expected the shape, role and warps of '!nagpu.fragment<128x64xf32, accumulator, 4>', or a row of its rows and warps, or a column of its columns and warps}}
  nagpu.map(%a, %b : !nagpu.fragment<128x64xf32, accumulator, 4>, !nagpu.fragment<128xf32, column, 4>) {
  ^bb0(%x0: f32, %x1: f32):
    nagpu.yield
  }
  return
}

// -----

func.func @map_column_lhs(
    %a: !nagpu.fragment<128x64xbf16, lhs, 4>,
    %b: !nagpu.fragment<64xf32, column, 4>) {
  // expected-error @+1 {{'nagpu.map' op input 1 is '!nagpu.fragment<64xf32, column, 4>', expected the shape, role and warps of '!nagpu.fragment<128x64xbf16, lhs, 4>', or a row of its rows and warps}}
  nagpu.map(%a, %b : !nagpu.fragment<128x64xbf16, lhs, 4>, !nagpu.fragment<64xf32, column, 4>) {
  ^bb0(%x0: bf16, %x1: f32):
    nagpu.yield
  }
  return
}

// -----

func.func @index_column_row(%b: !nagpu.fragment<64xf32, column, 4>) {
  nagpu.map(%b : !nagpu.fragment<64xf32, column, 4>) {
  ^bb0(%x0: f32):
    // expected-error @+1 {{'nagpu.index' op 'dim' is 0, expected 1: '!nagpu.fragment<64xf32, column, 4>' has no rows}}
    %0 = nagpu.index 0
    nagpu.yield
  }
  return
}
