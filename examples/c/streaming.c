/* Encrypts standard input to standard output in pieces: `streaming < file > sealed`, and
 * `streaming -d < sealed > file` decrypts.
 * Decryption writes bytes before they are verified, so discard the output on failure. For files,
 * use the command `palladion encrypt`. */
#include <stdio.h>
#include <string.h>

#include <aegis.h>

enum { PIECE = 64 << 10, TAG = 32 };

/* Ends without a tag, so that what was written so far does not pass for the whole. */
static int fail(const char *what)
{
    perror(what);
    return 1;
}

int main(int argc, char **argv)
{
    const uint8_t key[aegis256_KEYBYTES] =
        "thirty-two bytes that are a key"; /* use a random key */
    const uint8_t nonce[aegis256_NPUBBYTES] = { 7 }; /* use each nonce once */
    static uint8_t buf[PIECE + TAG];
    int decrypt = argc == 2 && strcmp(argv[1], "-d") == 0;
    if (argc > 1 && !decrypt) {
        fprintf(stderr, "usage: %s [-d] <FILE >FILE\n", argv[0]);
        return 2;
    }
    size_t kept = 0, n;
    aegis256_state state;
    aegis256_state_init(&state, NULL, 0, nonce, key);

    /* The last bytes are the tag, so keep that many back until more data comes. */
    while ((n = fread(buf + kept, 1, PIECE, stdin)) > 0) {
        size_t len = kept + n;
        kept = decrypt ? (len < TAG ? len : (size_t) TAG) : 0;
        len -= kept;
        if (decrypt ? aegis256_state_decrypt_update(&state, buf, buf, len)
                    : aegis256_state_encrypt_update(&state, buf, buf, len))
            return fail("AEGIS-256");
        if (fwrite(buf, 1, len, stdout) != len)
            return fail("standard output");
        memmove(buf, buf + len, kept);
    }
    /* fread returns 0 at the end and after an error. Only the end may get a tag. */
    if (ferror(stdin))
        return fail("standard input");
    if (!decrypt) {
        if (aegis256_state_encrypt_final(&state, buf, TAG) != 0)
            return fail("AEGIS-256");
        if (fwrite(buf, 1, TAG, stdout) != TAG)
            return fail("standard output");
    } else if (kept != TAG || aegis256_state_decrypt_final(&state, buf, TAG) != 0) {
        fprintf(stderr, "not authentic: throw away what was written\n");
        return 1;
    }
    return fclose(stdout) == 0 ? 0 : fail("standard output");
}
