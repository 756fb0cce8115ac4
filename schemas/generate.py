"""Writes schemas/deepspeed/*.json from the sources of the DeepSpeed releases and the overlay.

    python schemas/generate.py SOURCES [--only X.Y.Z] [--to FOLDER]

SOURCES holds one unpacked source distribution a release, `deepspeed-X.Y.Z`. Without --only every release that dslint
knows must be there. What is read from the sources: pydantic models, constants, names in use, signatures (reading.py,
signatures.py). What is written by hand: overlay/*.yaml. README.md explains the result.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from reading import UNKNOWN, Field, Model, Package  # noqa: E402
from signatures import optimizer_table, scheduler_table  # noqa: E402

from dslint.documents.tree import join_pointer, split_pointer  # noqa: E402
from dslint.releases.release import KNOWN  # noqa: E402

Entry = dict[str, Any]
Overlay = dict[str, Any]

BLOCK_FILES = ("training", "precision", "zero", "monitoring", "parallel", "data")


def load_yaml(name: str) -> Overlay:
    from ruamel.yaml import YAML

    return YAML(typ="safe").load((HERE / "overlay" / f"{name}.yaml").read_text(encoding="utf-8"))


def load_overlay() -> Overlay:
    blocks: Overlay = {}
    for name in BLOCK_FILES:
        blocks.update(load_yaml(name))
    return blocks


# ---- the kinds of values that pydantic reads, in each of its two versions ----

# Underscores are taken more freely than pydantic takes them: better silent than wrong about such texts.

INTEGER_TEXT = r"^\s*[+-]?[0-9]+(_[0-9]+)*(\.0+)?\s*$|^auto$"
INTEGER_TEXT_1 = r"^\s*[+-]?\d+(_\d+)*\s*$|^auto$"
NUMBER_TEXT = (
    r"^\s*[+-]?([\d_]+\.?[\d_]*|\.[\d_]+)([eE][+-]?[\d_]+)?\s*$"
    r"|^\s*[+-]?([iI][nN][fF]([iI][nN][iI][tT][yY])?|[nN][aA][nN])\s*$|^auto$"
)
BOOLEAN_TEXT = (
    r"^([01tTfFyYnN]|[oO][nN]|[oO][fF][fF]|[yY][eE][sS]|[nN][oO]|[tT][rR][uU][eE]|[fF][aA][lL][sS][eE]|auto)$"
)


def kinds(pydantic: int) -> dict[str, Entry]:
    """The definitions of what a pydantic field takes, "auto" included: the models drop it and use the default."""
    loose = pydantic == 1
    plain: dict[str, Entry] = {
        "boolean": {
            "type": ["boolean", "integer", "string"],
            "minimum": 0,
            "maximum": 1,
            "pattern": BOOLEAN_TEXT,
        },
        "integer": {
            "type": ["number" if loose else "integer", "boolean", "string"],
            "pattern": INTEGER_TEXT_1 if loose else INTEGER_TEXT,
        },
        "number": {"type": ["number", "boolean", "string"], "pattern": NUMBER_TEXT},
        "string": {"type": ["string", "number", "boolean"] if loose else ["string"]},
        "path": {"type": ["string"]},
    }
    nullable = {f"{name}?": {**entry, "type": [*entry["type"], "null"]} for name, entry in plain.items()}
    both = {**plain, **nullable}
    return {**both, **{f"bare-{name}": without_auto(name, entry) for name, entry in both.items()}}


def without_auto(name: str, entry: Entry) -> Entry:
    """The same for a model that keeps "auto" and stumbles over it."""
    bare = {**entry, "x-kind": name}
    if "pattern" in bare:
        bare["pattern"] = bare["pattern"].replace("|^auto$", "").replace("|auto", "")
    return bare


SCALARS = {"bool": "boolean", "int": "integer", "float": "number", "str": "string", "Path": "path"}


class Builder:
    """One release's schema, without its place in time."""

    def __init__(self, package: Package, overlay: Overlay, definitions: dict[str, Entry]) -> None:
        self.package = package
        self.overlay = overlay
        self.definitions = definitions
        self.kinds = kinds(package.pydantic)
        self.used: set[str] = set()
        self.drops_auto = True

    def build(self) -> Entry:
        properties = self.children(self.overlay, "", "runtime/constants.py")
        for name in self.package.removed_keys("_REMOVED_TOP_LEVEL_CONFIG_KEYS"):
            properties[name] = self.removed(self.overlay.get(name, {}))
        zero = properties["zero_optimization"]
        for name in self.package.removed_keys("_REMOVED_ZERO_CONFIG_KEYS"):
            zero["properties"][name] = self.removed(self.overlay["zero_optimization"]["keys"].get(name, {}))
        known = {**self.kinds, **self.definitions}
        return {
            "type": "object",
            "x-unknown": "ignored",
            "properties": properties,
            "$defs": {name: known[name] for name in sorted(self.used | {"empty"})},
        }

    def removed(self, overlay: Overlay) -> Entry:
        entry: Entry = {"not": {}, "x-removed": True}
        if "replaced_by" in overlay:
            entry["x-replaced-by"] = overlay["replaced_by"]
        if "removed_because" in overlay:
            entry["x-reason"] = " ".join(overlay["removed_because"].split())
        return entry

    def children(self, overlay: Overlay, pointer: str, file: str) -> dict[str, Entry]:
        found = {}
        for name, child in overlay.items():
            entry = self.entry(name, child, join_pointer(pointer, name), child.get("in", file))
            if entry is not None:
                found[name] = entry
        return found

    def entry(self, name: str, overlay: Overlay, pointer: str, file: str) -> Entry | None:
        """What a hand-read key or a block is in this release; None where there is none."""
        model = self.package.models.get(overlay.get("model", ""))
        holder = overlay.get("in_model")
        if holder is not None and name not in self.package.models[holder].fields:
            return None
        if "read" in overlay and not self.package.reads(overlay["read"], file, name):
            return None
        if model is not None:
            entry = self.model_block(model, overlay, pointer)
            types = self.variant(overlay, False).get("accepts", "object")
            self.accept(entry, types)
            if holder is not None:
                entry.update(self.nested(False))
            elif overlay.get("nullable_with_model"):
                entry["type"] = ["object", "null"]
        elif "read" in overlay or "ignored" in overlay:
            entry = self.hand_entry(overlay, pointer, file)
        else:
            return None
        if "deprecated" in overlay:
            entry.update({"deprecated": True, "x-replaced-by": overlay["deprecated"]})
        return entry

    def hand_entry(self, overlay: Overlay, pointer: str, file: str) -> Entry:
        chosen = self.variant(overlay, False)
        entry: Entry = {}
        self.accept(entry, chosen.get("accepts"))
        if "expects" in chosen:
            entry["x-expects"] = chosen["expects"]
        if "stops" in chosen:
            entry["x-stops"] = list(chosen["stops"])
        if "allowed" in chosen:
            entry["x-allowed"] = list(chosen["allowed"])
        if "ignored" in overlay:
            entry["x-ignored"] = True
        default = self.package.default_of(overlay.get("read", '"'), file)
        if default is UNKNOWN:
            default = overlay.get("default", UNKNOWN)
        if default is not UNKNOWN:
            entry["default"] = default
        if "unknown" in overlay:
            entry["x-unknown"] = overlay["unknown"]
            self.add_children(entry, overlay.get("keys", {}), pointer, file)
            entry.pop("default", None)
        if "required" in overlay:
            entry["required"] = list(overlay["required"])
        for part, keys in overlay.get("entries", {}).items():
            assert part == "group"
            params = {"type": "object", "x-unknown": "free", "required": list(keys)}
            group = {
                "type": "object",
                "x-unknown": "free",
                "required": ["params"],
                "properties": {"params": params},
            }
            entry.update({"x-unknown": "entries", "additionalProperties": group})
        return entry

    def add_children(self, entry: Entry, overlay: Overlay, pointer: str, file: str) -> None:
        """The keys of a block; what is only checked where another key stands (`beside`) goes under that key."""
        properties = self.children(overlay, pointer, file)
        for name in list(properties):
            other = overlay[name].get("beside")
            if other is not None:
                entry.setdefault("dependentSchemas", {})[other] = {"properties": {name: properties[name]}}
                properties[name] = unchecked(properties[name])
        entry["properties"] = properties

    def variant(self, overlay: Overlay, in_model: bool) -> Overlay:
        """The overlay with the first variant that this release's source bears out laid over it."""
        for variant in overlay.get("variants", ()):
            if variant.get("model", False) != in_model:
                continue
            if "if_word" in variant and not self.package.has_word(variant["if_word"]):
                continue
            text = variant.get("if_text")
            if text is not None and text["text"] not in self.package.text(text["file"]):
                continue
            return {**overlay, **variant}
        return overlay

    def accept(self, entry: Entry, accepts: Any) -> None:
        """Adds what is accepted: JSON types, or a definition's name."""
        if accepts is None:
            return
        names = [accepts] if isinstance(accepts, str) else list(accepts)
        if len(names) == 1 and names[0] in self.definitions:
            self.used.add(names[0])
            entry["$ref"] = f"#/$defs/{names[0]}"
        else:
            entry["type"] = names if len(names) > 1 else names[0]

    # ---- pydantic models ----

    def model_block(self, model: Model, overlay: Overlay, pointer: str) -> Entry:
        properties: dict[str, Entry] = {}
        conflicts: list[list[str]] = []
        prose = overlay.get("keys", {})
        self.drops_auto = self.package.is_config_model(model)
        for field in self.package.fields_of(model):
            entry = self.field_entry(
                field, prose.get(field.name, {}), join_pointer(pointer, field.alias or field.name)
            )
            properties[field.alias or field.name] = entry
            if field.alias:
                properties[field.name] = {**entry, "x-alias-of": field.alias}
                conflicts.append([field.name, field.alias])
        for field in self.package.fields_of(model):
            if field.deprecated:
                conflicts += self.deprecate(field, model, properties, pointer, prose.get(field.name, {}))
        entry = {"x-unknown": "refused", "properties": properties, "additionalProperties": False}
        if self.package.is_config_model(model):
            entry.update({"x-auto": "dropped", "additionalProperties": {"const": "auto"}})
        if conflicts:
            entry["x-conflicts"] = conflicts
            entry["allOf"] = [never_together(left, right) for left, right in conflicts]
        return entry

    def deprecate(
        self, field: Field, model: Model, properties: dict[str, Entry], pointer: str, overlay: Overlay
    ) -> list[list[str]]:
        entry = properties[field.name]
        entry["deprecated"] = True
        target = model.fields.get(field.new_param or "")
        if target is None or not field.sets_new_param:
            return []
        entry["x-replaced-by"] = join_pointer(pointer, target.alias or target.name)
        if "replaced_values" in overlay:
            entry["x-replaced-values"] = overlay["replaced_values"]
        return [[field.name, name] for name in (target.alias, target.name) if name]

    def field_entry(self, field: Field, overlay: Overlay, pointer: str) -> Entry:
        chosen = self.variant(overlay, True)
        nullable = self.package.pydantic == 1 and field.default is None
        entry = self.typed(field.annotation, chosen, pointer, nullable)
        if "accepts" in chosen and "properties" not in entry:
            entry = {}
            self.accept(entry, chosen["accepts"])
        elif "accepts" in chosen:
            entry["type"] = [*chosen["accepts"], "string"]
        for name, bound in field.bounds.items():
            entry.update(bounds(name, bound))
        if field.default is not UNKNOWN and "properties" not in entry:
            entry["default"] = field.default
        return entry

    def typed(self, annotation: ast.expr, overlay: Overlay, pointer: str, nullable: bool) -> Entry:
        """What pydantic takes for an annotation, "auto" included."""
        text = ast.unparse(annotation)
        if isinstance(annotation, ast.Subscript):
            outer, inner = ast.unparse(annotation.value), annotation.slice
            if outer == "Optional":
                return self.typed(inner, overlay, pointer, True)
            if outer in ("List", "list"):
                return array(self.typed(inner, overlay, pointer, False), nullable)
            if outer in ("Dict", "dict"):
                return self.mapping(nullable)
            if outer == "Literal":
                return choices([part.value for part in inner.elts], nullable)  # type: ignore[attr-defined]
            if outer == "Union":
                return self.union(inner)
        if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
            none = ast.unparse(annotation.right) == "None"
            return self.typed(annotation.left, overlay, pointer, none or nullable)
        if text in SCALARS:
            bare = "" if self.drops_auto else "bare-"
            return self.reference(bare + SCALARS[text] + ("?" if nullable else ""))
        if text in ("list", "tuple", "List"):
            return array(None, nullable) if self.drops_auto else {"type": "array"}
        if text in ("dict", "Dict"):
            return self.mapping(nullable)
        if text in ("object", "Any"):
            return {"x-expects": "any"}
        found = self.package.models.get(text)
        if found is None:
            literal = self.package.literal(text)
            if literal is not None:
                return choices(literal, nullable)
            return self.reference("none")
        if found.values:
            return self.enumeration(found, nullable)
        entry = self.model_block(found, overlay, pointer)
        return {**self.nested(nullable), **entry}

    def nested(self, nullable: bool) -> Entry:
        """What stands for a model within a model: "auto" is dropped; pydantic 1 makes a dict of nothing at all."""
        types = ["object", *(["null"] if nullable else []), "string"]
        if self.package.pydantic == 1:
            return {"type": [*types, "array"], "pattern": "^(auto)?$", "maxItems": 0}
        return {"type": types, "pattern": "^auto$"}

    def reference(self, name: str) -> Entry:
        self.used.add(name)
        return {"$ref": f"#/$defs/{name}"}

    def mapping(self, nullable: bool) -> Entry:
        return {**self.nested(nullable), "x-unknown": "free"}

    def union(self, inner: ast.expr) -> Entry:
        names = [ast.unparse(part) for part in inner.elts]  # type: ignore[attr-defined]
        types = {
            "str": ["string"],
            "int": ["integer", "boolean"],
            "float": ["number", "boolean"],
            "bool": ["boolean"],
        }
        return {"type": [kind for name in names for kind in types[name]]}

    def enumeration(self, model: Model, nullable: bool) -> Entry:
        values = list(dict.fromkeys(model.values))
        if "int" not in model.bases:
            return choices(values, nullable)
        allowed = [value for value in values if isinstance(value, int)]
        flags = [bool(value) for value in allowed if value in (0, 1)]
        entry: Entry = {"enum": [*allowed, *flags, "auto", *([None] if nullable else [])]}
        if self.package.pydantic == 2:
            digits = "".join(map(str, allowed))
            entry = {"anyOf": [entry, {"type": "string", "pattern": rf"^\s*\+?0*[{digits}](\.0+)?\s*$"}]}
        return {**entry, "x-expects": "integer", "x-allowed": allowed}


