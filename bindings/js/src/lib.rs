//! What the JavaScript package `@palladion/aegis` calls: a WebAssembly module, and a native addon
//! for Node, Deno and Bun. There is no generated glue.
//!
//! JavaScript is the only caller. It writes the arguments to a scratch memory (`memory.rs`),
//! calls a function with numbers, and reads the results from the memory. Random bytes come from
//! JavaScript as arguments.
//!
//! | file | contents |
//! |---|---|
//! | `memory.rs` | the scratch memory, and results |
//! | `objects.rs` | objects behind numbers |
//! | `cipher.rs` | messages and MACs in one call |
//! | `pieces.rs` | messages and MACs in pieces, and key streams |
//! | `file.rs` | encrypted files chunk by chunk, and key files |
//! | `wasm.rs` | the exports of the WebAssembly module, and memory for long arguments |
//! | `native.rs` | the exports of the addon, and arguments that are arrays of JavaScript |

mod cipher;
mod failure;
mod file;
mod memory;
#[cfg(not(target_family = "wasm"))]
#[allow(unsafe_code)]
mod native;
mod objects;
mod pieces;
#[cfg(target_family = "wasm")]
#[allow(unsafe_code)]
mod wasm;

/// Passes the functions for messages that both modules export to a macro: each function's name, the
/// names of its arguments, which are numbers, and what it calls with the memory, the objects and
/// those numbers. `$with` comes before them.
///
/// Only what JavaScript passes differs between the two modules, so only `wasm.rs` and `native.rs`
/// have other functions.
macro_rules! message_functions {
    ($export:ident, $with:tt) => {
        $export! {
            $with
            // Encrypts the `len` bytes of data that follow `ad_len` bytes of associated data, and
            // writes the tag after them.
            pld_encrypt(id, tag_len, ad_len, len) => crate::cipher::encrypt;
            // Decrypts them, if the tag after them is right. Otherwise zeroes them.
            pld_decrypt(id, tag_len, ad_len, len) => crate::cipher::decrypt;
            // Writes the MAC of `len` bytes of data, which are wiped.
            pld_mac(id, tag_len, len) => crate::cipher::mac;
            // Compares the MAC of `len` bytes of data, which are wiped, with the tag.
            pld_mac_verify(id, tag_len, len) => crate::cipher::mac_verify;

            // Starts a message with `ad_len` bytes of associated data, which are wiped.
            pld_session_new(id, ad_len) => crate::pieces::session_new;
            // Encrypts the next `len` bytes.
            pld_session_encrypt(session, len) => crate::pieces::session_encrypt;
            // Decrypts the next `len` bytes, unverified.
            pld_session_decrypt(session, len) => crate::pieces::session_decrypt;
            // Writes the tag and frees the session.
            pld_session_finalize(session, tag_len) => crate::pieces::session_finalize;
            // Compares the tag and frees the session.
            pld_session_verify(session, tag_len) => crate::pieces::session_verify;
            pld_session_free(session) => crate::pieces::session_free;

            // Starts a MAC.
            pld_mac_new(id) => crate::pieces::mac_new;
            // Adds `len` bytes of data, which are wiped.
            pld_mac_update(mac, len) => crate::pieces::mac_update;
            pld_mac_clone(mac) => crate::pieces::mac_clone;
            // Writes the tag and frees the MAC.
            pld_mac_finalize(mac, tag_len) => crate::pieces::mac_finalize;
            // Compares the tag and frees the MAC.
            pld_mac_compare(mac, tag_len) => crate::pieces::mac_compare;
            pld_mac_free(mac) => crate::pieces::mac_free;
        }
    };
}
use message_functions;

/// The same for the functions that handle master keys and passphrases, or derive keys from them.
/// They leave copies of them on the stack, which the WebAssembly wipes after each call.
macro_rules! file_functions {
    ($export:ident, $with:tt) => {
        $export! {
            $with
            // Starts a MAC for files. The key is a master key, and there is no nonce. Tags have 32
            // bytes.
            pld_mac_new_for_files(id) => crate::pieces::mac_new_for_files;
            // Adds `len` bytes of data to the first `before` bytes of the place of the next file.
            pld_bind(len, before) => crate::file::bind;
            // Starts to write a file. The salt is where nonces are. The data is the secret: for a
            // key, 2^32 - 1 in 4 bytes and 32 bytes; for a passphrase, its length and its bytes.
            // 2^31 may follow: the file is bound to the place of `pld_bind`.
            pld_encoder_new(secrets_len, id, chunk_len, memory_kib, passes, lanes)
                => crate::file::encoder_new;
            // Starts to read a file, which opens with any of the secrets in the data and must be
            // bound to the place that they name.
            pld_decoder_new(secrets_len, memory_kib, passes, lanes, work_kib)
                => crate::file::decoder_new;
            // Returns how many bytes can be taken, or 2^31 if it takes long to go on.
            pld_coder_ready(file) => crate::file::coder_ready;
            // Goes on with what takes long. Returns another number for the file.
            pld_coder_go_on(file) => crate::file::coder_go_on;
            // Says that nothing follows. What was ready before must be taken.
            pld_coder_end(file) => crate::file::coder_end;
            pld_coder_free(file) => crate::file::coder_free;
            // Starts to read a file in any order. The data is `header_len` bytes of its header,
            // which are fewer than a header has if the file is shorter, and then the secrets. The
            // length of the file is where nonces are.
            pld_reader_new(secrets_len, header_len, memory_kib, passes, lanes, work_kib)
                => crate::file::reader_new;
            // Returns the bytes of text in a full chunk.
            pld_reader_size(file) => crate::file::reader_size;
            // Returns how many bytes of the file it wants to verify its end. Writes where they
            // begin to where nonces are. Once the file is open, returns 0 and writes the length of
            // its plaintext there.
            pld_reader_wants(file) => crate::file::reader_wants;
            // Returns the algorithm of an open file.
            pld_reader_algorithm(file) => crate::file::reader_algorithm;
            pld_reader_free(file) => crate::file::reader_free;
            // Returns 1 if a file whose first `header_len` bytes are the data needs a passphrase,
            // and otherwise 0.
            pld_needs_passphrase(header_len) => crate::file::needs_passphrase;
            // Reads the key from the text of a key file in the data, and wipes the text.
            pld_key_parse(len) => crate::file::key_parse;
            // Writes the text of a key file with the key to the data. Returns its length.
            pld_key_format() => crate::file::key_format;
        }
    };
}
use file_functions;
