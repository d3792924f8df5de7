#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct counts { long body, head, inlined, returned, early, arm; };
static __thread struct counts mine;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct counts all;
volatile long sink;

__attribute__((noinline)) static long work(long n) { sink += n; return n * 3 + 1; }

static inline __attribute__((always_inline)) long twice(long n)
{
    mine.inlined++;
    return work(n) + 1; /* LINE: inlined */
}

__attribute__((noinline)) static int next(long *left)
{
    mine.head++;
    return (*left)-- > 0;
}

__attribute__((noinline)) static long leave(long n)
{
    if (n % 3 == 0) {
        mine.early++;
        sink -= n; /* LINE: early */
        return n;
    }
    sink += n;
    mine.returned++;
    return work(n); /* LINE: return */
}

__attribute__((noinline)) static void rounds(long n)
{
    long left = n;
    while (next(&left)) { /* LINE: head */
        mine.body++;
        work(left); /* LINE: body */
        twice(left);
        twice(left + 1);
        leave(left);
        if (left % 5 == 0) {
            mine.arm++;
            work(left + 2); /* LINE: arm */
        }
    }
}

__attribute__((noinline)) static void fixed(void)
{
    for (int i = 0; i < 4; i++) {
        mine.body += 0;
        work(i); /* LINE: unrolled */
    }
}

static void *run(void *argument)
{
    long n = (long)argument;
    rounds(n);
    for (long i = 0; i < n; i++)
        fixed(); /* LINE: calls */
    pthread_mutex_lock(&lock);
    all.body += mine.body;
    all.head += mine.head;
    all.inlined += mine.inlined;
    all.returned += mine.returned;
    all.early += mine.early;
    all.arm += mine.arm;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(int count, char **words)
{
    pthread_t threads[64];
    long n = count > 1 ? atol(words[1]) : 1000;
    int many = count > 2 ? atoi(words[2]) : 4;
    for (int i = 0; i < many; i++)
        pthread_create(&threads[i], NULL, run, (void *)n);
    for (int i = 0; i < many; i++)
        pthread_join(threads[i], NULL);
    printf("body %ld\nhead %ld\ninlined %ld\nreturn %ld\nearly %ld\narm %ld\nunrolled %ld\ncalls %ld\nwork %ld\n",
           all.body, all.head, all.inlined, all.returned, all.early, all.arm,
           4 * n * many, n * many, all.body + all.inlined + all.returned + all.arm + 4 * n * many);
    return 0;
}
