/* Two busy threads of one process with a pipe between them: stage a takes 300 us an item, stage b
 * 200 us; an item is a page, and the pipe holds sixteen.
 * Truth: speeding a up gains until it meets b (33 %), speeding b up gains nothing. The profiler must
 * understand that read and write block, and that the other thread wakes them.
 *
 * Build: cc -O2 -g -pthread -I progress-points/include tests/programs/pipe.c
 * Options: --a X, --b X: share of the line's work that is left (1).
 *          --seconds S (10), --rounds N (no limit), --iters N (iterations a millisecond). */
#include "coz.h"
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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

enum { PAGE = 4096 };

static int ends[2];
static double seconds, rounds;
static long a, b;

static void *produce(void *nothing)
{
    static char page[PAGE];
    double begin = now();
    for (long item = 0; (double)item < rounds && now() - begin < seconds; item++) {
        work(a); /* LINE: a */
        if (write(ends[1], page, PAGE) != PAGE)
            exit(2);
    }
    close(ends[1]);
    return nothing;
}

/* False at the end. */
static int receive(void)
{
    static char page[PAGE];
    ssize_t got = 0;
    while (got < PAGE) {
        ssize_t more = read(ends[0], page + got, (size_t)(PAGE - got));
        if (more <= 0)
            return 0;
        got += more;
    }
    return 1;
}

int main(int count, char **words)
{
    seconds = option(count, words, "--seconds", 10);
    rounds = option(count, words, "--rounds", 1e18);
    iters = option(count, words, "--iters", iters);
    a = (long)(0.3 * iters * option(count, words, "--a", 1));
    b = (long)(0.2 * iters * option(count, words, "--b", 1));
    check_options(count);

    pthread_t producer;
    long item = 0;
    double begin = now();
    if (pipe(ends) || pthread_create(&producer, NULL, produce, NULL))
        return 2;
    while (receive()) {
        work(b); /* LINE: b */
        COZ_PROGRESS_NAMED("item");
        item++;
    }
    pthread_join(producer, NULL);
    report(item, now() - begin);
    return 0;
}
