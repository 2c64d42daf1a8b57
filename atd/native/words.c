/* Text to numbered words in one pass: `atd/numbering.py` says what for, and has the twin in Python.

   A text is split at ASCII white space. Each distinct piece is cut into words once, by the rules of
   `tokeniser.fast_rule`; after that a piece costs one look-up. What belongs to which class of characters, and what
   folding makes of a character, stands in tables that Python fills. A piece with a character that these tables cannot
   describe is handed to Python (`number_texts` returns, `add_word` and `add_piece` follow, `number_texts` goes on). */

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = 0x20000 };                                    /* code points that the tables know */
enum { OTHER, LETTER, DIGIT, MARK, UNDERSCORE, SPACE, HARD }; /* classes, as in numbering_kernel.py */
enum { ASK, WHOLE, FAST };                                    /* rules: ask Python, take the piece whole, cut it */
enum { ENGLISH = 1, ELIDING = 2 };                            /* languages with clitics, with elisions */
enum { AHEAD = 32 };                                          /* pieces that are looked up at a time */

/* ---- distinct strings, numbered as they come ----

   The key of a string is its bytes if they are eight or fewer, else a hash of them. So short strings are compared at a
   glance, and a larger table needs the keys alone. */

struct slot { uint64_t key; uint32_t length; int32_t number; };                /* number -1: free */
struct string { int64_t start; uint32_t length; int32_t count, first, rest; }; /* see `add_piece` */
struct strings {
    struct slot *slots;
    int bits; /* there are 1 << bits slots */
    struct string *items;
    int64_t n, room;
    char *bytes;
    int64_t used, space;
};

struct encoder {
    struct strings pieces, words;
    int32_t *parts; /* the words of one piece after another */
    int64_t n_parts, parts_room;
    const uint8_t *class_of;
    const uint32_t *fold_of;
    const char *abbreviations; /* each with | before and after */
    int rule, language;
    bool numbers;
    uint32_t *point; /* the piece that is being cut: code points, classes, and a folded word */
    uint8_t *class;
    char *word;
    int64_t length, point_room, class_room, word_room;
};

static void *grown(void *old, int64_t *room, int64_t need, size_t size) {
    if (need <= *room) return old;
    *room = need > 2 * *room ? need : 2 * *room;
    void *new = realloc(old, (size_t)*room * size);
    if (!new) abort();
    return new;
}

static void make_slots(struct strings *s, int bits) {
    size_t size = sizeof *s->slots << bits;
    free(s->slots);
    s->bits = bits;
    s->slots = malloc(size);
    if (!s->slots) abort();
    memset(s->slots, 0xff, size);
}

