"""The house rules, executable: layering, file length, unique names, docstrings with shapes and units, quick import."""

import ast
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "linkwork"
SOURCES = sorted(PACKAGE.rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))

# What each package may import. `errors` and `tolerances` are single modules; `app` may import everything.
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "tolerances": set(),
    "spatial": {"errors", "tolerances"},
    "model": {"errors", "tolerances", "spatial"},
    "algorithms": {"errors", "tolerances", "spatial", "model"},
    "compiler": {"errors", "spatial"},
    "evaluation": {"errors", "tolerances", "spatial", "model", "algorithms", "compiler", "door"},
    "simulation": {"errors", "tolerances", "spatial", "model", "algorithms", "compiler", "evaluation", "door"},
    "lagrangian": {"errors", "tolerances", "spatial", "model", "algorithms", "compiler", "simulation"},
    "control": {"errors", "tolerances", "spatial", "model", "algorithms"},
    "examples": {"errors", "spatial", "model", "algorithms", "control", "simulation"},
    "papers": {"errors", "spatial", "model", "algorithms", "compiler", "evaluation", "simulation", "lagrangian"}
    | {"control", "examples", "door"},
}


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imported_packages(path: Path) -> set[str]:
    """The packages of linkwork that a file imports anywhere."""
    found: set[str] = set()
    for node in ast.walk(parsed(path)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)} has a relative import; the full path shows the package"
            names = [node.module or ""]
        found |= {name.split(".")[1] if "." in name else "door" for name in names if name.split(".")[0] == "linkwork"}
    return found


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_a_package_imports_only_packages_below_it(package: str) -> None:
    files = (
        [PACKAGE / f"{package}.py"]
        if package in ("errors", "tolerances")
        else sorted((PACKAGE / package).rglob("*.py"))
    )
    assert files
    for path in files:
        assert imported_packages(path) - {package} <= MAY_IMPORT[package], name_of(path)


def test_mechanism_does_not_import_documents() -> None:
    for path in sorted((PACKAGE / "model").glob("*.py")):
        assert "linkwork.model.documents" not in path.read_text(encoding="utf-8"), name_of(path)


def module_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_modules(node: ast.AST, known: set[str]) -> set[str]:
    """The modules that a file loads, at import or inside functions; imports for type checkers are left out."""
    found: set[str] = set()
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        if isinstance(child, ast.ImportFrom) and child.module in known:
            full = {f"{child.module}.{alias.name}" for alias in child.names}
            found |= (full & known) or {str(child.module)}
        found |= imported_modules(child, known)
    return found


def test_imports_have_no_cycles() -> None:
    modules = {module_of(path): path for path in SOURCES}
    TopologicalSorter({name: imported_modules(parsed(path), set(modules)) for name, path in modules.items()}).prepare()


