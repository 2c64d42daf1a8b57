/* AdaGrad on the rows of a table that have a gradient, in one pass: the twin of RowAdaGrad in atd/optim.py.

The rows lie scattered in memory. Each is asked for AHEAD rows before it is used, so that many are on their way at once.
*/

#include <math.h>
#include <stdint.h>

enum { AHEAD = 8, LINE = 16 }; /* rows; floats of a cache line */

static void fetch(const float *row, int64_t F) {
    for (int64_t f = 0; f < F; f += LINE) __builtin_prefetch(row + f, 1);
}

/* For u in first…last with r = rows[u]: g = gradient[u] + decay·table[r], squares[r] += mean(g²) and
table[r] −= rate·g / (√squares[r] + eps). No row is named twice. */
void row_adagrad(float *restrict table, float *restrict squares, const int64_t *restrict rows,
                 const float *restrict gradient, int64_t F, float rate, float eps, float decay,
                 int64_t first, int64_t last) {
    for (int64_t u = first; u < last; u++) {
        if (u + AHEAD < last) fetch(table + rows[u + AHEAD] * F, F);
        float *theta = table + rows[u] * F;
        const float *given = gradient + u * F;
        float total = 0;
        #pragma omp simd reduction(+ : total)
        for (int64_t f = 0; f < F; f++) {
            float g = given[f] + decay * theta[f];
            total += g * g;
        }
        float *square = squares + rows[u];
        *square += total / (float)F;
        float step = rate / (sqrtf(*square) + eps);
        #pragma omp simd
        for (int64_t f = 0; f < F; f++) theta[f] -= step * (given[f] + decay * theta[f]);
    }
}