/* Eight bytes as a number, the first of them lowest; zeros after the end. */
static inline uint64_t eight(const char *text, int64_t rest) {
    uint64_t chunk = 0;
    if (rest < 8) {
        for (int64_t k = 0; k < rest; k++) chunk |= (uint64_t)(uint8_t)text[k] << 8 * k;
        return chunk;
    }
    memcpy(&chunk, text, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    chunk = __builtin_bswap64(chunk);
#endif
    return chunk;
}

static inline uint64_t mixed(uint64_t key, uint64_t chunk) {
    key = (key ^ chunk) * 0x9e3779b97f4a7c15;
    return key ^ key >> 29;
}

static inline uint64_t key_of(const char *text, int64_t length) {
    uint64_t key = eight(text, length);
    for (int64_t i = 8; i < length; i += 8) key = mixed(key, eight(text + i, length - i));
    return key;
}

static inline uint64_t home(const struct strings *s, uint64_t key) {
    return key * 0x9e3779b97f4a7c15 >> (64 - s->bits);
}

/* The slot of a string, or the free one where it belongs. */
static inline struct slot *find(const struct strings *s, const char *text, int64_t length, uint64_t key) {
    for (uint64_t i = home(s, key);; i = (i + 1) & ((1ull << s->bits) - 1)) {
        struct slot *slot = &s->slots[i];
        if (slot->number < 0) return slot;
        if (slot->key != key || slot->length != length) continue;
        if (length <= 8 || !memcmp(s->bytes + s->items[slot->number].start, text, (size_t)length)) return slot;
    }
}

static void more_slots(struct strings *s) {
    struct slot *old = s->slots, *end = old + (1ull << s->bits);
    s->slots = NULL;
    make_slots(s, s->bits + 1);
    for (struct slot *slot = old; slot < end; slot++) {
        if (slot->number < 0) continue;
        uint64_t i = home(s, slot->key);
        while (s->slots[i].number >= 0) i = (i + 1) & ((1ull << s->bits) - 1);
        s->slots[i] = *slot;
    }
    free(old);
}

/* Number a new string; `slot` is where it belongs. */
static int32_t insert(struct strings *s, struct slot *slot, const char *text, int64_t length, uint64_t key) {
    int32_t number = (int32_t)s->n;
    s->items = grown(s->items, &s->room, s->n + 1, sizeof *s->items);
    s->bytes = grown(s->bytes, &s->space, s->used + length, 1);
    memcpy(s->bytes + s->used, text, (size_t)length);
    s->items[number] = (struct string){s->used, (uint32_t)length, 0, 0, 0};
    s->used += length;
    *slot = (struct slot){key, (uint32_t)length, number};
    s->n++;
    if (2 * s->n > 1ll << s->bits) more_slots(s);
    return number;
}

static int32_t number_of(struct strings *s, const char *text, int64_t length) {
    uint64_t key = key_of(text, length);
    struct slot *slot = find(s, text, length, key);
    return slot->number >= 0 ? slot->number : insert(s, slot, text, length, key);
}

/* ---- one piece to its words ---- */

/* Code points and classes of a piece; false if Python must look at it. */
static bool decode(struct encoder *e, const char *text, int64_t length) {
    const uint8_t *byte = (const uint8_t *)text;
    int64_t n = 0;
    e->point = grown(e->point, &e->point_room, length, sizeof *e->point);
    e->class = grown(e->class, &e->class_room, length, 1);
    e->word = grown(e->word, &e->word_room, 4 * length, 1);
    for (int64_t i = 0; i < length; n++) {
        int more = byte[i] < 0x80 ? 0 : byte[i] < 0xc2 ? -1 : byte[i] < 0xe0 ? 1 : byte[i] < 0xf0 ? 2 : 3;
        if (more < 0 || i + more >= length) return false;
        uint32_t point = more ? byte[i] & (0x3f >> more) : byte[i];
        for (int k = 1; k <= more; k++) {
            if ((byte[i + k] & 0xc0) != 0x80) return false;
            point = point << 6 | (byte[i + k] & 0x3f);
        }
        if (point >= POINTS || (more == 2 && point < 0x800) || (more == 3 && point < 0x10000)) return false;
        if (e->class_of[point] == HARD) return false;
        e->point[n] = point;
        e->class[n] = e->class_of[point];
        i += more + 1;
    }
    e->length = n;
    return true;
}

/* The class of character i, or of the void at either end. */
static inline int at(const struct encoder *e, int64_t i) { return i >= 0 && i < e->length ? e->class[i] : SPACE; }

static inline uint32_t is(const struct encoder *e, int64_t i) { return i >= 0 && i < e->length ? e->point[i] : ' '; }

static inline uint32_t small(const struct encoder *e, int64_t i) {
    uint32_t c = is(e, i);
    return c >= 'A' && c <= 'Z' ? c + 32 : c;
}

static inline bool apostrophe(uint32_t c) { return c == '\'' || c == 0x2019; }

static inline bool separator(uint32_t c) { return c == '.' || c == ',' || c == ':'; }

static int64_t run(const struct encoder *e, int64_t i, int class) {
    while (at(e, i) == class) i++;
    return i;
}

static int64_t letters(const struct encoder *e, int64_t i) {
    while (at(e, i) == LETTER) i = run(e, run(e, i, LETTER), MARK);
    return i;
}

/* Every function below says where what it looks for ends if it begins at i, or i if it does not. */

static int64_t number(const struct encoder *e, int64_t i) {
    int64_t before = i, end = run(e, i, DIGIT);
    if (end == i) return i;
    while (separator(is(e, end)) && at(e, end + 1) == DIGIT) {
        before = end;
        end = run(e, end + 1, DIGIT);
    }
    return at(e, end) == LETTER ? before : end; /* 1.2a is 1 . 2a */
}

static int64_t abbreviation(const struct encoder *e, int64_t i) {
    char name[16] = "|";
    int64_t n = 0;
    while (n < 12 && small(e, i + n) >= 'a' && small(e, i + n) <= 'z') {
        name[n + 1] = (char)small(e, i + n);
        n++;
    }
    name[n + 1] = '|';
    return n && is(e, i + n) == '.' && strstr(e->abbreviations, name) ? i + n + 1 : i;
}

static int64_t initials(const struct encoder *e, int64_t i) {
    int64_t end = i;
    while (at(e, end) == LETTER && is(e, end + 1) == '.') end += 2;
    return end - i >= 4 ? end : i;
}

static int64_t word(const struct encoder *e, int64_t i) {
    int64_t end = i;
    while (at(e, end) == LETTER || at(e, end) == DIGIT) end = at(e, end) == LETTER ? letters(e, end) : end + 1;
    while (end > i && apostrophe(is(e, end)) && at(e, end + 1) == LETTER) end = letters(e, end + 1);
    return end;
}

static int64_t repeated(const struct encoder *e, int64_t i, uint32_t point) {
    int64_t end = i;
    while (is(e, end) == point) end++;
    return end - i >= 2 ? end : i;
}

static int64_t token(const struct encoder *e, int64_t i) {
    int before = at(e, i - 1);
    bool fresh = before != LETTER && before != DIGIT && before != UNDERSCORE;
    int64_t end = number(e, i);
    if (end == i && fresh) end = abbreviation(e, i);
    if (end == i && fresh) end = initials(e, i);
    if (end == i) end = word(e, i);
    if (end == i) end = run(e, i, MARK);
    if (end == i) end = repeated(e, i, '.');
    if (end == i) end = repeated(e, i, '-');
    return end > i ? end : i + 1;
}

static bool is_number(const struct encoder *e, int64_t i, int64_t last) {
    int64_t end = run(e, i, DIGIT);
    if (end == i) return false;
    while (end < last && separator(is(e, end)) && at(e, end + 1) == DIGIT) end = run(e, end + 1, DIGIT);
    return end == last;
}

static void add_part(struct encoder *e, int32_t word) {
    e->parts = grown(e->parts, &e->parts_room, e->n_parts + 1, sizeof *e->parts);
    e->parts[e->n_parts++] = word;
}

/* Fold the characters first…last and append the word they make. */
static void emit(struct encoder *e, int64_t first, int64_t last) {
    char *out = e->word;
    if (e->numbers && is_number(e, first, last)) {
        add_part(e, number_of(&e->words, "<#>", 3));
        return;
    }
    for (int64_t i = first; i < last; i++) {
        uint32_t c = e->fold_of[e->point[i]];
        int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
        *out++ = (char)(more ? (0xff00 >> (more + 1) & 0xff) | c >> 6 * more : c);
        for (int k = more - 1; k >= 0; k--) *out++ = (char)(0x80 | (c >> 6 * k & 0x3f));
    }
    add_part(e, number_of(&e->words, e->word, out - e->word));
}

/* don't is do n't, he's is he 's: where the second part begins, or `last`. */
static int64_t clitic(const struct encoder *e, int64_t first, int64_t last) {
    uint32_t a = small(e, last - 2), b = small(e, last - 1);
    bool two = apostrophe(a) && (b == 's' || b == 'm' || b == 'd');
    bool after = apostrophe(is(e, last - 3)) && (((a == 'r' || a == 'v') && b == 'e') || (a == 'l' && b == 'l'));
    bool not = small(e, last - 3) == 'n' && apostrophe(a) && b == 't';
    int64_t cut = two ? last - 2 : after || not ? last - 3 : last;
    return cut > first ? cut : last;
}

/* l'homme is l' homme, aujourd'hui is whole: where the part that begins at i ends. */
static int64_t elided(const struct encoder *e, int64_t i, int64_t last) {
    static const char *whole = "aujourd'hui";
    int64_t k = 0;
    while (k < 11 && i + k < last && (k == 7 ? apostrophe(is(e, i + k)) : small(e, i + k) == (uint32_t)whole[k])) k++;
    if (k == 11) return i + k;
    while (i < last && !apostrophe(is(e, i))) i++;
    return i < last ? i + 1 : i;
}

static void cut_token(struct encoder *e, int64_t first, int64_t last) {
    if (e->language == ELIDING) {
        for (int64_t end; first < last; first = end) emit(e, first, end = elided(e, first, last));
        return;
    }
    int64_t cut = e->language == ENGLISH ? clitic(e, first, last) : last;
    emit(e, first, cut);
    if (cut < last) emit(e, cut, last);
}

/* Append the words of a piece to `parts`; false if Python must say what they are. */
static bool cut_piece(struct encoder *e, const char *text, int64_t length) {
    if (e->rule == ASK || !decode(e, text, length)) return false;
    if (e->rule == WHOLE) {
        emit(e, 0, e->length);
        return true;
    }
    for (int64_t i = 0; i < e->length;) {
        if (e->class[i] == SPACE || e->class[i] == UNDERSCORE) {
            i++;
            continue;
        }
        int64_t end = token(e, i);
        cut_token(e, i, end);
        i = end;
    }
    return true;
}

/* ---- what Python calls ---- */

struct encoder *new_encoder(int rule, int language, int numbers, const uint8_t *class_of, const uint32_t *fold_of,
                            const char *abbreviations) {
    struct encoder *e = calloc(1, sizeof *e);
    if (!e) abort();
    e->rule = rule;
    e->language = language;
    e->numbers = numbers;
    e->class_of = class_of;
    e->fold_of = fold_of;
    e->abbreviations = abbreviations;
    make_slots(&e->pieces, 14);
    make_slots(&e->words, 14);
    return e;
}

static void free_strings(struct strings *s) {
    free(s->slots);
    free(s->items);
    free(s->bytes);
}

void free_encoder(struct encoder *e) {
    free_strings(&e->pieces);
    free_strings(&e->words);
    free(e->parts);
    free(e->point);
    free(e->class);
    free(e->word);
    free(e);
}

void add_word(struct encoder *e, const char *text, int64_t length) {
    add_part(e, number_of(&e->words, text, length));
}

/* The last `count` words added are those of this piece: the `first` stands in its item, the others in `parts`. */
void add_piece(struct encoder *e, const char *text, int64_t length, int64_t count) {
    struct strings *s = &e->pieces;
    uint64_t key = key_of(text, length);
    int32_t number = insert(s, find(s, text, length, key), text, length, key);
    struct string *piece = &s->items[number];
    piece->count = (int32_t)count;
    piece->first = count ? e->parts[e->n_parts - count] : 0;
    piece->rest = (int32_t)(e->n_parts - count + 1);
}

static inline bool space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* How many of eight bytes come before white space or the end. Bytes up to 0x20 are found at once, then looked at. */
static inline int before_space(uint64_t chunk, int64_t rest) {
    uint64_t low = (chunk - 0x2121212121212121) & ~chunk & 0x8080808080808080;
    for (; low; low &= low - 1) {
        int k = __builtin_ctzll(low) >> 3;
        if (k >= rest || space((char)(chunk >> 8 * k))) return k;
    }
    return 8;
}

/* The length of the piece that begins here, and its key. */
static inline int64_t piece_at(const char *text, int64_t rest, uint64_t *key) {
    uint64_t chunk = eight(text, rest);
    int more = before_space(chunk, rest);
    if (more < 8) {
        *key = chunk & ((1ull << 8 * more) - 1);
        return more;
    }
    int64_t length = 8;
    *key = chunk;
    while (more == 8 && length < rest) {
        chunk = eight(text + length, rest - length);
        more = before_space(chunk, rest - length);
        if (more < 8) chunk &= (1ull << 8 * more) - 1;
        if (more) *key = mixed(*key, chunk);
        length += more;
    }
    return length;
}

struct piece { int64_t start, length; uint64_t key; int32_t number; };

/* The next pieces, a few at a time: what is looked up for them is fetched from memory meanwhile. */
static int next_pieces(const struct encoder *e, const char *text, int64_t byte, int64_t end, struct piece *next) {
    int n = 0;
    for (; n < AHEAD; n++) {
        while (byte < end && space(text[byte])) byte++;
        if (byte == end) break;
        next[n].start = byte;
        byte += next[n].length = piece_at(text + byte, end - byte, &next[n].key);
        __builtin_prefetch(&e->pieces.slots[home(&e->pieces, next[n].key)]);
    }
    return n;
}

/* The number of a piece, which is cut if it is new; -1 if Python must do that. */
static int32_t number_piece(struct encoder *e, const char *text, const struct piece *piece) {
    const char *start = text + piece->start;
    struct slot *slot = find(&e->pieces, start, piece->length, piece->key);
    if (slot->number >= 0) return slot->number;
    int64_t before = e->n_parts;
    if (!cut_piece(e, start, piece->length)) return -1;
    add_piece(e, start, piece->length, e->n_parts - before);
    return (int32_t)e->pieces.n - 1;
}

/* Numbers of the words of texts, text i being bytes offsets[i]…offsets[i + 1]. `place` is where the work stands:
   text, byte, words so far. Returns 0 when all is done, else the length of a piece that Python must add; `place[3]` is
   its byte. */
int64_t number_texts(struct encoder *e, const char *text, const int64_t *offsets, int64_t last, int64_t *place,
                     int32_t *out, int64_t *ends) {
    struct piece next[AHEAD];
    int64_t row = place[0], byte = place[1], n = place[2];
    for (; row < last; row++) {
        int few;
        while ((few = next_pieces(e, text, byte, offsets[row + 1], next))) {
            for (int i = 0; i < few; i++) {
                next[i].number = number_piece(e, text, &next[i]);
                if (next[i].number < 0) {
                    place[0] = row, place[1] = byte, place[2] = n, place[3] = next[i].start;
                    return next[i].length;
                }
                __builtin_prefetch(&e->pieces.items[next[i].number]);
            }
            for (int i = 0; i < few; i++) {
                const struct string *piece = &e->pieces.items[next[i].number];
                if (piece->count) out[n++] = piece->first;
                for (int32_t k = 0; k < piece->count - 1; k++) out[n++] = e->parts[piece->rest + k];
            }
            byte = next[few - 1].start + next[few - 1].length;
        }
        byte = offsets[row + 1];
        ends[row] = n;
    }
    return 0;
}

int64_t words(const struct encoder *e) { return e->words.n; }

int64_t word_bytes(const struct encoder *e) { return e->words.used; }

/* All distinct words: their bytes one after another, and where each begins. */
void copy_words(const struct encoder *e, char *bytes, int64_t *starts) {
    if (e->words.used) memcpy(bytes, e->words.bytes, (size_t)e->words.used);
    for (int64_t i = 0; i < e->words.n; i++) starts[i] = e->words.items[i].start;
    starts[e->words.n] = e->words.used;
}

/* The numbers that `to` gives to the words first… of `from`, which are added to it. */
void join_words(struct encoder *to, const struct encoder *from, int64_t first, int32_t *number) {
    for (int64_t i = first; i < from->words.n; i++) {
        const struct string *word = &from->words.items[i];
        number[i] = number_of(&to->words, from->words.bytes + word->start, word->length);
    }
}
