// Three threads: one waits for a lock that another one holds, which sleeps; one waits for events.
// Prints a line when all of them wait.

#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *wait_for_lock(void *unused)
{
    pthread_mutex_lock(&lock);
    return unused;
}

static void *wait_for_events(void *unused)
{
    int ends[2];
    if (pipe(ends))
        return unused;
    struct pollfd events = {ends[0], POLLIN, 0};
    poll(&events, 1, -1);
    return unused;
}

int main(void)
{
    pthread_t locked, polling;
    pthread_mutex_lock(&lock);
    if (pthread_create(&locked, NULL, wait_for_lock, NULL) || pthread_create(&polling, NULL, wait_for_events, NULL))
        return 1;
    pthread_setname_np(locked, "locked");
    pthread_setname_np(polling, "polling");
    puts("ready");
    fflush(stdout);
    sleep(600);
    return 0;
}
