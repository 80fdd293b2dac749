//! Opens the slots of a head.

use super::head::{Head, MAX_PER_KIND, Slot, SlotKind};
use super::keyring::{FileKey, Keyring};
use crate::error::Error;
use crate::kdf::{KdfLimits, KdfParams};

impl Head {
    /// Returns the key of the file, if one of the secrets opens a slot and the head is authentic.
    ///
    /// # Errors
    ///
    /// [`Error::NoSlot`]; [`Error::KdfTooCostly`] if no slot opened and one for a passphrase was
    /// left out for its cost; [`Error::Slot`]; [`Error::HeaderDamaged`] if someone without the key
    /// changed the head; [`Error::Cancelled`]; and the errors of [`Keyring::bind`].
    pub fn open(&self, keyring: &Keyring, limits: &KdfLimits) -> Result<FileKey, Error> {
        Opening::new(keyring, limits).open(self)
    }

    /// Returns whether one of the secrets opens this slot, counted from 0, whatever other slots do.
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open) but [`Error::NoSlot`].
    pub fn opens_slot(
        &self,
        slot: usize,
        keyring: &Keyring,
        limits: &KdfLimits,
    ) -> Result<bool, Error> {
        match self.with_one_slot(slot).open(keyring, limits) {
            Ok(_) => Ok(true),
            Err(Error::NoSlot) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Opens both copies of a head: the limits hold for their sum.
pub(crate) struct Opening<'a> {
    pub keyring: &'a Keyring,
    pub limits: &'a KdfLimits,
    /// Costs that one passphrase was, or is to be, stretched with.
    pub costs: Vec<KdfParams>,
}

impl<'a> Opening<'a> {
    pub fn new(keyring: &'a Keyring, limits: &'a KdfLimits) -> Self {
        Self { keyring, limits, costs: Vec::new() }
    }

    pub fn open(&mut self, head: &Head) -> Result<FileKey, Error> {
        let (place, mut failed) = (self.keyring.place.as_deref(), None);
        head.header().check_place(place)?;
        // The cheapest first: all slots that open give the same key.
        let of_keys = self.keyring.keys.iter().flat_map(|key| {
            let slots = head.slots().iter().filter(|slot| slot.kind() == SlotKind::Key);
            slots.filter_map(move |slot| head.header().unlock(slot, key))
        });
        for key in of_keys {
            if let Some(verified) = head.verify(&key, place) {
                return verified.map(|_| key);
            }
        }
        for slot in first_of(head, 3).filter(|slot| slot.kind() == SlotKind::Age) {
            for unlock in &self.keyring.unlocks {
                match unlock.unlock(slot.body()) {
                    Ok(None) => {}
                    Ok(Some(key)) => {
                        if let Some(verified) = head.verify(&key, place) {
                            return verified.map(|_| key);
                        }
                    }
                    Err(error) => drop(failed.get_or_insert(Error::Slot(error))),
                }
            }
        }
        for slot in first_of(head, 2) {
            let SlotKind::Passphrase(kdf) = slot.kind() else { continue };
            if self.keyring.passphrases.is_empty() {
                break;
            }
            if let Err(error) = self.afford(kdf) {
                failed.get_or_insert(error);
                continue;
            }
            for passphrase in &self.keyring.passphrases {
                let key = match passphrase.stretch(head.header().salt(), kdf) {
                    Ok(stretched) => head.header().unlock(slot, &stretched),
                    Err(Error::Cancelled) => return Err(Error::Cancelled),
                    Err(error) => {
                        failed.get_or_insert(error);
                        continue;
                    }
                };
                if let Some(key) = key
                    && let Some(verified) = head.verify(&key, place)
                {
                    return verified.map(|_| key);
                }
            }
        }
        Err(failed.unwrap_or(Error::NoSlot))
    }

    /// Adds a cost, if the limits allow it beside the others.
    fn afford(&mut self, kdf: KdfParams) -> Result<(), Error> {
        if self.costs.contains(&kdf) {
            return Ok(());
        }
        self.limits.check_beside(&kdf, &self.costs)?;
        self.costs.push(kdf);
        Ok(())
    }
}

/// The slots of this kind that count.
fn first_of(head: &Head, kind: u8) -> impl Iterator<Item = &Slot> {
    head.slots().iter().filter(move |slot| slot.number() == kind).take(MAX_PER_KIND)
}
