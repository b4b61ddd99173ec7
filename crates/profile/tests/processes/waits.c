// Threads that wait: for a lock whose holder sleeps, for a time, for data of a pipe; one that never waits. With an argument, two
// threads that wake each other as often as they can.

#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile unsigned long sink;
static int there[2], back[2];

NOINLINE void wait_for_lock(void)
{
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    sink++;
}

NOINLINE void hold_lock(void)
{
    pthread_mutex_lock(&lock);
    usleep(100000);
    pthread_mutex_unlock(&lock);
    sink++;
}

NOINLINE void sleep_a_while(void)
{
    usleep(120000);
    sink++;
}

NOINLINE void read_pipe(int from)
{
    char byte;
    sink += read(from, &byte, 1);
}

NOINLINE void write_pipe(int to)
{
    sink += write(to, "x", 1);
}

static void *locked(void *unused)
{
    for (;;) {
        wait_for_lock();
        usleep(1000);
    }
    return unused;
}

static void *holder(void *unused)
{
    for (;;) {
        hold_lock();
        usleep(20000);
    }
    return unused;
}

static void *sleeper(void *unused)
{
    for (;;)
        sleep_a_while();
    return unused;
}

static void *reader(void *unused)
{
    for (;;)
        read_pipe(there[0]);
    return unused;
}

static void *busy(void *unused)
{
    for (;;)
        sink = sink * 31 + 7;
    return unused;
}

static void *answers(void *unused)
{
    for (;;) {
        read_pipe(there[0]);
        write_pipe(back[1]);
    }
    return unused;
}

static void begin(const char *name, void *(*work)(void *))
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, NULL) == 0)
        pthread_setname_np(thread, name);
}

int main(int count, char **arguments)
{
    (void)arguments;
    if (pipe(there) || pipe(back))
        return 1;
    if (count > 1) {
        begin("answers", answers);
        for (;;) {
            write_pipe(there[1]);
            read_pipe(back[0]);
        }
    }
    begin("locked", locked);
    begin("holder", holder);
    begin("sleeper", sleeper);
    begin("reader", reader);
    begin("busy", busy);
    for (;;) {
        usleep(100000);
        write_pipe(there[1]);
    }
}
