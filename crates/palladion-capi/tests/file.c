/* What palladion_file.h promises. Works in a folder that it creates. */
#define _XOPEN_SOURCE 700
#include <palladion.h>
#include <palladion_file.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef _WIN32
/* Without what C's own functions lack there: permissions, and names of descriptors. */
#    include <direct.h>
#    include <io.h>
#    define fchmod(fd, mode) ((void) (mode), 0)
#    define mkdtemp(folder) (_mktemp(folder) && _mkdir(folder) == 0)
#    define open(name, flags, ...) _open(name, (flags) | O_BINARY, ##__VA_ARGS__)
#endif

#include "check.h"

enum { HEADER = 128, CHUNK = 1024, SEALED_CHUNK = CHUNK + 36, ROOM = 3 << 20 };

/* More than any memory has: -1 is a failure of read() that nobody looked at. */
static const size_t no_length[] = { SIZE_MAX, SIZE_MAX / 2 + 1 };

static palladion_secret *key, *passphrase;

/* Pushes all of the input in pieces, and collects what comes out. */
static int push_all(palladion_stream *stream, const uint8_t *in, size_t len, size_t piece,
    uint8_t *out, size_t *outlen)
{
    int result;
    size_t done = 0;
    CHECK(stream);
    *outlen = 0;
    do {
        const uint8_t *ready;
        size_t size = len - done < piece ? len - done : piece, count;
        result = palladion_stream_push(stream, in + done, size, done + size == len, &ready, &count);
        done += size;
        CHECK(*outlen + count <= ROOM);
        if (count)
            memcpy(out + *outlen, ready, count);
        *outlen += count;
    } while (result == 0 && done < len);
    return result;
}

static size_t seal(const palladion_secret *secret, int alg, size_t chunk, const uint8_t *text,
    size_t len, size_t piece, uint8_t *out)
{
    size_t outlen;
    palladion_stream *stream = palladion_sealer_new(secret, alg, chunk);
    CHECK(push_all(stream, text, len, piece, out, &outlen) == 0);
    palladion_stream_free(stream);
    return outlen;
}

/* Only the beginning of the text comes out; all of it if the result is 0. */
static int opens(const palladion_secret *secret, const uint8_t *file, size_t len, size_t piece,
    const uint8_t *text, size_t textlen)
{
    static uint8_t out[ROOM];
    size_t outlen;
    palladion_stream *stream = palladion_opener_new(secret);
    int result = push_all(stream, file, len, piece, out, &outlen);
    palladion_stream_free(stream);
    CHECK(outlen <= textlen && !memcmp(out, text, outlen));
    CHECK(result != 0 || outlen == textlen);
    return result;
}

static uint8_t text[ROOM], file[ROOM];

static void round_trips(void)
{
    static const size_t lengths[] = { 0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 5000 };
    static const size_t pieces[] = { 1, 7, CHUNK, CHUNK + 1, 3000, ROOM };
    for (int alg = 0; alg <= PALLADION_AEGIS256X4; alg++)
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
            for (size_t p = 0; p < sizeof pieces / sizeof *pieces; p++) {
                size_t len = lengths[l], chunks = len ? (len + CHUNK - 1) / CHUNK : 1;
                size_t sealed = seal(key, alg, CHUNK, text, len, pieces[p], file);
                CHECK(sealed == HEADER + len + 36 * chunks);
                CHECK(file[9] == (alg ? alg : PALLADION_AEGIS256X2));
                CHECK(opens(key, file, sealed, pieces[p], text, len) == 0);
            }
    size_t sealed = seal(passphrase, 0, 0, text, 100, 100, file);
    CHECK(opens(passphrase, file, sealed, 50, text, 100) == 0);
}

