/* Plants a cause in a server that is not ours: loaded before its libraries, by LD_PRELOAD.
 *
 * PLANT has the cause and a time in microseconds:
 *   mutex=N   each read from a socket holds one lock of the whole process, and sleeps N in it
 *   flush=N   each flush of a file takes N longer
 *   lookup=N  each read from a socket then waits N for an answer from a socket that has none, as a slow name server
 *   syscall=N each read from a socket then makes system calls for N
 *   work=N    each read from a socket then takes N turns of planted_work on the CPU: turns, and no microseconds
 * Whether a cause is found is left to the bench. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum cause { NONE, MUTEX, FLUSH, LOOKUP, SYSCALL, WORK };

static enum cause cause = NONE;
static long micros = 0;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void parse(void) {
    static const char *const names[] = {"", "mutex=", "flush=", "lookup=", "syscall=", "work="};
    const char *plant = getenv("PLANT");
    for (int i = 1; plant != NULL && i < 6; i++) {
        size_t length = strlen(names[i]);
        if (strncmp(plant, names[i], length) == 0) {
            cause = (enum cause)i;
            micros = atol(plant + length);
        }
    }
}

static void pass(void) {
    struct timespec time = {micros / 1000000, micros % 1000000 * 1000};
    nanosleep(&time, NULL);
}

static void call(void) {
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        syscall(SYS_getppid);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < micros * 1000L);
}

__attribute__((noinline)) void planted_work(long turns) {
    for (volatile long i = 0; i < turns; i++) {}
}

static void look_up(void) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) != 0) return;
    struct pollfd answer = {ends[0], POLLIN, 0};
    struct timespec time = {micros / 1000000, micros % 1000000 * 1000};
    ppoll(&answer, 1, &time, NULL);
    close(ends[0]);
    close(ends[1]);
}

/* After a request was read. */
static ssize_t after(int fd, ssize_t got) {
    struct stat file;
    if (got <= 0 || cause == NONE || cause == FLUSH || fstat(fd, &file) != 0 || !S_ISSOCK(file.st_mode)) return got;
    if (cause == MUTEX) {
        pthread_mutex_lock(&lock);
        pass();
        pthread_mutex_unlock(&lock);
    }
    if (cause == LOOKUP) look_up();
    if (cause == SYSCALL) call();
    if (cause == WORK) planted_work(micros);
    return got;
}

#define NEXT(name) static __typeof__(&name) next; if (next == NULL) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

ssize_t read(int fd, void *to, size_t size) { NEXT(read); return after(fd, next(fd, to, size)); }
ssize_t recv(int fd, void *to, size_t size, int flags) { NEXT(recv); return after(fd, next(fd, to, size, flags)); }
int fsync(int fd) { NEXT(fsync); if (cause == FLUSH) pass(); return next(fd); }
int fdatasync(int fd) { NEXT(fdatasync); if (cause == FLUSH) pass(); return next(fd); }
