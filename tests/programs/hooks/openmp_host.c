/* A program without OpenMP: it asks whether there is a barrier (only the runtime of coz-rs defines
 * one), and loads a plug-in privately that brings its OpenMP runtime along. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

extern void GOMP_barrier(void) __attribute__((weak));

int main(int count, char **words)
{
    if (GOMP_barrier)
        GOMP_barrier();
    void *plugin = count > 1 ? dlopen(words[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!plugin) {
        puts(dlerror());
        return 2;
    }
    long (*sum)(long) = (long (*)(long))dlsym(plugin, "sum_in_team");
    if (!sum || dlerror())
        return 3;
    /* Twice what one thread would add, if each member of the team ran the whole loop. */
    printf("%ld\n", sum(100000));
    return dlerror() != NULL;
}
