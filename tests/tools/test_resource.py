"""URIs with and without names in them."""

from __future__ import annotations

from emceepee.tools.resource import LocalResource


def test_a_template_matches_whole_segments() -> None:
    clip = LocalResource("studio://clip/{id}/notes/{bar}", "clip", lambda id, bar: "")
    assert clip.is_template
    assert clip.match("studio://clip/a%2Fb/notes/3") == {"id": "a/b", "bar": "3"}
    for other in ("studio://clip/a/notes", "studio://clip/a/b/notes/3", "xstudio://clip/a/notes/3"):
        assert clip.match(other) is None
    assert clip.entry()["uriTemplate"] == "studio://clip/{id}/notes/{bar}"


def test_a_plain_uri_matches_itself_to_the_letter() -> None:
    about = LocalResource("studio://about.md", "about", lambda: "", "text/markdown", "About")
    assert about.match("studio://about.md") == {}
    assert about.match("studio://aboutxmd") is None
    assert about.entry() == {
        "uri": "studio://about.md",
        "name": "about",
        "mimeType": "text/markdown",
        "description": "About",
    }
