"""Fuzz test of MJCF files: loading any file returns a mechanism or raises a LinkworkError, in a short time.

`python tests/fuzz_mjcf.py 20000` tries that many files. MuJoCo compiles those that are XML and may itself crash; then
`--first N` gives the file to start with.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections import Counter
from pathlib import Path

from fuzz_urdf_and_toml import SLOW, changed_bytes, changed_element, changed_value, outcome

CORPUS = [
    b"""<mujoco model="arm">
<compiler angle="radian"/>
<option gravity="0 0 -1" density="0"/>
<default><joint damping="0.1"/><default class="big"><geom size="0.2"/></default></default>
<asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/><material name="red" rgba="1 0 0 1"/></asset>
<worldbody>
<geom name="floor" type="plane" size="1 1 1"/>
<body name="a" pos="0 0 1" euler="0 1 0"><freejoint name="f"/><geom class="big" material="red"/>
<site name="s" pos="0 0 1"/>
<body name="b"><joint name="j1" axis="0 1 0" range="-1 1" ref="0.5"/><joint name="j2" type="slide" stiffness="1"/>
<inertial pos="0 0 0.1" mass="1" fullinertia="1 1 1 0.1 0 0"/></body></body>
<body name="c"><joint name="j3" type="ball" armature="0.1"/><geom type="mesh" mesh="m"/></body>
</worldbody>
<equality><joint name="e" joint1="j1" joint2="j2" polycoef="0 2 0 0 0"/></equality>
<tendon><fixed name="t"><joint joint="j1" coef="1"/></fixed></tendon>
<actuator><motor name="u" joint="j1" gear="3"/><position name="p" joint="j2" kp="4"/></actuator>
<sensor><jointpos name="q" joint="j1"/></sensor>
<keyframe><key name="k" qpos="0 0 1 1 0 0 0 0.1 0.2 1 0 0 0"/></keyframe>
</mujoco>""",
    b"""<mujoco>
<include file="robot.xml"/>
<worldbody>
<frame pos="0 0 1"><replicate count="3" offset="1 0 0"><body><joint/><geom size="1"/></body></replicate></frame>
<body gravcomp="0"><joint type="free"/><geom type="capsule" fromto="0 0 0 0 0 1" size="0.1"/></body></worldbody>
</mujoco>""",
    b"""<mujoco>
<worldbody>
<site name="w" pos="1 0 0"/><geom type="plane" size="1 1 1"/>
<body name="a"><freejoint name="f"/><geom size="0.1"/><site name="s" euler="0 30 0"/>
<body name="b" pos="0 0 1"><joint name="h" ref="10"/><geom size="0.1"/></body></body>
<body name="c"><joint name="t" type="slide"/><geom size="0.1"/><body name="d"><joint name="k" type="ball"/>
<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body></body>
</worldbody>
<equality>
<connect name="e1" body1="b" body2="c" anchor="0 0.5 0"/>
<connect name="e2" site1="s" site2="w"/>
<weld name="e3" body1="b" body2="d" anchor="1 0 0" relpose="0 1 0 2 0 0 0" torquescale="2"/>
<weld name="e4" site1="s" site2="w" active="false"/>
</equality>
<tendon><fixed name="r"><joint joint="h" coef="2"/><joint joint="t" coef="-1"/></fixed>
<spatial name="l" stiffness="9" damping="1"><site site="s"/><site site="w"/></spatial></tendon>
<actuator>
<position name="u1" joint="h" kp="3" kv="1" ctrlrange="-1 1" forcerange="-2 2"/>
<velocity name="u2" tendon="r" kv="2" gear="3"/>
<motor name="u3" joint="f" gear="0 0 0 1 2 3"/>
<general name="u4" jointinparent="k" gear="1 2 3" gainprm="2" biastype="affine" biasprm="1 0 -1"/>
<orientation name="u5" joint="k"/>
</actuator>
<keyframe><key name="k1" qvel="1 2 3 4 5 6 7 8 9 10 11"/></keyframe>
</mujoco>""",
]


def mutated(rng: random.Random) -> bytes:
    """Return a file of the corpus after one to three random mutations, most of which keep it valid XML."""
    data = rng.choice(CORPUS)
    for _ in range(rng.randint(1, 3)):
        data = rng.choices((changed_value, changed_element, changed_bytes), (6, 3, 1))[0](data, rng)
    return data.replace(b'<include file="robot.xml"/>\n', b"") if rng.random() < 0.8 else data


def fuzz(count: int, seed: int = 0, first: int = 0) -> Counter[str]:
    """Load `count` mutated files and count the outcomes; raise AssertionError at the first invalid outcome."""
    found = Counter[str]()
    with tempfile.TemporaryDirectory(prefix="linkwork-fuzz-") as folder:
        path = Path(folder) / "robot.xml"
        for number in range(first, first + count):
            data = mutated(random.Random(f"{seed} {number}"))
            path.write_bytes(data)
            start = time.process_time()
            try:
                found[outcome(path, None)] += 1
            except Exception as error:
                raise AssertionError(f"file {number} of seed {seed} ended in {error!r}: {data!r}") from error
            spent = time.process_time() - start
            assert spent < SLOW, f"file {number} of seed {seed} took {spent:.1f} s: {data!r}"
            assert [child.name for child in path.parent.iterdir()] == ["robot.xml"]
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args()
    print(f"{given.count} mutated files: {dict(fuzz(given.count, given.seed, given.first))}")
