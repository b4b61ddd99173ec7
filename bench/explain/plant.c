/* Plants a cause in a server that is not ours: loaded before its libraries, by LD_PRELOAD.
 *
 * PLANT has the cause and a time in microseconds:
 *   mutex=N   each read from a socket holds one lock of the whole process, and sleeps N in it
 *   malloc=N  each read from a socket allocates from a heap with one lock for all threads, which is held for N
 *   flush=N   each flush of a file takes N longer
 *   lookup=N  each read from a socket looks a name up; N is no time but the port of the name server, which takes its time
 *   wait=N    each read from a socket waits N for an answer from a socket that has none, as for a backend
 *   syscall=N each read from a socket makes one system call that takes N
 *   work=N    each read from a socket takes N turns of planted_work on the CPU: turns, and no microseconds
 * Whether a cause is found is left to the bench. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <resolv.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum cause { NONE, MUTEX, MALLOC, FLUSH, LOOKUP, WAIT, SYSCALL, WORK };

static enum cause cause = NONE;
static long amount = 0;
static size_t random_bytes = 0;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t heap = PTHREAD_MUTEX_INITIALIZER;
static __thread int in_read = 0, has_server = 0;

static double now_us(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e6 + time.tv_nsec / 1e3;
}

/* How many bytes of the kernel's random numbers take this long: by the fastest of some readings, for others use the CPU too. */
static size_t bytes_for(long micros) {
    char bytes[4096];
    double least = 1e9;
    for (int i = 0; i < 500; i++) {
        double begin = now_us();
        (void)!getrandom(bytes, sizeof bytes, 0);
        double took = now_us() - begin;
        if (took < least) least = took;
    }
    return (size_t)(micros * sizeof bytes / least);
}

__attribute__((constructor)) static void parse(void) {
    static const char *const names[] = {"", "mutex=", "malloc=", "flush=", "lookup=", "wait=", "syscall=", "work="};
    const char *plant = getenv("PLANT");
    for (int i = 1; plant != NULL && i < 8; i++) {
        size_t length = strlen(names[i]);
        if (strncmp(plant, names[i], length) == 0) {
            amount = atol(plant + length);
            if (i == SYSCALL) random_bytes = bytes_for(amount);
            cause = (enum cause)i;
        }
    }
}

static void pass(void) {
    struct timespec time = {amount / 1000000, amount % 1000000 * 1000};
    nanosleep(&time, NULL);
}

static void call(void) {
    static __thread char bytes[1 << 16];
    (void)!getrandom(bytes, random_bytes < sizeof bytes ? random_bytes : sizeof bytes, 0);
}

__attribute__((noinline)) void planted_work(long turns) {
    for (volatile long i = 0; i < turns; i++) {}
}

static void await_backend(void) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) != 0) return;
    struct pollfd answer = {ends[0], POLLIN, 0};
    struct timespec time = {amount / 1000000, amount % 1000000 * 1000};
    ppoll(&answer, 1, &time, NULL);
    close(ends[0]);
    close(ends[1]);
}

static void look_up(void) {
    if (!has_server) {
        has_server = 1;
        res_init();
        _res.nscount = 1;
        _res.nsaddr_list[0].sin_family = AF_INET;
        _res.nsaddr_list[0].sin_port = htons((uint16_t)amount);
        _res.nsaddr_list[0].sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    }
    struct addrinfo hints = {.ai_family = AF_INET}, *found = NULL;
    if (getaddrinfo("planted.invalid.", NULL, &hints, &found) == 0) freeaddrinfo(found);
}

/* The compiler leaves out an allocation that nobody uses. */
static void allocate(void) {
    void *volatile memory = malloc(64);
    free(memory);
}

/* After a request was read. */
static ssize_t after(int fd, ssize_t got) {
    struct stat file;
    if (got <= 0 || cause == NONE || cause == FLUSH || in_read) return got;
    if (fstat(fd, &file) != 0 || !S_ISSOCK(file.st_mode)) return got;
    in_read = 1;
    switch (cause) {
    case MUTEX:
        pthread_mutex_lock(&lock);
        pass();
        pthread_mutex_unlock(&lock);
        break;
    case MALLOC: allocate(); break;
    case LOOKUP: look_up(); break;
    case WAIT: await_backend(); break;
    case SYSCALL: call(); break;
    case WORK: planted_work(amount); break;
    default: break;
    }
    in_read = 0;
    return got;
}

#define NEXT(name) static __typeof__(&name) next; if (next == NULL) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

ssize_t read(int fd, void *to, size_t size) { NEXT(read); return after(fd, next(fd, to, size)); }
ssize_t recv(int fd, void *to, size_t size, int flags) { NEXT(recv); return after(fd, next(fd, to, size, flags)); }
int fsync(int fd) { NEXT(fsync); if (cause == FLUSH) pass(); return next(fd); }
int fdatasync(int fd) { NEXT(fdatasync); if (cause == FLUSH) pass(); return next(fd); }

extern void *__libc_malloc(size_t size);

void *malloc(size_t size) {
    if (cause != MALLOC || !in_read) return __libc_malloc(size);
    pthread_mutex_lock(&heap);
    pass();
    void *memory = __libc_malloc(size);
    pthread_mutex_unlock(&heap);
    return memory;
}
