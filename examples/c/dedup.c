/* dedup in C: a deduplicating compressor with a planted fault. examples/dedup tells the story; this
 * twin needs no library and no files: it makes its own text, and compresses by an LZ77 of its own.
 *
 * Workers cut pieces of the text into chunks by content, hash each chunk (SHA-1), look the digest up
 * in a table of buckets that are linked lists with a lock each, and compress what is new. The table
 * holds the chunks of an earlier archive from the start, as that of an incremental backup does. The
 * progress point `chunk` counts the chunks.
 *
 * The fault: the bucket of a digest is the sum of its bytes, so that two thousand of 65,536 buckets
 * hold everything. --hash xor folds the digest's words instead.
 *
 * Build: cc -O2 -g -pthread -I progress-points/include examples/c/dedup.c
 * Options: --seconds S (20), --hash add|xor (add), --threads N (2), --megabytes N (32),
 *          --earlier N (chunks of the earlier archive, 100000), --verify 1 (decompress and compare). */
#include "coz.h"
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    BUCKETS = 1 << 16,
    PIECE = 1 << 18,   /* bytes that a worker takes at a time; chunks end at its end */
    SHORTEST = 256,    /* no chunk but a piece's last is shorter */
    LONGEST = 8 << 10, /* and none is longer */
    MASK_BITS = 10,    /* zeros that end a chunk: 1.2 KB in the mean */
    DIGEST = 20,
    MOST_THREADS = 64,
    TIMED = 16 /* every so many look-ups are timed, as a clock costs as much as a short one */
};

#define NOINLINE __attribute__((noinline))

typedef struct {
    uint8_t bytes[DIGEST];
} digest_t;

static double seconds = 20;
static int hash_xor, threads = 2, megabytes = 32, earlier = 100000, verify;

static uint8_t *text;
static size_t text_length;
static uint64_t start_ns;

static uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Knuth's MMIX generator; the high bits are the random ones. */
static uint32_t random_number(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

/* Text of 512 made-up words, the common ones more often; a third of its paragraphs are copies. */
static void make_text(void)
{
    static uint8_t words[512][12];
    static uint8_t lengths[512];
    uint64_t state = 1;
    for (int word = 0; word < 512; word++) {
        lengths[word] = (uint8_t)(3 + random_number(&state) % 8);
        for (int at = 0; at < lengths[word]; at++)
            words[word][at] = (uint8_t)('a' + random_number(&state) % 26);
        words[word][lengths[word]++] = ' ';
    }
    text_length = (size_t)megabytes << 20;
    text = malloc(text_length + 16);
    if (!text)
        abort();
    for (size_t at = 0; at < text_length;) {
        size_t end = at + 16384 < text_length ? at + 16384 : text_length;
        if (at > 1 << 20 && random_number(&state) % 3 == 0) {
            size_t from = random_number(&state) % (at - 16384);
            memcpy(text + at, text + from, end - at);
            at = end;
            continue;
        }
        while (at < end) {
            uint32_t number = random_number(&state);
            uint32_t word = (number & 0xffff) % (1 + (number >> 16) % 512); /* mostly low ones */
            memcpy(text + at, words[word], 12);
            at += lengths[word];
        }
    }
}

/* --- chunks ------------------------------------------------------------------------------ */

static uint64_t gear[256];

static void make_gear(void)
{
    uint64_t state = 7;
    for (int byte = 0; byte < 256; byte++)
        gear[byte] = (uint64_t)random_number(&state) << 33 ^ (uint64_t)random_number(&state) << 12 ^
                     random_number(&state);
}

/* Bytes of the first chunk: it ends where a rolling hash of the last 64 bytes has zeros. */
static NOINLINE size_t cut(const uint8_t *bytes, size_t length)
{
    size_t end = length < LONGEST ? length : LONGEST;
    uint64_t hash = 0;
    for (size_t at = SHORTEST; at < end; at++) {
        hash = (hash << 1) + gear[bytes[at]];
        if (hash >> (64 - MASK_BITS) == 0)
            return at + 1;
    }
    return end;
}

/* --- SHA-1 (FIPS 180-4) --------------------------------------------------------------------- */

static uint32_t rotated(uint32_t word, int by)
{
    return word << by | word >> (32 - by);
}

static void sha1_block(uint32_t state[5], const uint8_t *block)
{
    uint32_t w[80];
    for (int at = 0; at < 16; at++)
        w[at] = (uint32_t)block[4 * at] << 24 | (uint32_t)block[4 * at + 1] << 16 |
                (uint32_t)block[4 * at + 2] << 8 | block[4 * at + 3];
    for (int at = 16; at < 80; at++)
        w[at] = rotated(w[at - 3] ^ w[at - 8] ^ w[at - 14] ^ w[at - 16], 1);
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
    for (int at = 0; at < 80; at++) {
        uint32_t mixed, constant;
        if (at < 20)
            mixed = (b & c) | (~b & d), constant = 0x5a827999;
        else if (at < 40)
            mixed = b ^ c ^ d, constant = 0x6ed9eba1;
        else if (at < 60)
            mixed = (b & c) | (b & d) | (c & d), constant = 0x8f1bbcdc;
        else
            mixed = b ^ c ^ d, constant = 0xca62c1d6;
        uint32_t next = rotated(a, 5) + mixed + e + constant + w[at];
        e = d, d = c, c = rotated(b, 30), b = a, a = next;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d, state[4] += e;
}

static NOINLINE digest_t sha1(const uint8_t *bytes, size_t length)
{
    uint32_t state[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    size_t at = 0;
    for (; at + 64 <= length; at += 64)
        sha1_block(state, bytes + at);
    uint8_t last[128] = {0};
    size_t left = length - at, size = left < 56 ? 64 : 128;
    memcpy(last, bytes + at, left);
    last[left] = 0x80;
    for (int byte = 0; byte < 8; byte++)
        last[size - 1 - (size_t)byte] = (uint8_t)((uint64_t)length * 8 >> (8 * byte));
    sha1_block(state, last);
    if (size == 128)
        sha1_block(state, last + 64);
    digest_t digest;
    for (int byte = 0; byte < DIGEST; byte++)
        digest.bytes[byte] = (uint8_t)(state[byte / 4] >> (24 - 8 * (byte % 4)));
    return digest;
}

/* --- the table ------------------------------------------------------------------------------ */

typedef struct entry {
    struct entry *next;
    digest_t digest;
    uint32_t pass; /* 0 for the earlier archive */
} entry_t;

static struct {
    pthread_mutex_t lock;
    entry_t *first;
} table[BUCKETS];

static uint32_t bucket_of(const digest_t *digest)
{
    uint32_t number = 0;
    if (hash_xor) {
        for (int at = 0; at < DIGEST; at += 4) {
            uint32_t word;
            memcpy(&word, digest->bytes + at, sizeof word);
            number ^= word;
        }
    } else {
        for (int at = 0; at < DIGEST; at++)
            number += digest->bytes[at];
    }
    return number % BUCKETS;
}

static void add(uint32_t bucket, const digest_t *digest, uint32_t pass)
{
    entry_t *entry = malloc(sizeof *entry);
    if (!entry)
        abort();
    *entry = (entry_t){table[bucket].first, *digest, pass};
    table[bucket].first = entry;
}

/* Whether the digest is known; it is afterwards. Each pass forgets what the one before it added. */
static NOINLINE int find_or_add(const digest_t *digest, uint32_t pass)
{
    uint32_t bucket = bucket_of(digest);
    pthread_mutex_lock(&table[bucket].lock);
    entry_t *entry = table[bucket].first;
    while (entry && entry->pass && entry->pass != pass) {
        table[bucket].first = entry->next;
        free(entry);
        entry = table[bucket].first;
    }
    while (entry && memcmp(&entry->digest, digest, sizeof *digest))
        entry = entry->next;
    if (!entry)
        add(bucket, digest, pass);
    pthread_mutex_unlock(&table[bucket].lock);
    return entry != NULL;
}

static void make_table(void)
{
    for (int bucket = 0; bucket < BUCKETS; bucket++)
        pthread_mutex_init(&table[bucket].lock, NULL);
    for (uint32_t number = 0; number < (uint32_t)earlier; number++) {
        uint8_t name[12] = "earlier";
        memcpy(name + 8, &number, sizeof number);
        digest_t digest = sha1(name, sizeof name);
        add(bucket_of(&digest), &digest, 0);
    }
}

/* --- compression: literals and copies of what came before ------------------------------------ */

/* A number of any size: bytes of 255 and a last one that is less. */
static uint8_t *put_number(uint8_t *out, size_t number)
{
    for (; number >= 255; number -= 255)
        *out++ = 255;
    *out++ = (uint8_t)number;
    return out;
}

/* Room that the compressed form of so many bytes needs at most. */
static size_t room(size_t length)
{
    return length + length / 128 + 16;
}

/* Runs of: number of literals, the literals, number of copied bytes, distance (two bytes). */
static NOINLINE size_t compress(const uint8_t *in, size_t length, uint8_t *out)
{
    uint16_t seen[4096]; /* where these four bytes were last, plus one */
    memset(seen, 0, sizeof seen);
    uint8_t *start = out;
    size_t literal = 0, at = 0;
    while (at + 8 <= length) {
        uint32_t four;
        memcpy(&four, in + at, sizeof four);
        uint32_t slot = four * 2654435761u >> 20;
        size_t before = seen[slot];
        seen[slot] = (uint16_t)(at + 1);
        if (!before || memcmp(in + before - 1, in + at, sizeof four)) {
            at++;
            continue;
        }
        size_t from = before - 1, copied = 4;
        while (at + copied < length && in[from + copied] == in[at + copied])
            copied++;
        out = put_number(out, at - literal);
        memcpy(out, in + literal, at - literal);
        out = put_number(out + (at - literal), copied);
        *out++ = (uint8_t)(at - from);
        *out++ = (uint8_t)((at - from) >> 8);
        at += copied;
        literal = at;
    }
    out = put_number(out, length - literal);
    memcpy(out, in + literal, length - literal);
    return (size_t)(out - start) + length - literal;
}

static size_t get_number(const uint8_t **in)
{
    size_t number = 0;
    while (**in == 255)
        number += *(*in)++;
    return number + *(*in)++;
}

/* The inverse, for what compress made of `length` bytes. */
static void decompress(const uint8_t *in, uint8_t *out, size_t length)
{
    for (size_t at = 0;;) {
        size_t literals = get_number(&in);
        memcpy(out + at, in, literals);
        in += literals, at += literals;
        if (at >= length)
            return;
        size_t copied = get_number(&in), distance = in[0] | (size_t)in[1] << 8;
        in += 2;
        for (; copied; copied--, at++)
            out[at] = out[at - distance];
    }
}

/* --- the threads ---------------------------------------------------------------------------- */

static uint64_t next_piece;

typedef struct {
    uint64_t chunks, new_chunks, bytes, compressed, looked, looked_ns, bad;
    uint32_t check; /* of the first pass */
} work_t;

static void deduplicate(const uint8_t *piece, size_t length, uint32_t pass, work_t *work)
{
    static __thread uint8_t packed[2 * LONGEST], again[LONGEST];
    _Static_assert(sizeof packed >= LONGEST + LONGEST / 128 + 16, "room(LONGEST)");
    for (size_t at = 0; at < length;) {
        const uint8_t *chunk = piece + at;
        size_t size = cut(chunk, length - at);
        at += size;
        digest_t digest = sha1(chunk, size);
        int timed = work->chunks % TIMED == 0;
        uint64_t begin = timed ? now_ns() : 0;
        int known = find_or_add(&digest, pass); /* LINE: look-up */
        if (timed) {
            work->looked_ns += now_ns() - begin;
            work->looked++;
        }
        if (!known) {
            size_t packed_size = compress(chunk, size, packed);
            work->new_chunks++;
            work->compressed += packed_size;
            if (verify) {
                decompress(packed, again, size);
                work->bad += packed_size > room(size) || memcmp(again, chunk, size) != 0;
            }
        }
        if (pass == 1) {
            uint32_t word;
            memcpy(&word, digest.bytes, sizeof word);
            work->check ^= word;
        }
        work->chunks++;
        COZ_PROGRESS_NAMED("chunk");
    }
    work->bytes += length;
}

static void *worker(void *argument)
{
    work_t *work = argument;
    uint64_t pieces = (text_length + PIECE - 1) / PIECE;
    for (;;) {
        uint64_t number = __atomic_fetch_add(&next_piece, 1, __ATOMIC_RELAXED);
        /* The first pass is always whole, for the check's sake. */
        if (number >= pieces && (double)(now_ns() - start_ns) * 1e-9 > seconds)
            return NULL;
        size_t at = (size_t)(number % pieces) * PIECE;
        size_t length = text_length - at < PIECE ? text_length - at : PIECE;
        deduplicate(text + at, length, (uint32_t)(number / pieces) + 1, work);
    }
}

static void print_buckets(void)
{
    uint64_t used = 0, chunks = 0;
    for (int bucket = 0; bucket < BUCKETS; bucket++) {
        used += table[bucket].first != NULL;
        for (entry_t *entry = table[bucket].first; entry; entry = entry->next)
            chunks++;
    }
    printf("buckets used: %.1f %%; chunks in a used bucket: %.1f\n", 100.0 * (double)used / BUCKETS,
           (double)chunks / (double)(used ? used : 1));
}

static int read_options(int count, char **words)
{
    for (int at = 1; at < count; at += 2) {
        const char *value = at + 1 < count ? words[at + 1] : "";
        if (!strcmp(words[at], "--seconds") && atof(value) > 0)
            seconds = atof(value);
        else if (!strcmp(words[at], "--hash") && (!strcmp(value, "add") || !strcmp(value, "xor")))
            hash_xor = *value == 'x';
        else if (!strcmp(words[at], "--threads") && atoi(value) > 0 && atoi(value) <= MOST_THREADS)
            threads = atoi(value);
        else if (!strcmp(words[at], "--megabytes") && atoi(value) > 1 && atoi(value) < 4096)
            megabytes = atoi(value);
        else if (!strcmp(words[at], "--earlier") && *value)
            earlier = atoi(value);
        else if (!strcmp(words[at], "--verify") && *value)
            verify = atoi(value);
        else
            return 0;
    }
    return 1;
}

int main(int count, char **words)
{
    if (!read_options(count, words)) {
        fputs("usage: dedup [--seconds S] [--hash add|xor] [--threads N] [--megabytes N] "
              "[--earlier N] [--verify 1]\n",
              stderr);
        return 2;
    }
    make_gear();
    make_text();
    make_table();
    pthread_t workers[MOST_THREADS];
    static work_t works[MOST_THREADS];
    start_ns = now_ns();
    for (int thread = 0; thread < threads; thread++)
        if (pthread_create(&workers[thread], NULL, worker, &works[thread])) {
            fputs("dedup: no thread could be made\n", stderr);
            return 1;
        }
    work_t all = {0};
    for (int thread = 0; thread < threads; thread++) {
        pthread_join(workers[thread], NULL);
        all.chunks += works[thread].chunks, all.new_chunks += works[thread].new_chunks;
        all.bytes += works[thread].bytes, all.compressed += works[thread].compressed;
        all.looked += works[thread].looked, all.looked_ns += works[thread].looked_ns;
        all.bad += works[thread].bad, all.check ^= works[thread].check;
    }
    double took = (double)(now_ns() - start_ns) * 1e-9;
    printf("%.0f MB in %.2f s; %.0f %% of the chunks new; new ones compressed to %.0f bytes\n",
           (double)all.bytes * 1e-6, took, 100.0 * (double)all.new_chunks / (double)all.chunks,
           (double)all.compressed / (double)all.new_chunks);
    print_buckets();
    printf("chunks %llu rate %.3f\n", (unsigned long long)all.chunks, (double)all.chunks / took);
    printf("cost look-up %.0f ns\ncheck %08x\n", (double)all.looked_ns / (double)all.looked, all.check);
    if (verify)
        printf("%llu chunks came back changed\n", (unsigned long long)all.bad);
    return all.bad != 0;
}
