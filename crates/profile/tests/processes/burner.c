// Burns CPU time in two functions, nine parts in one and one part in the other, without frame pointers.
// Usage: burner ROUNDS, 0 for ever.

#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>

static volatile unsigned long sink;

__attribute__((noinline)) static void turn(unsigned long times)
{
    for (unsigned long i = 0; i < times; i++)
        sink = sink * 31 + i;
}

__attribute__((noinline)) void burn_much(void)
{
    turn(900000);
    sink++;
}

__attribute__((noinline)) void burn_little(void)
{
    turn(100000);
    sink++;
}

static void *work(void *rounds)
{
    for (long left = (long)rounds; left != 1; left = left ? left - 1 : 0) {
        burn_much();
        burn_little();
    }
    return NULL;
}

int main(int count, char **arguments)
{
    pthread_t thread;
    long rounds = count > 1 ? atol(arguments[1]) : 0;
    if (pthread_create(&thread, NULL, work, (void *)(rounds ? rounds + 1 : 0)))
        return 1;
    pthread_setname_np(thread, "burn-1");
    pthread_join(thread, NULL);
    return 0;
}