/* One file for each number. palladion-file's tests have files of every kind. */
static void changed_files(void)
{
    const size_t len = 2 * CHUNK + 100, pieces[] = { 11, ROOM };
    const size_t sealed = seal(key, 0, CHUNK, text, len, len, file);
    static const struct {
        size_t place;
        int    result;
    } changes[] = {
        { 0, PALLADION_FILE_NOT_PALLADION },
        { 4, PALLADION_FILE_DAMAGED },
        { HEADER + 50, PALLADION_FILE_DAMAGED },
        { HEADER + 2 * SEALED_CHUNK + 50, PALLADION_FILE_DAMAGED },
    };
    for (size_t p = 0; p < 2; p++) {
        for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
            file[changes[i].place] ^= 0x20;
            CHECK(opens(key, file, sealed, pieces[p], text, len) == changes[i].result);
            file[changes[i].place] ^= 0x20;
        }
        for (size_t cut = sealed - 1; cut > 0; cut /= 2)
            CHECK(opens(key, file, cut, pieces[p], text, len) == PALLADION_FILE_TRUNCATED);
        CHECK(opens(key, file, sealed + 1, pieces[p], text, len) == PALLADION_FILE_EXTENDED);
    }
    /* A header of version 2, with its checksum. */
    const char *later =
        "89504c440d0a1a0a0205000a00000000808182838485868788898a8b8c8d8e8f909192939495969798999a9b"
        "9c9d9e9f00000000000000000000000000000000212917cb6f50661903dd97b3c5468b758062a4700f8871c7"
        "7a9b2125c73a58b6b241a52248e22c832a1d30170d5580ea68be27525beec05030f05febace682bb";
    for (size_t i = 0; i < HEADER; i++) {
        unsigned byte;
        CHECK(sscanf(later + 2 * i, "%2x", &byte) == 1);
        file[i] = (uint8_t) byte;
    }
    CHECK(opens(key, file, sealed, ROOM, text, 0) == PALLADION_FILE_UNSUPPORTED);
}

static void wrong_secrets(void)
{
    uint8_t bytes[PALLADION_FILE_KEYBYTES] = { 1 };
    palladion_secret *other = palladion_secret_from_key(bytes);
    palladion_secret *other_words = palladion_secret_from_passphrase("open sesame!", 12, 32, 1);
    size_t sealed = seal(key, 0, CHUNK, text, 10, 10, file);
    CHECK(opens(other, file, sealed, 100, text, 10) == PALLADION_FILE_WRONG_SECRET);
    CHECK(opens(passphrase, file, sealed, 100, text, 10) == PALLADION_FILE_NEEDS_KEY);
    sealed = seal(passphrase, 0, CHUNK, text, 10, 10, file);
    CHECK(opens(other_words, file, sealed, 100, text, 10) == PALLADION_FILE_WRONG_SECRET);
    CHECK(opens(key, file, sealed, 100, text, 10) == PALLADION_FILE_NEEDS_PASSPHRASE);
    palladion_secret_free(other);
    palladion_secret_free(other_words);

    /* One that is stretched more often than is usual, and defaults. */
    palladion_secret *costly = palladion_secret_from_passphrase("open sesame", 11, 32, 17);
    sealed = seal(costly, 0, CHUNK, text, 10, 10, file);
    CHECK(file[48] == 32 && file[52] == 17 && file[56] == 4);
    CHECK(opens(passphrase, file, sealed, 100, text, 10) == PALLADION_FILE_TOO_COSTLY);
    CHECK(opens(costly, file, sealed, 100, text, 10) == 0);
    palladion_secret_free(costly);
    palladion_secret *usual = palladion_secret_from_passphrase("\0\xff", 2, 0, 0);
    sealed = seal(usual, 0, CHUNK, text, 10, 10, file);
    CHECK(file[48] == 0 && file[50] == 1 && file[52] == 3 && file[56] == 4);
    CHECK(opens(usual, file, sealed, 100, text, 10) == 0);
    palladion_secret_free(usual);
}

#define IS_NULL(number, call)                        \
    do {                                             \
        errno = 0;                                   \
        CHECK((call) == NULL && errno == (number));  \
    } while (0)

