/* Reads and changes an encrypted file at any offset.
 *
 *   ./raf notes.raf
 */
#define _POSIX_C_SOURCE 200809L
#define _FILE_OFFSET_BITS 64 /* offsets of 64 bits on 32-bit systems too */
#include <aegis.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The storage is a file of the operating system; `user` points to its descriptor. */
static int read_at(void *user, uint8_t *buf, size_t len, uint64_t off)
{
    while (len > 0) {
        ssize_t n = pread(*(int *) user, buf, len, (off_t) off);
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = EIO; /* shorter than expected */
        if (n <= 0)
            return -1;
        buf += n, off += (uint64_t) n, len -= (size_t) n;
    }
    return 0;
}

static int write_at(void *user, const uint8_t *buf, size_t len, uint64_t off)
{
    while (len > 0) {
        ssize_t n = pwrite(*(int *) user, buf, len, (off_t) off);
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = EIO;
        if (n <= 0)
            return -1;
        buf += n, off += (uint64_t) n, len -= (size_t) n;
    }
    return 0;
}

static int get_size(void *user, uint64_t *size)
{
    struct stat st;
    if (fstat(*(int *) user, &st) != 0)
        return -1;
    *size = (uint64_t) st.st_size;
    return 0;
}

static int set_size(void *user, uint64_t size)
{
    return ftruncate(*(int *) user, (off_t) size);
}

static int sync_it(void *user)
{
    return fsync(*(int *) user);
}

static int random_bytes(void *user, uint8_t *out, size_t len)
{
    (void) user;
    int fd = open("/dev/urandom", O_RDONLY);
    if (fd < 0)
        return -1;
    ssize_t n = read(fd, out, len); /* nonces are short: one call gives all */
    close(fd);
    if (n < 0 || (size_t) n != len) {
        errno = EIO;
        return -1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    static const uint8_t key[aegis256x2_KEYBYTES] = { 7 }; /* use a random, secret key */
    enum { CHUNK = 16384 };

    if (argc != 2) {
        fprintf(stderr, "usage: %s FILE\n", argv[0]);
        return 2;
    }
    int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
    void *memory = NULL;
    if (fd < 0 ||
        posix_memalign(&memory, AEGIS_RAF_SCRATCH_ALIGN, AEGIS256X2_RAF_SCRATCH_SIZE(CHUNK)) != 0) {
        perror(argv[1]);
        return 1;
    }
    aegis_raf_io      io      = { &fd, read_at, write_at, get_size, set_size, sync_it };
    aegis_raf_rng     rng     = { NULL, random_bytes };
    aegis_raf_scratch scratch = { (uint8_t *) memory, AEGIS256X2_RAF_SCRATCH_SIZE(CHUNK) };
    aegis_raf_config  config  = { &scratch, NULL, CHUNK, AEGIS_RAF_CREATE };

    /* Open an existing file. */
    aegis256x2_raf_ctx file;
    uint64_t           size;
    size_t             n;
    if (get_size(&fd, &size) != 0 ||
        (size > 0 ? aegis256x2_raf_open(&file, &io, &rng, &config, key)
                  : aegis256x2_raf_create(&file, &io, &rng, &config, key)) != 0) {
        /* EBADMSG: the key is wrong or the header was changed. EINVAL: not a RAF file. */
        perror(argv[1]);
        return 1;
    }

    /* Append a line and read the whole file. */
    static const char line[] = "one line more\n";
    int failed = aegis256x2_raf_get_size(&file, &size) != 0 ||
                 aegis256x2_raf_write(&file, &n, (const uint8_t *) line, strlen(line), size) != 0 ||
                 aegis256x2_raf_sync(&file) != 0;
    for (uint64_t at = 0; !failed; at += n) {
        uint8_t buf[1000];
        failed = aegis256x2_raf_read(&file, buf, &n, sizeof buf, at) != 0;
        if (failed || n == 0)
            break;
        if (fwrite(buf, 1, n, stdout) != n)
            break;
    }
    if (failed)
        perror(argv[1]); /* EBADMSG: a chunk is damaged */
    aegis256x2_raf_close(&file); /* wipes the scratch buffer too */
    if (close(fd) != 0)
        perror(argv[1]), failed = 1;
    free(memory);
    if (fflush(stdout) != 0 || ferror(stdout))
        perror("standard output"), failed = 1;
    return failed;
}
