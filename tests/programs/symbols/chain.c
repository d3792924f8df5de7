/* Known lines at known addresses: each MARK puts a symbol on its own line, and the program prints
   where they are. Comments of the form "line: NAME" name lines for the test. */
#define _GNU_SOURCE
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MARK(name) __asm__ volatile(".globl " #name "\n" #name ":\n\tnop")
extern char mark_inner[], mark_leaf[];

static volatile int sink;
static volatile int pauses;

__attribute__((noinline)) static void pause_here(void) {
    void *frames[64];
    if (pauses++)
        return;
    int count = backtrace(frames, 64);
    for (int i = 0; i < count; i++)
        printf("frame %p\n", frames[i]);
    printf("thread %d\n", gettid());
    printf("ready\n");
    fflush(stdout);
    char byte;
    if (read(0, &byte, 1) < 0) /* line: waits */
        sink++;
    sink++;
}

static inline __attribute__((always_inline)) int inner(int x) {
    MARK(mark_inner); /* line: inner */
    return x * 3 + sink;
}

static inline __attribute__((always_inline)) int middle(int x) {
    int y = x + sink;
    return inner(y) ^ y; /* line: middle */
}

__attribute__((noinline)) int outer(int x) {
    return middle(x) + 7; /* line: outer */
}

__attribute__((cold, noinline)) void dies(int x) {
    fprintf(stderr, "%d\n", x);
    abort();
}

__attribute__((noinline)) int rarely(int x) {
    if (__builtin_expect(x == 12345, 0)) {
        dies(x * 3); /* line: cold */
    }
    return x + sink;
}

static int compare(const void *a, const void *b) {
    pause_here(); /* line: compares */
    return *(const int *)a - *(const int *)b + sink * 0;
}

__attribute__((noinline)) void sorts(int *values, size_t count) {
    qsort(values, count, sizeof *values, compare); /* line: sorts */
    sink = values[0];
}

__attribute__((noinline)) void copies(char *to, const char *from, size_t size) {
    memcpy(to, from, size); /* line: copies */
    sink = to[0];
}

static void handler(int signal) {
    (void)signal;
    pause_here(); /* line: handler */
}

__attribute__((noinline)) int leaf(int x) {
    MARK(mark_leaf); /* line: leaf */
    raise(SIGUSR1); /* line: raises */
    return x + sink;
}

/* Arguments on the stack, a variable-length array and a stricter alignment than the ABI's: gcc
   saves the old stack pointer in the frame. */
__attribute__((noinline)) int realigned(int a, int b, int c, int d, int e, int f, int g, int h) {
    char buffer[a + 64] __attribute__((aligned(64)));
    char strict[64] __attribute__((aligned(64)));
    memset(buffer, b, sizeof buffer);
    memset(strict, c, sizeof strict);
    sink = (int)(((size_t)strict & 63) + ((size_t)buffer & 63));
    pause_here(); /* line: realigned */
    return buffer[d & 1] + strict[e & 1] + f + g + h;
}

static void *thread(void *argument) {
    pause_here(); /* line: thread */
    return argument;
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "plain";
    static char big[1 << 16], other[1 << 16];
    int values[64];
    for (int i = 0; i < 64; i++)
        values[i] = (i * 37) % 64;
    printf("mark_inner %p\nmark_leaf %p\n", mark_inner, mark_leaf);
    printf("outer %p\nsorts %p\ncopies %p\n", outer, sorts, copies);
    sink = outer(argc) + rarely(argc);
    copies(big, other, sizeof big - (size_t)argc);
    if (!strcmp(mode, "sort"))
        sorts(values, 64); /* line: main-sorts */
    if (!strcmp(mode, "signal")) {
        signal(SIGUSR1, handler);
        sink = leaf(argc);
    }
    if (!strcmp(mode, "realigned"))
        sink = realigned(argc, 2, 3, 4, 5, 6, 7, 8);
    if (!strcmp(mode, "thread")) {
        pthread_t id;
        pthread_create(&id, NULL, thread, NULL);
        pthread_join(id, NULL);
    }
    pause_here(); /* line: main-waits */
    return 0;
}
