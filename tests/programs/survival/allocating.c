/* Threads that allocate and free all the time, and hand memory to each other. */
#include "busy.h"

#define THREADS 4
#define PLACES 64

static void *place[PLACES];
static unsigned long total;

static void *churn(void *argument)
{
    unsigned seed = (unsigned)(long)argument;
    unsigned long bytes = 0;
    for (int round = 0; round < 60000; round++) {
        size_t size;
        void *mine, *theirs;
        seed = seed * 1103515245u + 12345u;
        size = 16 + (seed >> 8) % (round % 100 == 0 ? 300000 : 2000);
        mine = round % 7 == 0 ? calloc(1, size) : malloc(size);
        check(mine != NULL, "memory");
        memset(mine, (int)size, size < 64 ? size : 64);
        theirs = __atomic_exchange_n(&place[seed % PLACES], mine, __ATOMIC_ACQ_REL);
        if (round % 5 == 0)
            theirs = realloc(theirs, size / 2 + 1);
        free(theirs);
        bytes += size;
    }
    __atomic_fetch_add(&total, bytes, __ATOMIC_RELAXED);
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    busy_start();
    for (long at = 0; at < THREADS; at++)
        pthread_create(&threads[at], NULL, churn, (void *)(at + 1));
    for (int at = 0; at < THREADS; at++)
        pthread_join(threads[at], NULL);
    busy_stop();
    printf("allocated %lu\n", total);
    return 0;
}
