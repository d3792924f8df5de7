/* Progress points for C and C++ programs profiled by coz-rs (or by Coz, whose interface this is).
 *
 *   COZ_PROGRESS                a unit of work is done; the point is named file:line
 *   COZ_PROGRESS_NAMED(name)    the same, with a name of your own
 *   COZ_BEGIN(name)             a unit of work arrives ...
 *   COZ_END(name)               ... and leaves, on any thread
 *
 * Around blocking that the profiler cannot see (a lock of your own on raw system calls, a fiber
 * scheduler), so that a thread that waits is not made to pause for pauses it slept through:
 *
 *   COZ_PRE_BLOCK               this thread is about to wait
 *   COZ_POST_BLOCK(skip)        it goes on; skip is 1 if another thread of the program woke it,
 *                               0 if time, the kernel or another process did
 *   COZ_CATCH_UP                this thread is about to wake another one
 *
 * Each is a statement and takes a semicolon. Names are strings that are never freed; they are read
 * on the first visit of each place only. Points with one name and kind are one counter.
 *
 * Where the profiler exports _coz_rs_visit, it is called for begins and ends, which it then can time.
 *
 * Without the profiler a visit is one load and one branch. The header needs no link flag and no
 * feature macro; it works in gnu89 to C23 and C++98 to C++23, in any number of units and threads.
 * On systems other than Linux, and with compilers that lack GNU attributes, it does nothing.
 */
#ifndef COZ_H
#define COZ_H

#if defined(__linux__) && defined(__GNUC__)

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The kinds of _coz_get_counter. */
#define COZ_RS_THROUGHPUT 1
#define COZ_RS_BEGIN 2
#define COZ_RS_END 3

/* What _coz_get_counter returns. Touched by atomic operations only. */
struct coz_rs_counter {
    size_t count;
    size_t backoff;
};

/* States of something that is looked up once. */
#define COZ_RS_UNKNOWN 0
#define COZ_RS_PRESENT 1
#define COZ_RS_ABSENT 2

/* One place in the program; starts as zeros. */
struct coz_rs_place {
    struct coz_rs_counter *counter;
    void *visit; /* _coz_rs_visit, of begins and ends */
    int state;
};

/* A weakref is a weak reference to dlsym that leaves the program's own references to it strong.
 * So nothing has to be linked: where dlsym is not there (glibc before 2.34 without -ldl, a static
 * program) it is null, and so is the profiler. A name of its own keeps it apart from dlfcn.h. */
static void *coz_rs_dlsym(void *, const char *) __attribute__((weakref("dlsym")));

/* A pointer to an exported function, or null. */
static __inline__ __attribute__((unused)) void *coz_rs_exported(const char *name)
{
    /* NULL is what glibc and musl call RTLD_DEFAULT. */
    return coz_rs_dlsym ? coz_rs_dlsym(NULL, name) : NULL;
}

/* The first visit of a place. Threads that come here together store the same values. */
static __attribute__((unused, cold, noinline)) void
coz_rs_find(struct coz_rs_place *place, int kind, const char *name)
{
    struct coz_rs_counter *(*get_counter)(int, const char *) = NULL;
    struct coz_rs_counter *counter = NULL;
    void *address = coz_rs_exported("_coz_get_counter");
    if (address) {
        /* ISO C has no conversion from an object's address to a function's. */
        __builtin_memcpy(&get_counter, &address, sizeof address);
        counter = get_counter(kind, name);
    }
    if (counter && kind != COZ_RS_THROUGHPUT)
        __atomic_store_n(&place->visit, coz_rs_exported("_coz_rs_visit"), __ATOMIC_RELAXED);
    __atomic_store_n(&place->counter, counter, __ATOMIC_RELAXED);
    /* Release: partner of the Acquire in coz_rs_visit. */
    __atomic_store_n(&place->state, counter ? COZ_RS_PRESENT : COZ_RS_ABSENT, __ATOMIC_RELEASE);
}

