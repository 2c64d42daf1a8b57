/* The bags of every row beside the rows of every bag: the twin of `numbered` in atd/bags.py.

Rows are counted, numbered in rising order, and each bag is written down at every row that it sums. */

#include <stdint.h>

/* Counts of `tokens` into `place` (which holds zeros), then: rows[u] is the u-th row that is used, place[row] is u, and
the bags of row u begin at starts[u]. Returns how many rows are used; starts has one number more. */
int64_t number_rows(const int64_t *restrict tokens, int64_t T, int64_t size, int32_t *restrict place,
                    int64_t *restrict rows, int64_t *restrict starts) {
    for (int64_t t = 0; t < T; t++) place[tokens[t]]++;
    int64_t used = 0, before = 0;
    for (int64_t row = 0; row < size; row++)
        if (place[row]) {
            rows[used] = row;
            starts[used] = before;
            before += place[row];
            place[row] = (int32_t)used++;
        }
    starts[used] = before;
    return used;
}

/* index[t] is the number of token t's row; bag[…] are the bags of row 0, then those of row 1, …, each in rising order.
`next` is a copy of starts, and is moved on. */
void fill_bags(const int64_t *restrict tokens, const int64_t *restrict offsets, int64_t bags,
               const int32_t *restrict place, int64_t *restrict next, int64_t *restrict index, int64_t *restrict bag) {
    for (int64_t b = 0; b < bags; b++)
        for (int64_t t = offsets[b]; t < offsets[b + 1]; t++) {
            int64_t u = place[tokens[t]];
            index[t] = u;
            bag[next[u]++] = b;
        }
}