static void arguments(void)
{
    const uint8_t *out;
    size_t len;
    IS_NULL(EINVAL, palladion_secret_from_key(NULL));
    IS_NULL(EINVAL, palladion_secret_from_key_file(NULL));
    IS_NULL(EINVAL, palladion_secret_from_passphrase(NULL, 3, 0, 0));
    IS_NULL(EINVAL, palladion_secret_from_passphrase("abc", 3, 31, 1));
    for (size_t i = 0; i < 2; i++)
        IS_NULL(EINVAL, palladion_secret_from_passphrase("abc", no_length[i], 32, 1));
    palladion_secret *empty = palladion_secret_from_passphrase(NULL, 0, 32, 1);
    CHECK(empty);
    IS_NULL(EINVAL, palladion_sealer_new(empty, 0, 0));
    palladion_secret_free(empty);
    IS_NULL(EINVAL, palladion_sealer_new(NULL, 0, 0));
    IS_NULL(EINVAL, palladion_sealer_new(key, 7, 0));
    IS_NULL(EINVAL, palladion_sealer_new(key, -1, 0));
    IS_NULL(EINVAL, palladion_sealer_new(key, 257, 0));
    IS_NULL(EINVAL, palladion_sealer_new(key, 0, 1000));
    IS_NULL(EINVAL, palladion_sealer_new(key, 0, 512));
    IS_NULL(EINVAL, palladion_sealer_new(key, 0, (size_t) 32 << 20));
    IS_NULL(EINVAL, palladion_opener_new(NULL));
    palladion_secret_free(NULL);
    palladion_stream_free(NULL);

    FAILS(palladion_stream_push(NULL, text, 1, 0, &out, &len));
    for (int opener = 0; opener < 2; opener++) {
        palladion_stream *stream =
            opener ? palladion_opener_new(key) : palladion_sealer_new(key, 0, CHUNK);
        FAILS(palladion_stream_push(stream, text, 1, 0, NULL, &len));
        FAILS(palladion_stream_push(stream, text, 1, 0, &out, NULL));
        FAILS(palladion_stream_push(stream, NULL, 1, 0, &out, &len));
        CHECK(len == 0);
        for (size_t i = 0; i < 2; i++) {
            FAILS(palladion_stream_push(stream, text, no_length[i], 0, &out, &len));
            CHECK(len == 0);
        }
        CHECK(palladion_stream_push(stream, NULL, 0, 0, &out, &len) == 0);
        CHECK(len == (opener ? 0 : HEADER));
        CHECK(palladion_stream_push(stream, NULL, 0, 1, &out, &len) ==
              (opener ? PALLADION_FILE_TRUNCATED : 0));
        CHECK(len == (opener ? 0 : 36));
        /* After the end, and after an error. */
        FAILS(palladion_stream_push(stream, text, 1, 0, &out, &len));
        CHECK(len == 0);
        FAILS(palladion_stream_push(stream, NULL, 0, 1, &out, &len));
        palladion_stream_free(stream);
    }
    /* A sealer that is freed before the end. What was held back is wiped; nothing leaks. */
    palladion_stream *stream = palladion_sealer_new(key, 0, CHUNK);
    CHECK(palladion_stream_push(stream, text, 2 * CHUNK, 0, &out, &len) == 0);
    CHECK(len == HEADER + SEALED_CHUNK);
    CHECK(opens(key, out, len, 100, text, CHUNK) == PALLADION_FILE_TRUNCATED);
    palladion_stream_free(stream);

    for (int result = 1; result >= -12; result--)
        for (int other = 1; other >= -12; other--) {
            int both_unknown = (result > 0 || result < -10) && (other > 0 || other < -10);
            CHECK(!strcmp(palladion_file_message(result), palladion_file_message(other)) ==
                  (result == other || both_unknown));
        }
}

static void write_file(const char *name, const void *bytes, size_t len, mode_t mode)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(fd >= 0 && write(fd, bytes, len) == (ssize_t) len);
    CHECK(fchmod(fd, mode) == 0 && close(fd) == 0);
}

static int has(const char *name, const void *bytes, size_t len)
{
    static uint8_t found[ROOM];
    int fd = open(name, O_RDONLY);
    ssize_t count = fd < 0 ? -1 : read(fd, found, sizeof found);
    if (fd >= 0)
        close(fd);
    return count == (ssize_t) len && !memcmp(found, bytes, len);
}

