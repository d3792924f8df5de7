/* Loads the library of its first argument, says where a marked line is, waits for a byte; then
   unloads it, takes its place, loads it elsewhere, says and waits again. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static void *load(const char *path) {
    void *library = dlopen(path, RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    void *(*where)(void) = (void *(*)(void))dlsym(library, "where_plugin");
    printf("mark_plugin %p\n", where());
    return library;
}

static void wait_here(void) {
    char byte;
    printf("ready\n");
    fflush(stdout);
    if (read(0, &byte, 1) < 0)
        exit(1);
}

int main(int argc, char **argv) {
    if (argc < 2)
        return 1;
    wait_here();
    void *library = load(argv[1]);
    wait_here();
    Dl_info info;
    dladdr(dlsym(library, "where_plugin"), &info);
    dlclose(library);
    mmap(info.dli_fbase, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    wait_here();
    load(argv[1]);
    wait_here();
    return 0;
}
