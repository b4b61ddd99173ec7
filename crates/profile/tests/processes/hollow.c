// Burns CPU time below a function with a large buffer on its stack, of which most pages are never used.
// Usage: hollow ROUNDS.

#include <stdlib.h>

static volatile unsigned long sink;

__attribute__((noinline)) static void turn(unsigned long times)
{
    for (unsigned long i = 0; i < times; i++)
        sink = sink * 31 + i;
}

__attribute__((noinline)) static void hollow(unsigned long times)
{
    volatile char buffer[96 << 10];
    buffer[0] = 1;
    turn(times);
    buffer[sizeof buffer - 1] = buffer[0];
}

int main(int count, char **arguments)
{
    for (long left = count > 1 ? atol(arguments[1]) : 1; left; left--)
        hollow(1000000);
    return 0;
}
