/* One thread whose time is inside libc: a line that calls memcpy, one that calls qsort, and a plain
 * one, about a third of a round each. The callers' lines must get the time.
 * Truth: speeding a line up gains its share; --iters does not change memcpy and qsort.
 *
 * Build: cc -O2 -g -I progress-points/include tests/programs/libc_callers.c
 * Options: --memcpy X, --qsort X, --plain X: share of the calls that are left (1).
 *          --seconds S (10), --rounds N (no limit), --iters N (iterations a millisecond). */
#include "coz.h"
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

enum { BYTES = 128 * 1024, NUMBERS = 500, CALLS = 80 };

static char from[BYTES], to[BYTES];
static uint32_t shuffled[NUMBERS], numbers[NUMBERS];

/* The compiler must believe that all of the memory is read. */
static void keep(const void *memory)
{
    __asm__ volatile("" : : "r"(memory) : "memory");
}

static int compare(const void *left, const void *right)
{
    uint32_t l = *(const uint32_t *)left, r = *(const uint32_t *)right;
    return (l > r) - (l < r);
}

int main(int count, char **words)
{
    double seconds = option(count, words, "--seconds", 10);
    double rounds = option(count, words, "--rounds", 1e18);
    iters = option(count, words, "--iters", iters);
    int copies = (int)(3 * CALLS * option(count, words, "--memcpy", 1) + 0.5);
    int sorts = (int)(CALLS * option(count, words, "--qsort", 1) + 0.5);
    long plain = (long)(1.0 * iters * option(count, words, "--plain", 1));
    check_options(count);
    for (uint32_t at = 0; at < NUMBERS; at++)
        shuffled[at] = at * 2654435761u;

    long round = 0;
    double begin = now();
    while ((double)round < rounds && now() - begin < seconds) {
        for (int call = 0; call < copies; call++) {
            from[call] = (char)round;
            memcpy(to, from, BYTES); /* LINE: memcpy */
            keep(to);
        }
        for (int call = 0; call < sorts; call++) {
            memmove(numbers, shuffled, sizeof numbers);
            qsort(numbers, NUMBERS, sizeof *numbers, compare); /* LINE: qsort */
            keep(numbers);
        }
        work(plain); /* LINE: plain */
        COZ_PROGRESS_NAMED("round");
        round++;
    }
    report(round, now() - begin);
    return 0;
}
