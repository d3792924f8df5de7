/* ferret in C: search by image in a pipeline of load, segment, extract, index, rank, out.
 * examples/ferret tells the story. The stages are the same but for loading: pictures are packed by
 * a run-length code of its own in place of PNG, so that no library is needed.
 *
 * Build: cc -O2 -g -pthread -I progress-points/include examples/c/ferret.c -lm
 * Options: --seconds S (20), --threads A,B,C,D (1,2,1,1): threads that segment, extract, index and
 * rank. */
#include "coz.h"
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    SIDE = 96, /* width and height, pixels */
    PIXELS = SIDE * SIDE,
    REGIONS = 12, /* regions of a picture that count */
    STEPS = 3,    /* of a colour channel in a histogram */
    COLOURS = STEPS * STEPS * STEPS,
    NUMBERS = COLOURS + 5,
    PICTURES = 1600, /* in the database */
    QUERIES = 24,
    BITS = 16,    /* of a signature */
    FARTHEST = 7, /* bits that the signatures of compared pictures differ in at most */
    BEST = 10,
    QUEUE = 4,
    STAGES = 5, /* segment, extract, index, rank, out */
    MOST_THREADS = 16,
    DISK_US = 900,  /* what the disk takes for a picture */
    SHARD_US = 2000 /* what the shard takes for a request */
};

#define NOINLINE __attribute__((noinline))

typedef struct {
    float weight, numbers[NUMBERS];
} feature_t;

typedef struct {
    int count;
    feature_t of[REGIONS];
} features_t;

typedef struct {
    int picture;
    float distance;
} match_t;

/* A query on its way. */
typedef struct {
    long number;
    uint8_t pixels[PIXELS][3];
    int region[PIXELS]; /* of each pixel; negative for none that counts */
    int regions;
    features_t features;
    int candidates[PICTURES], candidate_count;
    match_t matches[PICTURES];
} work_t;

static double seconds = 20;
static int threads[STAGES] = {1, 2, 1, 1, 1};

static struct {
    features_t features;
    uint16_t signature;
} database[PICTURES];

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Waits from now on: a disk or a shard that begins when it is asked. */
static void wait_us(long microseconds)
{
    struct timespec time = {0, microseconds * 1000};
    nanosleep(&time, NULL);
}

/* Knuth's MMIX generator. */
static uint32_t random_number(uint64_t *state, uint32_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % below;
}

/* --- pictures ---------------------------------------------------------------------------- */

/* The picture of a number: discs and bars before a gradient. */
static void paint(int number, uint8_t pixels[PIXELS][3])
{
    uint64_t state = (uint64_t)number * 0x9e3779b97f4a7c15u | 1;
    uint8_t top[3], bottom[3], colour[3];
    for (int channel = 0; channel < 3; channel++) {
        top[channel] = (uint8_t)random_number(&state, 256);
        bottom[channel] = (uint8_t)random_number(&state, 256);
    }
    for (int at = 0; at < PIXELS; at++)
        for (int channel = 0; channel < 3; channel++)
            pixels[at][channel] =
                (uint8_t)((top[channel] * (SIDE - at / SIDE) + bottom[channel] * (at / SIDE)) / SIDE);
    for (int shape = 0; shape < 12; shape++) {
        for (int channel = 0; channel < 3; channel++)
            colour[channel] = (uint8_t)random_number(&state, 256);
        int x = (int)random_number(&state, SIDE), y = (int)random_number(&state, SIDE);
        int width = 4 + (int)random_number(&state, 20), height = 4 + (int)random_number(&state, 20);
        for (int at = 0; at < PIXELS; at++) {
            int dx = at % SIDE - x, dy = at / SIDE - y;
            if (shape % 2 ? abs(dx) < width && abs(dy) < height : dx * dx + dy * dy < width * width)
                memcpy(pixels[at], colour, 3);
        }
    }
}

typedef struct {
    int runs;
    struct {
        uint8_t length, colour[3];
    } run[PIXELS];
} packed_t;

static packed_t files[QUERIES];