static int files_here(void)
{
    int count = -2; /* . and .. */
    DIR *here = opendir(".");
    CHECK(here);
    while (readdir(here))
        count++;
    closedir(here);
    return count;
}

static void files(size_t len)
{
    write_file("plain", text, len, 0600);
    CHECK(palladion_encrypt_file("plain", "sealed", key, 0) == 0);
    CHECK(palladion_decrypt_file("sealed", "opened", key, 0) == 0 && has("opened", text, len));
#ifndef _WIN32
    struct stat opened;
    CHECK(stat("opened", &opened) == 0 && (opened.st_mode & 0777) == 0600); /* as "plain" */
#endif
    FAILS_WITH(EEXIST, palladion_decrypt_file("sealed", "opened", key, 0));
    CHECK(palladion_encrypt_file("plain", "opened", passphrase, PALLADION_FILE_REPLACE) == 0);
    CHECK(palladion_decrypt_file("opened", "opened2", passphrase, 0) == 0);
    CHECK(has("opened2", text, len));

    FAILS_WITH(ENOENT, palladion_encrypt_file("missing", "new", key, 0));
    FAILS_WITH(ENOENT, palladion_encrypt_file("plain", "no/such/folder", key, 0));
    FAILS_WITH(EISDIR, palladion_encrypt_file(".", "new", key, 0));
    FAILS_WITH(EISDIR, palladion_encrypt_file("plain", ".", key, PALLADION_FILE_REPLACE));
    FAILS(palladion_encrypt_file("plain", "plain", key, PALLADION_FILE_REPLACE));
    FAILS(palladion_encrypt_file("plain", "new", key, 2));
    FAILS(palladion_encrypt_file(NULL, "new", key, 0));
    FAILS(palladion_encrypt_file("plain", NULL, key, 0));
    FAILS(palladion_encrypt_file("plain", "new", NULL, 0));
    FAILS(palladion_decrypt_file(NULL, "new", key, 0));
    CHECK(has("plain", text, len));

    /* A failure leaves the old file, and nothing else. */
    int before = files_here();
    write_file("old", "old", 3, 0600);
    CHECK(palladion_decrypt_file("opened", "old", key, PALLADION_FILE_REPLACE) ==
          PALLADION_FILE_NEEDS_PASSPHRASE);
    CHECK(palladion_decrypt_file("plain", "old", key, PALLADION_FILE_REPLACE) ==
          PALLADION_FILE_NOT_PALLADION);
    struct stat sealed;
    CHECK(stat("sealed", &sealed) == 0 && truncate("sealed", sealed.st_size - 1) == 0);
    CHECK(palladion_decrypt_file("sealed", "old", key, PALLADION_FILE_REPLACE) ==
          PALLADION_FILE_TRUNCATED);
    CHECK(has("old", "old", 3) && files_here() == before + 1);
    CHECK(palladion_decrypt_file("sealed", "new", key, 0) == PALLADION_FILE_TRUNCATED);
    CHECK(files_here() == before + 1);

#ifndef _WIN32
    /* Descriptors continue where they are, and stay open. */
    int from = open("plain", O_RDONLY), to = open("old", O_RDWR);
    CHECK(lseek(from, 5, SEEK_SET) == 5 && lseek(to, 3, SEEK_SET) == 3);
    CHECK(palladion_encrypt_fd(from, to, key) == 0);
    CHECK(write(to, "x", 1) == 1 && close(from) == 0 && lseek(to, 3, SEEK_SET) == 3);
    from = to, to = open("opened2", O_WRONLY | O_TRUNC);
    CHECK(palladion_decrypt_fd(from, to, key) == PALLADION_FILE_EXTENDED);
    CHECK(has("opened2", text + 5, len - 5));
    FAILS_WITH(EBADF, palladion_encrypt_fd(-1, to, key));
    FAILS_WITH(EBADF, palladion_encrypt_fd(from, 9999, key));
    FAILS(palladion_decrypt_fd(from, to, NULL));
    CHECK(close(from) == 0 && close(to) == 0);
    /* One file as both: it would be overwritten before it is read. */
    from = open("plain", O_RDONLY), to = open("plain", O_WRONLY);
    FAILS_WITH(EINVAL, palladion_encrypt_fd(from, to, key));
    FAILS_WITH(EINVAL, palladion_decrypt_fd(from, to, key));
    CHECK(has("plain", text, len));
    CHECK(close(from) == 0);
    from = open("opened", O_WRONLY);
    FAILS_WITH(EBADF, palladion_encrypt_fd(from, to, key)); /* it cannot be read */
    CHECK(close(from) == 0 && close(to) == 0);
#endif
    unlink("sealed"), unlink("opened"), unlink("opened2"), unlink("old");
}

