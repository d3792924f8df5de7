/* The ledger, seen from inside a program that runs under the runtime: where the region is follows
 * from the address of a counter, where its fields are from the test that starts the program (its
 * offset_of! of the layout), in the environment variable LEDGER. */
#ifndef LEDGER_H
#define LEDGER_H
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MILLISECOND = 1000000 };
enum { COUNTERS, ACTIVE, G, THREADS, SLOT_SIZE, SLOTS, EXCUSED, PAUSED, OFF, ALL_PAUSED, ALL_SAMPLES, LEDGER_WORDS };

static char *region;
static size_t at[LEDGER_WORDS];

#ifdef __cplusplus
extern "C" {
#endif
extern void *_coz_get_counter(int kind, const char *name) __attribute__((weak));
extern void _coz_add_delays(void) __attribute__((weak));
#ifdef __cplusplus
}
#endif

static inline uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static inline void rest(long ns)
{
    struct timespec time = {ns / 1000000000, ns % 1000000000};
    nanosleep(&time, NULL);
}

static inline void fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(2);
}

static inline volatile uint64_t *word(size_t offset)
{
    return (volatile uint64_t *)(region + offset);
}

static inline int is_active(void)
{
    return *(volatile uint32_t *)(region + at[ACTIVE]) != 0;
}

/* Finds the region and waits for the window that the test puts in force. */
static inline void find_ledger(void)
{
    const char *text = getenv("LEDGER");
    if (!text || !_coz_get_counter)
        fail("no ledger");
    for (int i = 0; i < LEDGER_WORDS; i++)
        at[i] = strtoull(text, (char **)&text, 10);
    region = (char *)_coz_get_counter(1, "case") - at[COUNTERS];
    for (int i = 0; !is_active(); i++) {
        if (i > 5000)
            fail("no window");
        rest(MILLISECOND);
    }
    _coz_add_delays(); /* meet the window with nothing owed */
}

static inline void raise_g(uint64_t ns)
{
    __atomic_fetch_add((uint64_t *)word(at[G]), ns, __ATOMIC_RELAXED);
}

/* The slot of a thread that is alive. */
static inline char *slot_of(int tid)
{
    for (size_t i = 0; i < at[SLOTS]; i++) {
        char *slot = region + at[THREADS] + i * at[SLOT_SIZE];
        if (*(volatile int *)slot == tid)
            return slot;
    }
    fail("a thread without a ledger");
    return NULL;
}

static inline uint64_t excused(int tid) { return *(volatile uint64_t *)(slot_of(tid) + at[EXCUSED]); }
static inline uint64_t paused(int tid) { return *(volatile uint64_t *)(slot_of(tid) + at[PAUSED]); }

/* The state that the kernel tells of a thread: S asleep, R running. */
static inline char state_of(int tid)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
    FILE *file = fopen(path, "r");
    if (!file)
        return 'X';
    size_t got = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[got] = 0;
    char *end = strrchr(text, ')');
    return end ? end[2] : 'X';
}

/* Waits until a thread sleeps, and goes on sleeping. */
static inline void until_asleep(int tid)
{
    for (int calm = 0, i = 0; calm < 3; i++) {
        if (i > 5000)
            fail("the waiter does not sleep");
        calm = state_of(tid) == 'S' ? calm + 1 : 0;
        rest(MILLISECOND / 2);
    }
}
#endif