def unchecked(entry: Entry) -> Entry:
    """An entry without what is refused: its keys, its default and what it is for."""
    kept = {key: value for key, value in entry.items() if key == "default" or key.startswith("x-")}
    if "properties" in entry:
        kept["properties"] = {name: unchecked(child) for name, child in entry["properties"].items()}
    return kept


def array(items: Entry | None, nullable: bool) -> Entry:
    entry: Entry = {"type": ["array", "string", *(["null"] if nullable else [])], "pattern": "^auto$"}
    if items is not None:
        entry["items"] = items
    return entry


def choices(values: list[Any], nullable: bool) -> Entry:
    taken = [*values, *([None] if nullable else [])]
    extra = [] if "auto" in taken else ["auto"]
    return {"enum": [*taken, *extra], "x-expects": "string", "x-allowed": taken}


def bounds(name: str, bound: Any) -> Entry:
    """A field's bound, for numbers, and for the texts and booleans that are read as numbers."""
    keyword = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}[name]
    entry: Entry = {keyword: bound}
    if bound == 0:
        entry["pattern"] = r"^[^-]*$" if name == "ge" else r"^[^-]*[1-9a-zA-Z]"
        if name == "gt":
            entry["not"] = {"const": False}
    elif bound == 1:
        whole = r"|0*1(\.0*)?" if name == "le" else ""
        entry["pattern"] = rf"^\s*\+?(0*\.\d+|0+\.?{whole})(e-\d+)?\s*$|^auto$"
        if name == "lt":
            entry["not"] = {"enum": [True, False]}
    return entry


