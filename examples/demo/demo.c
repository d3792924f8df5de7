/* The demo in C: a recorder in which the hottest line does not matter. main.rs tells the story; the
 * lines, the cures and the printed check are the same.
 *
 * Build: coz-rs demo does it where there is no rustc. By hand:
 * cc -O2 -g -pthread -I progress-points/include examples/demo/demo.c
 * Options: --seconds S (20), --fix generate|scramble|checksum (any number of times). */
#include "coz.h"
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    BYTES = 100000, /* in a block */
    QUEUE = 4,      /* blocks that wait between the two threads at most */
    PRIME = 65521,  /* modulus of Adler-32 (RFC 1950) */
    STRETCH = 5552  /* bytes that can be added up before 32 bits overflow (zlib's number) */
};

/* Multiplier and modulus of the minimal standard generator (Park and Miller 1993). */
#define MULTIPLIER UINT64_C(48271)
#define MERSENNE ((UINT64_C(1) << 31) - 1)

#define NOINLINE __attribute__((noinline))

static NOINLINE void generate(uint8_t *block, uint64_t seed)
{
    uint64_t state = seed;
    for (int at = 0; at < BYTES; at++) {
        state = state * MULTIPLIER % MERSENNE;
        block[at] = (uint8_t)state;
    }
}

/* generate cured: 2^31 is 1 more than the modulus, so the bits above count as ones. */
static NOINLINE void generate_folding(uint8_t *block, uint64_t seed)
{
    uint64_t state = seed;
    for (int at = 0; at < BYTES; at++) {
        uint64_t product = state * MULTIPLIER;
        uint64_t folded = (product & MERSENNE) + (product >> 31);
        state = folded >= MERSENNE ? folded - MERSENNE : folded;
        block[at] = (uint8_t)state;
    }
}

static NOINLINE void scramble(uint8_t *block)
{
    uint32_t key = 1;
    for (int at = 0; at < BYTES; at++) {
        key = (key + block[at]) % PRIME;
        block[at] ^= (uint8_t)key;
    }
}

/* scramble cured: the key is below the modulus and the byte too, so the sum is below twice it. */
static NOINLINE void scramble_subtracting(uint8_t *block)
{
    uint32_t key = 1;
    for (int at = 0; at < BYTES; at++) {
        uint32_t sum = key + block[at];
        key = sum >= PRIME ? sum - PRIME : sum;
        block[at] ^= (uint8_t)key;
    }
}

static NOINLINE uint32_t checksum(const uint8_t *block)
{
    uint32_t low = 1, high = 0;
    for (int at = 0; at < BYTES; at++)
        low = (low + block[at]) % PRIME, high = (high + low) % PRIME;
    return high << 16 | low;
}

/* checksum cured: the remainders can wait until the sums might overflow. */
static NOINLINE uint32_t checksum_rarely(const uint8_t *block)
{
    uint32_t low = 1, high = 0;
    for (int at = 0; at < BYTES;) {
        int end = at + STRETCH < BYTES ? at + STRETCH : BYTES;
        for (; at < end; at++) {
            low += block[at];
            high += low;
        }
        low %= PRIME;
        high %= PRIME;
    }
    return high << 16 | low;
}

static void (*chosen_generate)(uint8_t *, uint64_t) = generate;
static void (*chosen_scramble)(uint8_t *) = scramble;
static uint32_t (*chosen_checksum)(const uint8_t *) = checksum;

/* A ring of blocks. The generator fills the block behind the last one, the main thread works on
 * the first one in place; neither is in the other's way, so the lock covers the numbers only. */
static struct {
    uint8_t blocks[QUEUE + 2][BYTES];
    pthread_mutex_t lock;
    pthread_cond_t filled, drained;
    unsigned long made, taken;
    int closed;
} ring = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .filled = PTHREAD_COND_INITIALIZER,
          .drained = PTHREAD_COND_INITIALIZER};

static double seconds = 20;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double generating, scrambling, adding; /* time spent on each job, s */

static void *generator(void *nothing)
{
    double begin = now();
    for (unsigned long number = 0; now() - begin < seconds; number++) {
        double start = now();
        chosen_generate(ring.blocks[number % (QUEUE + 2)], number + 1); /* LINE: generate */
        generating += now() - start;
        pthread_mutex_lock(&ring.lock);
        ring.made = number + 1;
        pthread_cond_signal(&ring.filled);
        /* One block is in the main thread's hands and one in ours. */
        while (ring.made - ring.taken > QUEUE)
            pthread_cond_wait(&ring.drained, &ring.lock);
        pthread_mutex_unlock(&ring.lock);
    }
    pthread_mutex_lock(&ring.lock);
    ring.closed = 1;
    pthread_cond_signal(&ring.filled);
    pthread_mutex_unlock(&ring.lock);
    return nothing;
}

/* The next block, which stays ours until the next call; NULL at the end. */
static uint8_t *receive(void)
{
    uint8_t *block = NULL;
    pthread_mutex_lock(&ring.lock);
    while (ring.made == ring.taken && !ring.closed)
        pthread_cond_wait(&ring.filled, &ring.lock);
    if (ring.made != ring.taken) {
        block = ring.blocks[ring.taken++ % (QUEUE + 2)];
        pthread_cond_signal(&ring.drained);
    }
    pthread_mutex_unlock(&ring.lock);
    return block;
}

static int read_options(int count, char **words)
{
    for (int at = 1; at < count; at += 2) {
        const char *value = at + 1 < count ? words[at + 1] : "";
        if (!strcmp(words[at], "--seconds") && atof(value) > 0)
            seconds = atof(value);
        else if (!strcmp(words[at], "--fix") && !strcmp(value, "generate"))
            chosen_generate = generate_folding;
        else if (!strcmp(words[at], "--fix") && !strcmp(value, "scramble"))
            chosen_scramble = scramble_subtracting;
        else if (!strcmp(words[at], "--fix") && !strcmp(value, "checksum"))
            chosen_checksum = checksum_rarely;
        else
            return 0;
    }
    return 1;
}

int main(int count, char **words)
{
    if (!read_options(count, words)) {
        fputs("usage: demo [--seconds S] [--fix generate|scramble|checksum]...\n", stderr);
        return 2;
    }
    pthread_t thread;
    double begin = now();
    if (pthread_create(&thread, NULL, generator, NULL)) {
        fputs("demo: no thread could be made\n", stderr);
        return 1;
    }
    unsigned long blocks = 0;
    uint32_t check = 0;
    for (uint8_t *block; (block = receive()); blocks++) {
        double start = now();
        chosen_scramble(block); /* LINE: scramble */
        double middle = now();
        uint32_t sum = chosen_checksum(block); /* LINE: checksum */
        adding += now() - middle;
        scrambling += middle - start;
        if (blocks == 0)
            check = sum;
        COZ_PROGRESS_NAMED("block");
    }
    pthread_join(thread, NULL);
    double took = now() - begin;
    double each = 1e9 / (double)(blocks ? blocks : 1);
    printf("blocks %lu seconds %.2f rate %.3f\n", blocks, took, (double)blocks / took);
    printf("cost generate %.0f ns\ncost scramble %.0f ns\ncost checksum %.0f ns\ncheck %08x\n",
           generating * each, scrambling * each, adding * each, check);
    return 0;
}