/* A visit of a place that is not known to have no counter. */
static __inline__ __attribute__((unused)) void
coz_rs_visit(struct coz_rs_place *place, int kind, const char *name)
{
    struct coz_rs_counter *counter;
    void *visit;
    /* Acquire: partner of the Release in coz_rs_find, which another thread may have run. A second
     * load rather than a fence, which the thread sanitizer does not know. */
    if (__atomic_load_n(&place->state, __ATOMIC_ACQUIRE) == COZ_RS_UNKNOWN)
        coz_rs_find(place, kind, name);
    counter = __atomic_load_n(&place->counter, __ATOMIC_RELAXED);
    visit = __atomic_load_n(&place->visit, __ATOMIC_RELAXED);
    if (counter && visit) {
        void (*call)(struct coz_rs_counter *);
        __builtin_memcpy(&call, &visit, sizeof visit);
        call(counter);
    } else if (counter)
        __atomic_fetch_add(&counter->count, 1, __ATOMIC_RELAXED);
}

#define COZ_RS_VISIT(kind, name)                                                                   \
    do {                                                                                           \
        static struct coz_rs_place coz_rs_here;                                                    \
        if (__atomic_load_n(&coz_rs_here.state, __ATOMIC_RELAXED) != COZ_RS_ABSENT)                \
            coz_rs_visit(&coz_rs_here, kind, name);                                                \
    } while (0)

#define COZ_RS_TEXT(token) #token
#define COZ_RS_EXPANDED_TEXT(token) COZ_RS_TEXT(token)

#define COZ_PROGRESS COZ_PROGRESS_NAMED(__FILE__ ":" COZ_RS_EXPANDED_TEXT(__LINE__))
#define COZ_PROGRESS_NAMED(name) COZ_RS_VISIT(COZ_RS_THROUGHPUT, name)
#define COZ_BEGIN(name) COZ_RS_VISIT(COZ_RS_BEGIN, name)
#define COZ_END(name) COZ_RS_VISIT(COZ_RS_END, name)

/* Looks an exported function up once a unit. `void *` stands for it until it is called. */
static __inline__ __attribute__((unused)) void *
coz_rs_once(void **function, int *state, const char *name)
{
    int found = __atomic_load_n(state, __ATOMIC_ACQUIRE);
    if (found == COZ_RS_ABSENT)
        return NULL;
    if (found == COZ_RS_UNKNOWN) {
        void *address = coz_rs_exported(name);
        __atomic_store_n(function, address, __ATOMIC_RELAXED);
        /* Release: partner of the Acquire above. */
        __atomic_store_n(state, address ? COZ_RS_PRESENT : COZ_RS_ABSENT, __ATOMIC_RELEASE);
    }
    return __atomic_load_n(function, __ATOMIC_RELAXED);
}

static __inline__ __attribute__((unused)) void coz_rs_pre_block(void)
{
    static void *function;
    static int state;
    void (*call)(void);
    void *address = coz_rs_once(&function, &state, "_coz_pre_block");
    if (address) {
        __builtin_memcpy(&call, &address, sizeof address);
        call();
    }
}

static __inline__ __attribute__((unused)) void coz_rs_post_block(int skip)
{
    static void *function;
    static int state;
    void (*call)(int);
    void *address = coz_rs_once(&function, &state, "_coz_post_block");
    if (address) {
        __builtin_memcpy(&call, &address, sizeof address);
        call(skip);
    }
}

static __inline__ __attribute__((unused)) void coz_rs_add_delays(void)
{
    static void *function;
    static int state;
    void (*call)(void);
    void *address = coz_rs_once(&function, &state, "_coz_add_delays");
    if (address) {
        __builtin_memcpy(&call, &address, sizeof address);
        call();
    }
}

#define COZ_PRE_BLOCK coz_rs_pre_block()
#define COZ_POST_BLOCK(skip) coz_rs_post_block(skip)
#define COZ_CATCH_UP coz_rs_add_delays()

#ifdef __cplusplus
}
#endif

#else /* not Linux, or no GNU attributes */

#define COZ_PROGRESS ((void)0)
#define COZ_PROGRESS_NAMED(name) ((void)(name))
#define COZ_BEGIN(name) ((void)(name))
#define COZ_END(name) ((void)(name))
#define COZ_PRE_BLOCK ((void)0)
#define COZ_POST_BLOCK(skip) ((void)(skip))
#define COZ_CATCH_UP ((void)0)

#endif
#endif
