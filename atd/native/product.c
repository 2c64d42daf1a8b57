/* c = a·b or c += a·b in single precision, for processors with lanes of 16 numbers whose BLAS uses 8 of them.

   c is M×N, a M×K, b K×N. Rows of b and c lie together; of a either the rows (a_step = 1) or the columns (a_row = 1).
   A tile of c stays in registers while K goes by. Nothing is copied but the last columns of b, where N is no multiple
   of 16: in blocks of M and K, b and the tiles of c stay in the second-level cache. */

typedef float lanes __attribute__((vector_size(64), aligned(4), may_alias));

enum { LANES = 16, ROWS = 8, VECTORS = 3, BLOCK_M = 256, BLOCK_K = 128 }; /* 8·3 sums, the registers being 32 */

#pragma GCC optimize("fp-contract=fast") /* multiply and add in one instruction */

typedef struct {
    const float *a, *b;
    float *c;
    long a_next, b_next, c_next, a_row, a_step, b_step, c_row, N, K;
} Product;

/* c += or = `rows` rows and `vectors`·16 columns of a·b; of the last vector only `width` columns are c's. */
static inline __attribute__((always_inline)) void
tile(int rows, int vectors, int width, long K, const float *a, long a_row, long a_step, const float *b, long b_step,
     float *c, long c_row, int add)
{
    lanes sum[ROWS][VECTORS] = {0};
    for (long k = 0; k < K; k++, a += a_step, b += b_step)
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++)
#pragma GCC unroll 3
            for (int v = 0; v < vectors; v++)
                sum[r][v] += a[r * a_row] * ((const lanes *)b)[v];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++, c += c_row)
#pragma GCC unroll 3
        for (int v = 0; v < vectors; v++)
            if (width == LANES) {
                lanes *out = (lanes *)c + v;
                if (add)
                    sum[r][v] += *out;
                *out = sum[r][v];
            } else
                for (int j = 0; j < width; j++)
                    c[j] = add ? c[j] + sum[r][v][j] : sum[r][v][j];
}

/* `rows` rows from row i on, all columns, over k … k + K; `edge` has the last columns of b. */
static inline __attribute__((always_inline)) void
strip(int rows, const Product *p, long a_row, long a_step, long i, long k, long K, const float *edge, int add)
{
    const float *a = p->a + i * a_row + k * a_step;
    const float *b = p->b + k * p->b_step;
    float *c = p->c + i * p->c_row;
    long j = 0;
    for (; j + VECTORS * LANES <= p->N; j += VECTORS * LANES)
        tile(rows, VECTORS, LANES, K, a, a_row, a_step, b + j, p->b_step, c + j, p->c_row, add);
    for (; j + LANES <= p->N; j += LANES)
        tile(rows, 1, LANES, K, a, a_row, a_step, b + j, p->b_step, c + j, p->c_row, add);
    if (j < p->N)
        tile(rows, 1, p->N - j, K, a, a_row, a_step, edge, LANES, c + j, p->c_row, add);
}

static inline __attribute__((always_inline)) void
block(const Product *p, long a_row, long a_step, long i, long end, long k, int add)
{
    long K = p->K - k < BLOCK_K ? p->K - k : BLOCK_K;
    float edge[BLOCK_K * LANES] = {0};
    for (long s = 0; s < K; s++)
        for (long j = p->N / LANES * LANES; j < p->N; j++)
            edge[s * LANES + j % LANES] = p->b[(k + s) * p->b_step + j];
    for (; i + ROWS <= end; i += ROWS)
        strip(ROWS, p, a_row, a_step, i, k, K, edge, add);
    for (; i < end; i++)
        strip(1, p, a_row, a_step, i, k, K, edge, add);
}

static void rows(const Product *p, long first, long last, int add)
{
    for (long i = first; i < last; i += BLOCK_M) {
        long end = i + BLOCK_M < last ? i + BLOCK_M : last;
        for (long k = 0; k < p->K; k += BLOCK_K)
            if (p->a_step == 1)
                block(p, p->a_row, 1, i, end, k, add || k);
            else
                block(p, 1, p->a_step, i, end, k, add || k);
    }
}

/* Rows `first` to `last` of every c from number g on; the matrices lie *_next numbers after each other. */
void product(Product p, long g, long g_end, long first, long last, int add)
{
    for (p.a += g * p.a_next, p.b += g * p.b_next, p.c += g * p.c_next; g < g_end; g++) {
        rows(&p, first, last, add);
        p.a += p.a_next;
        p.b += p.b_next;
        p.c += p.c_next;
    }
}
