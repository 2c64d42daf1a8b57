/* Passes over a whole vocabulary that leave no logits behind: the nearest words, and words drawn from the softmax.

   V words of K numbers lie in blocks of WIDTH words: the first number of every word of the block, then the second of
   every word, and so on. A tile multiplies ROWS queries with a block and keeps all sums in registers.

   Python's twins are `nearest` in atd/neighbours.py and `draw` in atd/generate.py. */

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#pragma GCC optimize("fp-contract=fast") /* multiply and add in one instruction */

#if defined __AVX512F__
enum { LANES = 16, ROWS = 6 }; /* floats in a register; rows of four registers each that fit beside a block's */
#elif defined __AVX__
enum { LANES = 8, ROWS = 3 };
#else
enum { LANES = 4, ROWS = 6 };
#endif
enum { PARTS = 4, WIDTH = PARTS * LANES };

#define REGISTER vector_size(4 * LANES), aligned(4), may_alias
#define INLINE static inline __attribute__((always_inline))
typedef float lanes __attribute__((REGISTER));
typedef int32_t bits __attribute__((REGISTER));

int width(void) { return WIDTH; }

/* out[row][w] = start[w] + the sum over k of left[row][k] · block[k][w] */
INLINE void tile(int rows, const float *block, const float *start, long K, const float *left, float *out)
{
    lanes sum[ROWS][PARTS];
    for (int row = 0; row < rows; row++)
        for (int i = 0; i < PARTS; i++)
            sum[row][i] = *(const lanes *)(start + LANES * i);
    for (long k = 0; k < K; k++)
        for (int row = 0; row < rows; row++)
            for (int i = 0; i < PARTS; i++)
                sum[row][i] += left[row * K + k] * *(const lanes *)(block + WIDTH * k + LANES * i);
    memcpy(out, sum, rows * sizeof sum[0]);
}

static float largest(const float *x, long n)
{
    float most = -INFINITY;
#pragma omp simd reduction(max : most)
    for (long i = 0; i < n; i++)
        most = x[i] > most ? x[i] : most;
    return most;
}

/* ---- The nearest words. Vectors and queries are no longer than 1. ---- */

/* One word in whole numbers from -127 to 127, its scale, and how far its product with a query can be off by that. */
static void encode(const float *vector, long K, int8_t *codes, float *scale, float *error)
{
    float most = 0;
    for (long k = 0; k < K; k++)
        most = fmaxf(most, fabsf(vector[k]));
    *scale = most / 127;
    double missed = 0;
    for (long k = 0; k < K; k++) {
        int8_t code = *scale > 0 ? (int8_t)lrintf(vector[k] / *scale) : 0;
        float rest = vector[k] - *scale * code;
        codes[WIDTH * k] = code;
        missed += (double)rest * rest;
    }
    *error = 1.001f * (float)sqrt(missed) + (K + 8) * FLT_EPSILON; /* and by rounding */
}

/* Encode V words. Arrays have room for whole blocks and are zero there. */
void encode_all(const float *vectors, long V, long K, int8_t *codes, float *scale, float *error)
{
    for (long v = 0; v < V; v++)
        encode(vectors + K * v, K, codes + v / WIDTH * WIDTH * K + v % WIDTH, scale + v, error + v);
}

/* What the products of a block with one query are at most. */
static void bounds(const int8_t *codes, const float *scale, const float *error, long K, const float *query, float *out)
{
    float sum[WIDTH] = {0};
    for (long k = 0; k < K; k++) {
#pragma omp simd
        for (int w = 0; w < WIDTH; w++)
            sum[w] += query[k] * codes[WIDTH * k + w];
    }
    for (int w = 0; w < WIDTH; w++)
        out[w] = scale[w] * sum[w] + error[w];
}

static void decode(const int8_t *codes, const float *scale, long K, float *block)
{
    for (long k = 0; k < K; k++) {
#pragma omp simd
        for (int w = 0; w < WIDTH; w++)
            block[WIDTH * k + w] = scale[w] * codes[WIDTH * k + w];
    }
}

static double product(const float *a, const float *b, long K)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (long k = 0; k < K; k++)
        sum += (double)a[k] * b[k];
    return sum;
}

/* The k best words of one query, best first. */
struct best {
    long k;
    double *cosines;
    int64_t *words;
};

/* Put a word in its place. Words come in rising order: of equal ones the lower stays in front. */
static void insert(struct best best, double cosine, int64_t word)
{
    long i = best.k - 1;
    for (; i > 0 && best.cosines[i - 1] < cosine; i--) {
        best.cosines[i] = best.cosines[i - 1];
        best.words[i] = best.words[i - 1];
    }
    best.cosines[i] = cosine;
    best.words[i] = word;
}

/* Of n words from `first` on, those that belong to the best. Only where the bound allows it the product is made. */
static void look(const float *bound, long first, long n, const float *vectors, long K, const float *query,
                 struct best best)
{
    double *least = best.cosines + best.k - 1;
    if (largest(bound, WIDTH) < *least)
        return;
    for (long w = 0; w < n; w++)
        if (bound[w] >= *least) {
            double cosine = product(vectors + K * (first + w), query, K);
            if (cosine > *least)
                insert(best, cosine, first + w);
        }
}