def test_every_package_is_in_the_layering() -> None:
    packages = {path.name.removesuffix(".py") for path in PACKAGE.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert packages - {"__init__", "__pycache__", "app", "py.typed"} == set(MAY_IMPORT)


def test_no_file_is_longer_than_500_lines() -> None:
    lengths = {name_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCES + TESTS}
    assert not {name: length for name, length in lengths.items() if length > 500}


def lines_of_code(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The lines of a function, from `def` to its end, without its docstring."""
    text = function.body[0] if ast.get_docstring(function) is not None else None
    documented = (text.end_lineno or 0) - text.lineno + 1 if text else 0
    return (function.end_lineno or 0) - function.lineno + 1 - documented


def test_no_function_has_more_than_60_lines_of_code() -> None:
    functions = [
        (f"{name_of(path)}: {node.name}", lines_of_code(node))
        for path in SOURCES
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    assert not [entry for entry in functions if entry[1] > 60]


# Constants below 1e-3 that are no tolerances: coefficients, step sizes, defaults, data of examples and papers; or
# tolerances of a file that imports nothing of its package.
NO_TOLERANCES = {
    "algorithms/passive_joint_forces.py": "distance at a stop",
    "algorithms/solid_contact/contact_drifts.py": "step of a difference quotient",
    "app/": "sizes and limits of the command line",
    "compiler/targets/cpu/vector_math.py": "coefficients of polynomials",
    "evaluation/constrained_derivatives.py": "complex step",
    "evaluation/loop_assembly.py": "random displacements",
    "evaluation/mobility.py": "step of a difference quotient",
    "examples/": "data of examples",
    "model/constraint_rows.py": "lower bound of a squared length",
    "model/documents/": "constants of MuJoCo",
    "model/elements/contact_force_law.py": "default of a parameter",
    "model/parameter_value_checks.py": "default of a parameter",
    "papers/": "data of papers, and their comparison with print",
    "simulation/method_choice.py": "steps",
    "simulation/results/mechanism_drawing.py": "proportions of drawings",
    "spatial/": "coefficients, and tolerances of one algorithm each",
}


def small_constants(path: Path) -> list[str]:
    """The module-level constants of a file that contain a number of at most 1e-3."""
    return [
        f"{name_of(path)}:{node.lineno}"
        for node in parsed(path).body
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
        for number in [x.value for x in ast.walk(node.value) if isinstance(x, ast.Constant)]
        if isinstance(number, float) and 0.0 < abs(number) <= 1e-3
    ]


def test_tolerances_are_defined_in_the_tolerance_module_of_their_package() -> None:
    """Each package has its tolerances in one place by concern, each with its unit and reason."""
    files = [path for path in SOURCES if not path.name.endswith("tolerances.py")]
    found = [
        place
        for path in files
        if not str(path.relative_to(PACKAGE)).startswith(tuple(NO_TOLERANCES))
        for place in small_constants(path)
    ]
    assert not found, "move to the module of the package whose name ends in `_tolerances`:\n" + "\n".join(found)


def test_simulation_signatures_use_the_type_any_at_most_twelve_times() -> None:
    """Signatures of the simulation packages name types; `Any` is left to what users return or register."""
    files = [path for path in SOURCES if path.relative_to(PACKAGE).parts[0] in ("simulation", "lagrangian")]
    annotations = [
        annotation
        for path in files
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for annotation in [*(a.annotation for a in node.args.args + node.args.kwonlyargs), node.returns]
        if annotation is not None and re.search(r"\bAny\b", ast.unparse(annotation))
    ]
    assert len(annotations) <= 12


def test_file_names_are_unique() -> None:
    counts = Counter(path.name for path in SOURCES + TESTS if path.name != "__init__.py")
    assert not [name for name, count in counts.items() if count > 1]


def test_architecture_page_names_only_existing_files() -> None:
    named = set(re.findall(r"\b\w+\.py\b", (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")))
    assert named <= {path.name for path in SOURCES + TESTS}


def test_architecture_page_has_at_most_200_lines() -> None:
    assert len((ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").splitlines()) <= 200


def test_every_source_file_has_a_docstring() -> None:
    for path in SOURCES:
        assert ast.get_docstring(parsed(path)), name_of(path)


def public_functions(path: Path) -> list[tuple[str, ast.FunctionDef]]:
    """Functions and methods that a user can reach, with their dotted names."""
    found: list[tuple[str, ast.FunctionDef]] = []
    for node in parsed(path).body:
        if isinstance(node, ast.FunctionDef):
            found.append((node.name, node))
        elif isinstance(node, ast.ClassDef):
            found += [(f"{node.name}.{f.name}", f) for f in node.body if isinstance(f, ast.FunctionDef)]
    return [(name, f) for name, f in found if not any(part.startswith("_") for part in name.split("."))]


def takes_or_gives_arrays(function: ast.FunctionDef) -> bool:
    annotations = [a.annotation for a in function.args.args] + [function.returns]
    return any("Array" in ast.unparse(annotation) for annotation in annotations if annotation)


SHAPE = re.compile(r"\([^()]*(\d|\bn\w*|\.\.\.|\bk\b|\bf\b|\br\b|\d*p)[^()]*,[^()]*\)|\(\.\.\.\)")
UNIT = re.compile(r"\[[^\]]*\b(m|kg|rad|N|J|s)\b[^\]]*\]")


def test_public_functions_have_docstrings() -> None:
    """Every public function has a docstring; those of `Dynamics` and the algorithms give shapes."""
    questions = {
        name.split(".")[-1]
        for file in ("joint_kind_interface.py", "constraint_rows.py", "friction/friction_law.py")
        for name, _ in public_functions(PACKAGE / "model" / file)
        if name.startswith(("JointKind.", "ClosingKind.", "Row.", "FrictionLaw."))
    }
    for path in SOURCES:
        for name, function in public_functions(path):
            answers_documented_question = name.split(".")[-1] in questions
            if not answers_documented_question and not any(
                "overload" in ast.unparse(d) for d in function.decorator_list
            ):
                assert ast.get_docstring(function), f"{name_of(path)}: {name}"
    for path in sorted((PACKAGE / "algorithms").glob("*.py")):
        for name, function in public_functions(path):
            if takes_or_gives_arrays(function) and function.returns and "Array" in ast.unparse(function.returns):
                assert SHAPE.search(ast.get_docstring(function) or ""), f"{name_of(path)}: {name} gives no shape"


def test_every_method_of_dynamics_documents_shape_and_unit() -> None:
    import linkwork as lw

    groups = [f"{group}_methods.py" for group in ("kinematics", "dynamics", "friction", "constraint")]
    files = ["dynamics.py", "momentum_and_energy.py", *groups]
    functions = [found for file in files for found in public_functions(PACKAGE / "evaluation" / file)]
    methods = {name.split(".")[1]: function for name, function in functions if "." in name}
    assert methods.keys() == {name for name in dir(lw.Dynamics) if not name.startswith("_")}
    for name, function in methods.items():
        text = ast.get_docstring(function) or ""
        assert SHAPE.search(text), f"{name} gives no shape"
        assert UNIT.search(text), f"{name} gives no unit"


def test_top_level_package_has_no_logic_and_lists_its_names() -> None:
    import linkwork as lw

    tree = parsed(PACKAGE / "__init__.py")
    plain = (ast.Expr, ast.ImportFrom, ast.Assign)
    rest = [node for node in tree.body if not isinstance(node, plain)]
    functions = [node.name for node in rest if isinstance(node, ast.FunctionDef)]
    assert functions == ["__getattr__", "__dir__"]  # what is imported on demand
    assert [ast.unparse(node.test) for node in rest if isinstance(node, ast.If)] == ["TYPE_CHECKING"]
    assert len(rest) == 3
    for name in lw.__all__:
        assert getattr(lw, name).__doc__, name


def test_import_loads_no_heavy_library_and_few_modules() -> None:
    """Modules load on demand, which keeps the import below 0.3 s."""
    script = "import sys, linkwork; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = run.stdout.split()
    assert len([name for name in loaded if name.startswith("linkwork.")]) < 90
    heavy = {"scipy", "rich", "msgspec", "matplotlib", "xarray", "pandas", "h5netcdf", "h5py"}
    heavy |= {"llvmlite", "mujoco", "pinocchio", "hypothesis"}
    assert not heavy & {name.split(".")[0] for name in loaded}


# What a mechanism may have. A condition on one of these treats elements by kind, instead of looping over them.
FEATURES = set[str]()
FEATURES |= {"mimics", "constrained", "constraints", "frame_constraints", "velocity_constraints"}
FEATURES |= {"velocity_rows", "bounded", "rotors", "forces", "line_forces"}
FEATURES |= {"contacts", "contact_pairs", "touches", "collisions", "solid_pairs"}
FEATURES |= {"frictions", "has_friction", "loops", "drives", "actuators"}
FEATURES |= {"clutches", "brakes", "springs", "surfaces", "elements"}
FEATURES |= {"latches", "ratchets"}
MOST_FEATURE_CONDITIONS = 24
A_MECHANISM = re.compile(r"(^|\.)_?(m|mechanism|tree)$")


def asks_for_a_feature(condition: ast.expr) -> bool:
    """Whether a condition asks what a mechanism has, such as `if mechanism.mimics`, or `if m.tree is m`.

    A search for a name (`name in m.drives`) and the use of one element (`m.joints[0]`) do not ask.
    """
    other: set[int] = set()
    for node in ast.walk(condition):
        if isinstance(node, ast.Compare) and any(isinstance(one, ast.In | ast.NotIn) for one in node.ops):
            other |= {id(child) for found_in in node.comparators for child in ast.walk(found_in)}
        if isinstance(node, ast.Subscript):
            other.add(id(node.value))
    return "tree is" in ast.unparse(condition) or any(
        isinstance(node, ast.Attribute)
        and node.attr in FEATURES
        and A_MECHANISM.search(ast.unparse(node.value))
        and id(node) not in other
        for node in ast.walk(condition)
    )


def conditions(path: Path) -> list[ast.expr]:
    """The conditions of all statements, conditional expressions and comprehensions of a file."""
    found: list[ast.expr] = []
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.If | ast.IfExp | ast.While):
            found.append(node.test)
        elif isinstance(node, ast.comprehension):
            found += node.ifs
    return found


def test_few_conditions_ask_what_a_mechanism_has() -> None:
    places = [
        f"{name_of(path)}:{condition.lineno}: {ast.unparse(condition)}"
        for path in SOURCES
        for condition in conditions(path)
        if asks_for_a_feature(condition)
    ]
    remedy = "loop over the elements, or use `contact_families` or `SolverChoice`"
    listed = "\n".join(places)
    assert len(places) <= MOST_FEATURE_CONDITIONS, f"{len(places)} conditions; {remedy}:\n{listed}"


@pytest.mark.parametrize(
    ("condition", "asks"),
    [
        ("mechanism.mimics", True),
        ("not (self.m.mimics or other)", True),
        ("problem.mechanism.solid_pairs and rigid", True),
        ("tree is not mechanism", True),
        ("name in m.drives", False),
        ("m.loops[0].engaged", False),
        ("run.forces", False),
        ("mechanism.nv == 0", False),
    ],
)
def test_conditions_that_ask_what_a_mechanism_has_are_recognised(condition: str, asks: bool) -> None:
    assert asks_for_a_feature(ast.parse(condition, mode="eval").body) == asks
