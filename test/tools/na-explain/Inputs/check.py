"""Checks what na-explain --json printed of two.mlir."""

import json
import sys

path, target, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
with open(path, encoding="utf-8") as file:
    result = json.load(file)
assert result["ok"] is True
operations = result["operations"]
assert len(operations) == 2
assert operations[0]["problem"] == {
    "operation": "attention", "shape": [56, 48], "window": [13, 7], "stride": [2, 1],
    "dilation": [1, 1], "causal": [False, False], "batch": 2, "heads": 8, "kv_heads": 2,
    "head_dim": 64, "value_dim": 64, "extra_kv": 0, "bias": None, "dtype": "bf16",
}
assert operations[1]["problem"]["batch"] is None
assert operations[0]["bytes"] == 2 * 56 * 48 * (8 + 2) * 128 * 2
for operation in operations:
    assert operation["target"] == target
    assert operation["key"].endswith(" on " + target)
    assert 0 < operation["search_s"] < 0.05
    candidates = operation["candidates"]
    assert len(candidates) == count, len(candidates)
    assert operation["selected"] == candidates[0]["schedule"]
    seconds = [c["prediction"]["seconds"] for c in candidates]
    # Near ties go to what runs better than its prediction says.
    assert seconds[0] < 1.06 * min(seconds), seconds
    assert seconds[1:] == sorted(seconds[1:]), seconds
    for candidate in candidates:
        prediction = candidate["prediction"]
        assert len(prediction["axes"]) == len(operation["problem"]["shape"])
        assert prediction["waste"] >= 1 and 0 <= prediction["masked_share"] <= 1
        assert max(prediction["units"].values()) > 0
        assert (prediction["waves"] > 0) == (target != "cpu")
    coverage = operation["coverage"]
    tiles = 1
    for axis in coverage["axes"]:
        tiles *= axis["tiles"]
        assert axis["span"][0] + axis["tiles"] * axis["key_tile"] >= axis["span"][1]
        assert len(axis["parts"]) == coverage["parts"]
    assert coverage["parts"] * tiles == sum(
        coverage[kind] for kind in ("skipped", "boundary", "interior"))
