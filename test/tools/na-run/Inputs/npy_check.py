"""Writes arrays, runs a program of element-wise sums on them and checks the
results against NumPy; then checks the errors for damaged files."""

import subprocess
import sys

import numpy as np

program, folder = sys.argv[1:]


def run(entry, inputs, outputs=()):
    def flag(names):
        return ",".join(f"{name}={folder}/{name}.npy" for name in names)

    command = ["na-run", program, f"--entry={entry}", "--pipeline=naive"]
    command += [f"--inputs={flag(inputs)}"]
    if outputs:
        command += [f"--outputs={flag(outputs)}"]
    return subprocess.run(command, capture_output=True, text=True)


def save(name, array):
    np.save(f"{folder}/{name}.npy", array)


def load(name):
    return np.load(f"{folder}/{name}.npy")


def check(entry, a, b, expected):
    save("a", a)
    save("b", b)
    result = run(entry, ["a", "b"], ["sum"])
    assert result.returncode == 0, result.stderr
    got = load("sum")
    assert got.dtype == expected.dtype, (entry, got.dtype)
    assert got.shape == expected.shape, (entry, got.shape)
    assert np.array_equal(got, expected), (entry, got, expected)


rng = np.random.default_rng(1)
for entry, dtype in [("f64", "<f8"), ("f32", "<f4"), ("f16", "<f2")]:
    a, b = rng.standard_normal((2, 3, 5, 4)).astype(dtype)
    check(entry, a, b, a + b)
    # Column-major files hold the same array.
    check(entry, np.asfortranarray(a), b, a + b)
for entry, dtype in [("i64", "<i8"), ("i32", "<i4"), ("i16", "<i2"), ("i8", "|i1")]:
    a, b = rng.integers(-50, 50, (2, 3, 5, 4)).astype(dtype)
    check(entry, a, b, a + b)


def to_bf16(x):
    bits = x.astype("<f4").view("<u4").astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2")


def from_bf16(bits):
    return (bits.astype("<u4") << 16).view("<f4")


# bf16: 16-bit patterns, as integers or as 2-byte voids.
a, b = (to_bf16(x) for x in rng.standard_normal((2, 3, 5, 4)))
expected = to_bf16(from_bf16(a) + from_bf16(b))
check("bf16", a, b, expected)
check("bf16", a.view("V2"), b.view("V2"), expected)

# Dynamic sizes come from the file, and results have the sizes they have.
for shape in [(1, 1), (3, 5), (7, 2)]:
    a, b = rng.standard_normal((2, *shape)).astype("<f4")
    check("dynamic", a, b, a + b)

# Rank 0.
a, b = np.float32(1.5), np.float32(2)
check("scalar", np.array(a), np.array(b), np.array(a + b))


def expect_error(entry, names, text):
    result = run(entry, names)
    assert result.returncode == 1, (result.returncode, result.stderr)
    assert text in result.stderr, (text, result.stderr)


def write(name, data):
    with open(f"{folder}/{name}.npy", "wb") as file:
        file.write(data)


def read(name):
    with open(f"{folder}/{name}.npy", "rb") as file:
        return file.read()


# The wrong type, shape or rank.
save("b", np.zeros((3, 5, 4), "<f4"))
save("a", np.zeros((3, 5, 4), "<f8"))
expect_error("f32", ["a", "b"], "it holds '<f8', but f32 is stored as '<f4'")
save("a", np.zeros((3, 5, 4), ">f4"))
expect_error("f32", ["a", "b"], "it holds '>f4', but f32 is stored as '<f4'")
save("a", np.zeros((3, 4, 5), "<f4"))
expect_error("f32", ["a", "b"], "'a' must be 3x5x4xf32, not 3x4x5xf32")
save("a", np.zeros((3, 20), "<f4"))
expect_error("f32", ["a", "b"], "'a' must be 3x5x4xf32, not 3x20xf32")
save("a", np.zeros((3,), dtype=[("x", "<f4")]))
expect_error("f32", ["a", "b"], "its header is not understood")
# Dynamic sizes need a file.
expect_error("dynamic", ["a"], "error")
result = subprocess.run(
    ["na-run", program, "--entry=dynamic", "--pipeline=naive"],
    capture_output=True,
    text=True,
)
assert result.returncode == 1
assert "input 'a' of shape ?x? has dynamic sizes" in result.stderr, result.stderr

# Damage: every prefix of a file, and every byte of its header changed.
save("a", np.arange(60, dtype="<f4").reshape(3, 5, 4))
whole = read("a")
for length in [0, 1, 5, 6, 8, 9, 10, 11, 20, 60, 127, 128, 129, len(whole) - 1]:
    write("a", whole[:length])
    expect_error("f32", ["a", "b"], "cannot read 'a' from")
for position in list(range(0, 128, 9)) + [8, 9]:
    damaged = bytearray(whole)
    damaged[position] ^= 0x15
    write("a", bytes(damaged))
    result = run("f32", ["a", "b"])
    assert result.returncode in (0, 1), (position, result.stderr)
for header in [
    b"{'descr': '<f4', 'fortran_order': False, 'shape'}",
    b"{'descr': '<f4', 'fortran_order': False, 'shape': }",
    b"{'descr': , 'fortran_order': False, 'shape': (3, 5, 4)}",
    b"{'descr': '<f4', 'fortran_order': Maybe, 'shape': (3, 5, 4)}",
    b"{'shape': (3, 5, 4), 'descr': '<f4', 'fortran_order': False}",
    b"{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 5, 4)}",
    b"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999999999)}",
    b"{'descr': '<f" + b"4" * 60000 + b"', 'fortran_order': False, 'shape': (3,)}",
    b"{}",
    b"",
]:
    header += b"\n"
    write("a", whole[:8] + len(header).to_bytes(2, "little") + header + bytes(240))
    expect_error("f32", ["a", "b"], "cannot read 'a' from")
# A file without an end.
result = subprocess.run(
    ["na-run", program, "--entry=f32", "--inputs=a=/dev/zero"], capture_output=True, text=True
)
assert result.returncode == 1
assert "cannot read 'a' from '/dev/zero': it is a device" in result.stderr, result.stderr
print("passed")
