/* Loads the library of its first argument, lets it work for half of the seconds of its second;
 * unloads it, occupies its place, loads it elsewhere and lets it work on with another function. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

typedef unsigned long work(unsigned long, int);

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void *work_for(const char *path, double seconds, int second, void **library)
{
    *library = dlopen(path, RTLD_NOW);
    work *unit = *library ? (work *)dlsym(*library, "unit") : NULL;
    if (!unit) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    unsigned long state = 1;
    for (double end = now() + seconds; now() < end;)
        state = unit(state, second);
    Dl_info info;
    dladdr((void *)unit, &info);
    printf("%lu\n", state);
    return info.dli_fbase;
}

int main(int count, char **words)
{
    if (count < 3)
        return 1;
    double seconds = atof(words[2]) / 2;
    void *library;
    void *base = work_for(words[1], seconds, 0, &library);
    dlclose(library);
    mmap(base, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    void *again = work_for(words[1], seconds, 1, &library);
    return again == base;
}
