"""Words that must not come back: one plain voice in documentation, messages and comments."""

import re
from collections.abc import Iterator

from project import ROOT

INSTEAD = {
    r"sum norm": "L1",
    r"maximum norm": "L-infinity",
    r"euclidean norm": "L2",
    r"united parts": "common refinement",
    r"secret order": "random tie-breaking",
    r"very same": "the same; for floats: bit-identical",
    r"private_to": "epsilon",
    r"whole numbers?": "integer",
    r"endlessly many": "the whole population, or infinitely many",
    r"wished": "target",
    r"(?:19|9|99) times (?:out )?(?:of|in) (?:20|10|100)|times of 20": "95%, or another percentage",
    r"p [<>]=? ?1e-\d+": "p < 0.0001",
    r"(?<!there\s)(?:is|are) no (?:number|name|column|row|pair|text|date|file|folder|test|table|"
    r"part|value|category|release|way|record|variable|class)": "is not a ...",
    r"is nobody|by nobody": "rewrite: nobody is not a person",
    r"whoever": "anyone who, or name the person",
    r"as likely or (?:as )?unlikely": "changes the probability of any result by at most a factor",
    r"(?<=[;,.]\s)public are": "Public: ...",
    r"of the chosen": "of the selected pairs",
    r"chance alone gives": "by chance, unrelated columns score a little above 0",
    r"(?:holds?|held) it for": "is 1% sure",
    r"costs? what it costs": "is charged separately",
    r"keeps? account": "track",
    r"one of both": "one of the two",
    r"earlier one's place": "overwrite",
    r"refusals tell": "error messages can reveal data",
    r"two make a": "give exactly two of",
    r"is of another kind": "say what it is, and what is needed",
    r"a str of": "the text itself, or 'a text of 120 characters'",
    r"noise's, not": "covers the privacy noise, not sampling error",
    r"that float64 holds exactly": "values that are not numbers",
    r"tells (?:how|whether|nothing|something|much|most|less|more|little|of)": "shows, says",
    r"(?<!can\s)(?<!cannot\s)(?<!to\s)tell (?:whether|how|by|that)": "Return whether",
    r"of ours": "dpmic's own, or 'our'",
    r"of one's own": "your own",
    r"for who (?:can|cannot|has|have|does)": "for people who",
    r"(?:that|mechanism) is meant(?! (?:for|to|as))": "if you mean it; which X to use",
    r"(?:hands?|handed|handing) (?:it |them )?back": "return",
    r"handed out": "the yielded function, or 'returned'",
    r"gives? away|give itself away": "reveal",
    r"(?:was|is|are|were) said (?:of|once|later|elsewhere|beside)": "is declared, is reported",
    r"cell by cell upwards|[xy] upwards|halves upwards": "from bottom to top; halves round up",
    r"carried over": "converted, or copied",
    r"first of each": "contribution bounding",
    r"as far as the noise lets": "where the noise allows",
    r"nothing of ours": "nothing else of dpmic",
    r"(?:what|than|that) is said|(?:no|some)body (?:said|asked|looks)": "declared, given, reported",
    r"(?:comes?|for the way) home": "are sent back",
    r"nothing like it": "no such option",
    r"(?:has|have|had) (?:the last word|no say)": "decides, was not used",
    r"tak(?:en|es?) up (?:again|what)": "resume",
    r"stands? here": "is shown, is used",
    r"determines the other": "a relation without noise scores close to 1",
    r"says nothing about the other": "a score close to 0: no grid shows a relation",
    r"nobody can remove": "the noise hides the effect of any one record",
    r"(?:bound|guarantee) (?:of epsilon )?fails": "by how much a probability may change beyond it",
    r"was 1% sure": "knows all other records, and is 1% sure",
    r"belongs? to nobody": "does not say whose it is",
}
"""A phrase, as a regular expression whose spaces match any gap, and what to write instead."""

GAP = r"""(?:[\s#>*/\\]|"\s*[frb]*"|'\s*[frb]*')+"""
"""What stands between two words of a sentence: also the end of a line, of a comment or string."""

PHRASES = {
    re.compile(rf"\b(?:{phrase.replace(' ', GAP)})\b", re.IGNORECASE): instead
    for phrase, instead in INSTEAD.items()
}
ANY = re.compile(rf"\b(?:{'|'.join(INSTEAD)})\b")

TEXTS = (
    "*.md", "docs/**/*.md", "examples/**/*.md", "src/**/*.py", "src/**/*.html", "src/**/*.toml",
    "src/**/*.js", "src/**/*.css", "src/**/*.hpp", "src/**/*.cpp", "src/**/*.cu", "mkdocs.yml",
    "docs/*.py",
)  # fmt: skip


def found(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield the line, the words and what to write instead, for each phrase in a text."""
    if not ANY.search(re.sub(GAP, " ", text.lower())):  # twenty times as fast as all phrases
        return
    for phrase, instead in PHRASES.items():
        for match in phrase.finditer(text):
            words = re.sub(GAP, " ", match[0])
            yield text.count("\n", 0, match.start()) + 1, words, instead


def test_every_sentence_is_in_plain_words():
    paths = {path for pattern in TEXTS for path in ROOT.glob(pattern)}
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {words!r}; write: {instead}"
        for path in sorted(paths)
        for line, words, instead in sorted(found(path.read_text()))
    ]
    assert not wrong, "\n".join(wrong)


def test_a_phrase_is_found_across_lines():
    text = 'say(\n    "true 19 times"\n    f" of 20"\n)\n# the one\n    # of both\n'
    assert [line for line, _, _ in found(text)] == [2, 5]
    assert [words for _, words, _ in found("It is no column. Tell how it tells how.")] == [
        "is no column",
        "tells how",
        "Tell how",
    ]
    assert not list(found("There is no column here, and nobody can tell how people differ."))