static void pack(uint8_t pixels[PIXELS][3], packed_t *file)
{
    file->runs = 0;
    for (int at = 0; at < PIXELS;) {
        int length = 1;
        while (length < 255 && at + length < PIXELS && !memcmp(pixels[at], pixels[at + length], 3))
            length++;
        file->run[file->runs].length = (uint8_t)length;
        memcpy(file->run[file->runs++].colour, pixels[at], 3);
        at += length;
    }
}

static NOINLINE void unpack(const packed_t *file, uint8_t pixels[PIXELS][3])
{
    int at = 0;
    for (int run = 0; run < file->runs; run++)
        for (int left = file->run[run].length; left; left--)
            memcpy(pixels[at++], file->run[run].colour, 3);
}

/* --- regions and their numbers --------------------------------------------------------------- */

static int coarse(const uint8_t *pixel)
{
    return (pixel[0] / 48 * 8 + pixel[1] / 48) * 8 + pixel[2] / 48;
}

typedef struct {
    int number, size;
} region_t;

static int larger(const void *a, const void *b)
{
    const region_t *first = a, *second = b;
    return first->size != second->size ? second->size - first->size : first->number - second->number;
}

/* Grows each region of one colour from its first pixel, and keeps the largest. */
static NOINLINE void segment(work_t *work)
{
    static __thread int stack[PIXELS], names[PIXELS];
    static __thread region_t regions[PIXELS];
    int count = 0;
    memset(work->region, -1, sizeof work->region);
    for (int first = 0; first < PIXELS; first++) {
        if (work->region[first] >= 0)
            continue;
        int colour = coarse(work->pixels[first]), end = 0, next = 0;
        stack[end++] = first;
        work->region[first] = count;
        while (next < end) {
            int at = stack[next++], x = at % SIDE, y = at / SIDE;
            int around[4] = {x > 0 ? at - 1 : -1, x + 1 < SIDE ? at + 1 : -1, y > 0 ? at - SIDE : -1,
                             y + 1 < SIDE ? at + SIDE : -1};
            for (int side = 0; side < 4; side++) {
                int other = around[side];
                if (other >= 0 && work->region[other] < 0 && coarse(work->pixels[other]) == colour) {
                    work->region[other] = count;
                    stack[end++] = other;
                }
            }
        }
        regions[count] = (region_t){count, end};
        count++;
    }
    qsort(regions, (size_t)count, sizeof *regions, larger);
    work->regions = count < REGIONS ? count : REGIONS;
    for (int at = 0; at < count; at++)
        names[regions[at].number] = at < work->regions ? at : -1;
    for (int at = 0; at < PIXELS; at++)
        work->region[at] = names[work->region[at]];
}

/* A colour histogram of each region, its place, its size and its spread. */
static NOINLINE void extract(work_t *work)
{
    features_t *features = &work->features;
    float squares[REGIONS] = {0};
    int counts[REGIONS] = {0};
    memset(features, 0, sizeof *features);
    features->count = work->regions;
    for (int at = 0; at < PIXELS; at++) {
        int region = work->region[at];
        if (region < 0)
            continue;
        const uint8_t *pixel = work->pixels[at];
        float *numbers = features->of[region].numbers;
        float x = (float)(at % SIDE) / SIDE, y = (float)(at / SIDE) / SIDE;
        numbers[(pixel[0] * STEPS / 256 * STEPS + pixel[1] * STEPS / 256) * STEPS + pixel[2] * STEPS / 256]++;
        numbers[COLOURS] += x;
        numbers[COLOURS + 1] += y;
        squares[region] += x * x + y * y;
        counts[region]++;
    }
    for (int region = 0; region < work->regions; region++) {
        feature_t *feature = &features->of[region];
        float *numbers = feature->numbers, count = (float)counts[region];
        for (int at = 0; at < COLOURS + 2; at++)
            numbers[at] /= count;
        float x = numbers[COLOURS], y = numbers[COLOURS + 1];
        float spread = squares[region] / count - x * x - y * y;
        spread = spread > 0 ? spread : 0;
        feature->weight = numbers[COLOURS + 2] = count / PIXELS;
        numbers[COLOURS + 3] = sqrtf(spread);
        numbers[COLOURS + 4] = feature->weight / (spread + 0.01f);
    }
}

