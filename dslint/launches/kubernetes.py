"""Kubernetes manifests → the commands of their containers, and the configs that their ConfigMaps hold.

A container runs `command` and then `args`, which a manifest gives apart; `bash -c` among them holds a shell
script. The words and scripts keep their places in the YAML, so the shell's readers take them from there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from dslint.documents.script import Script
from dslint.documents.tree import UNKNOWN, Document, Node, Place, Unknown, join_pointer, walk
from dslint.launches.launch import Argument

Word = tuple[str | Unknown, int, int]
SHELLS: Final = frozenset({"sh", "bash", "zsh", "dash", "ash"})
SCRIPT_FLAG: Final = re.compile(r"-[a-z]*c[a-z]*")
SEPARATORS: Final = frozenset({"&&", "||", ";", "|", "&"})
GPU_RESOURCE: Final = re.compile(r"(?:nvidia|amd)\.com/(?:gpu|mig-.*)|habana\.ai/gaudi")
# Labels of nodes that name their GPU: NVIDIA's feature discovery, GKE, EKS by instance, and the like.
GPU_LABEL: Final = re.compile(
    r"nvidia\.com/gpu\.product|cloud\.google\.com/gke-accelerator|.*/gpu[-_.]?(?:type|model|name)", re.I
)
CONFIG_NAME: Final = re.compile(r".*\.(?:json|hjson|ya?ml)", re.I)


@dataclass(frozen=True, slots=True)
class Workload:
    """What one container runs.

    kind: the manifest's (PyTorchJob, Job, Pod, …). name: the manifest's own, if it is known.
    script: what the shell's reader makes of its command.
    gpus: of one pod, as its limits ask. pods: how many such pods train together, None when nothing says.
    hardware: the node label that names the GPU, as written.
    environment: the variables that the manifest sets.
    """

    kind: str
    name: str | None
    script: Script
    gpus: Argument | None = None
    pods: int | None = None
    hardware: Argument | None = None
    environment: Mapping[str, Argument] = field(default_factory=dict)


class Embedded(NamedTuple):
    """A file that a ConfigMap holds: its name, and the span of its text in the manifest."""

    name: str
    start: int
    end: int
    place: Place


def is_manifest(root: Node) -> bool:
    kind, version = root.get("kind"), root.get("apiVersion")
    return kind is not None and kind.kind == "string" and version is not None


def workloads(document: Document) -> list[Workload]:
    """What each container of a manifest runs, as far as it is written out; initial and side containers
    too.
    """
    if not is_manifest(document.root):
        return []
    found = []
    for pointer, node in walk(document.root):
        containers = node.get("containers") if node.kind == "object" else None
        if containers is None or containers.kind != "array":
            continue
        pods = pods_of(document.root, pointer)
        for index, container in enumerate(containers.items):
            place = join_pointer(join_pointer(pointer, "containers"), index)
            script = script_of(document, container)
            if script is not None:
                found.append(workload(document, node, container, place, script, pods))
    return found


def workload(
    document: Document, pod: Node, container: Node, pointer: str, script: Script, pods: int | None
) -> Workload:
    meta = document.root.get("metadata")
    kind, name = document.root.get("kind"), meta.get("name") if meta else None
    return Workload(
        kind=str(kind.value) if kind else "",
        name=name.value if name is not None and isinstance(name.value, str) else None,
        script=script,
        gpus=gpus_of(document, container, pointer),
        pods=pods,
        hardware=hardware_of(document, pod),
        environment=environment_of(document, container),
    )


# --- the command


def script_of(document: Document, container: Node) -> Script | None:
    """The container's command, read as the shell or the kernel would take it."""
    # Imported here: the shell's reader needs tree-sitter, and most manifests train nothing.
    from dslint.documents.shell import read_commands, read_words

    nodes = [*items_of(container.get("command")), *items_of(container.get("args"))]
    if not nodes:
        return None
    source = document.source
    for index, node in enumerate(nodes[:-1]):
        if (
            index
            and SCRIPT_FLAG.fullmatch(raw(document, node))
            and raw(document, nodes[0]).rpartition("/")[2] in SHELLS
        ):
            span = text_span(document, nodes[index + 1])
            if span is not None:
                return read_commands(source, *span)
            lines = folded_words(document, nodes[index + 1])
            return read_words(source, lines) if lines else None
    return read_words(source, [word_of(document, node) for node in nodes])


def items_of(node: Node | None) -> list[Node]:
    if node is None:
        return []
    return (
        node.items if node.kind == "array" else [node] if node.kind in ("string", "unknown", "number") else []
    )


def raw(document: Document, node: Node) -> str:
    """A scalar's text without its quotes."""
    text = document.source.text[node.start : node.end]
    return text[1:-1] if len(text) > 1 and text[0] in "'\"" and text[-1] == text[0] else text


def word_of(document: Document, node: Node) -> Word:
    """A word as the kernel gets it. Kubernetes fills in `$(NAME)`; a plain `$NAME` stays as it stands."""
    text = raw(document, node)
    start = node.start + (1 if document.source.text[node.start : node.start + 1] in ("'", '"') else 0)
    known = "$(" not in text and "{{" not in text and "\n" not in text and "\\" not in text
    value = node.value if isinstance(node.value, str) else text
    return (value if known else UNKNOWN, start, start + len(text))