/* A file behind functions. `fault` is the error number that they fail with. */
typedef struct {
    size_t len;
    int    fault, calls;
} stored;

static int read_stored(void *user, uint8_t *buf, size_t len, uint64_t off)
{
    stored *s = (stored *) user;
    s->calls++;
    if (s->fault)
        return errno = s->fault, -1;
    CHECK(off <= s->len && len <= s->len - off);
    memcpy(buf, file + off, len);
    return 0;
}

static int size_of_stored(void *user, uint64_t *size)
{
    *size = ((stored *) user)->len;
    return 0;
}

/* Reads any part, whether the reader has a file or functions. */
static void parts(const palladion_reader *reader, size_t len)
{
    static uint8_t out[ROOM];
    size_t outlen, offsets[] = { 0, 1, CHUNK - 1, CHUNK, len / 2, len - 1, len, len + 1, 1u << 30 },
                   lengths[] = { 0, 1, 100, CHUNK, 3 * CHUNK + 1, len };
    CHECK(palladion_reader_size(reader) == len);
    for (size_t o = 0; o < sizeof offsets / sizeof *offsets; o++)
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
            size_t rest = offsets[o] < len ? len - offsets[o] : 0;
            size_t expected = lengths[l] < rest ? lengths[l] : rest;
            CHECK(palladion_reader_read(reader, out, lengths[l], offsets[o], &outlen) == 0);
            CHECK(outlen == expected && !memcmp(out, text + (rest ? offsets[o] : 0), outlen));
        }
    CHECK(palladion_reader_read(reader, NULL, 0, 0, &outlen) == 0 && outlen == 0);
    CHECK(palladion_reader_read(reader, out, 1, UINT64_MAX, &outlen) == 0 && outlen == 0);
    FAILS(palladion_reader_read(reader, NULL, 1, 0, &outlen));
    for (size_t i = 0; i < 2; i++) {
        outlen = 1;
        FAILS(palladion_reader_read(reader, out, no_length[i], 0, &outlen));
        CHECK(outlen == 0);
    }
    memset(out, 7, 3);
    FAILS(palladion_reader_read(reader, out, 2, 0, NULL));
    CHECK(out[0] == 0 && out[1] == 0 && out[2] == 7);
}

