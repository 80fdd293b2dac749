//! What a file needs from outside: a storage in memory, random numbers and a hash function. Each of
//! them can fail, do half of its work, or return other bytes than it was given, and the storage can
//! lose what was not synced.

#![allow(dead_code)] // each test uses a part

use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard};

use arbitrary::Arbitrary;
use palladion_raf::merkle::{Hasher, Input, Sha256};
use palladion_raf::{Environment, Memory, Shared, Storage};

use super::input::Flip;

/// What goes wrong, in which call, and after how many successful ones.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub struct Fault {
    pub on: On,
    pub after: u8,
    pub how: How,
    /// Whether the file is closed and opened afterwards, or used as it is.
    pub reopen: bool,
}

#[derive(Arbitrary, Clone, Copy, Debug, PartialEq)]
pub enum On {
    Read,
    Write,
    Size,
    SetSize,
    Sync,
    Random,
    Hash,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum How {
    Fails(u8),
    /// It does a part of its work and fails.
    Half(u8),
    /// It succeeds, but a bit is flipped. For reads and writes.
    Lies(Flip),
}

/// A fault that happened.
#[derive(Debug)]
pub struct Fired {
    pub fault: Fault,
    /// The error number that a call must return if it returns one.
    pub number: i32,
    /// The place of the write that failed or lied.
    pub place: Range<usize>,
}

impl Fired {
    /// The byte where a write flipped a bit, and the bit.
    pub fn lie(&self) -> Option<(usize, Flip)> {
        let Fault { on: On::Write, how: How::Lies(flip), .. } = self.fault else { return None };
        let mut bits = vec![0; self.place.len()];
        flip.apply(&mut bits);
        Some((self.place.start + bits.iter().position(|bit| *bit != 0)?, flip))
    }
}

const ERRORS: [i32; 5] = [libc::EIO, libc::ENOSPC, libc::EINTR, libc::EBADF, libc::EACCES];

/// A write at an offset or, without bytes, another size.
type Change = (u64, Option<Vec<u8>>);

#[derive(Default)]
pub struct World {
    pub memory: Memory,
    /// The size that the storage claims to have.
    pub claimed: Option<u64>,
    pub random: u64,
    pub armed: Option<Fault>,
    /// Whether it goes wrong each time from then on.
    pub stays: bool,
    pub fired: Option<Fired>,
    /// Calls of the kind that is to go wrong, since it was armed.
    pub calls: usize,
    /// What was there at the last sync, and what was done since. Kept if there is something here.
    pub synced: Option<(Memory, Vec<Change>)>,
}

/// What a call does: how much of its work, the bit that it flips, and the result.
struct Turn {
    len: usize,
    flip: Option<Flip>,
    result: io::Result<()>,
}

impl World {
    /// Decides what a call does. The place of a write is kept; of other calls, its length counts.
    fn next(&mut self, on: On, place: Range<usize>) -> Turn {
        let len = place.len();
        let all = Turn { len, flip: None, result: Ok(()) };
        let Some(fault) = self.armed.filter(|fault| fault.on == on) else { return all };
        self.calls += 1;
        if self.calls <= usize::from(fault.after) {
            return all;
        }
        let (number, turn) = match fault.how {
            How::Lies(flip) if matches!(on, On::Read | On::Write) => {
                (libc::EBADMSG, Turn { flip: Some(flip), ..all })
            }
            How::Lies(_) => return all,
            How::Fails(n) | How::Half(n) => {
                let number = ERRORS[usize::from(n) % ERRORS.len()];
                let len = if matches!(fault.how, How::Half(_)) { len / 2 } else { 0 };
                let result = Err(io::Error::from_raw_os_error(number));
                (number, Turn { len, flip: None, result })
            }
        };
        self.armed = self.armed.filter(|_| self.stays);
        self.fired = Some(Fired { fault, number, place });
        turn
    }

    fn log(&mut self, place: u64, bytes: Option<&[u8]>) {
        if let Some((_, done)) = &mut self.synced {
            done.push((place, bytes.map(<[u8]>::to_vec)));
        }
    }

