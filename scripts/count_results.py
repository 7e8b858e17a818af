#!/usr/bin/env python3
"""Sums test reports and prints 'N passed, N failed'.

usage: count_results.py REPORT...

A report is a JUnit XML file (ctest --output-junit, lit --xunit-xml-output) or
the captured output of a runner that ends with its own line 'N passed, N
failed'. A missing or unreadable report, and one in which no test ran, counts
as a failure, so that a runner that died cannot look like success.
"""

import re
import sys
import xml.etree.ElementTree as ElementTree

CLOSING_LINE = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$")


def count_junit(text):
    passed = failed = skipped = 0
    for case in ElementTree.fromstring(text).iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
        elif case.find("skipped") is not None:
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


def count_log(text):
    for line in reversed(text.splitlines()):
        match = CLOSING_LINE.match(line.strip())
        if match:
            return tuple(int(group or 0) for group in match.groups())
    raise ValueError("no closing line 'N passed, N failed'")


def count(path):
    with open(path, encoding="utf-8", errors="replace") as report:
        text = report.read()
    counts = count_junit(text) if path.endswith(".xml") else count_log(text)
    if counts[0] + counts[1] == 0:
        raise ValueError("no test ran")
    return counts


def main(paths):
    total = [0, 0, 0]
    for path in paths:
        try:
            counts = count(path)
        except (OSError, ValueError, ElementTree.ParseError) as error:
            print(f"{path}: {error}", file=sys.stderr)
            counts = (0, 1, 0)
        total = [a + b for a, b in zip(total, counts)]
    line = f"{total[0]} passed, {total[1]} failed"
    print(line + (f", {total[2]} skipped" if total[2] else ""))
    return 1 if total[1] or not total[0] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