def never_together(left: str, right: str) -> Entry:
    """Both keys given, neither with the "auto" that counts as not given."""
    given = {"not": {"const": "auto"}}
    return {"not": {"type": "object", "required": [left, right], "properties": {left: given, right: given}}}


# ---- time ----------------------------------------------------------------------------------------------------------


def blocks_of(entry: Entry, pointer: str = "") -> Iterator[tuple[str, Entry]]:
    """Every entry that holds keys, with its pointer."""
    if "properties" in entry:
        yield pointer, entry
        for name, child in entry["properties"].items():
            yield from blocks_of(child, join_pointer(pointer, name))


def keys_of(schema: Entry) -> set[str]:
    """The pointers of the keys that there are, those that are refused as removed left out."""
    return {
        join_pointer(pointer, name)
        for pointer, block in blocks_of(schema)
        for name, child in block["properties"].items()
        if "x-removed" not in child
    }


class Timeline:
    """When each key came and went, over the releases that were read."""

    def __init__(self, schemas: dict[str, Entry], overlay: Overlay) -> None:
        self.overlay = overlay
        self.names = list(schemas)
        self.tables = {
            table: {name: set(schema[table]) for name, schema in schemas.items()}
            for table in ("x-optimizers", "x-schedulers")
        }
        self.keys = {name: keys_of(schema) for name, schema in schemas.items()}
        self.all: dict[str, set[str]] = {}
        for pointer in sorted(set().union(*self.keys.values())):
            self.all.setdefault(pointer.rpartition("/")[0], set()).add(pointer)

    def spell(self, pointer: str, name: str) -> tuple[str, str]:
        """The first and last release of the unbroken run around (else before, else after) a release."""
        present = [pointer in self.keys[other] for other in self.names]
        index = self.names.index(name)
        if not present[index]:
            earlier = [i for i in range(index) if present[i]]
            index = earlier[-1] if earlier else present.index(True, index)
        first = last = index
        while first > 0 and present[first - 1]:
            first -= 1
        while last + 1 < len(present) and present[last + 1]:
            last += 1
        return self.names[first], self.names[last]

    def after(self, name: str) -> str:
        return self.names[self.names.index(name) + 1]

    def annotate(self, schema: Entry, name: str) -> None:
        for pointer, block in list(blocks_of(schema)):
            for key, entry in block["properties"].items():
                self.date(entry, join_pointer(pointer, key), name)
            absent = {
                split_pointer(missing)[-1]: self.absence(missing, name)
                for missing in sorted(self.all.get(pointer, ()))
                if split_pointer(missing)[-1] not in block["properties"]
            }
            if absent:
                block["x-absent"] = absent
        for table in ("x-optimizers", "x-schedulers"):
            self.date_names(schema, table, name)

    def date_names(self, schema: Entry, table: str, name: str) -> None:
        """When the names of a table came and went; those that this release has not go under a table of their own."""
        have = self.tables[table]
        absent: Entry = {}
        for word in sorted(set().union(*have.values())):
            releases = [other for other in self.names if word in have[other]]
            dates: Entry = {}
            if releases[0] != self.names[0]:
                dates["since"] = releases[0]
            if releases[-1] != self.names[-1]:
                dates.update({"until": releases[-1], "gone": self.after(releases[-1])})
            if word in schema[table]:
                schema[table][word].update(dates)
            else:
                absent[word] = dates
        schema[f"x-absent-{table[2:]}"] = absent

    def date(self, entry: Entry, pointer: str, name: str) -> None:
        known = any(pointer in keys for keys in self.keys.values())
        if not known:
            entry.pop("x-removed", None)
            entry["x-removed"] = name
            return
        since, until = self.spell(pointer, name)
        if since != self.names[0]:
            entry["x-since"] = since
        if until != self.names[-1]:
            entry["x-until"] = until
        if "x-removed" in entry:
            entry["x-removed"] = self.after(until)

    def absence(self, pointer: str, name: str) -> Entry:
        since, until = self.spell(pointer, name)
        found: Entry = {"since": since}
        if until != self.names[-1]:
            found.update({"until": until, "gone": self.after(until)})
            found |= self.words_for(pointer).get("gone", {})
            later = [
                other for other in self.names[self.names.index(until) + 1 :] if pointer in self.keys[other]
            ]
            if later:
                found["again"] = later[0]
        return found

    def words_for(self, pointer: str) -> Overlay:
        """The overlay of a pointer; empty where it has none."""
        words: Overlay = {"keys": self.overlay}
        for key in split_pointer(pointer):
            words = words.get("keys", {}).get(key, {})
        return words


