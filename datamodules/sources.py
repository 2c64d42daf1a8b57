"""Where public corpora come from, what proves that a file is the right one, and what users must bring themselves.

The best proof is a published SHA-256. Where only an MD5 or SHA-1 was ever published it is `digest`: nobody knows how to
make another file of the same digest *and* the same size, so it serves. Where nothing was published, `least` and
`members` say what must be true of the file at least.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """One file on the web."""

    url: str
    sha256: str | None = None  # None: not published
    size: int | None = None  # None: not known for certain
    digest: str | None = None  # "md5:…" or "sha1:…" of a file without a published SHA-256
    least: int = 1  # bytes
    members: tuple[str, ...] = ()  # files that the archive must hold

    @property
    def file(self) -> str:
        return self.url.rpartition("/")[2]

    @property
    def published(self) -> str | None:
        """The best published checksum, as algorithm:hex."""
        return f"sha256:{self.sha256}" if self.sha256 else self.digest


EUROPARL = "https://www.statmt.org/europarl/v7"
STANFORD = "https://nlp.stanford.edu"
SOURCES = {
    "treebank": Source(
        f"{STANFORD}/sentiment/trainDevTestTrees_PTB.zip",
        sha256="5c613a4f673fc74097d523a2c83f38e0cc462984d847b82c7aaf36b01cbbbfcc",
        size=789_539,
    ),
    "europarl-de-en": Source(
        f"{EUROPARL}/de-en.tgz",
        digest="sha1:53bb5408d22977c89284bd755717e6bbb5b12bc5",  # GluonNLP, scripts/datasets/url_checksums/wmt.txt
        size=197_785_698,
    ),
    "europarl-cs-en": Source(
        f"{EUROPARL}/cs-en.tgz",
        digest="sha1:28bad3e096923694fb776b6cd6ba1079546a9e58",  # the same list
        size=62_062_621,
    ),
    "europarl-fr-en": Source(
        f"{EUROPARL}/fr-en.tgz",
        sha256="80f5d52113e23bfe51f890569ed69d2a1348127bca0894d07d1d23e0d0fac1e9",  # ml_tools, class EuroParlV7FrEn
    ),
    "europarl-sk-en": Source(  # no checksum published
        f"{EUROPARL}/sk-en.tgz",
        least=58 << 20,  # the listing of its folder says 59M
        members=("europarl-v7.sk-en.sk", "europarl-v7.sk-en.en"),
    ),
    "gutenberg": Source(
        "https://raw.githubusercontent.com/nltk/nltk_data/gh-pages/packages/corpora/gutenberg.zip",
        digest="md5:48c9c8605cd70b0230687557ee543633",  # NLTK, index.xml of nltk_data
        size=4_251_829,
    ),
    "glove-6b": Source(
        f"{STANFORD}/data/glove.6B.zip",
        sha256="617afb2fe6cbd085c235baf7a465b96f4112bd7f7ccb2b2cbd649fed9cbcf2fb",
        size=862_182_613,
    ),
}
OWN_COPY = {  # what the user must bring: (what, where to get it, what to put into the data folder)
    "blogs": (
        "The Blog Authorship Corpus",
        "its authors' page (u.cs.biu.ac.il/~koppel/BlogCorpus.htm) or, as blogtext.csv, Kaggle",
        "blogs.zip or blogs/blogtext.csv",
    ),
    "reuters": (
        "RCV1/RCV2 news",
        "NIST, against a signed agreement (trec.nist.gov/data/reuters/reuters.html)",
        "reuters/<language>/ with the XML files or zips",
    ),
}
