"""Mirrored arguments: which schemas may have them, what is sent, what is accepted, and the reference SDK as oracle."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from mcp.shared import inbound
from msgspec import Raw

from emceepee.eras.modern.headers import HeaderMap, Invalid, check_header_params, compile_header_map
from tests.support.era_requests import raw

SCHEMA = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "count": {"type": "integer", "x-mcp-header": "Count"},
        "dry": {"type": "boolean", "x-mcp-header": "Dry-Run"},
        "deep": {"type": "object", "properties": {"er": {"type": "string", "x-mcp-header": "Deeper"}}},
        "plain": {"type": "string"},
    },
}


def compiled(schema: Any) -> HeaderMap:
    found = compile_header_map(raw(schema))
    assert isinstance(found, HeaderMap)
    return found


def verdict(arguments: Any, headers: dict[str, list[str]], schema: Any = SCHEMA) -> int | None:
    refusal = check_header_params(raw(arguments), raw(schema), headers, 9)
    assert refusal is None or (refusal.status, refusal.id) == (400, 9)
    return None if refusal is None else refusal.code


@pytest.mark.shows("EB-F16")
def test_each_present_argument_is_mirrored_and_no_other() -> None:
    arguments = {"region": "eu west", "count": 42, "dry": False, "deep": {"er": "é"}, "plain": "no"}
    assert dict(compiled(SCHEMA).headers(raw(arguments))) == {
        "Mcp-Param-Region": "eu west",
        "Mcp-Param-Count": "42",
        "Mcp-Param-Dry-Run": "false",
        "Mcp-Param-Deeper": "=?base64?w6k=?=",
    }
    assert dict(compiled(SCHEMA).headers(raw({"region": None, "deep": "flat", "dry": [True]}))) == {}
    assert dict(compiled(SCHEMA).headers(None)) == {}


@pytest.mark.shows("EB-F15")
def test_a_present_argument_without_its_header_is_a_mismatch() -> None:
    assert verdict({"region": "eu"}, {}) == -32020


def test_what_agrees_passes() -> None:
    assert verdict({"region": "eu"}, {"mcp-param-region": ["eu"]}) is None
    assert verdict({"region": "é"}, {"mcp-param-region": ["=?base64?w6k=?="]}) is None
    assert verdict({"dry": True}, {"mcp-param-dry-run": ["true"]}) is None
    assert verdict({"deep": {"er": "x"}}, {"mcp-param-deeper": ["x"]}) is None
    assert verdict({"plain": "x"}, {"mcp-param-unknown": ["whatever"]}) is None
    assert verdict({"region": ""}, {"mcp-param-region": [""]}) is None


@pytest.mark.parametrize("header", ["42", "42.0", "042", "42.000"])
def test_integers_compare_by_number(header: str) -> None:
    assert verdict({"count": 42}, {"mcp-param-count": [header]}) is None


@pytest.mark.parametrize("header", ["43", "42.5", "4.2e1", "", "0x2a", "=?base64?!?="])
def test_another_number_or_none_is_a_mismatch(header: str) -> None:
    assert verdict({"count": 42}, {"mcp-param-count": [header]}) == -32020


@pytest.mark.parametrize("arguments", [{}, {"region": None}, {"region": {"a": 1}}, {"region": ["eu"]}])
def test_a_header_without_an_argument_is_a_mismatch(arguments: Any) -> None:
    assert verdict(arguments, {"mcp-param-region": ["eu"]}) == -32020
    assert verdict(arguments, {}) is None


def test_a_header_sent_twice_is_a_mismatch_even_if_both_agree() -> None:
    assert verdict({"region": "eu"}, {"mcp-param-region": ["eu", "eu"]}) == -32020


def test_a_malformed_wrapping_is_a_mismatch() -> None:
    assert verdict({"region": "x"}, {"mcp-param-region": ["=?base64?x?="]}) == -32020


def test_without_schema_headers_or_arguments_there_is_nothing_to_compare() -> None:
    assert check_header_params(raw({"region": "eu"}), None, {}) is None
    assert check_header_params(raw({"region": "eu"}), raw(SCHEMA), None) is None
    assert check_header_params(None, raw(SCHEMA), {}) is None
    assert check_header_params(raw([1]), raw(SCHEMA), {}) is None


def test_a_compiled_map_serves_in_place_of_its_schema() -> None:
    refusal = check_header_params(raw({"region": "eu"}), compiled(SCHEMA), {})
    assert refusal is not None
    assert refusal.code == -32020


def _schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


STRING = {"type": "string", "x-mcp-header": "A"}

INVALID = {
    "the root": {"type": "object", "x-mcp-header": "A"},
    "an empty name": _schema(a={"type": "string", "x-mcp-header": ""}),
    "a name with a space": _schema(a={"type": "string", "x-mcp-header": "a b"}),
    "a name that is no string": _schema(a={"type": "string", "x-mcp-header": 5}),
    "a number": _schema(a={"type": "number", "x-mcp-header": "A"}),
    "an object": _schema(a={"type": "object", "x-mcp-header": "A"}),
    "several types": _schema(a={"type": ["string", "null"], "x-mcp-header": "A"}),
    "no type": _schema(a={"x-mcp-header": "A"}),
    "two of one name": _schema(a=STRING, b={"type": "string", "x-mcp-header": "a"}),
    "inside an array": _schema(a={"type": "array", "items": _schema(b=STRING)}),
    "inside an array of schemas": _schema(a={"type": "array", "items": [STRING]}),
    "inside anyOf": {"anyOf": [_schema(a=STRING)]},
    "inside a definition": {"$defs": {"a": _schema(a=STRING)}},
    "inside a condition": {"if": _schema(a=STRING)},
}


@pytest.mark.parametrize("schema", INVALID.values(), ids=INVALID.keys())
@pytest.mark.shows("EB-F14")
def test_an_annotation_in_any_other_place_makes_the_schema_invalid(schema: Any) -> None:
    found = compile_header_map(raw(schema))
    assert isinstance(found, Invalid)
    assert found.reason
    assert check_header_params(raw({"a": "x"}), raw(schema), {}) is None


@pytest.mark.parametrize(
    "schema", [None, True, [], {"default": {"x-mcp-header": 5}}, {"const": STRING}, {"type": "object"}]
)
def test_a_schema_without_annotations_of_its_own_maps_nothing(schema: Any) -> None:
    assert compile_header_map(None if schema is None else raw(schema)) == HeaderMap()


def test_an_annotation_spelled_with_escapes_is_found() -> None:
    schema = Raw(rb'{"properties":{"a":{"type":"string","x-mcp-he\u0061der":"A"}}}')
    assert compile_header_map(schema) == compiled(_schema(a=STRING))


# -- the reference SDK as oracle

_scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "eu", "é", " x", "42", "42.0", "true", "nan", "=?base64?eA==?="]),
)
_values = st.one_of(_scalars, st.just([1]), st.just({"er": "x"}))
_arguments = st.dictionaries(st.sampled_from(list(SCHEMA["properties"])), _values)  # type: ignore[call-overload]
_sent = st.one_of(
    st.sampled_from(["42", "42.0", "true", "false", "eu", "=?base64?w6k=?=", "=?base64?x?=", "1e3", ""]),
    _scalars.filter(lambda value: value is not None).map(lambda value: inbound.encode_header_value(str(value))),
)


@given(
    _arguments,
    st.dictionaries(st.sampled_from(["region", "count", "dry-run", "deeper", "other"]), _sent),
    st.booleans(),
)
def test_the_verdict_is_that_of_the_reference_sdk(arguments: Any, sent: dict[str, str], mirrored: bool) -> None:
    arguments = json.loads(json.dumps(arguments))
    headers = {f"Mcp-Param-{name}": value for name, value in sent.items()}
    if mirrored:
        headers = inbound.mcp_param_headers(inbound.x_mcp_header_map(SCHEMA), arguments)
    oracle = inbound.validate_mcp_param_headers(SCHEMA, arguments, headers)
    ours = verdict(arguments, {name.lower(): [value] for name, value in headers.items()})
    assert ours == (None if oracle is None else oracle.code)


@given(_arguments)
def test_what_we_send_the_reference_sdk_accepts(arguments: Any) -> None:
    arguments = json.loads(json.dumps(arguments))
    headers = dict(compiled(SCHEMA).headers(raw(arguments)))
    assert inbound.validate_mcp_param_headers(SCHEMA, arguments, headers) is None
    assert verdict(arguments, {name.lower(): [value] for name, value in headers.items()}) is None


_annotated = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["string", "integer", "boolean", "number", "object", ["string"], None]),
        "x-mcp-header": st.sampled_from(["A", "a", "B-c", "", "b c", 5]),
    },
)
_schemas = st.recursive(
    _annotated,
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": st.just("object"),
            "properties": st.dictionaries(st.sampled_from(["p", "q", "r"]), inner, max_size=3),
            "items": inner,
            "anyOf": st.lists(inner, max_size=2),
            "$defs": st.dictionaries(st.just("d"), inner),
            "default": inner,
            "not": inner,
        },
    ),
    max_leaves=8,
)


@given(_schemas)
def test_a_schema_is_valid_where_the_reference_sdk_says_so(schema: Any) -> None:
    found = compile_header_map(raw(schema))
    reason = inbound.find_invalid_x_mcp_header(schema)
    assert isinstance(found, Invalid) == (reason is not None)
    assume(isinstance(found, HeaderMap))
    assert isinstance(found, HeaderMap)
    oracle = inbound.x_mcp_header_map(schema)
    assert {param.path: param.header for param in found.params} == {
        path: f"Mcp-Param-{token}" for path, token in oracle.items()
    }