/* --- the database ---------------------------------------------------------------------------- */

/* On which side of some random planes the weighted mean of the regions is. */
static uint16_t signature_of(const features_t *features)
{
    float mean[NUMBERS] = {0}, weight = 0;
    for (int region = 0; region < features->count; region++) {
        weight += features->of[region].weight;
        for (int at = 0; at < NUMBERS; at++)
            mean[at] += features->of[region].numbers[at] * features->of[region].weight;
    }
    uint64_t state = 5;
    uint16_t signature = 0;
    for (int bit = 0; bit < BITS; bit++) {
        float side = 0;
        for (int at = 0; at < NUMBERS; at++) {
            float direction = (float)random_number(&state, 1 << 24) / (1 << 23) - 1;
            side += direction * (mean[at] / weight - 1.0f / NUMBERS);
        }
        signature = (uint16_t)(signature | (side > 0) << bit);
    }
    return signature;
}

/* The pictures whose signatures are near the query's. */
static NOINLINE void find_candidates(work_t *work)
{
    uint16_t wanted = signature_of(&work->features);
    work->candidate_count = 0;
    for (int picture = 0; picture < PICTURES; picture++)
        if (__builtin_popcount((unsigned)(wanted ^ database[picture].signature)) <= FARTHEST)
            work->candidates[work->candidate_count++] = picture;
}

/* A greedy earth mover: what has to be moved how far to make one picture's regions of the other's. */
static float distance(const features_t *from, const features_t *to)
{
    float room[REGIONS], total = 0;
    for (int at = 0; at < to->count; at++)
        room[at] = to->of[at].weight;
    for (int region = 0; region < from->count; region++) {
        float ways[REGIONS], left = from->of[region].weight;
        for (int other = 0; other < to->count; other++) {
            float squares = 0;
            for (int at = 0; at < NUMBERS; at++) {
                float apart = from->of[region].numbers[at] - to->of[other].numbers[at];
                squares += apart * apart;
            }
            ways[other] = sqrtf(squares);
        }
        while (left > 1e-6f) {
            int nearest = -1;
            for (int other = 0; other < to->count; other++)
                if (room[other] > 1e-6f && (nearest < 0 || ways[other] < ways[nearest]))
                    nearest = other;
            if (nearest < 0) {
                total += left * 4; /* nowhere to go: as far as any two regions can be apart */
                break;
            }
            float moved = left < room[nearest] ? left : room[nearest];
            total += moved * ways[nearest];
            room[nearest] -= moved;
            left -= moved;
        }
    }
    return total;
}

static int better(const void *a, const void *b)
{
    const match_t *first = a, *second = b;
    if (first->distance != second->distance)
        return first->distance < second->distance ? -1 : 1;
    return first->picture - second->picture;
}

static NOINLINE void rank_candidates(work_t *work)
{
    for (int at = 0; at < work->candidate_count; at++) {
        int picture = work->candidates[at];
        work->matches[at] = (match_t){picture, distance(&work->features, &database[picture].features)};
    }
    qsort(work->matches, (size_t)work->candidate_count, sizeof *work->matches, better);
}

/* --- the pipeline ---------------------------------------------------------------------------- */

/* The queue before each stage; it is closed when everybody who puts into it has gone. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t filled, drained;
    work_t *waiting[QUEUE];
    int count, first, writers;
} queues[STAGES];

static void put(int stage, work_t *work)
{
    pthread_mutex_lock(&queues[stage].lock);
    while (queues[stage].count == QUEUE)
        pthread_cond_wait(&queues[stage].drained, &queues[stage].lock);
    queues[stage].waiting[(queues[stage].first + queues[stage].count++) % QUEUE] = work;
    pthread_cond_signal(&queues[stage].filled);
    pthread_mutex_unlock(&queues[stage].lock);
}

/* The next query; NULL when there will be none. */
static work_t *take(int stage)
{
    work_t *work = NULL;
    pthread_mutex_lock(&queues[stage].lock);
    while (!queues[stage].count && queues[stage].writers)
        pthread_cond_wait(&queues[stage].filled, &queues[stage].lock);
    if (queues[stage].count) {
        work = queues[stage].waiting[queues[stage].first];
        queues[stage].first = (queues[stage].first + 1) % QUEUE;
        queues[stage].count--;
        pthread_cond_signal(&queues[stage].drained);
    }
    pthread_mutex_unlock(&queues[stage].lock);
    return work;
}