def prose_of(overlay: Overlay, schema: Entry, pointer: str = "") -> dict[str, Entry]:
    """Pointer → title and description, for the keys of a schema, aliases included."""
    found: dict[str, Entry] = {}
    for key, entry in schema["properties"].items():
        here = join_pointer(pointer, key)
        words = overlay.get(key) or next(
            (
                overlay[name]
                for name, other in schema["properties"].items()
                if other.get("x-alias-of") == key and name in overlay
            ),
            {},
        )
        texts = {"title": words.get("title"), "description": " ".join(str(words.get("about", "")).split())}
        found[here] = {name: text for name, text in texts.items() if text}
        if "properties" in entry:
            found |= prose_of(words.get("keys", {}), entry, here)
    return found


def finish(schema: Entry, name: str, names: Overlay) -> Entry:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"DeepSpeed {name} configuration",
        "x-release": name,
        **schema,
        "x-wrong-names": names["wrong-names"],
        "x-foreign": names["foreign"],
    }


def known_names(names: Overlay, schema: Entry) -> Overlay:
    """The wrong names whose right ones there are in a release."""
    have = keys_of(schema)
    wrong = {
        key: [place for place in places if place in have] for key, places in names["wrong-names"].items()
    }
    return {**names, "wrong-names": {key: places for key, places in wrong.items() if places}}


