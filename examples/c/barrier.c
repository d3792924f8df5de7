/* barrier in C: heat that spreads over a plate, with a barrier of its own or the system's.
 * examples/barrier tells the story; the plate, the strips and the printed figures are the same.
 *
 * Build: cc -O2 -g -pthread -I progress-points/include examples/c/barrier.c
 * Options: --seconds S (20), --threads N (4), --barrier spin|system (spin), --rows N (360). */
#include "coz.h"
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    COLUMNS = 512,
    MOST_THREADS = 64,
    MOST_ROWS = 4096,
    CHECKED = 8 /* the heat after so many steps is printed as the check */
};

#define NOINLINE __attribute__((noinline))

static double seconds = 20;
static int threads = 4, rows = 360, spins = 1;
static double plates[2][MOST_ROWS * COLUMNS];

static pthread_barrier_t barrier;
static int arrived, round_number;
static uint64_t last = UINT64_MAX; /* the last step */
static uint64_t waited[MOST_THREADS], steps_done;
static uint64_t start_ns;
static double check;

static uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* The hand-made barrier: who comes early looks again and again. */
static NOINLINE void spin(void)
{
    int round = __atomic_load_n(&round_number, __ATOMIC_ACQUIRE);
    if (__atomic_add_fetch(&arrived, 1, __ATOMIC_ACQ_REL) == threads) {
        __atomic_store_n(&arrived, 0, __ATOMIC_RELAXED);
        /* Release: partner of both loads. */
        __atomic_store_n(&round_number, round + 1, __ATOMIC_RELEASE);
        return;
    }
    while (__atomic_load_n(&round_number, __ATOMIC_ACQUIRE) == round) {
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#endif
    }
}

static NOINLINE void meet(void)
{
    if (spins)
        spin();
    else
        pthread_barrier_wait(&barrier);
}

/* One step: each place becomes the mean of its neighbours. */
static NOINLINE void relax(const double *old, double *new, int first, int end)
{
    for (int row = first; row < end; row++)
        for (int column = 1; column < COLUMNS - 1; column++) {
            int at = row * COLUMNS + column;
            new[at] = 0.25 * (old[at - 1] + old[at + 1] + old[at - COLUMNS] + old[at + COLUMNS]);
        }
}

/* The sum of all temperatures. */
static double heat(const double *plate)
{
    double all = 0;
    for (int at = 0; at < rows * COLUMNS; at++)
        all += plate[at];
    return all;
}

/* The first strip has a quarter more rows than an equal one. */
static int bound(int number)
{
    int first = (rows - 2) * 5 / (4 * threads + 1);
    if (number == 0)
        return 1;
    if (number == threads)
        return rows - 1;
    return 1 + first + (rows - 2 - first) * (number - 1) / (threads > 1 ? threads - 1 : 1);
}

static void *work(void *argument)
{
    int number = (int)(intptr_t)argument;
    int first = bound(number), end = bound(number + 1);
    for (uint64_t step = 0;; step++) {
        relax(plates[step % 2], plates[(step + 1) % 2], first, end); /* LINE: relax */
        if (number == 0) {
            COZ_PROGRESS_NAMED("step");
            /* Relaxed: written before the barrier of this step, and read after it. */
            if ((double)(now_ns() - start_ns) * 1e-9 > seconds)
                __atomic_store_n(&last, step, __ATOMIC_RELAXED);
            steps_done = step + 1;
        }
        uint64_t begin = now_ns();
        meet(); /* LINE: wait */
        waited[number] += now_ns() - begin;
        if (number == 0 && step + 1 == CHECKED)
            /* The others read this plate at this moment, and write the other one. */
            check = heat(plates[CHECKED % 2]);
        if (step >= __atomic_load_n(&last, __ATOMIC_RELAXED))
            return NULL;
    }
}

static int read_options(int count, char **words)
{
    for (int at = 1; at < count; at += 2) {
        const char *value = at + 1 < count ? words[at + 1] : "";
        if (!strcmp(words[at], "--seconds") && atof(value) > 0)
            seconds = atof(value);
        else if (!strcmp(words[at], "--threads") && atoi(value) > 0 && atoi(value) <= MOST_THREADS)
            threads = atoi(value);
        else if (!strcmp(words[at], "--rows") && atoi(value) > 0 && atoi(value) <= MOST_ROWS)
            rows = atoi(value);
        else if (!strcmp(words[at], "--barrier") && (!strcmp(value, "spin") || !strcmp(value, "system")))
            spins = value[1] == 'p';
        else
            return 0;
    }
    return rows >= 8 * threads;
}

int main(int count, char **words)
{
    if (!read_options(count, words)) {
        fputs("usage: barrier [--seconds S] [--threads N] [--barrier spin|system] [--rows N]\n", stderr);
        return 2;
    }
    for (int at = 0; at < COLUMNS; at++)
        plates[0][at] = plates[1][at] = 100;
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    pthread_t others[MOST_THREADS];
    start_ns = now_ns();
    for (int number = 1; number < threads; number++)
        if (pthread_create(&others[number], NULL, work, (void *)(intptr_t)number)) {
            fputs("barrier: no thread could be made\n", stderr);
            exit(1);
        }
    work(NULL);
    uint64_t all = waited[0];
    for (int number = 1; number < threads; number++) {
        pthread_join(others[number], NULL);
        all += waited[number];
    }
    double took = (double)(now_ns() - start_ns) * 1e-9;
    printf("steps %llu seconds %.2f rate %.3f\ncost wait %.0f ns\n", (unsigned long long)steps_done, took,
           (double)steps_done / took, (double)all / threads / (double)steps_done);
    uint64_t bits;
    memcpy(&bits, &check, sizeof bits);
    printf("check %016llx\n", (unsigned long long)bits);
    return 0;
}
