/* A step of AdaGrad on the rows of W that a batch's features use: the twin of `Rows.descend` in
atd/softmax_classifier.py for the gradient that is a weighted sum of rows of the error. W is in single or half precision. */

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { AHEAD = 1, LINE = 64 }; /* rows that are asked for before they are needed; bytes that come at once */

static float number(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* The value of a half: its exponent is counted from 15, that of a float from 127, which is 112 more. */
static float widened(uint16_t half) {
    float size = number((uint32_t)(half & 0x7fff) << 13) * 0x1p112f;
    return number(bits_of(size) | (uint32_t)(half & 0x8000) << 16);
}

/* The nearest half, of two the even one; the largest, 65504, for what is larger. */
static uint16_t narrowed(float value) {
    const uint32_t largest = 0x477fe000;
    uint32_t bits = bits_of(value);
    uint32_t size = bits & 0x7fffffff;
    uint32_t small = bits_of(number(size < largest ? size : largest) * 0x1p-112f);
    return (uint16_t)((bits >> 16 & 0x8000) | (small + 0xfff + (small >> 13 & 1)) >> 13);
}

/* For u in first…last with f = active[u]: g = Σ_i weight[i]·error[text[i]] for i in starts[f]…starts[f+1], C numbers;
squares[f] += ‖g‖² and W[f] −= eta·g / √squares[f]. `g` is room for the gradient of one feature. */
void row_descent(void *restrict W, int64_t is_half, float *restrict squares, const float *restrict error,
                 const int64_t *restrict active, const int32_t *restrict starts, const int32_t *restrict text,
                 const float *restrict weight, float *restrict g, int64_t C, float eta, int64_t first, int64_t last) {
    const int64_t row_bytes = C * (is_half ? 2 : 4);
    for (int64_t u = first; u < last; u++) {
        int64_t f = active[u];
        const char *next = (const char *)W + active[u + AHEAD < last ? u + AHEAD : u] * row_bytes;
        for (int64_t b = 0; b < row_bytes; b += LINE) __builtin_prefetch(next + b, 1);
        for (int64_t c = 0; c < C; c++) g[c] = 0;
        for (int64_t i = starts[f]; i < starts[f + 1]; i++) {
            const float *each = error + text[i] * C;
            float by = weight[i];
            #pragma omp simd
            for (int64_t c = 0; c < C; c++) g[c] += by * each[c];
        }
        float total = 0;
        #pragma omp simd reduction(+ : total)
        for (int64_t c = 0; c < C; c++) total += g[c] * g[c];
        squares[f] += total;
        float step = eta / sqrtf(fmaxf(squares[f], 1e-30f));
        if (is_half) {
            uint16_t *row = (uint16_t *)W + f * C;
            #pragma omp simd
            for (int64_t c = 0; c < C; c++) row[c] = narrowed(widened(row[c]) - step * g[c]);
        } else {
            float *row = (float *)W + f * C;
            #pragma omp simd
            for (int64_t c = 0; c < C; c++) row[c] -= step * g[c];
        }
    }
}