    /// Returns what a power failure leaves if, of all that was not synced, only this is kept.
    pub fn cut(&self, mut is_kept: impl FnMut(usize) -> bool) -> Memory {
        let (mut left, done) = self.synced.clone().expect("it is kept");
        for (_, (place, bytes)) in done.iter().enumerate().filter(|(i, _)| is_kept(*i)) {
            match bytes {
                Some(bytes) => left.write_at(bytes, *place).unwrap(),
                None => left.set_size(*place).unwrap(),
            }
        }
        left
    }
}

/// The world as a file sees it: its storage, random numbers and hash function.
#[derive(Clone, Default)]
pub struct Disk {
    pub world: Arc<Mutex<World>>,
    /// Whether several threads may use it at once.
    pub shared: bool,
    pub grows: bool,
}

impl Disk {
    pub fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().expect("nobody panics")
    }

    /// Makes all calls of a kind fail after so many; if `torn`, they do half of their work.
    pub fn fail(&self, on: On, after: usize, torn: bool) {
        let how = if torn { How::Half(0) } else { How::Fails(0) };
        let mut world = self.world();
        world.armed = Some(Fault { on, after: after.try_into().unwrap(), how, reopen: false });
        (world.calls, world.stays) = (0, true);
    }

    pub fn work_again(&self) {
        self.world().armed = None;
    }

    fn next(&self, on: On, len: usize) -> Turn {
        self.world().next(on, 0..len)
    }
}

impl Shared for Disk {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.world().memory.read_at(buf, offset)?;
        let turn = self.next(On::Read, buf.len());
        if let Some(flip) = turn.flip {
            flip.apply(buf);
        }
        buf[turn.len..].fill(0x99);
        turn.result
    }
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        let (mut world, start) = (self.world(), offset as usize);
        assert!(start + buf.len() < 1 << 20, "written where nothing belongs");
        let turn = world.next(On::Write, start..start + buf.len());
        world.memory.write_at(&buf[..turn.len], offset)?;
        if let Some(flip) = turn.flip {
            flip.apply(&mut world.memory.0[start..start + turn.len]);
        }
        world.log(offset, Some(&buf[..turn.len]));
        turn.result
    }
}

impl Storage for Disk {
    fn read_at(&mut self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        Shared::read_at(self, buf, offset)
    }
    fn write_at(&mut self, buf: &[u8], offset: u64) -> io::Result<()> {
        Shared::write_at(self, buf, offset)
    }
    fn size(&mut self) -> io::Result<u64> {
        let mut world = self.world();
        let size = world.claimed.unwrap_or(world.memory.0.len() as u64);
        world.next(On::Size, 0..0).result.map(|()| size)
    }
    fn set_size(&mut self, size: u64) -> io::Result<()> {
        assert!(size < 1 << 20, "larger than it has to be");
        // Half of the work: it is done, and fails.
        let turn = self.next(On::SetSize, 2);
        if turn.len > 0 {
            let mut world = self.world();
            world.memory.set_size(size)?;
            world.log(size, None);
        }
        turn.result
    }
    fn sync(&mut self) -> io::Result<()> {
        let mut world = self.world();
        world.next(On::Sync, 0..0).result?;
        if world.synced.is_some() {
            world.synced = Some((world.memory.clone(), Vec::new()));
        }
        Ok(())
    }
    fn grows(&self) -> bool {
        self.grows
    }
    fn shared(&self) -> Option<&dyn Shared> {
        self.shared.then_some(self)
    }
}

impl Environment for Disk {
    type Buffer = Vec<u8>;
    type Hasher = Self;
    const BULK: bool = true;

    fn random(&mut self, out: &mut [u8]) -> io::Result<()> {
        let turn = self.next(On::Random, out.len());
        let state = &mut self.world().random;
        for byte in &mut out[..turn.len] {
            *state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            *byte = (*state >> 56) as u8;
        }
        turn.result
    }
}

impl Hasher for Disk {
    /// Hashes with SHA-256, repeated or cut to the length.
    fn hash(&self, out: &mut [u8], input: Input<'_>) -> io::Result<()> {
        let turn = self.next(On::Hash, out.len());
        let mut sha256 = [0; Sha256::LEN];
        Sha256.hash(&mut sha256, input)?;
        for (to, from) in out.iter_mut().zip(sha256.iter().cycle()) {
            *to = *from;
        }
        out[turn.len..].fill(0x99);
        turn.result
    }
}