def text_span(document: Document, node: Node) -> tuple[int, int] | None:
    """The span of a script whose lines the YAML gives to the shell as they stand."""
    text = document.source.text[node.start : node.end]
    if text.startswith("|"):
        header = text.find("\n")
        return None if header < 0 else (node.start + header + 1, node.end)
    if text.startswith(">") or "\n" in text:
        return None
    if text[:1] in ("'", '"'):
        escapes = "\\" if text[0] == '"' else "''"
        return None if escapes in text[1:-1] else (node.start + 1, node.end - 1)
    return node.start, node.end


def folded_words(document: Document, node: Node) -> Sequence[Word]:
    """The words of a script whose lines the YAML joins; none where quotes or operators need a shell's eye."""
    text = document.source.text[node.start : node.end]
    start = text.find("\n") + 1 if text.startswith(">") else 0
    words: list[Word] = []
    for match in re.compile(r"\S+").finditer(text, start):
        piece = match.group()
        if piece in SEPARATORS or re.search(r"[;|&<>'\"`\\]", piece):
            return []
        known = "$" not in piece and "{{" not in piece
        words.append((piece if known else UNKNOWN, node.start + match.start(), node.start + match.end()))
    return words


# --- what is around it


def gpus_of(document: Document, container: Node, pointer: str) -> Argument | None:
    """The GPUs that the container's limits, or else its requests, ask for."""
    resources = container.get("resources")
    for name in ("limits", "requests"):
        block = resources.get(name) if resources else None
        for member in block.members if block else ():
            if GPU_RESOURCE.fullmatch(member.key):
                value = member.node.value
                if isinstance(value, str) and value.isdigit():
                    value = int(value)
                at = join_pointer(join_pointer(join_pointer(pointer, "resources"), name), member.key)
                place = Place(document.source, member.node.start, member.node.end, at)
                return Argument(value if isinstance(value, int) else UNKNOWN, place)
    return None


REPLICA_SPECS: Final = ("pytorchReplicaSpecs", "mpiReplicaSpecs")


def pods_of(root: Node, pointer: str) -> int | None:
    """How many pods train together: a training operator's replicas, or a job's parallelism."""
    spec = root.get("spec")
    if spec is None:
        return None
    kind = root.get("kind")
    if kind is not None and kind.value == "Pod":
        return 1
    for name in REPLICA_SPECS:
        specs = spec.get(name)
        if specs is not None:
            counts = [
                replicas(member.node)
                for member in specs.members
                if name != "mpiReplicaSpecs" or member.key == "Worker"
            ]
            return sum(count for count in counts if count is not None) if None not in counts else None
    if kind is not None and kind.value == "Job":
        parallelism = spec.get("parallelism")
        if parallelism is None:
            return 1
        return parallelism.value if isinstance(parallelism.value, int) else None
    return None


def replicas(node: Node) -> int | None:
    given = node.get("replicas")
    if given is None:
        return 1
    return given.value if isinstance(given.value, int) and not isinstance(given.value, bool) else None


def hardware_of(document: Document, pod: Node) -> Argument | None:
    """The GPU that the pod's node selector, or its affinity, asks for by name."""
    selector = pod.get("nodeSelector")
    for member in selector.members if selector else ():
        if GPU_LABEL.fullmatch(member.key) and isinstance(member.node.value, str):
            return Argument(member.node.value, Place(document.source, member.node.start, member.node.end))
    affinity = pod.get("affinity")
    for _, node in walk(affinity) if affinity else ():
        key, values = node.get("key"), node.get("values")
        named = key is not None and isinstance(key.value, str) and GPU_LABEL.fullmatch(key.value)
        if named and values is not None and len(values.items) == 1 and isinstance(values.items[0].value, str):
            item = values.items[0]
            operator = node.get("operator")
            if operator is not None and operator.value == "In":
                return Argument(item.value, Place(document.source, item.start, item.end))
    return None


def environment_of(document: Document, container: Node) -> dict[str, Argument]:
    """`env`: a value that comes from a field, a secret or another variable is unknown."""
    found = {}
    env = container.get("env")
    for item in env.items if env else ():
        name, value = item.get("name"), item.get("value")
        if name is None or not isinstance(name.value, str):
            continue
        shown = value or name
        known = value.value if value is not None and isinstance(value.value, str) else UNKNOWN
        found[name.value] = Argument(known, Place(document.source, shown.start, shown.end))
    return found


# --- ConfigMaps


def embedded_files(document: Document) -> Iterator[Embedded]:
    """The configuration files that a ConfigMap holds as texts of their own."""
    kind = document.root.get("kind")
    data = document.root.get("data")
    if kind is None or kind.value != "ConfigMap" or data is None:
        return
    for member in data.members:
        if CONFIG_NAME.fullmatch(member.key):
            span = text_span(document, member.node)
            if span is not None:
                place = Place(document.source, *span, join_pointer("/data", member.key))
                yield Embedded(member.key, *span, place)
