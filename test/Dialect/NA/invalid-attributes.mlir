// RUN: na-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{window has 0 axes, expected 1 to 3 ('size' has one entry per axis)}}
func.func private @f() attributes {a = #na.window<>}

// -----

// expected-error @+1 {{window has 0 axes, expected 1 to 3 ('size' has one entry per axis)}}
func.func private @f() attributes {a = #na.window<size = []>}

// -----

// expected-error @+1 {{window has 4 axes, expected 1 to 3 ('size' has one entry per axis)}}
func.func private @f() attributes {a = #na.window<size = [1, 1, 1, 1]>}

// -----

// expected-error @+1 {{window has 0 axes, expected 1 to 3 ('size' has one entry per axis)}}
func.func private @f() attributes {a = #na.window<stride = [2]>}

// -----

// expected-error @+1 {{window 'stride' has 1 entries, expected 2 (as many as 'size')}}
func.func private @f() attributes {a = #na.window<size = [3, 3], stride = [1]>}

// -----

// expected-error @+1 {{window 'dilation' has 2 entries, expected 1 (as many as 'size')}}
func.func private @f() attributes {a = #na.window<size = [3], dilation = [1, 2]>}

// -----

// expected-error @+1 {{window 'causal' has 1 entries, expected 2 (as many as 'size')}}
func.func private @f() attributes {a = #na.window<size = [3, 3], causal = [true]>}

// -----

// expected-error @+1 {{window[1] = 0 is less than 1}}
func.func private @f() attributes {a = #na.window<size = [3, 0]>}

// -----

// expected-error @+1 {{window[0] = -7 is less than 1}}
func.func private @f() attributes {a = #na.window<size = [-7]>}

// -----

// expected-error @+1 {{stride[0] = 0 is less than 1}}
func.func private @f() attributes {a = #na.window<size = [3], stride = [0]>}

// -----

// expected-error @+1 {{stride[1] = 4 exceeds window[1] = 3}}
func.func private @f() attributes {a = #na.window<size = [3, 3], stride = [3, 4]>}

// -----

// expected-error @+1 {{dilation[0] = 0 is less than 1}}
func.func private @f() attributes {a = #na.window<size = [3], dilation = [0]>}

// -----

// expected-error @+1 {{dilation[0] = -1 is less than 1}}
func.func private @f() attributes {a = #na.window<size = [3], dilation = [-1]>}

// -----

// expected-error @+1 {{expected 'true' or 'false'}}
func.func private @f() attributes {a = #na.window<size = [3], causal = [yes]>}

// -----

// expected-error @+1 {{expected valid keyword}}
func.func private @f() attributes {a = #na.window<size = [3], causal = [1]>}

// -----

// expected-error @+1 {{entry 'size' is given twice}}
func.func private @f() attributes {a = #na.window<size = [3], size = [5]>}

// -----

// expected-error @+1 {{unknown entry 'strides' of a window; expected size, stride, dilation or causal}}
func.func private @f() attributes {a = #na.window<size = [3], strides = [1]>}

// -----

// expected-error @+1 {{expected '='}}
func.func private @f() attributes {a = #na.window<size [3]>}

// -----

// expected-error @+1 {{expected '['}}
func.func private @f() attributes {a = #na.window<size = 3>}

// -----

// expected-error @+1 {{expected integer value}}
func.func private @f() attributes {a = #na.window<size = [3.5]>}

// -----

// expected-error @+1 {{integer value too large}}
func.func private @f() attributes {a = #na.window<size = [99999999999999999999]>}

// -----

// expected-error @+1 {{unbalanced '[' character in pretty dialect name}}
func.func private @f() attributes {a = #na.window<size = [3>}

// -----

// expected-error @+1 {{schedule 'query_tile' has 0 entries, expected 1 to 3}}
func.func private @f() attributes {a = #na.schedule<target = "cpu">}

// -----

// expected-error @+1 {{schedule 'query_tile' has 4 entries, expected 1 to 3}}
func.func private @f() attributes {a = #na.schedule<target = "cpu", query_tile = [1, 1, 1, 1], key_tile = [1, 1, 1, 1]>}

// -----

// expected-error @+1 {{schedule 'key_tile' has 2 entries, expected 1 (as many as 'query_tile')}}
func.func private @f() attributes {a = #na.schedule<target = "cpu", query_tile = [8], key_tile = [8, 8]>}

// -----

// expected-error @+1 {{schedule 'warpgroup_tile' has 2 entries, expected 1 (as many as 'query_tile')}}
func.func private @f() attributes {a = #na.schedule<target = "cpu", query_tile = [8], key_tile = [8], warpgroup_tile = [4, 4]>}

// -----

// expected-error @+1 {{schedule 'query_tile'[1] = 0, expected 1 to 65536}}
func.func private @f() attributes {a = #na.schedule<target = "cpu", query_tile = [8, 0], key_tile = [8, 8]>}

// -----

// expected-error @+1 {{schedule 'key_tile'[0] = 65537, expected 1 to 65536}}
func.func private @f() attributes {a = #na.schedule<target = "cpu", query_tile = [8], key_tile = [65537]>}

// -----

// expected-error @+1 {{schedule 'warpgroup_tile'[0] = -1, expected 1 to 65536}}
func.func private @f() attributes {a = #na.schedule<target = "cpu", query_tile = [8], key_tile = [8], warpgroup_tile = [-1]>}

// -----

// expected-error @+1 {{schedule 'query_tile' holds 131072 tokens, expected at most 65536}}
func.func private @f() attributes {a = #na.schedule<target = "cpu", query_tile = [512, 256], key_tile = [8, 8]>}

// -----

// expected-error @+1 {{schedule 'warpgroup_tile'[1] = 8 does not divide 'query_tile'[1] = 12}}
func.func private @f() attributes {a = #na.schedule<target = "cpu", query_tile = [8, 12], key_tile = [8, 4], warpgroup_tile = [8, 8]>}

// -----

// expected-error @+1 {{schedule 'stages' = -1, expected 0 to 64}}
func.func private @f() attributes {a = #na.schedule<target = "cpu", query_tile = [8], key_tile = [8], stages = -1>}

// -----

// expected-error @+1 {{schedule 'stages' = 65, expected 0 to 64}}
func.func private @f() attributes {a = #na.schedule<target = "cpu", query_tile = [8], key_tile = [8], stages = 65>}

// -----

// expected-error @+1 {{schedule 'warps' = 33, expected 0 to 32}}
func.func private @f() attributes {a = #na.schedule<target = "sm_80", query_tile = [66], key_tile = [8], warps = 33>}

// -----

// expected-error @+1 {{schedule 'warps' = -1, expected 0 to 32}}
func.func private @f() attributes {a = #na.schedule<target = "sm_80", query_tile = [64], key_tile = [8], warps = -1>}

// -----

// expected-error @+1 {{schedule 'warps' = 4 divides neither the 18 queries of 'query_tile' nor the 6 keys of 'key_tile'}}
func.func private @f() attributes {a = #na.schedule<target = "sm_80", query_tile = [3, 6], key_tile = [2, 3], warps = 4>}

// -----

// expected-error @+1 {{schedule 'value_tile' = -16, expected 0 to 65536}}
func.func private @f() attributes {a = #na.schedule<target = "sm_80", query_tile = [64], key_tile = [8], value_tile = -16>}

// -----

// expected-error @+1 {{schedule 'value_tile' = 65537, expected 0 to 65536}}
func.func private @f() attributes {a = #na.schedule<target = "sm_80", query_tile = [64], key_tile = [8], value_tile = 65537>}

// -----

// expected-error @+1 {{schedule 'heads_per_tile' = 0, expected 1 to 64}}
func.func private @f() attributes {a = #na.schedule<target = "sm_80", query_tile = [64], key_tile = [8], heads_per_tile = 0>}

// -----

// expected-error @+1 {{schedule 'heads_per_tile' = 65, expected 1 to 64}}
func.func private @f() attributes {a = #na.schedule<target = "sm_80", query_tile = [64], key_tile = [8], heads_per_tile = 65>}

// -----

// expected-error @+1 {{schedule 'heads_per_tile' = 2 with 3 axes, expected at most 2}}
func.func private @f() attributes {a = #na.schedule<target = "sm_80", query_tile = [1, 1, 8], key_tile = [1, 1, 8], heads_per_tile = 2>}

// -----

// expected-error @+1 {{schedule 'warps' = 4 divides neither the 18 queries of 'query_tile' and 'heads_per_tile' nor the 6 keys of 'key_tile'}}
func.func private @f() attributes {a = #na.schedule<target = "sm_80", query_tile = [9], key_tile = [6], warps = 4, heads_per_tile = 2>}

// -----

// expected-error @+1 {{unknown entry 'query_tiles' of a schedule; expected target, query_tile, key_tile, warpgroup_tile, stages, warps, value_tile or heads_per_tile}}
func.func private @f() attributes {a = #na.schedule<target = "cpu", query_tiles = [8]>}

// -----

// expected-error @+1 {{entry 'stages' is given twice}}
func.func private @f() attributes {a = #na.schedule<stages = 1, stages = 2>}

// -----

// expected-error @+1 {{expected string}}
func.func private @f() attributes {a = #na.schedule<target = cpu>}

// -----

// expected-error @+1 {{unknown attribute `neighborhood` in dialect `na`}}
func.func private @f() attributes {a = #na.neighborhood<size = [3]>}
