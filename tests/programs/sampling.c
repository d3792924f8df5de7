/* What must be sampled however the sampler changes meanwhile. The argument names the case:
 * "changes": two threads wake each other all the time; beside them a thread that blocks all signals,
 * and later one that slept until then, a new one, and a child. "rests": no progress point is visited
 * at first. Each function burns so much CPU time and is looked for by its name. */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "coz.h"

enum { LATER = 1500, WORK = 400 };

static sem_t ping, pong;
static volatile int stop;
static volatile unsigned long sink;

static long clock_ms(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000L + time.tv_nsec / 1000000;
}

static void rest(long ms)
{
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

/* Burns CPU time, but gives up after some seconds. */
#define BURN(ms)                                                                                   \
    long begin = clock_ms(CLOCK_THREAD_CPUTIME_ID), limit = clock_ms(CLOCK_MONOTONIC) + 8000;      \
    while (clock_ms(CLOCK_THREAD_CPUTIME_ID) - begin < (ms) && clock_ms(CLOCK_MONOTONIC) < limit) { \
        for (unsigned long at = 0; at < 20000; at++)                                               \
            sink += at;                                                                            \
        COZ_PROGRESS_NAMED("piece");                                                               \
    }

#define WORKER static __attribute__((noinline))
WORKER void late(void) { BURN(WORK) }
WORKER void fresh(void) { BURN(WORK) }
WORKER void child(void) { BURN(WORK) }
WORKER void after(void) { BURN(3 * WORK) }

WORKER void masked(void)
{
    for (long round = 0; round < 4; round++)
        for (unsigned long at = 0; at < 100000; at++)
            sink += at;
}

WORKER void idle(long ms)
{
    long end = clock_ms(CLOCK_MONOTONIC) + ms;
    while (clock_ms(CLOCK_MONOTONIC) < end)
        for (unsigned long at = 0; at < 20000; at++)
            sink += at;
}

static void *pinging(void *unused)
{
    for (unsigned long turn = 0; !stop; turn++) {
        sem_post(&pong);
        sem_wait(&ping);
        if (turn % 64 == 0)
            COZ_PROGRESS_NAMED("turn");
    }
    sem_post(&pong);
    return unused;
}

static void *ponging(void *unused)
{
    while (!stop) {
        sem_wait(&pong);
        sem_post(&ping);
    }
    sem_post(&ping);
    return unused;
}

static void *behind_a_mask(void *unused)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    while (!stop) {
        masked();
        rest(3);
    }
    pthread_sigmask(SIG_SETMASK, NULL, &all);
    for (int signal = SIGRTMAX - 4; signal <= SIGRTMAX; signal++)
        if (!sigismember(&all, signal))
            printf("a mask was changed\n");
    return unused;
}

static void *slept(void *unused)
{
    rest(LATER);
    late();
    return unused;
}

static void *made(void *unused)
{
    fresh();
    return unused;
}

static void *idling(void *unused)
{
    idle(2 * LATER);
    return unused;
}

static void *coming(void *unused)
{
    after();
    return unused;
}

static void rests(void)
{
    pthread_t first, second;
    pthread_create(&first, NULL, idling, NULL);
    pthread_create(&second, NULL, idling, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    pthread_create(&first, NULL, coming, NULL);
    pthread_join(first, NULL);
}

static void changes(void)
{
    pthread_t threads[5];
    void *(*routines[])(void *) = {pinging, ponging, behind_a_mask, slept, made};
    int status = 1;
    sem_init(&ping, 0, 0);
    sem_init(&pong, 0, 0);
    for (int at = 0; at < 4; at++)
        pthread_create(&threads[at], NULL, routines[at], NULL);
    rest(LATER);
    pthread_create(&threads[4], NULL, routines[4], NULL);
    pid_t pid = fork();
    if (pid == 0) {
        child();
        _exit(0);
    }
    waitpid(pid, &status, 0);
    pthread_join(threads[3], NULL);
    pthread_join(threads[4], NULL);
    stop = 1;
    for (int at = 0; at < 3; at++)
        pthread_join(threads[at], NULL);
    if (status != 0)
        printf("the child ended with %d\n", status);
}

int main(int words, char **word)
{
    if (words > 1 && !strcmp(word[1], "rests"))
        rests();
    else
        changes();
    printf("done\n");
    return 0;
}
