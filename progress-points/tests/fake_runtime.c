/* Stands for a profiler's runtime: counts visits in its own memory and, when the process ends,
 * writes "kind name count" for each counter and the calls of the blocking functions into the file
 * named by FAKE_RUNTIME_OUT. With FAKE_RUNTIME_NULL it refuses every counter. Compiled with
 * -DVISITS it wants to be called for begins and ends. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct counter {
    size_t count, backoff;
    int kind;
    char name[200];
};

static struct counter counters[64];
static int used, asked, pre_blocks, post_blocks, skipped, catch_ups, called;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct counter *_coz_get_counter(int kind, const char *name)
{
    struct counter *found = NULL;
    pthread_mutex_lock(&lock);
    asked++;
    for (int at = 0; at < used; at++)
        if (counters[at].kind == kind && !strcmp(counters[at].name, name))
            found = &counters[at];
    if (!found && used < 64) {
        found = &counters[used++];
        found->kind = kind;
        strncpy(found->name, name, sizeof found->name - 1);
    }
    pthread_mutex_unlock(&lock);
    return getenv("FAKE_RUNTIME_NULL") ? NULL : found;
}

#ifdef VISITS
void _coz_rs_visit(struct counter *counter)
{
    __atomic_fetch_add(&counter->count, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&called, 1, __ATOMIC_RELAXED);
}
#endif

void _coz_pre_block(void) { pre_blocks++; }
void _coz_post_block(int skip) { post_blocks++, skipped += skip; }
void _coz_add_delays(void) { catch_ups++; }

__attribute__((destructor)) static void write_down(void)
{
    const char *path = getenv("FAKE_RUNTIME_OUT");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file)
        return;
    fprintf(file, "0 asked %d\n0 pre_block %d\n0 post_block %d\n0 skipped %d\n0 catch_up %d\n",
            asked, pre_blocks, post_blocks, skipped, catch_ups);
    if (called)
        fprintf(file, "0 called %d\n", called);
    for (int at = 0; at < used; at++)
        fprintf(file, "%d %s %zu\n", counters[at].kind, counters[at].name, counters[at].count);
    fclose(file);
}
