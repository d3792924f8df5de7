/* Two threads that query one SQLite database through one connection, which SQLite locks around
 * every call. Prints queries a second over the time given in seconds. Link with -lsqlite3. */
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "coz.h"

enum { THREADS = 2, ROWS = 20000, AT_ONCE = 20 };

static sqlite3 *base;
static double seconds;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void must(int result)
{
    if (result != SQLITE_OK) {
        fprintf(stderr, "sqlite: %s\n", sqlite3_errmsg(base));
        exit(2);
    }
}

static void *query(void *made)
{
    double end = now() + seconds;
    unsigned key = 12345;
    long count = 0;
    sqlite3_stmt *read, *write;
    must(sqlite3_prepare_v2(base, "select value from t where key = ?", -1, &read, NULL));
    must(sqlite3_prepare_v2(base, "update t set value = value + 1 where key = ?", -1, &write, NULL));
    do {
        for (int at = 0; at < AT_ONCE; at++) {
            sqlite3_stmt *statement = at % 10 == 0 ? write : read;
            key = key * 1103515245 + 12345;
            sqlite3_bind_int(statement, 1, (int)(key >> 8) % ROWS); /* LINE: bind */
            while (sqlite3_step(statement) == SQLITE_ROW)           /* LINE: step */
                sqlite3_column_int(statement, 0);
            sqlite3_reset(statement); /* LINE: reset */
            COZ_PROGRESS_NAMED("query");
        }
        count += AT_ONCE;
    } while (now() < end);
    sqlite3_finalize(read);
    sqlite3_finalize(write);
    *(long *)made = count;
    return NULL;
}

int main(int words, char **word)
{
    pthread_t threads[THREADS];
    long counts[THREADS], all = 0;
    double begin;
    seconds = words > 1 ? atof(word[1]) : 3;
    must(sqlite3_open_v2(":memory:", &base,
                         SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX, NULL));
    must(sqlite3_exec(base,
                      "create table t(key integer primary key, value);"
                      "with recursive n(x) as (select 0 union all select x + 1 from n where x < 20000)"
                      " insert into t select x, x from n;",
                      NULL, NULL, NULL));
    begin = now();
    for (int at = 0; at < THREADS; at++)
        if (pthread_create(&threads[at], NULL, query, &counts[at]) != 0)
            return 1;
    for (int at = 0; at < THREADS; at++) {
        pthread_join(threads[at], NULL);
        all += counts[at];
    }
    printf("rate %.1f\n", (double)all / (now() - begin));
    sqlite3_close(base);
    return 0;
}