def generate(sources: Path, only: str | None) -> tuple[dict[str, Entry], dict[str, Entry]]:
    """Release → schema, for the releases at which something changes; and the texts by pointer."""
    overlay = load_overlay()
    definitions = load_yaml("definitions")
    names = load_yaml("names")
    releases = [release.name for release in KNOWN if (sources / f"deepspeed-{release.name}").is_dir()]
    if only is None and len(releases) != len(KNOWN):
        missing = [release.name for release in KNOWN if release.name not in releases]
        raise SystemExit(f"{sources} lacks the sources of {', '.join(missing)}")
    built: dict[str, Entry] = {}
    for name in releases:
        package = Package(sources / f"deepspeed-{name}")
        built[name] = Builder(package, overlay, definitions).build()
        built[name]["x-optimizers"] = optimizer_table(package, load_yaml("optimizers"))
        built[name]["x-schedulers"] = scheduler_table(package)
        for file, constant, value, key in sorted(package.other_names):
            print(f"{name}: {constant} of {file} is {value!r}, the overlay has it as {key!r}")
        package.__dict__.clear()
    timeline = Timeline(built, overlay)
    texts: dict[str, Entry] = {}
    files: dict[str, Entry] = {}
    before = None
    for name, schema in built.items():
        plain = json.dumps(schema, sort_keys=True)
        texts |= prose_of(overlay, schema)
        if plain != before:
            timeline.annotate(schema, name)
            files[name] = finish(schema, name, known_names(names, schema))
        before = plain
    if only is not None:
        return {
            only: files[max((n for n in files if as_figures(n) <= as_figures(only)), key=as_figures)]
        }, texts
    return files, texts


def as_figures(name: str) -> tuple[int, ...]:
    return tuple(map(int, name.split(".")))


def dump(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sources", type=Path)
    parser.add_argument("--only")
    parser.add_argument("--to", type=Path, default=HERE / "deepspeed")
    arguments = parser.parse_args()
    files, texts = generate(arguments.sources, arguments.only)
    arguments.to.mkdir(parents=True, exist_ok=True)
    if arguments.only is None:
        for old in arguments.to.glob("0.*.json"):
            old.unlink()
        (arguments.to / "descriptions.json").write_text(dump(dict(sorted(texts.items()))), encoding="utf-8")
    for name, schema in files.items():
        text = json.dumps(schema, separators=(",", ":"), ensure_ascii=False) + "\n"
        (arguments.to / f"{name}.json").write_text(text, encoding="utf-8")
    print(f"{len(files)} schemas: {', '.join(files)}")


if __name__ == "__main__":
    main()
