/* OpenMP as gcc compiles it: in a team of two, thread 1 waits for thread 0, which owes a pause.
 * Prints as wakes.c does. OMP_WAIT_POLICY=passive makes waiters sleep, so that they can be seen to
 * wait. Driven by tests/hooks/openmp.rs. */
#define _GNU_SOURCE
#include "ledger.h"
#include <omp.h>

enum { OWED = 30 };

static volatile int waiter_tid, held;
static uint64_t woken_at, went_on, waiter_excused, waiter_paused;
static omp_lock_t lock;
static omp_nest_lock_t nest_lock;

/* The waiter is about to wait. */
static void begin(void)
{
    _coz_add_delays();
    waiter_tid = gettid();
}

static void end(void)
{
    went_on = now();
    waiter_excused = excused(gettid());
    waiter_paused = paused(gettid());
}

/* The waker owes a pause from now on. */
static void owe(void)
{
    while (!waiter_tid)
        rest(MILLISECOND / 4);
    until_asleep(waiter_tid);
    raise_g(OWED * MILLISECOND);
    woken_at = now();
}

static void until_held(void)
{
    while (!held)
        rest(MILLISECOND / 4);
}

static void __attribute__((noinline)) barrier_here(void)
{
#pragma omp barrier
}

static void barrier(void)
{
#pragma omp parallel num_threads(2)
    {
        _coz_add_delays();
        if (omp_get_thread_num()) {
            begin();
            barrier_here();
            end();
        } else {
            owe();
            barrier_here();
        }
    }
}

static void critical_part(int waits)
{
#pragma omp critical
    {
        if (waits)
            end();
        else {
            held = 1;
            owe();
        }
    }
}

static void named_part(int waits)
{
#pragma omp critical(name)
    {
        if (waits)
            end();
        else {
            held = 1;
            owe();
        }
    }
}

static void lock_part(int waits)
{
    omp_set_lock(&lock);
    if (waits)
        end();
    else {
        held = 1;
        owe();
    }
    omp_unset_lock(&lock);
}

static void nest_part(int waits)
{
    omp_set_nest_lock(&nest_lock);
    if (waits)
        end();
    else {
        held = 1;
        owe();
    }
    omp_unset_nest_lock(&nest_lock);
}

static void exclusive(void (*part)(int))
{
#pragma omp parallel num_threads(2)
    {
        _coz_add_delays();
        if (omp_get_thread_num()) {
            until_held();
            begin();
            part(1);
        } else
            part(0);
    }
}

static void critical(void) { exclusive(critical_part); }
static void critical_name(void) { exclusive(named_part); }
static void locks(void)
{
    omp_init_lock(&lock);
    exclusive(lock_part);
}
static void nest_locks(void)
{
    omp_init_nest_lock(&nest_lock);
    exclusive(nest_part);
}

/* Whoever gets round 0 is the waker; the other one has round 1 and then waits. */
static void loop_end(void)
{
#pragma omp parallel num_threads(2)
    {
        int waits = 0;
        _coz_add_delays();
#pragma omp for schedule(dynamic, 1)
        for (int round = 0; round < 2; round++) {
            if (round == 0)
                owe();
            else {
                waits = 1;
                begin();
            }
        }
        if (waits)
            end();
    }
}

static void sections_end(void)
{
#pragma omp parallel num_threads(2)
    {
        int waits = 0;
        _coz_add_delays();
#pragma omp sections
        {
#pragma omp section
            owe();
#pragma omp section
            {
                waits = 1;
                begin();
            }
        }
        if (waits)
            end();
    }
}

static void ordered(void)
{
#pragma omp parallel num_threads(2)
    {
        _coz_add_delays();
#pragma omp for ordered schedule(dynamic, 1)
        for (int round = 0; round < 2; round++) {
            if (round == 1)
                begin();
#pragma omp ordered
            {
                if (round == 0)
                    owe();
                else
                    end();
            }
        }
    }
}

/* The thread that made the team waits for the other member at the end. */
static void team_end(void)
{
#pragma omp parallel num_threads(2)
    {
        _coz_add_delays();
        if (omp_get_thread_num())
            owe();
        else
            begin();
    }
    end();
}

/* A member idles between two teams. */
static void team_start(void)
{
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num())
        begin();
    owe();
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num())
        end();
}

static void team_of_loop(void)
{
#pragma omp parallel for num_threads(2) schedule(dynamic, 1)
    for (int round = 0; round < 2; round++) {
        if (omp_get_thread_num())
            begin();
        else
            while (!waiter_tid)
                rest(MILLISECOND / 4);
    }
    owe();
#pragma omp parallel for num_threads(2) schedule(dynamic, 1)
    for (int round = 0; round < 2; round++) {
        if (omp_get_thread_num())
            end();
        else
            while (!went_on)
                rest(MILLISECOND / 4);
    }
}

static void team_of_sections(void)
{
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num())
        begin();
    owe();
#pragma omp parallel sections num_threads(2)
    {
#pragma omp section
        {
            if (omp_get_thread_num())
                end();
            else
                while (!went_on)
                    rest(MILLISECOND / 4);
        }
#pragma omp section
        {
            if (omp_get_thread_num())
                end();
            else
                while (!went_on)
                    rest(MILLISECOND / 4);
        }
    }
}

static const struct test {
    const char *name;
    void (*run)(void);
} tests[] = {
    {"barrier", barrier},       {"critical", critical},     {"critical_name", critical_name},
    {"lock", locks},            {"nest_lock", nest_locks},  {"loop_end", loop_end},
    {"sections_end", sections_end}, {"ordered", ordered},   {"team_end", team_end},
    {"team_start", team_start}, {"team_of_loop", team_of_loop},
    {"team_of_sections", team_of_sections},
};

int main(int count, char **words)
{
    const struct test *test = NULL;
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        if (count > 1 && !strcmp(words[1], "--list"))
            puts(tests[i].name);
        else if (count > 1 && !strcmp(words[1], tests[i].name))
            test = tests + i;
    }
    if (!test)
        return 0;
    find_ledger();
    test->run();
    printf("excused %.3f paused %.3f late %.3f\n", (double)waiter_excused / 1e6,
           (double)waiter_paused / 1e6, (double)(went_on - woken_at) / 1e6);
    return 0;
}
