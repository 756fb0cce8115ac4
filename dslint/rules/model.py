"""The rule-file format, as pydantic validates it when a rule is loaded from YAML. schemas/rule.json is drawn from it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from dslint.rules.condition_form import check_conditions

CODE = r"^[A-Z]{2,5}[0-9]{3}$"
NAME = r"^[a-z0-9]+(-[a-z0-9]+)*$"


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class FixFile(Strict):
    """`fix:` of a rule; a rule with several lists them, and the first whose `when` holds is taken."""

    safety: Literal["safe", "unsafe"]
    message: str = ""
    when: dict[str, Any] = Field(default_factory=dict)
    set: dict[str, Any] = Field(default_factory=dict)
    remove: list[str] = Field(default_factory=list)
    rename: dict[str, str] = Field(default_factory=dict)
    move: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def can_be_asked(self) -> FixFile:
        check_conditions(self.when)
        return self


class EngineClaim(Strict):
    """What the real engine shows for `bad`: it refuses with a text, or takes it and runs with some settings.

    `at` is how far it must be taken: load (DeepSpeedConfig), init (deepspeed.initialize) or steps. `says` is text that the
    engine prints. `needs` names what a CPU alone does not have; such a claim is listed, not run.
    """

    refuses: str | None = None
    effective: dict[str, Any] | None = None
    accepts: bool | None = None
    says: str | None = None
    at: Literal["load", "init", "steps"] = "load"
    needs: str | None = None


class Example(Strict):
    """`bad` must meet the rule and, once fixed, be `fixed`; `good` must not meet it.

    Texts are configs; `files` gives more files beside, by name. `release`, `framework`, `hardware` and `world_size` set
    the launch; when not given, the newest release and nothing else is known. `engine`, when given, stands in for the rule's
    claims where this text shows something else.
    """

    bad: str | None = None
    fixed: str | None = None
    good: str | None = None
    filename: str = "ds_config.json"
    files: dict[str, str] = Field(default_factory=dict)
    release: str | None = None
    framework: Literal["deepspeed", "transformers", "accelerate", "lightning"] | None = None
    hardware: str | None = None
    world_size: int | None = None
    engine: EngineClaim | list[EngineClaim] | None = None

    @model_validator(mode="after")
    def one_text(self) -> Example:
        if (self.bad is None) == (self.good is None):
            raise ValueError("an example has either `bad` or `good`")
        if self.fixed is not None and self.bad is None:
            raise ValueError("`fixed` goes with `bad`")
        return self

    @property
    def claims(self) -> list[EngineClaim]:
        return listed(self.engine)


class RuleFile(Strict):
    """One rule file, whole."""

    code: str = Field(pattern=CODE)
    name: str = Field(pattern=NAME)
    severity: Literal["error", "warning", "info"]
    summary: str
    document: Literal["deepspeed", "accelerate", "training", "launch", "script", "program"] = "deepspeed"
    when: dict[str, Any] = Field(default_factory=dict)
    any: list[dict[str, Any]] = Field(default_factory=list)
    check: str | None = None
    at: str = ""
    mark: Literal["key", "value", "member"] = "value"
    message: str
    related: dict[str, str] = Field(default_factory=dict)
    fix: FixFile | list[FixFile] | None = None
    why: str
    sources: list[str] = Field(min_length=1)
    engine: EngineClaim | list[EngineClaim] | None = None
    examples: list[Example] = Field(min_length=1)
    generic: bool = False

    @model_validator(mode="after")
    def something_to_hold(self) -> RuleFile:
        if not (self.when or self.any or self.check):
            raise ValueError("a rule needs `when`, `any` or `check`")
        for table in (self.when, *self.any):
            check_conditions(table)
        return self

    @property
    def fixes(self) -> list[FixFile]:
        if self.fix is None:
            return []
        return list(self.fix) if isinstance(self.fix, list) else [self.fix]

    @property
    def claims(self) -> list[EngineClaim]:
        return listed(self.engine)


def listed(claims: EngineClaim | list[EngineClaim] | None) -> list[EngineClaim]:
    if claims is None:
        return []
    return list(claims) if isinstance(claims, list) else [claims]
