/* Encrypts standard input to standard output: `file KEYFILE < notes.txt > notes.txt.pld`, and
 * `file -d KEYFILE < notes.txt.pld > notes.txt` decrypts. `file [-d] KEYFILE FROM TO` does the same
 * with files by name. `palladion keygen -o KEYFILE` makes the key file. */
#include <stdio.h>
#include <string.h>

#include <palladion_file.h>

static int fail(int result)
{
    if (result == PALLADION_FILE_ERRNO)
        perror("file");
    else
        fprintf(stderr, "file: %s\n", palladion_file_message(result));
    return 1;
}

/* Pieces of any size go in, and what comes out is written at once: a decryption gives only verified
 * bytes. Only the end of the input may be the last piece, not a read error. */
static int copy(palladion_stream *stream)
{
    static uint8_t buf[64 << 10];
    const uint8_t *out;
    size_t len;
    int result = 0;
    while (result == 0 && !feof(stdin)) {
        size_t n = fread(buf, 1, sizeof buf, stdin);
        if (ferror(stdin))
            return PALLADION_FILE_ERRNO;
        result = palladion_stream_push(stream, buf, n, feof(stdin), &out, &len);
        if (fwrite(out, 1, len, stdout) != len)
            return PALLADION_FILE_ERRNO;
    }
    return result == 0 && fclose(stdout) != 0 ? PALLADION_FILE_ERRNO : result;
}

int main(int argc, char **argv)
{
    int decrypt = argc > 1 && strcmp(argv[1], "-d") == 0, result;
    char **names = argv + 1 + decrypt;
    int count = argc - 1 - decrypt;
    if (count != 1 && count != 3) {
        fprintf(stderr, "usage: %s [-d] KEYFILE [FROM TO]\n", argv[0]);
        return 2;
    }
    palladion_secret *key = palladion_secret_from_key_file(names[0]);
    if (!key)
        return fail(PALLADION_FILE_ERRNO);
    if (count == 3) {
        result = decrypt ? palladion_decrypt_file(names[1], names[2], key, 0)
                         : palladion_encrypt_file(names[1], names[2], key, 0);
    } else {
        palladion_stream *stream =
            decrypt ? palladion_opener_new(key) : palladion_sealer_new(key, 0, 0);
        result = stream ? copy(stream) : PALLADION_FILE_ERRNO;
        palladion_stream_free(stream);
    }
    palladion_secret_free(key);
    return result == 0 ? 0 : fail(result);
}
