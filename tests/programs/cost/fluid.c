/* A fluid on a grid, simulated by threads that own bands of it and lock each cell that they touch:
 * each of two neighbours is locked for what the other does to it. Prints rounds a second over the
 * time given in seconds. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "coz.h"

enum { WIDTH = 64, HEIGHT = 64, THREADS = 2, PARTICLES = 6 };

struct cell {
    pthread_mutex_t lock;
    double place[PARTICLES], force[PARTICLES];
};

static struct cell cells[HEIGHT][WIDTH];
static pthread_barrier_t together;
static volatile int goes_on = 1;
static long rounds;
static double seconds;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* What two neighbours do to each other: every particle of one to every particle of the other. The
 * forces are summed up first, then each cell is locked to take them in. */
static void meet(struct cell *one, struct cell *other)
{
    double here[PARTICLES] = {0}, there[PARTICLES] = {0};
    for (int a = 0; a < PARTICLES; a++)
        for (int b = 0; b < PARTICLES; b++) {
            double far = one->place[a] - other->place[b]; /* LINE: far */
            double near = 1.0 / (1.0 + far * far);        /* LINE: near */
            here[a] += near * far;
            there[b] -= near * far;
        }
    pthread_mutex_lock(&one->lock);
    for (int at = 0; at < PARTICLES; at++)
        one->force[at] += here[at];
    pthread_mutex_unlock(&one->lock);
    pthread_mutex_lock(&other->lock);
    for (int at = 0; at < PARTICLES; at++)
        other->force[at] += there[at];
    pthread_mutex_unlock(&other->lock);
}

static void *simulate(void *number)
{
    int band = (int)(long)number, first = band * HEIGHT / THREADS, last = (band + 1) * HEIGHT / THREADS;
    double end = now() + seconds;
    do {
        for (int y = first; y < last; y++)
            for (int x = 0; x < WIDTH; x++) {
                meet(&cells[y][x], &cells[y][(x + 1) % WIDTH]);
                meet(&cells[y][x], &cells[(y + 1) % HEIGHT][x]);
            }
        pthread_barrier_wait(&together);
        if (band == 0) {
            rounds++;
            COZ_PROGRESS_NAMED("round");
            if (now() > end)
                goes_on = 0;
        }
        pthread_barrier_wait(&together);
    } while (goes_on);
    return NULL;
}

int main(int words, char **word)
{
    pthread_t threads[THREADS];
    double begin, spent;
    seconds = words > 1 ? atof(word[1]) : 3;
    pthread_barrier_init(&together, NULL, THREADS);
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            pthread_mutex_init(&cells[y][x].lock, NULL);
            for (int at = 0; at < PARTICLES; at++)
                cells[y][x].place[at] = (x * 7 + y * 13 + at) % 10;
        }
    begin = now();
    for (long at = 0; at < THREADS; at++)
        if (pthread_create(&threads[at], NULL, simulate, (void *)at) != 0)
            return 1;
    for (int at = 0; at < THREADS; at++)
        pthread_join(threads[at], NULL);
    spent = now() - begin;
    printf("rate %.1f\n", (double)rounds / spent);
    return 0;
}
