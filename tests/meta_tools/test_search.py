"""Finding by words."""

from __future__ import annotations

import pytest

from emceepee.meta_tools.search import Text, ranked, words

ENTRIES = [
    (Text("create_issue", "Open a new issue in a repository", "github"), "create_issue"),
    (Text("listIssues", "List issues of a repository", "github"), "listIssues"),
    (Text("read_file", "Read a file", "files"), "read_file"),
    (Text("issue", "", "tracker"), "issue"),
]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", ["create_issue", "listIssues", "read_file", "issue"]),
        ("READ FILE", ["read_file"]),
        ("issue", ["issue", "create_issue", "listIssues"]),
        ("create issue", ["create_issue", "listIssues", "issue"]),
        ("github", ["create_issue", "listIssues"]),
        ("files", ["read_file"]),
        ("list issues", ["listIssues", "create_issue", "issue"]),
        ("nothing-like-it", []),
        (".*", ["create_issue", "listIssues", "read_file", "issue"]),
    ],
)
def test_the_best_match_is_first(query: str, found: list[str]) -> None:
    assert ranked(query, ENTRIES) == found


def test_words_are_distinct_lower_case_and_few() -> None:
    assert words("readFile READ file_x") == ["read", "file", "x"]
    assert len(words(" ".join(f"w{n}" for n in range(100)))) == 16