static void leave(int stage)
{
    pthread_mutex_lock(&queues[stage].lock);
    queues[stage].writers--;
    pthread_cond_broadcast(&queues[stage].filled);
    pthread_mutex_unlock(&queues[stage].lock);
}

static double begin;

static void *load(void *nothing)
{
    for (long number = 0; number < QUERIES || now() - begin < seconds; number++) {
        wait_us(DISK_US);
        work_t *work = malloc(sizeof *work);
        if (!work)
            abort();
        work->number = number;
        unpack(&files[number % QUERIES], work->pixels);
        put(0, work);
    }
    leave(0);
    return nothing;
}

static void *stage(void *argument)
{
    int number = (int)(intptr_t)argument;
    for (work_t *work; (work = take(number));) {
        switch (number) {
        case 0:
            segment(work); /* LINE: segment */
            break;
        case 1:
            extract(work); /* LINE: extract */
            break;
        case 2:
            wait_us(SHARD_US);
            find_candidates(work); /* LINE: index */
            break;
        default:
            rank_candidates(work); /* LINE: rank */
        }
        put(number + 1, work);
    }
    leave(number + 1);
    return NULL;
}

static int read_options(int count, char **words)
{
    for (int at = 1; at < count; at += 2) {
        const char *value = at + 1 < count ? words[at + 1] : "";
        if (!strcmp(words[at], "--seconds") && atof(value) > 0)
            seconds = atof(value);
        else if (strcmp(words[at], "--threads") ||
                 sscanf(value, "%d,%d,%d,%d", &threads[0], &threads[1], &threads[2], &threads[3]) != 4)
            return 0;
    }
    for (int at = 0; at < STAGES; at++)
        if (threads[at] < 1 || threads[at] > MOST_THREADS)
            return 0;
    return 1;
}

static void start(void *(*function)(void *), int number)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, function, (void *)(intptr_t)number)) {
        fputs("ferret: no thread could be made\n", stderr);
        exit(1);
    }
    pthread_detach(thread);
}

int main(int count, char **words)
{
    if (!read_options(count, words)) {
        fputs("usage: ferret [--seconds S] [--threads SEGMENT,EXTRACT,INDEX,RANK]\n", stderr);
        return 2;
    }
    static work_t work;
    for (int picture = 0; picture < PICTURES; picture++) {
        paint(picture, work.pixels);
        if (picture % 7 == 0 && picture / 7 < QUERIES)
            pack(work.pixels, &files[picture / 7]);
        segment(&work);
        extract(&work);
        database[picture].features = work.features;
        database[picture].signature = signature_of(&work.features);
    }
    for (int at = 0; at < STAGES; at++) {
        pthread_mutex_init(&queues[at].lock, NULL);
        pthread_cond_init(&queues[at].filled, NULL);
        pthread_cond_init(&queues[at].drained, NULL);
        queues[at].writers = at ? threads[at - 1] : 1;
    }
    begin = now();
    start(load, 0);
    for (int at = 0; at < STAGES - 1; at++)
        for (int thread = 0; thread < threads[at]; thread++)
            start(stage, at);
    long queries = 0, right = 0;
    uint32_t check = 0;
    for (work_t *done; (done = take(STAGES - 1)); queries++) {
        right += done->matches[0].picture == done->number % QUERIES * 7;
        if (done->number < QUERIES) {
            uint32_t ten = (uint32_t)done->number;
            for (int at = 0; at < BEST && at < done->candidate_count; at++)
                ten = ten * 31 + (uint32_t)done->matches[at].picture;
            check ^= ten; /* in any order: pools overtake themselves */
        }
        free(done);
        COZ_PROGRESS_NAMED("query");
    }
    double took = now() - begin;
    printf("queries %ld seconds %.2f rate %.3f\nright %.1f %%\ncheck %08x\n", queries, took,
           (double)queries / took, 100.0 * (double)right / (double)queries, check);
    return 0;
}