static void from_the_middle(size_t len)
{
    uint8_t out[100], zeros[100] = { 0 };
    size_t outlen;
    palladion_reader *reader = (palladion_reader *) out;
    stored s = { seal(key, 0, CHUNK, text, len, len, file), 0, 0 };
    palladion_source source = { &s, read_stored, size_of_stored };
    write_file("sealed", file, s.len, 0600);
    CHECK(palladion_reader_open(&reader, "sealed", key) == 0);
    parts(reader, len);
    palladion_reader_free(reader);
#ifndef _WIN32
    /* A descriptor, whose position stays. */
    int fd = open("sealed", O_RDONLY);
    char name[32];
    snprintf(name, sizeof name, "/dev/fd/%d", fd);
    CHECK(palladion_reader_open(&reader, name, key) == 0);
    parts(reader, len);
    palladion_reader_free(reader);
    CHECK(lseek(fd, 0, SEEK_CUR) == 0 && close(fd) == 0);
#endif
    CHECK(palladion_reader_open_source(&reader, &source, key) == 0);
    parts(reader, len);

    /* A failure of the source, or a changed chunk, concerns who reads there and no other. */
    s.calls = 0;
    CHECK(palladion_reader_read(reader, out, 100, 2 * CHUNK - 50, &outlen) == 0);
    CHECK(outlen == 100 && s.calls <= 2);
    s.fault = EACCES;
    CHECK(palladion_reader_read(reader, out, 10, 3 * CHUNK + 5, &outlen) == PALLADION_FILE_ERRNO);
    CHECK(errno == EACCES && outlen == 0 && !memcmp(out, zeros, 10));
    s.fault = 0;
    file[HEADER + 4 * SEALED_CHUNK + 500] ^= 1;
    CHECK(palladion_reader_read(reader, out, 100, 5 * CHUNK - 50, &outlen) ==
          PALLADION_FILE_DAMAGED);
    CHECK(outlen == 0 && !memcmp(out, zeros, 100));
    CHECK(palladion_reader_read(reader, out, 100, 5 * CHUNK, &outlen) == 0);
    CHECK(!memcmp(out, text + 5 * CHUNK, 100));
    palladion_reader_free(reader);

#define DOES_NOT_OPEN(result, call)            \
    do {                                       \
        reader = (palladion_reader *) out;     \
        errno = 0;                             \
        CHECK((call) == (result) && !reader);  \
    } while (0)
    s.len--;
    DOES_NOT_OPEN(PALLADION_FILE_TRUNCATED, palladion_reader_open_source(&reader, &source, key));
    s.len += 2;
    DOES_NOT_OPEN(PALLADION_FILE_EXTENDED, palladion_reader_open_source(&reader, &source, key));
    s.len = HEADER - 1;
    DOES_NOT_OPEN(PALLADION_FILE_TRUNCATED, palladion_reader_open_source(&reader, &source, key));
    s.fault = ENOTCONN;
    DOES_NOT_OPEN(-1, palladion_reader_open_source(&reader, &source, key));
    CHECK(errno == ENOTCONN);
    source.get_size = NULL;
    DOES_NOT_OPEN(-1, palladion_reader_open_source(&reader, &source, key));
    CHECK(errno == EINVAL);
    DOES_NOT_OPEN(-1, palladion_reader_open_source(&reader, NULL, key));
    DOES_NOT_OPEN(-1, palladion_reader_open(&reader, "sealed", NULL));
    DOES_NOT_OPEN(-1, palladion_reader_open(&reader, NULL, key));
    DOES_NOT_OPEN(-1, palladion_reader_open(&reader, "missing", key));
    CHECK(errno == ENOENT);
    DOES_NOT_OPEN(-1, palladion_reader_open(&reader, ".", key));
    CHECK(errno == EISDIR);
    DOES_NOT_OPEN(PALLADION_FILE_NEEDS_KEY, palladion_reader_open(&reader, "sealed", passphrase));
    write_file("sealed", text, 1000, 0600);
    DOES_NOT_OPEN(PALLADION_FILE_NOT_PALLADION, palladion_reader_open(&reader, "sealed", key));
    FAILS(palladion_reader_open(NULL, "sealed", key));
    memset(out, 7, 100), outlen = 1;
    FAILS(palladion_reader_read(NULL, out, 99, 0, &outlen)); /* it was not opened */
    CHECK(outlen == 0 && !memcmp(out, zeros, 99) && out[99] == 7);
    palladion_reader_free(NULL);

#ifndef _WIN32
    int ends[2]; /* a pipe has no middle */
    CHECK(pipe(ends) == 0);
    snprintf(name, sizeof name, "/dev/fd/%d", ends[0]);
    DOES_NOT_OPEN(-1, palladion_reader_open(&reader, name, key));
    CHECK(errno == ESPIPE && close(ends[0]) == 0 && close(ends[1]) == 0);
#endif
    CHECK(unlink("sealed") == 0);
}

