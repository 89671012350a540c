"""Env files: names and values, line by line."""

from __future__ import annotations

from emceepee.config.env_file import read_env_file


def test_names_and_values_in_all_the_usual_forms() -> None:
    lines = (
        "\ufeff# comment",
        "",
        "A=1",
        "export B = two words ",
        r'C="x # y\n\"z\"" # tail',
        r"D='$A \n'",
        "E=",
        "F=a#b",
        "G=v # c\r",
    )
    text = "\n".join(lines)
    variables, strange = read_env_file(text)
    assert strange == []
    assert variables == {
        "A": "1",
        "B": "two words",
        "C": 'x # y\n"z"',
        "D": "$A \\n",
        "E": "",
        "F": "a#b",
        "G": "v",
    }


def test_lines_that_are_none_are_told_by_number_and_the_rest_is_kept() -> None:
    assert read_env_file("A=1\nrubbish\n2=x\nB=2") == ({"A": "1", "B": "2"}, [2, 3])
