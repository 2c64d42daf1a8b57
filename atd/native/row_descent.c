/* A step of AdaGrad on the rows of W that a batch's features use: the twin of `Rows.descend` in
atd/softmax_classifier.py for the gradient that is a weighted sum of rows of the error. */

#include <math.h>
#include <stdint.h>

/* For u in first…last with f = active[u]: g = Σ_i weight[i]·error[text[i]] for i in starts[f]…starts[f+1], C numbers;
squares[f] += ‖g‖² and W[f] −= eta·g / √squares[f]. `g` is room for the gradient of one feature. */
void row_descent(float *restrict W, float *restrict squares, const float *restrict error,
                 const int64_t *restrict active, const int32_t *restrict starts, const int32_t *restrict text,
                 const float *restrict weight, float *restrict g, int64_t C, float eta, int64_t first, int64_t last) {
    for (int64_t u = first; u < last; u++) {
        int64_t f = active[u];
        float *row = W + f * C;
        for (int64_t c = 0; c < C; c += 16) __builtin_prefetch(row + c, 1); /* while the gradient is summed */
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
        #pragma omp simd
        for (int64_t c = 0; c < C; c++) row[c] -= step * g[c];
    }
}
