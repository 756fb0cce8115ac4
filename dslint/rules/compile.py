"""Rule files → the compiled rule book (JSON). Slow imports (YAML, pydantic) live here, off the path of a run."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from dslint.rules.book import BrokenRule, Rule
from dslint.rules.conditions import COMPANY
from dslint.rules.model import FixFile, RuleFile

LARGEST = 50_000
DEEPEST = 100
PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
RELEASE_FACTS = ("$release", "$version.")


# Facts that most launches of a run share: what they decide of a rule is decided once.
SHARED_FACTS = ("$release", "$framework", "$hardware", "$world_size")


def compile_folder(folder: str, target: str | None = None) -> list[list[Any]]:
    """Every rule file below `folder`, compiled and ordered by code, a row each; written to `target` when given.

    Raises:
        BrokenRule: a file can't be read, doesn't fit the format, or repeats a code or a name.
    """
    rules = sorted((compiled(rule) for _, rule in rule_files(folder)), key=lambda row: row[0])
    refuse_repeats(rules)
    put_rarest_first(rules)
    if target is not None:
        # A read-only checkout is no reason to fail: the next run compiles again.
        with contextlib.suppress(OSError):
            part = f"{target}.{os.getpid()}"
            Path(part).write_text(json.dumps(rules, separators=(",", ":")), encoding="utf-8")
            os.replace(part, target)
    return rules


def rule_files(folder: str) -> Iterator[tuple[Path, RuleFile]]:
    """Each rule file below a folder, validated, in the order of their paths; rules/messages is another catalogue."""
    for path in sorted(Path(folder).rglob("*.yaml")):
        if path.relative_to(folder).parts[0] != "messages":
            yield path, read_rule(path)


def text_of(path: Path) -> str:
    """The text of a rule file. A link may lead to a pipe, which waits, or to a device, which has no end."""
    if not path.is_file():
        raise BrokenRule(f"{path}: the rule file is no regular file")
    if path.stat().st_size > LARGEST:
        raise BrokenRule(f"{path}: the rule file is larger than {LARGEST:,} bytes, which no rule is")
    text = path.read_text(encoding="utf-8")
    depth = 0
    for bracket in re.findall(r"[\[\]{}]", text):
        depth += 1 if bracket in "[{" else -1
        if depth > DEEPEST:
            raise RecursionError
    return text


def read_rule(path: Path) -> RuleFile:
    try:
        plain = YAML(typ="safe", pure=True).load(text_of(path))
        return RuleFile.model_validate(plain)
    except (OSError, UnicodeDecodeError, YAMLError) as error:
        raise BrokenRule(f"{path}: the rule file can't be read: {' '.join(str(error).split())}") from error
    except RecursionError:
        raise BrokenRule(f"{path}: the rule file is nested too deeply to be read") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        raise BrokenRule(f"{path}: {where}: {first['msg']}; see docs/rules.md for the format") from error


def refuse_repeats(rows: list[list[Any]]) -> None:
    for column, field in enumerate(("code", "name")):
        seen: set[str] = set()
        for row in rows:
            if row[column] in seen:
                raise BrokenRule(f"two rules have the {field} {row[column]}; give one of them another")
            seen.add(row[column])


def compiled(rule: RuleFile) -> list[Any]:
    """A rule as a row (the columns are `book.Rule`'s fields), without what only documentation needs."""
    cases = [compiled_conditions({**rule.when, **case}) for case in rule.any] or [
        compiled_conditions(rule.when)
    ]
    row = {
        "code": rule.code,
        "name": rule.name,
        "severity": rule.severity,
        "summary": rule.summary,
        "document": rule.document,
        "needs": [needed_keys(case) for case in cases],
        "plain_cases": [halves(case) for case in cases],
        "check": rule.check,
        "at": rule.at,
        "mark": rule.mark,
        "message": " ".join(rule.message.split()),
        "related": list(rule.related.items()),
        "why": first_sentence(rule.why),
        "plain_fixes": [compiled_fix(fix) for fix in rule.fixes],
        "generic": rule.generic,
    }
    return [row[field] for field in Rule._fields]


def needed_keys(case: list[Any]) -> list[str]:
    """The keys, two levels deep, and the facts that a launch has or has not, without which a case can't hold."""
    found: set[str] = set()
    for path, test in case:
        if path[0] in COMPANY and "present" in test:
            found.add(path[0])
        if "absent" in test or path[0].startswith("$") or path[0] == "*":
            continue
        found.add(path[0])
        if len(path) > 1 and path[1] != "*" and not path[1].isdecimal():
            found.add(f"{path[0]}.{path[1]}")
    return sorted(found)


def put_rarest_first(rows: list[list[Any]]) -> None:
    """Sorts each case's needs and conditions: what few configs have is looked for first.

    What few rules ask for is rare; fp16 or a ZeRO stage is in most configs, and in most rules.
    """
    needs_column, cases_column = map(Rule._fields.index, ("needs", "plain_cases"))
    uses = Counter(key for row in rows for needs in row[needs_column] for key in needs)

    def frequency(condition: list[Any]) -> int:
        path, test = condition
        # Those with `*` stay in their order, the last: it says what the rule's place is.
        return len(rows) + ("*" in path) if "absent" in test or "*" in path else uses[".".join(path[:2])]

    for row in rows:
        for needs in row[needs_column]:
            needs.sort(key=lambda key: (uses[key], key))
        for _, own in row[cases_column]:
            own.sort(key=frequency)


def halves(case: list[Any]) -> list[list[Any]]:
    """The conditions on what launches share, and the others."""
    shared = [condition for condition in case if condition[0][0].startswith(SHARED_FACTS)]
    return [shared, [condition for condition in case if condition not in shared]]


def compiled_conditions(table: Mapping[str, Any]) -> list[Any]:
    # Facts about the launch come first: they are cheapest to test, and most often decide.
    ordered = sorted(table.items(), key=lambda item: not item[0].startswith("$"))
    return [[split_path(path), compiled_test(path, test)] for path, test in ordered]


def split_path(path: str) -> list[str]:
    return [path] if path.startswith("$") else path.split(".")


def compiled_test(path: str, test: Any) -> dict[str, Any]:
    if path.startswith(RELEASE_FACTS) and isinstance(test, str):
        return {"release": test}
    if test in ("absent", "present", "unknown") and (test != "unknown" or path.startswith("$")):
        return {str(test): True}
    if isinstance(test, dict):
        return dict(test)
    return {"is": test}


def compiled_fix(fix: FixFile) -> list[Any]:
    """A fix as a row, in the order of `book.FixPlan`'s fields."""
    changes: list[list[Any]] = [["remove", path, None] for path in fix.remove]
    changes += [["rename", path, name] for path, name in fix.rename.items()]
    changes += [["move", path, to] for path, to in fix.move.items()]
    changes += [["set", path, value] for path, value in fix.set.items()]
    message = " ".join((fix.message or default_message(fix)).split())
    return [fix.safety, message, compiled_conditions(fix.when), changes]


def default_message(fix: FixFile) -> str:
    parts = [f"set {path} to {json.dumps(value)}" for path, value in fix.set.items()]
    parts += [f"remove {path}" for path in fix.remove]
    parts += [f"rename {path} to {name}" for path, name in fix.rename.items()]
    parts += [f"move {path} to {to}" for path, to in fix.move.items()]
    return ", ".join(parts)


def first_sentence(text: str) -> str:
    """The first sentence of `why`; it must stand alone, since a report shows just that."""
    flat = " ".join(text.split())
    match = re.search(r"(?<=[.!?])\s+(?=[A-Z`\"])", flat)
    return flat[: match.start()] if match else flat
