/* Units of work that arrive in one thread and are done in another, with an early way out. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROOM = 64 };

static volatile unsigned long sink;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned head, tail;
static int over;

__attribute__((noinline)) static void work(int rounds)
{
    for (int at = 0; at < rounds; at++)
        sink = sink * 6364136223846793005UL + 1; /* LINE: work */
}

__attribute__((noinline)) static void arrive(void)
{
    pthread_mutex_lock(&lock); /* LINE: begin */
    while (tail - head == ROOM)
        pthread_cond_wait(&changed, &lock);
    tail++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

__attribute__((noinline)) static void done(unsigned number)
{
    if (number % 8 == 0) {
        sink += number; /* LINE: early */
        return;
    }
    work(1000);
    sink += 1; /* LINE: end */
}

static void *serve(void *unused)
{
    for (;;) {
        unsigned number;
        pthread_mutex_lock(&lock);
        while (head == tail && !over)
            pthread_cond_wait(&changed, &lock);
        if (head == tail) {
            pthread_mutex_unlock(&lock);
            return unused;
        }
        number = head++;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
        done(number);
    }
}

int main(int words, char **word)
{
    double seconds = words > 1 ? atof(word[1]) : 1;
    struct timespec begin, now;
    pthread_t thread;
    long units = 0;
    pthread_create(&thread, NULL, serve, NULL);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        work(20000);
        arrive();
        units++;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((double)(now.tv_sec - begin.tv_sec) + (double)(now.tv_nsec - begin.tv_nsec) * 1e-9 < seconds);
    pthread_mutex_lock(&lock);
    over = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    printf("unit %ld\n", 2 * units);
    return 0;
}
