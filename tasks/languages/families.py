"""Families of the languages of the Bible folders, and how well a similarity finds them again. A languages."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

FAMILIES = {  # family: branch: languages, by code
    "Indo-European": {
        "Germanic": "en de nl sv got vls", "Romance": "fr es it ro", "Slavic": "cs sk pl ru uk sl", "Baltic": "lv",
        "Celtic": "gv", "Greek": "grc", "Armenian": "hy", "Indo-Aryan": "gu rom",
    },
    "Uralic": {"Finnic": "fi et", "Ugric": "hu"},
    "Afro-Asiatic": {"Semitic": "ar he syr", "Egyptian": "cop", "Berber": "kab shi"},
    "Niger-Congo": {"Bantu": "sw zu", "Atlantic": "wo", "Gbe": "ee"},
    "Austronesian": {"Philippine": "tl tsg", "Celebic": "ppk"},
    "Mayan": {"Quichean": "cak quc", "Mamean": "mam"},
    "Jivaroan": {"Jivaroan": "jiv acu"},
    "Austroasiatic": {"Vietic": "vi"},
    "Nilo-Saharan": {"Nilotic": "din"},
    "Quechuan": {"Quechua": "qu"},
    "Uto-Aztecan": {"Nahuan": "nah"},
    "Iroquoian": {"Cherokee": "chr"},
    "North Halmahera": {"Galela": "gbi"},
    "isolate": {"Basque": "eu"},
}  # fmt: skip
NAMES = {
    "acu": "Achuar", "ar": "Arabic", "cak": "Cakchiquel", "chr": "Cherokee", "cop": "Coptic", "cs": "Czech",
    "de": "German", "din": "Dinka", "ee": "Ewe", "en": "English", "es": "Spanish", "et": "Estonian", "eu": "Basque",
    "fi": "Finnish", "fr": "French", "gbi": "Galela", "got": "Gothic", "grc": "Greek", "gu": "Gujarati", "gv": "Manx",
    "he": "Hebrew", "hu": "Hungarian", "hy": "Armenian", "it": "Italian", "jiv": "Shuar", "kab": "Kabyle",
    "lv": "Latvian", "mam": "Mam", "nah": "Nahuatl", "nl": "Dutch", "pl": "Polish", "ppk": "Uma", "qu": "Quichua",
    "quc": "K'iche'", "rom": "Romani", "ru": "Russian", "shi": "Tachelhit", "sk": "Slovak", "sl": "Slovene",
    "sv": "Swedish", "sw": "Swahili", "syr": "Syriac", "tl": "Tagalog", "tsg": "Tausug", "uk": "Ukrainian",
    "vi": "Vietnamese", "vls": "West Flemish", "wo": "Wolof", "zu": "Zulu", "ro": "Romanian",
}  # fmt: skip


def groups(languages: Sequence[str], level: str = "family") -> list[str]:
    """The family or the branch of every language; an unknown code stands alone."""
    table = {
        code: family if level == "family" else branch
        for family, branches in FAMILIES.items()
        for branch, codes in branches.items()
        for code in codes.split()
    }
    return [table.get(language, language) for language in languages]


def nearest(similar_AA: np.ndarray) -> np.ndarray:
    """The most similar other language of each."""
    return (similar_AA - np.diag(np.full(len(similar_AA), np.inf))).argmax(1)


def agreement(similar_AA: np.ndarray, group: Sequence[str]) -> float:
    """Per cent of the languages with a relative here whose nearest language is a relative."""
    names = np.array(group)
    eligible = np.array([(names == g).sum() > 1 for g in names])
    return 100 * float((names[nearest(similar_AA)] == names)[eligible].mean()) if eligible.any() else 0.0


def chance(group: Sequence[str]) -> float:
    """The same with a neighbour drawn at random, in expectation."""
    sizes = [list(group).count(g) for g in group]
    hits = [(n - 1) / (len(group) - 1) for n in sizes if n > 1]
    return 100 * float(np.mean(hits)) if hits else 0.0
