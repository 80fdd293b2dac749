//! Measures how long calls take from Rust, in nanoseconds: the fastest of many samples of about 20
//! microseconds each. `crates/palladion-bench/measure-c.sh` runs it beside the same calls through
//! the C library.
//!
//!     cargo run --release -p palladion --example calls -- [SIZE ...]

use std::hint::black_box;
use std::time::Instant;

use palladion::family::{Aegis128, Aegis256, Family};
use palladion::{Aegis, Error, Mac, Tag};

const ROUNDS: usize = 800;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut sizes =
        std::env::args().skip(1).map(|size| size.parse()).collect::<Result<Vec<usize>, _>>()?;
    if sizes.is_empty() {
        sizes = vec![0, 16, 64, 256, 576, 1500, 4096, 16384, 65536];
    }
    print!("{:<20}", "ns, from Rust");
    sizes.iter().for_each(|size| print!(" {size:>15}"));
    println!();
    variant::<Aegis128, 1>("aegis128l", &sizes)?;
    variant::<Aegis128, 2>("aegis128x2", &sizes)?;
    variant::<Aegis128, 4>("aegis128x4", &sizes)?;
    variant::<Aegis256, 1>("aegis256", &sizes)?;
    variant::<Aegis256, 2>("aegis256x2", &sizes)?;
    variant::<Aegis256, 4>("aegis256x4", &sizes)?;
    Ok(())
}

fn variant<F: Family, const D: usize>(name: &str, sizes: &[usize]) -> Result<(), Error> {
    let (key, nonce) =
        (F::Key::try_from(&[1; 32][..F::KEY_LEN])?, F::Nonce::try_from(&[2; 32][..F::KEY_LEN])?);
    let cipher = Aegis::<F, D, 16>::new(&key);
    let message = vec![0; sizes.iter().copied().max().unwrap_or(0)];
    let (mut sealed, mut output) = (message.clone(), message.clone());
    line(name, "encrypt", sizes, |len| {
        let tag = cipher.encrypt_into(&nonce, b"", &message[..len], &mut output[..len])?;
        let _ = black_box(tag);
        Ok(())
    })?;
    let tags = sizes.iter().map(|&len| {
        let tag = cipher.encrypt_into(&nonce, b"", &message[..len], &mut sealed[..len])?;
        Ok((len, tag))
    });
    let tags = tags.collect::<Result<Vec<(usize, Tag<16>)>, Error>>()?;
    line(name, "decrypt", sizes, |len| {
        let tag = tags.iter().find(|(other, _)| *other == len).map(|(_, tag)| tag);
        tag.map_or(Ok(()), |tag| {
            cipher.decrypt_into(&nonce, b"", &sealed[..len], tag, &mut output[..len])
        })
    })?;
    line(name, "MAC", sizes, |len| {
        let mut mac = Mac::<F, D, 16>::new(&key, &nonce)?;
        mac.update(&message[..len])?;
        let _ = black_box(mac.finalize());
        Ok(())
    })
}

fn line(
    name: &str,
    what: &str,
    sizes: &[usize],
    mut call: impl FnMut(usize) -> Result<(), Error>,
) -> Result<(), Error> {
    print!("{name:<11} {what:<8}");
    for &len in sizes {
        let started = Instant::now();
        (0..10).try_for_each(|_| call(black_box(len)))?;
        let times = 1 + (200_000 / started.elapsed().as_nanos().max(1)) as u32;
        let mut best = f64::INFINITY;
        for _ in 0..ROUNDS {
            let started = Instant::now();
            (0..times).try_for_each(|_| call(black_box(len)))?;
            best = best.min(started.elapsed().as_nanos() as f64 / f64::from(times));
        }
        print!(" {best:>15.1}");
    }
    println!();
    Ok(())
}
