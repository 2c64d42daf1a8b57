"""What the lines of the README's results table claim, and the controls that each says it beats."""

from __future__ import annotations

from collections.abc import Sequence

from lines import Cell, Line

PERPLEXITY = ("perplexity",)
BOTH = ("fine", "binary")
OTHERS = {
    "no-attributes": "no attributes",
    "shuffled": "shuffled",
    "additive": "addition only",
    "gate": "gate only",
    "lbl": "log-bilinear",
    "kneser-ney": "Kneser–Ney 5",
    "kneser-ney-attributes": "Kneser–Ney 5 mixed with each attribute's own",
}


TABLE = ("no-attributes", "shuffled", "lbl", "kneser-ney", "kneser-ney-attributes")


def perplexities(what: str, record: str, so: str, rows: Sequence[str], but: Sequence[str] = ()) -> Line:
    """Test perplexity of the model, below that of all these rows but some."""
    controls = [Cell(row, PERPLEXITY, OTHERS[row]) for row in rows]
    beaten = [OTHERS[row] for row in rows if row not in but]
    return Line(f"{what}: test perplexity", record, Cell("atd", PERPLEXITY), controls, beaten, so, lower=True)


TAGGED = ("tag_accuracy",)
RETRIEVED = ("heldout_en_de", "heldout_de_en")
TOPICS = ("sib200_en_de", "sib200_de_en")
TRANSLATED = ("words_p1",)


STYLE = ("style_at_fluency",)
WROTE = ("accuracy",)
MACRO = ("macro_accuracy",)
LONE = ("macro_accuracy_without_twins",)
LOSS = ("loss",)
RELATED = ("family_accuracy", "branch_accuracy")


def crosslingual(metrics: tuple[str, ...]) -> list[Cell]:
    """What needs no model: a lexicon of Dice coefficients, LSI on aligned sentences, spelling."""
    lexicon = Cell("lexicon", metrics, "a Dice lexicon with tf-idf")
    return [lexicon, Cell("lsi", metrics, "LSI of aligned sentences"), Cell("spelling", metrics, "spelling alone")]


def loss_of(row: str, label: str = "") -> Cell:
    return Cell(row, LOSS, label, digits=3)


FRONT = (  # beginnings of the lines that README shows; docs/results.md shows all
    "18 books",
    "31,102 Bible",
    "6,000 posts",
    "15,000 blog",
    "50-word samples",
    "who of 1,000 bloggers wrote it",
    "who of 50 bloggers",
    "757 languages",
    "sentiment treebank",
    "translation retrieval",
)

