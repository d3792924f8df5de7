/* Loads a library so that it finds libc's functions before any that were preloaded. */
#include "busy.h"
#include <dlfcn.h>

int main(int words, char **word)
{
    void *library = words > 1 ? dlopen(word[1], RTLD_NOW | RTLD_DEEPBIND) : NULL;
    int (*work)(void);
    busy_start();
    check(library != NULL, "dlopen");
    work = (int (*)(void))dlsym(library, "work");
    check(work != NULL && work() == 1, "the library's work");
    spin_ms(800);
    busy_stop();
    puts("the library worked");
    return 0;
}
