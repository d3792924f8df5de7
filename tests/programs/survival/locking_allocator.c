/* An allocator of the kind that hangs profilers: it takes a lock of its own around everything,
 * looks its functions up while it holds it, and stands before dlsym, dlvsym and dlopen, which take
 * the same lock. A look-up of ours that comes back here with the lock held would never return. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void __libc_free(void *);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *(*real_dlsym)(void *, const char *);
static void *(*real_dlvsym)(void *, const char *, const char *);
static void *(*real_dlopen)(const char *, int);
static int found;
/* The calling thread looks up, and may come back for memory: with the lock held. */
static __thread int looking __attribute__((tls_model("initial-exec")));

static void look_up(void)
{
    if (found)
        return;
    found = looking = 1;
    real_dlvsym = dlvsym(RTLD_NEXT, "dlvsym", "GLIBC_2.34");
    real_dlsym = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    real_dlopen = dlvsym(RTLD_NEXT, "dlopen", "GLIBC_2.34");
    looking = 0;
}

void *dlsym(void *handle, const char *name)
{
    void *result;
    pthread_mutex_lock(&lock);
    look_up();
    /* What it allocates for its error message must not wait for the lock. */
    looking = 1;
    result = real_dlsym ? real_dlsym(handle, name) : NULL;
    looking = 0;
    pthread_mutex_unlock(&lock);
    return result;
}

void *dlopen(const char *name, int flags)
{
    void *result;
    pthread_mutex_lock(&lock);
    look_up();
    pthread_mutex_unlock(&lock);
    result = real_dlopen ? real_dlopen(name, flags) : NULL;
    return result;
}

void *malloc(size_t size)
{
    void *result;
    if (looking)
        return __libc_malloc(size);
    pthread_mutex_lock(&lock);
    look_up();
    result = __libc_malloc(size);
    pthread_mutex_unlock(&lock);
    return result;
}

void *calloc(size_t count, size_t size)
{
    void *result;
    if (looking)
        return __libc_calloc(count, size);
    pthread_mutex_lock(&lock);
    look_up();
    result = __libc_calloc(count, size);
    pthread_mutex_unlock(&lock);
    return result;
}

void *realloc(void *old, size_t size)
{
    void *result;
    if (looking)
        return __libc_realloc(old, size);
    pthread_mutex_lock(&lock);
    result = __libc_realloc(old, size);
    pthread_mutex_unlock(&lock);
    return result;
}

void free(void *old)
{
    if (looking) {
        __libc_free(old);
        return;
    }
    pthread_mutex_lock(&lock);
    __libc_free(old);
    pthread_mutex_unlock(&lock);
}