/* The k words with the largest products with each of Q queries, best first. `cosines` starts as -infinity. Many
   queries share a block, which is decoded once; few are multiplied with the codes. `block` is scratch. */
void nearest(const int8_t *codes, const float *scale, const float *error, const float *vectors, long V, long K,
             const float *queries, long Q, long k, float *block, double *cosines, int64_t *words)
{
    float bound[ROWS * WIDTH];
    for (long first = 0; first < V; first += WIDTH, codes += WIDTH * K, scale += WIDTH, error += WIDTH) {
        long n = V - first < WIDTH ? V - first : WIDTH;
        if (Q >= ROWS)
            decode(codes, scale, K, block);
        for (long q = 0; q < Q;) {
            int rows = Q - q < ROWS ? 1 : ROWS;
            if (rows == ROWS)
                tile(ROWS, block, error, K, queries + K * q, bound);
            else
                bounds(codes, scale, error, K, queries + K * q, bound);
            for (int row = 0; row < rows; row++, q++)
                look(bound + WIDTH * row, first, n, vectors, K, queries + K * q,
                     (struct best){k, cosines + k * q, words + k * q});
        }
    }
}

/* ---- Words drawn from the softmax. Logits are in units of log 2. ---- */

/* 2 to the power of x <= 0; 0 below the smallest normal number. */
INLINE lanes power_of_two(lanes x)
{
    const float shift = 0x1.8p23f; /* what is added to it is rounded to a whole number, held by the lowest bits */
    lanes rounded = x + shift;
    lanes rest = x - (rounded - shift); /* -½ … ½ */
    lanes power = 1.52527338e-5f * rest + 1.54035304e-4f;
    power = power * rest + 1.33335581e-3f;
    power = power * rest + 9.61812911e-3f;
    power = power * rest + 5.55041087e-2f;
    power = power * rest + 2.40226507e-1f;
    power = power * rest + 6.93147181e-1f;
    power = power * rest + 1.0f;
    bits scaled = (bits)power + ((bits)rounded << 23);
    return (lanes)(scaled & (bits)(x >= -126.0f));
}

/* Replace the logits of a block by 2^(logit - most) and return their sum. */
static float exponentials(float *logits, float most)
{
    for (int i = 0; i < WIDTH; i += LANES)
        *(lanes *)(logits + i) = power_of_two(*(lanes *)(logits + i) - most);
    float total = 0;
#pragma omp simd reduction(+ : total)
    for (int w = 0; w < WIDTH; w++)
        total += logits[w];
    return total;
}

/* Of every row and block the largest logit, and the sum of exponentials counted from it. A row has `stride` places. */
static void weigh(const float *blocks, const float *bias, long n, long K, const float *hidden, long B, long stride,
                  float *most, float *sums)
{
    float logits[ROWS * WIDTH];
    for (long i = 0; i < n; i++, blocks += WIDTH * K, bias += WIDTH)
        for (long b = 0; b < B;) {
            int rows = B - b < ROWS ? 1 : ROWS;
            if (rows == ROWS)
                tile(ROWS, blocks, bias, K, hidden + K * b, logits);
            else
                tile(1, blocks, bias, K, hidden + K * b, logits);
            for (int row = 0; row < rows; row++, b++) {
                float here = largest(logits + WIDTH * row, WIDTH);
                most[stride * b + i] = here;
                sums[stride * b + i] = here > -INFINITY ? exponentials(logits + WIDTH * row, here) : 0;
            }
        }
}

/* Where the running sum of the weights passes `goal`, which is lowered by what lies before; never at a weight of 0. */
static long passes(const float *weights, long n, double *goal)
{
    long last = 0;
    for (long i = 0; i < n; i++)
        if (weights[i] > 0) {
            last = i;
            if (weights[i] > *goal)
                break;
            *goal -= weights[i];
        }
    return last;
}

/* A word for each of B rows with probability softmax(hidden · W + bias): where the running sum of the probabilities
   passes u. First the block by the sums, then the word in it. `most` starts as -infinity and `sums` as 0, which they
   stay from n to `stride`, a multiple of LANES. */
void draw(const float *blocks, const float *bias, long n, long K, const float *hidden, long B, const double *u,
          long stride, float *most, float *sums, int64_t *words)
{
    weigh(blocks, bias, n, K, hidden, B, stride, most, sums);
    for (long b = 0; b < B; b++, hidden += K, most += stride, sums += stride) {
        float top = largest(most, n);
        double total = 0;
        for (long i = 0; i < stride; i += LANES)
            *(lanes *)(sums + i) *= power_of_two(*(lanes *)(most + i) - top);
        for (long i = 0; i < n; i++)
            total += sums[i];
        double goal = u[b] * total;
        long i = passes(sums, n, &goal);
        float logits[WIDTH];
        tile(1, blocks + WIDTH * K * i, bias + WIDTH * i, K, hidden, logits);
        goal *= exponentials(logits, most[i]) / sums[i];
        words[b] = WIDTH * i + passes(logits, WIDTH, &goal);
    }
}