/* A secret is a copy: what the caller does with its buffer later does not matter. */
static void secrets_are_copies(void)
{
    uint8_t bytes[PALLADION_FILE_KEYBYTES] = { 9 }, zeros[PALLADION_FILE_KEYBYTES] = { 0 };
    char words[] = "open sesame";
    palladion_secret *mine = palladion_secret_from_key(bytes);
    palladion_secret *same_words = palladion_secret_from_passphrase(words, 11, 32, 1);
    memset(bytes, 0, sizeof bytes);
    memset(words, 'x', 11);
    palladion_secret *wiped = palladion_secret_from_key(zeros);
    size_t sealed = seal(mine, 0, CHUNK, text, 10, 10, file);
    CHECK(opens(wiped, file, sealed, 100, text, 10) == PALLADION_FILE_WRONG_SECRET);
    sealed = seal(same_words, 0, CHUNK, text, 10, 10, file);
    CHECK(opens(passphrase, file, sealed, 100, text, 10) == 0);
    /* And a stream has a copy of the secret. */
    sealed = seal(mine, 0, CHUNK, text, 10, 10, file);
    palladion_stream *stream = palladion_opener_new(mine);
    palladion_secret_free(mine);
    uint8_t out[10];
    size_t outlen;
    CHECK(push_all(stream, file, sealed, 7, out, &outlen) == 0 && !memcmp(out, text, 10));
    palladion_stream_free(stream);
    palladion_secret_free(same_words);
    palladion_secret_free(wiped);
}

static void key_files(void)
{
    const char *line = "palladion-key-1:"
                       "5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a\n"
                       "# check: 72109520\n";
    uint8_t bytes[PALLADION_FILE_KEYBYTES];
    memset(bytes, 0x5a, sizeof bytes);
    write_file("key", line, strlen(line), 0600);
    palladion_secret *from_file = palladion_secret_from_key_file("key");
    palladion_secret *same = palladion_secret_from_key(bytes);
    CHECK(from_file);
    size_t sealed = seal(from_file, 0, CHUNK, text, 10, 10, file);
    CHECK(opens(same, file, sealed, 100, text, 10) == 0);
    FAILS(palladion_encrypt_file("plain", "key", from_file, PALLADION_FILE_REPLACE));
    CHECK(has("key", line, strlen(line)));
    palladion_secret_free(from_file);
    palladion_secret_free(same);

    IS_NULL(ENOENT, palladion_secret_from_key_file("missing"));
#ifndef _WIN32
    CHECK(chmod("key", 0644) == 0);
    IS_NULL(EACCES, palladion_secret_from_key_file("key"));
#endif
    write_file("key", "palladion-key-1:5a\n", 19, 0600);
    IS_NULL(EBADMSG, palladion_secret_from_key_file("key"));
    write_file("key", text, 1000, 0600);
    IS_NULL(EBADMSG, palladion_secret_from_key_file("key"));
    memset(file, '\n', ROOM);
    memcpy(file, line, strlen(line));
    write_file("key", file, 65 << 10, 0600);
    IS_NULL(EBADMSG, palladion_secret_from_key_file("key"));
    CHECK(unlink("key") == 0);
}

/* With an argument: only short files. */
int main(int argc, char **argv)
{
    uint8_t bytes[PALLADION_FILE_KEYBYTES];
    char folder[] = "/tmp/palladion-test-XXXXXX";
    (void) argv;
    palladion_random_or_abort(text, sizeof text);
    palladion_random_or_abort(bytes, sizeof bytes);
    key = palladion_secret_from_key(bytes);
    palladion_wipe(bytes, sizeof bytes);
    passphrase = palladion_secret_from_passphrase("open sesame", 11, 32, 1);
    CHECK(key && passphrase);

    round_trips();
    changed_files();
    wrong_secrets();
    secrets_are_copies();
    arguments();
    CHECK(mkdtemp(folder) && chdir(folder) == 0);
    files(argc > 1 ? 1000 : ROOM);
    from_the_middle(argc > 1 ? 10000 : ROOM / 2);
    key_files();
    CHECK(unlink("plain") == 0 && chdir("/") == 0 && rmdir(folder) == 0);
    palladion_secret_free(key);
    palladion_secret_free(passphrase);
    printf("palladion_file.h is as it says\n");
    return 0;
}
