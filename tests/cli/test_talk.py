"""`emceepee tools` and `emceepee call`, against the demonstration server in this process."""

from __future__ import annotations

import json

import msgspec
import pytest

from emceepee.backends.connection import Connection
from emceepee.backends.definition import HttpEndpoint, ServerDefinition
from emceepee.cli.main import main
from emceepee.cli.talk import MAX_PAGES, every_tool, fault_text, read_arguments
from emceepee.cli.target import NAME
from emceepee.errors import BackendUnavailable, OperatorFault
from emceepee.vocabulary.calls import Call
from emceepee.vocabulary.outcomes import Done, Failed, Outcome
from emceepee.vocabulary.raw_json import Payload


@pytest.fixture(autouse=True)
def nowhere(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("EMCEEPEE_CONFIG", "XDG_CONFIG_HOME", "APPDATA", "HOME"):
        monkeypatch.delenv(name, raising=False)


def test_tools_prints_a_table(capsys) -> None:
    assert main(["tools", "demo"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[0].split()[0] == "TOOL"
    assert any(line.startswith("echo ") for line in out.splitlines())
    assert err == ""


def test_tools_as_json_are_the_entries_as_they_came(capsys) -> None:
    assert main(["tools", "demo", "--json"]) == 0
    tools = json.loads(capsys.readouterr().out)["tools"]
    assert "inputSchema" in tools[0]


def test_a_call_prints_the_text_of_its_result(capsys) -> None:
    assert main(["call", "demo", "echo", "--arg", "text=hello there"]) == 0
    assert capsys.readouterr() == ("hello there\n", "")


def test_a_call_as_json_prints_the_result_as_it_came(capsys) -> None:
    assert main(["call", "demo", "echo", "--json", "-a", '{"text": "hé"}']) == 0
    assert json.loads(capsys.readouterr().out)["content"] == [{"type": "text", "text": "hé"}]


def test_a_tool_that_does_not_exist_is_1_and_told_on_standard_error(capsys) -> None:
    assert main(["call", "demo", "nope"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "nope" in err


def test_with_json_an_error_is_json_too(capsys) -> None:
    assert main(["call", "demo", "nope", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["error"]["code"] == -32602
    assert main(["tools", "none", "--json"]) == 1
    assert "no server 'none'" in json.loads(capsys.readouterr().out)["error"]["message"]
    assert main(["tools", "http://127.0.0.1:1/mcp", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["error"]["reason"] == "backend_unavailable"


@pytest.mark.parametrize("words", [["tools"], ["tools", "a", "b"], ["call", "demo"], ["call", "a", "b", "--", "x"]])
def test_too_few_or_too_many_words_are_wrong_usage(words, capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    err = capsys.readouterr().err
    assert err.startswith(f"usage: emceepee {words[0]} ")
    assert "here, and got" in err


def test_a_server_without_a_name_is_told_by_what_was_typed() -> None:
    typed = ServerDefinition(NAME, HttpEndpoint("http://127.0.0.1:8080"))
    fault = BackendUnavailable(NAME, "answered HTTP 404")
    cure = "did you mean http://127.0.0.1:8080/mcp?"
    assert fault_text(fault, typed) == f"http://127.0.0.1:8080: answered HTTP 404; {cure}"
    configured = ServerDefinition("files", HttpEndpoint("http://127.0.0.1:8080/mcp"))
    assert fault_text(BackendUnavailable("files", "refused"), configured) == "Server 'files': refused"


def test_arguments_are_json_where_they_read_as_json_and_text_otherwise() -> None:
    texts = ["a=1", "b=x=y", 'c="1"', "d=[1, 2]", "e=true", "f=", 'g={"h": null}', '{"i": 1, "a": 2}', "j=nul"]
    assert read_arguments(texts) == {
        "a": 2,
        "b": "x=y",
        "c": "1",
        "d": [1, 2],
        "e": True,
        "f": "",
        "g": {"h": None},
        "i": 1,
        "j": "nul",
    }


@pytest.mark.parametrize("text", ["a", "=1", "{", '{"a" 1}'])
def test_an_argument_that_is_none_is_refused(text) -> None:
    with pytest.raises(OperatorFault, match="--arg"):
        read_arguments([text])


class Pages(Connection):
    """A server that answers `tools/list` from a script and remembers the cursors."""

    def __init__(self, *answers: Outcome) -> None:
        super().__init__("server", "local")
        self.answers = list(answers)
        self.cursors: list[object] = []

    async def request(self, call: Call, on_notice: object, timeout: float) -> Outcome:
        cursor = call.params.get("cursor")
        self.cursors.append(None if cursor is None else msgspec.json.decode(cursor))
        return self.answers[0] if len(self.answers) == 1 else self.answers.pop(0)


def page(name: str, cursor: str | None) -> Done:
    return Done(Payload.of({"tools": [{"name": name}]} | ({} if cursor is None else {"nextCursor": cursor})))


async def test_all_pages_of_a_list_are_read() -> None:
    pages = Pages(page("a", "1"), page("b", None))
    tools = [msgspec.json.decode(tool)["name"] for tool in await every_tool(pages, 1)]
    assert tools == ["a", "b"]
    assert pages.cursors == [None, "1"]


async def test_a_list_without_an_end_is_given_up() -> None:
    pages = Pages(page("a", "again"))
    with pytest.raises(OperatorFault, match="pages"):
        await every_tool(pages, 1)
    assert len(pages.cursors) == MAX_PAGES


async def test_a_server_that_cannot_list_is_told() -> None:
    with pytest.raises(OperatorFault, match="Method not found"):
        await every_tool(Pages(Failed(-32601, "Method not found")), 1)
