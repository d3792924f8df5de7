/* A serial part and a parallel one by OpenMP: a takes 1.6 ms in one thread, b 2.4 ms in each of two.
 * Truth: speeding a up by s gains 0.4 s, b 0.6 s.
 *
 * Build: cc -O2 -g -fopenmp -I progress-points/include tests/programs/openmp.c
 * Options: --a X, --b X: share of the line's work that is left (1).
 *          --seconds S (10), --rounds N (no limit), --iters N (iterations a millisecond). */
#include "coz.h"
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Loop iterations that stand for a millisecond; --iters sets it, nothing measures it. */
static double iters = 700000;

static int options_read;

/* The value of an option, which is counted, so that a misspelt one is noticed. */
static double option(int count, char **words, const char *name, double value)
{
    for (int at = 1; at + 1 < count; at += 2)
        if (!strcmp(words[at], name)) {
            options_read++;
            value = atof(words[at + 1]);
        }
    return value;
}

static void check_options(int count)
{
    if (count != 1 + 2 * options_read) {
        fputs("unknown option; the comment atop the source lists them\n", stderr);
        exit(2);
    }
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* A chain of dependent multiplications: the same time for the same count. */
static __attribute__((noinline)) void work(long count)
{
    uint64_t x = 1;
    while (count-- > 0)
        x = x * 6364136223846793005ull + 1442695040888963407ull;
    __asm__ volatile("" : : "r"(x)); /* the compiler must believe that x is used */
}

static void report(long rounds, double seconds)
{
    printf("rounds %ld seconds %.3f rate %.6g\n", rounds, seconds, (double)rounds / seconds);
}

int main(int count, char **words)
{
    double seconds = option(count, words, "--seconds", 10);
    double rounds = option(count, words, "--rounds", 1e18);
    iters = option(count, words, "--iters", iters);
    long a = (long)(1.6 * iters * option(count, words, "--a", 1));
    long b = (long)(2.4 * iters * option(count, words, "--b", 1));
    check_options(count);

    long round = 0;
    double begin = now();
    while ((double)round < rounds && now() - begin < seconds) {
        work(a); /* LINE: a */
#pragma omp parallel for schedule(static) num_threads(2)
        for (int part = 0; part < 2; part++)
            work(b); /* LINE: b */
        COZ_PROGRESS_NAMED("round");
        round++;
    }
    report(round, now() - begin);
    return 0;
}
