/* Two threads that work by turns and wait for each other by futex: the system call made in place
 * ("asm"), where nobody can stand in between, or by libc's `syscall` ("libc"). */
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "coz.h"

static int turn, in_place;
static volatile int goes_on = 1;
static volatile unsigned long sink;

static long futex(int *word, int operation, int value)
{
    long result;
    if (!in_place)
        return syscall(SYS_futex, word, operation, value, NULL, NULL, 0);
    register long timeout __asm__("r10") = 0;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(SYS_futex), "D"(word), "S"(operation), "d"(value), "r"(timeout)
                     : "rcx", "r11", "memory");
    return result;
}

static void await(int mine)
{
    int now;
    while ((now = __atomic_load_n(&turn, __ATOMIC_ACQUIRE)) != mine)
        futex(&turn, FUTEX_WAIT_PRIVATE, now);
}

static void hand_over(int other)
{
    __atomic_store_n(&turn, other, __ATOMIC_RELEASE);
    futex(&turn, FUTEX_WAKE_PRIVATE, 1);
}

static void work(void)
{
    unsigned long state = sink;
    for (int at = 0; at < 1000000; at++)
        state = state * 6364136223846793005UL + 1; /* LINE: hot */
    sink = state;
}

static void *partner(void *unused)
{
    (void)unused;
    for (;;) {
        await(1);
        if (!goes_on)
            return NULL;
        work();
        hand_over(0);
    }
}

int main(int count, char **words)
{
    struct timespec begin, now;
    pthread_t other;
    long rounds = 0;
    double seconds;
    alarm(60);
    in_place = count > 1 && strcmp(words[1], "asm") == 0;
    seconds = count > 2 ? atof(words[2]) : 3;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    if (pthread_create(&other, NULL, partner, NULL) != 0)
        return 1;
    do {
        work();
        hand_over(1);
        await(0);
        COZ_PROGRESS_NAMED("round");
        rounds++;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((double)(now.tv_sec - begin.tv_sec) + (double)(now.tv_nsec - begin.tv_nsec) / 1e9 < seconds);
    goes_on = 0;
    hand_over(1);
    pthread_join(other, NULL);
    fprintf(stderr, "%ld rounds\n", rounds);
    return 0;
}
