/* Stacks that are hard to walk: fibres, a signal handler, assembly without unwind information that
 * uses rbp for itself, the vDSO and PLT stubs. Prints a checksum that depends on all of them.
 *
 * Options: --rounds N (200), --iters N (iterations a millisecond, 700000). */
#define _GNU_SOURCE
#include "coz.h"
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

static long iters = 700000, rounds = 200;
static unsigned long sum;

static __attribute__((noinline)) unsigned long work(unsigned long state, long count)
{
    while (count-- > 0)
        state = state * 6364136223846793005ul + 1442695040888963407ul;
    return state;
}

/* Fibres. */
static ucontext_t back, fibre;
static char fibre_stack[64 << 10];

static void in_fibre(void)
{
    for (;;) {
        sum += work(sum, iters); /* LINE: fibre */
        swapcontext(&fibre, &back);
    }
}

/* A signal handler. */
static void in_handler(int number)
{
    sum += work(number, iters); /* LINE: handler */
}

/* Assembly that nothing describes: it makes rbp useless and calls back. */
unsigned long undescribed(unsigned long count);
__asm__(".text\n.globl undescribed\n.type undescribed, @function\n"
        "undescribed:\n\tpush %rbp\n\tmov $-1, %rbp\n\tsub $24, %rsp\n\tcall called_back\n"
        "\tmov $700000, %ecx\n1:\tdec %ecx\n\tjnz 1b\n"
        "\tadd $24, %rsp\n\tpop %rbp\n\tret\n.size undescribed, . - undescribed\n");

__attribute__((used)) unsigned long called_back(unsigned long count)
{
    unsigned long done = work(count, (long)count); /* LINE: called_back */
    __asm__ volatile("" : "+r"(done));             /* no tail call */
    return done;
}

/* The vDSO, and stubs of the PLT. */
static void in_libraries(void)
{
    struct timespec now;
    for (int at = 0; at < 20000; at++) {
        clock_gettime(CLOCK_MONOTONIC, &now); /* LINE: clock */
        sum += strlen(now.tv_sec ? "ab" : "abc");
    }
}

static void *other_thread(void *nothing)
{
    for (long round = 0; round < rounds; round++)
        __atomic_fetch_add(&sum, work(1, iters), __ATOMIC_RELAXED);
    return nothing;
}

int main(int count, char **words)
{
    for (int at = 1; at + 1 < count; at += 2) {
        if (!strcmp(words[at], "--rounds"))
            rounds = atol(words[at + 1]);
        if (!strcmp(words[at], "--iters"))
            iters = atol(words[at + 1]);
    }
    signal(SIGUSR1, in_handler);
    getcontext(&fibre);
    fibre.uc_stack.ss_sp = fibre_stack;
    fibre.uc_stack.ss_size = sizeof fibre_stack;
    makecontext(&fibre, in_fibre, 0);
    for (long round = 0; round < rounds; round++) {
        swapcontext(&back, &fibre);
        raise(SIGUSR1);
        sum += undescribed((unsigned long)iters);
        in_libraries();
        COZ_PROGRESS_NAMED("round");
    }
    pthread_t other;
    pthread_create(&other, NULL, other_thread, NULL);
    pthread_join(other, NULL);
    printf("%lu\n", sum);
    return 0;
}
