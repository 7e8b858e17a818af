"""Compares what na-explain says is selected with the schedules of a program."""

import json
import re
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    selected = [operation["selected"] for operation in json.load(file)["operations"]]
with open(sys.argv[2], encoding="utf-8") as file:
    attributes = re.findall(r"#na\.schedule<(.*?)>", file.read())
assert len(attributes) == len(selected) == 2
for schedule, attribute in zip(selected, attributes):
    for name, value in schedule.items():
        if name == "heads_per_tile" and value == 1:
            assert name not in attribute
        elif value and name != "target":
            assert f"{name} = {value}" in attribute, (name, value, attribute)
    assert f'target = "{schedule["target"]}"' in attribute