LINES = [
    perplexities(
        "18 books, the book as attribute",
        "books",
        "attributes help by 15 %; the gate does more than addition, and both together most",
        ("gate", "additive", "no-attributes", "lbl", "kneser-ney", "kneser-ney-attributes"),
    ),
    perplexities(
        "31,102 Bible verses by book, a table with default settings",
        "table_bible",
        "attributes help by 13 % and cost nothing when shuffled; counting by book is better on such formulaic text",
        TABLE,
        but=["kneser-ney-attributes"],
    ),
    perplexities(
        "6,000 posts by author, of fifty, a table with default settings",
        "table_authors",
        "attributes help by 6 %, and cost nothing when shuffled",
        TABLE,
    ),
    perplexities(
        "15,000 blog posts by gender, age and industry, a table with default settings",
        "table_blogs_composed",
        "the three columns help by 0.9 %, and cost nothing when shuffled; counting gains 1.6 %, in part by smoothing",
        TABLE,
    ),
    perplexities(
        "the same posts, a vector for each of their tuples instead of each value",
        "table_blogs_tuples",
        "the tuple helps by 0.9 %, and costs nothing when shuffled",
        TABLE,
    ),
    Line(
        "50-word samples that models of unseen chapters take for the book they imitate, as fluent as real text, %",
        "generation",
        Cell("atd", STYLE),
        [
            Cell("kneser-ney-attributes", STYLE, "Kneser–Ney 5 mixed with each book's own"),
            Cell("own-kneser-ney", STYLE, "the book's own Kneser–Ney 5"),
            Cell("own-bigrams", STYLE, "the book's own bigrams"),
            Cell("kneser-ney", STYLE, "Kneser–Ney 5 of all books"),
        ],
        ["Kneser–Ney 5 of all books"],
        "level with counting over all books; counting the book alone imitates it better",
    ),
    Line(
        "who of 1,000 bloggers wrote it, ten folds, %: tf-idf with word vectors conditioned on the author's tuple",
        "authorship",
        Cell("tfidf+conditioned", WROTE),
        [
            Cell("tfidf", WROTE, "tf-idf"),
            Cell("tfidf+unconditioned", WROTE, "with unconditioned vectors"),
            Cell("tfidf+random-gate", WROTE, "with the same gates dealt to the tuples at random"),
            Cell("tfidf+metadata", WROTE, "with the tuple as a feature"),
        ],
        ["tf-idf", "with unconditioned vectors"],
        "the gain is the tuple's identity, not its meaning",
    ),
    Line(
        "who of 50 bloggers wrote it, from the text alone (Blogs50), macro %: the model and a memory of their phrases",
        "authors",
        Cell("atd", MACRO),
        [
            Cell("atd-vectors", MACRO, "its vectors alone"),
            Cell("kneser-ney-words", MACRO, "counts of words mixed with the author's own"),
            Cell("kneser-ney-characters", MACRO, "counts of characters, likewise"),
            Cell("char-svm", MACRO, "character n-grams, LinearSVC"),
            Cell("word-ngrams", MACRO, "words and pairs, linear"),
            Cell("doc2vec", MACRO, "doc2vec"),
        ],
        ["its vectors alone", "counts of characters, likewise", "doc2vec"],
        "level with counting, below n-grams",
    ),
    Line(
        "the same: the model's vectors beside counts of words and of characters, likelihoods alone",
        "authors",
        Cell("atd-both", MACRO),
        [
            Cell("counts-both", MACRO, "counts of words and of characters"),
            Cell("char-svm", MACRO, "character n-grams, LinearSVC"),
            Cell("word-ngrams", MACRO, "words and pairs, linear"),
        ],
        ["counts of words and of characters", "character n-grams, LinearSVC"],
        "the vectors add 0.6 points to counting; level with one linear classifier",
    ),
    Line(
        "the same: counts, n-grams and the model, calibrated and mixed (published: BERT 75.0, a GPT-2 per author 83.6)",
        "authors",
        Cell("stacked", MACRO),
        [
            Cell("stacked without atd", MACRO, "without the model"),
            Cell("ngrams", MACRO, "n-grams of words and characters"),
            Cell("char-svm", MACRO, "character n-grams, LinearSVC"),
        ],
        ["n-grams of words and characters", "character n-grams, LinearSVC"],
        "the mixture does it; the model has no part in it",
    ),
    Line(
        "who of 1,000 bloggers (Blog-1K, without those who share a blog), macro %: counts and n-grams mixed",
        "authors1k",
        Cell("stacked", LONE),
        [
            Cell("ngrams", LONE, "n-grams of words and characters"),
            Cell("kneser-ney-words", LONE, "counts of words mixed with the author's own"),
        ],
        ["n-grams of words and characters", "counts of words mixed with the author's own"],
        "a little better than n-grams alone",
    ),
    Line(
        "757 languages, their nearest is of the same family / branch, %: vectors of the language in one tensor",
        "languages800",
        Cell("atd", RELATED),
        [
            Cell("verse-ngrams", RELATED, "n-grams counted by verse, no model"),
            Cell("verse-ngrams-reduced", RELATED, "the same in as many numbers"),
            Cell("untrained", RELATED, "the model before training"),
            Cell("ngrams", RELATED, "letter n-grams"),
            Cell("shuffled", RELATED, "shuffled"),
            Cell("chance", RELATED, "chance"),
        ],
        ["the same in as many numbers", "the model before training", "letter n-grams", "shuffled", "chance"],
        "above n-grams and all published vectors but expert word lists; counting by verse is better",
    ),
    Line(
        "which submissions 58 reviewers know best, learned without ratings: loss of several vectors each",
        "reviewers",
        loss_of("atd-mixture"),
        [
            loss_of("atd", "one vector each"),
            loss_of("tfidf", "tf-idf"),
            loss_of("tfidf+lsi", "tf-idf and LSI"),
            loss_of("lsi-mixture", "several vectors each by LSI"),
            loss_of("unigram", "unigrams"),
            loss_of("random-gate", "a random gate"),
            loss_of("tpms", "TPMS"),
            loss_of("specter_mfr", "SPECTER+MFR, pretrained on citations"),
        ],
        [
            "one vector each",
            "tf-idf",
            "tf-idf and LSI",
            "unigrams",
            "a random gate",
            "TPMS",
        ],
        "below counting, TPMS and one vector, yet 58 reviewers prove it only against unigrams and random gates",
        lower=True,
    ),
    Line(
        "sentiment treebank, fine / binary: the paper's protocol to the letter (the paper reports 45.9 / 83.3)",
        "sentiment_paper",
        Cell("atd-paper", BOTH),
        [
            Cell("word-average", BOTH, "the word average it starts from"),
            Cell("mlp", BOTH, "a small network on that average"),
            Cell("doc2vec", BOTH, "doc2vec"),
        ],
        ["doc2vec"],
        "not reproduced: below the average it starts from",
    ),
    Line(
        "the same treebank: an ensemble of supervised tree encoders, not the paper's model (paper: PV 48.7 / 87.8)",
        "sentiment",
        Cell("atd-best", BOTH),
        [
            Cell("atd-tree", BOTH, "one tree encoder"),
            Cell("binb", BOTH, "BiNB"),
            Cell("mlp", BOTH, "a small network on the word average"),
            Cell("word-average", BOTH, "the word average"),
            Cell("doc2vec", BOTH, "doc2vec"),
            Cell("atd", BOTH, "the multiplicative model with inferred sentence vectors"),
        ],
        [
            *("BiNB", "a small network on the word average", "the word average", "doc2vec"),
            "the multiplicative model with inferred sentence vectors",
        ],
        "supervision by the tree does it, level with one encoder; inferred vectors stay below the word average",
    ),
    Line(
        "the same treebank: the five labels as attributes of one language model, Bayes' rule",
        "sentiment",
        Cell("atd-labels", BOTH),
        [
            Cell("word-average", BOTH, "the word average"),
            Cell("binb", BOTH, "naive Bayes on words and bigrams"),
            Cell("lbl", BOTH, "word vectors of a log-bilinear model"),
            Cell("atd", BOTH, "the multiplicative model with inferred sentence vectors"),
        ],
        ["the multiplicative model with inferred sentence vectors"],
        "above vectors over two labels and level with them over five; naive Bayes is better",
    ),
    Line(
        "Mad Libs: words that have the requested part of speech, %, by a judge that did not set it",
        "madlibs",
        Cell("atd", TAGGED),
        [
            Cell("ungated", TAGGED, "told of no tags"),
            Cell("kneser-ney-attributes", TAGGED, "Kneser–Ney mixed by tag, more fluent"),
            Cell("words-of-tag", TAGGED, "words drawn by their tag alone, at no fluency"),
            Cell("real words", TAGGED, "the real words"),
        ],
        ["told of no tags", "Kneser–Ney mixed by tag, more fluent", "the real words"],
        "any model that is told the tag does it",
    ),
    Line(
        "translation retrieval of 2,000 sentences, English→German / German→English, P@1: the paper's loss and model",
        "crosslingual",
        Cell("atd", RETRIEVED),
        crosslingual(RETRIEVED),
        ["LSI of aligned sentences", "spelling alone"],
        "a lexicon is better",
    ),
    Line(
        "the same with n-grams of letters, French and GloVe, 256 dimensions",
        "crosslingual",
        Cell("atd-256", RETRIEVED),
        crosslingual(RETRIEVED),
        ["a Dice lexicon with tf-idf", "LSI of aligned sentences", "spelling alone"],
        "better than a lexicon",
    ),
    Line(
        "SIB-200 topics, English→German / German→English: English fixed at GloVe, German compounds taken apart",
        "crosslingual",
        Cell("atd-best", TOPICS),
        [
            *crosslingual(TOPICS),
            Cell("ceiling", TOPICS, "tf-idf in the same language"),
            Cell("atd", TOPICS, "the paper's loss and model"),
            Cell("majority", TOPICS, "majority"),
        ],
        [
            *("a Dice lexicon with tf-idf", "LSI of aligned sentences", "spelling alone"),
            *("tf-idf in the same language", "the paper's loss and model", "majority"),
        ],
        "above them all by pretrained word vectors; 204 test sentences do not prove it against the lexicon",
    ),
    Line(
        "word translation against a dictionary that was not induced from the training pairs, P@1",
        "crosslingual",
        Cell("atd-best", TRANSLATED),
        crosslingual(TRANSLATED),
        ["spelling alone"],
        "counting aligned words is better",
    ),
    Line(
        "48 languages, their nearest is of the same family / branch, %: vectors of the language in one model",
        "languages48",
        Cell("atd", RELATED),
        [
            Cell("atd, seeds averaged", RELATED, "three seeds averaged"),
            Cell("char-ngrams", RELATED, "letter n-grams"),
            Cell("chance", RELATED, "chance"),
        ],
        ["chance"],
        "below n-grams in families; averaged, level in families, and one of 31 languages above in branches",
    ),
]
