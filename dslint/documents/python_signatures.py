"""Which argument of a call goes to which parameter."""

from __future__ import annotations

import ast


def argument_for(parameters: ast.arguments, name: str, call: ast.Call, skip: int) -> ast.expr | None:
    """The expression that a call gives for a parameter, or None."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    positional = [each.arg for each in (*parameters.posonlyargs, *parameters.args)]
    if name in positional:
        index = positional.index(name) - skip
        before = call.args[: index + 1]
        if 0 <= index < len(call.args) and not any(isinstance(each, ast.Starred) for each in before):
            return call.args[index]
    return None


def default_for(parameters: ast.arguments, name: str, call: ast.Call) -> ast.expr | None:
    """A parameter's default, when the call surely leaves it at that."""
    if any(keyword.arg is None for keyword in call.keywords):
        return None
    if any(isinstance(each, ast.Starred) for each in call.args):
        return None
    positional = [each.arg for each in (*parameters.posonlyargs, *parameters.args)]
    if name in positional:
        index = positional.index(name) - (len(positional) - len(parameters.defaults))
        return parameters.defaults[index] if index >= 0 else None
    for each, default in zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True):
        if each.arg == name:
            return default
    return None


def parameter_of(parameters: ast.arguments, call: ast.Call, value: ast.expr, skip: int) -> str | None:
    """The parameter that a call's argument goes to."""
    for keyword in call.keywords:
        if keyword.value is value:
            known = [each.arg for each in (*parameters.args, *parameters.kwonlyargs)]
            return keyword.arg if keyword.arg in known else None
    positional = [each.arg for each in (*parameters.posonlyargs, *parameters.args)]
    for index, argument in enumerate(call.args):
        if isinstance(argument, ast.Starred):
            return None
        if argument is value:
            return positional[index + skip] if index + skip < len(positional) else None
    return None
