//! Keys, key files and passphrases as arguments.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use palladion_file::slots::{FileKey, Lock, NewSlot, NewSlots, Unlock};
use palladion_file::{KdfParams, Keyring, MasterKey, Mistaken, Passphrase};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyList, PyString, PyTuple};
use zeroize::Zeroizing;

use crate::buffer::In;
use crate::error::about;
use crate::key_file::{master_key, read_key_file};
use crate::run::Run;

/// The secrets of files, any of which may open one. Passphrases keep the keys that they became.
#[pyclass(module = "palladion", frozen)]
#[derive(Clone)]
pub struct Secret {
    keys: Vec<MasterKey>,
    passphrases: Vec<Passphrase>,
    /// Functions that open slots for age, or that make them.
    ages: Vec<Arc<Py<PyAny>>>,
    slots: Slots,
    /// What files are bound to.
    place: Option<Vec<u8>>,
    /// Whether nobody waits for Argon2id any longer.
    interrupted: Arc<AtomicBool>,
    /// Whether there was a list, or more than one argument.
    is_several: bool,
    /// Whether the passphrase of a new file is a text that has one.
    has_line_break: bool,
}

/// What to do about key slots.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Slots {
    Refuse,
    Open,
    /// Make one for each secret.
    Make,
}

/// Who is to open a new file.
pub enum For<'a> {
    Secret(&'a Keyring),
    Slots(NewSlots<'a>),
}

#[pymethods]
impl Secret {
    /// Copies keys and passphrases, and reads key files. Each argument is one, or a list or tuple.
    /// `slots` says whether to open key slots, or has functions that open those for age. `bind` is
    /// the place that files are bound to.
    #[new]
    #[pyo3(signature = (key, key_file, passphrase, slots, bind))]
    fn new(
        py: Python<'_>,
        key: Option<Bound<'_, PyAny>>,
        key_file: Option<Bound<'_, PyAny>>,
        passphrase: Option<Bound<'_, PyAny>>,
        slots: Bound<'_, PyAny>,
        bind: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let place = place(bind)?;
        let (slots, functions) = match slots.cast::<PyBool>() {
            Ok(flag) => (if flag.is_true() { Slots::Open } else { Slots::Refuse }, None),
            Err(_) => (Slots::Open, Some(slots)),
        };
        let mut ages = Vec::new();
        Several::new("slots", functions)?.each(py, |function| {
            if !function.is_callable() {
                let name = function.get_type().fully_qualified_name()?;
                return Err(PyTypeError::new_err(format!(
                    "slots must be True, a function that decrypts an age file, or a list of such \
                     functions, not {name}"
                )));
            }
            ages.push(Arc::new(function.clone().unbind()));
            Ok(())
        })?;
        let given = [key.is_some(), key_file.is_some(), passphrase.is_some()];
        let given = given.into_iter().filter(|given| *given).count();
        if given == 0 && ages.is_empty() {
            return Err(PyTypeError::new_err("pass key (32 bytes), key_file or passphrase"));
        }
        let (key, key_file) = (Several::new("key", key)?, Several::new("key_file", key_file)?);
        let passphrase = Several::new("passphrase", passphrase)?;
        // Large enough from the start: growing would leave copies in freed memory.
        let mut keys = Vec::with_capacity(key.items.len() + key_file.items.len());
        key.each(py, |key| {
            if key.is_instance_of::<PyString>() {
                let message = "key takes 32 bytes: pass the name of a key file as key_file";
                return Err(PyTypeError::new_err(message));
            }
            keys.push(master_key(&key.extract()?)?);
            Ok(())
        })?;
        key_file.each(py, |path| {
            keys.push(read_key_file(py, &path.extract::<PathBuf>()?)?);
            Ok(())
        })?;
        let (mut passphrases, mut has_line_break) = (Vec::new(), false);
        passphrase.each(py, |object| {
            if passphrases.is_empty()
                && let Ok(text) = object.cast::<PyString>()
            {
                has_line_break = text.to_string_lossy().contains(['\r', '\n']);
            }
            passphrases.push(self::passphrase(object)?);
            Ok(())
        })?;
        let is_list = key.is_list || key_file.is_list || passphrase.is_list;
        let (is_several, interrupted) = (is_list || given > 1, Arc::default());
        Ok(Self { keys, passphrases, ages, slots, place, interrupted, is_several, has_line_break })
    }

    /// Copies who is to open a new file: keys, passphrases that are str, and functions that make
    /// slots for age. `bind` is the place that the file is bound to.
    #[staticmethod]
    #[pyo3(signature = (recipients, bind))]
    fn of_recipients(
        py: Python<'_>,
        recipients: Bound<'_, PyAny>,
        bind: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let place = place(bind)?;
        let recipients = Several::new("recipients", Some(recipients))?;
        // As above.
        let mut keys = Vec::with_capacity(recipients.items.len());
        let (mut passphrases, mut ages, mut has_line_break) = (vec![], vec![], false);
        recipients.each(py, |recipient| {
            if let Ok(text) = recipient.cast::<PyString>() {
                has_line_break |= text.to_string_lossy().contains(['\r', '\n']);
                passphrases.push(self::passphrase(recipient)?);
            } else if recipient.is_callable() {
                ages.push(Arc::new(recipient.clone().unbind()));
            } else {
                keys.push(master_key(&recipient.extract()?)?);
            }
            Ok(())
        })?;
        let (slots, interrupted, is_several) = (Slots::Make, Arc::default(), false);
        Ok(Self { keys, passphrases, ages, slots, place, interrupted, is_several, has_line_break })
    }

    /// A function may refer to what has this object.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.ages.iter().try_for_each(|function| visit.call(&**function))
    }

    /// Ends waits for Argon2id with an error, now and later.
    fn interrupt(&self) {
        self.interrupted.store(true, Ordering::Relaxed);
    }

    /// The first key, or the first passphrase if there is no key.
    fn first(&self) -> Self {
        let keys: Vec<_> = self.keys.iter().take(1).cloned().collect();
        let passphrases = self.passphrases.iter().take(1 - keys.len()).cloned().collect();
        let (interrupted, has_line_break) = (self.interrupted.clone(), self.has_line_break);
        let (ages, slots, is_several) = (Vec::new(), Slots::Refuse, false);
        let place = self.place.clone();
        Self { keys, passphrases, ages, slots, place, interrupted, is_several, has_line_break }
    }

    /// A copy for files that are bound to another place.
    fn bind(&self, bind: Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self { place: place(Some(bind))?, ..self.clone() })
    }

    /// Refuses recipients for reading, and what a new file cannot have: several secrets, of which
    /// only one would open it, and a text with a line break as the passphrase. The command takes
    /// one line, so nobody could type it; usually it is the text of a file with its last line
    /// break. Nor can a key or a recipient be the passphrase.
    fn check(&self, new: bool) -> PyResult<()> {
        if !new {
            return match self.slots {
                Slots::Make => Err(PyTypeError::new_err(
                    "recipients are for a new file: to read it, pass key, key_file or passphrase, \
                     and slots=True",
                )),
                Slots::Refuse | Slots::Open => Ok(()),
            };
        }
        if self.is_several || self.slots == Slots::Open {
            return Err(PyTypeError::new_err(
                "pass exactly one of key (32 bytes), key_file and passphrase, and no list, or pass \
                 recipients=[...] for a file that each of them opens; lists and slots are for \
                 reading",
            ));
        }
        match self.has_line_break {
            true => Err(PyValueError::new_err(
                "the passphrase must be one line, but has a line break: of the text of a file, \
                 pass the first line",
            )),
            false => self.passphrases.iter().try_for_each(refuse_mistaken),
        }
    }
}

impl Secret {
    /// A copy of the secrets.
    pub fn keyring(&self, run: &Arc<Run>) -> Keyring {
        let keyring = self.keys.iter().cloned().fold(Keyring::default(), Keyring::key);
        let keyring = self.passphrases(run).fold(keyring, Keyring::passphrase);
        let keyring = self.place.iter().cloned().fold(keyring, Keyring::bind);
        match self.slots {
            Slots::Open => self.ages(run).fold(keyring.open_slots(), Keyring::unlock),
            Slots::Refuse | Slots::Make => keyring,
        }
    }

    /// Passes on for whom a new file is to be encrypted.
    pub fn with_new<T>(
        &self,
        run: &Arc<Run>,
        kdf: KdfParams,
        work: impl FnOnce(For<'_>) -> T,
    ) -> T {
        if self.slots != Slots::Make {
            return work(For::Secret(&self.keyring(run)));
        }
        let (passphrases, ages) = (self.passphrases(run), self.ages(run));
        let (passphrases, ages): (Vec<_>, Vec<_>) = (passphrases.collect(), ages.collect());
        let mut slots: Vec<_> = self.keys.iter().map(NewSlot::Key).collect();
        slots.extend(passphrases.iter().map(|passphrase| NewSlot::Passphrase(passphrase, kdf)));
        slots.extend(ages.iter().map(|age| NewSlot::Age(age)));
        let slots = NewSlots::from(&slots);
        work(For::Slots(self.place.iter().fold(slots, NewSlots::bind)))
    }

    /// What stops the work ends the wait for Argon2id too.
    fn passphrases(&self, run: &Arc<Run>) -> impl Iterator<Item = Passphrase> {
        let (run, interrupted) = (run.clone(), self.interrupted.clone());
        let stops = move || interrupted.load(Ordering::Relaxed) || run.is_stopped();
        let passphrases = self.passphrases.iter().cloned();
        passphrases.map(move |passphrase| passphrase.interruptible(stops.clone()))
    }

    fn ages(&self, run: &Arc<Run>) -> impl Iterator<Item = Age> {
        self.ages.iter().map(|function| Age { function: function.clone(), run: run.clone() })
    }
}

/// A function that makes or opens slots for age. The thread of the caller calls it.
struct Age {
    function: Arc<Py<PyAny>>,
    run: Arc<Run>,
}

impl Age {
    /// Returns the bytes that the function returns, or nothing for None.
    fn call(
        &self,
        bytes: &[u8],
    ) -> Result<Option<Zeroizing<Vec<u8>>>, Box<dyn Error + Send + Sync>> {
        let (function, bytes) = (self.function.clone(), Zeroizing::new(bytes.to_vec()));
        Ok(self.run.call(move |py| {
            let result = function.bind(py).call1((PyBytes::new(py, &bytes),))?;
            if result.is_none() {
                return Ok(None);
            }
            Ok(Some(Zeroizing::new(result.extract::<In<'_, '_>>()?.bytes().to_vec())))
        })?)
    }
}

impl Lock for Age {
    fn lock(&self, file_key: &FileKey) -> Result<Vec<u8>, Box<dyn Error + Send + Sync>> {
        let age_file = self.call(file_key.as_bytes())?.unwrap_or_default();
        // Other readers could not use what is something else, such as an age file with armour.
        if !age_file.starts_with(b"age-encryption.org/v1\n") {
            return Err(PyValueError::new_err(
                "expected an age file without armour from the function in recipients: bytes that \
                 begin with age-encryption.org/v1",
            )
            .into());
        }
        Ok(age_file.to_vec())
    }
}

impl Unlock for Age {
    fn unlock(&self, age_file: &[u8]) -> Result<Option<FileKey>, Box<dyn Error + Send + Sync>> {
        let Some(key) = self.call(age_file)? else { return Ok(None) };
        let key = <[u8; 32]>::try_from(&key[..]).map_err(|_| {
            let len = key.len();
            PyValueError::new_err(format!(
                "expected 32 bytes, the plaintext of the age file, from the function in slots, \
                 not {len}"
            ))
        })?;
        Ok(Some(key.into()))
    }
}

/// An argument that is one object, or a list or tuple of them.
struct Several<'py> {
    what: &'static str,
    items: Vec<Bound<'py, PyAny>>,
    is_list: bool,
}

impl<'py> Several<'py> {
    fn new(what: &'static str, given: Option<Bound<'py, PyAny>>) -> PyResult<Self> {
        let Some(given) = given else { return Ok(Self { what, items: vec![], is_list: false }) };
        let items: Vec<_> = if let Ok(list) = given.cast::<PyList>() {
            list.iter().collect()
        } else if let Ok(tuple) = given.cast::<PyTuple>() {
            tuple.iter().collect()
        } else {
            return Ok(Self { what, items: vec![given], is_list: false });
        };
        if items.is_empty() {
            let text = format!("the list {what} is empty: put at least one in it, or leave it out");
            return Err(PyValueError::new_err(text));
        }
        Ok(Self { what, items, is_list: true })
    }

    /// Takes each item. An error says which it was.
    fn each(
        &self,
        py: Python<'py>,
        mut take: impl FnMut(&Bound<'py, PyAny>) -> PyResult<()>,
    ) -> PyResult<()> {
        for (index, item) in self.items.iter().enumerate() {
            take(item).map_err(|error| {
                let kind = error.get_type(py);
                let is_plain =
                    kind.is(py.get_type::<PyTypeError>()) || kind.is(py.get_type::<PyValueError>());
                if !self.is_list || !is_plain {
                    return error;
                }
                PyErr::from_type(kind, format!("{}[{index}]: {}", self.what, error.value(py)))
            })?;
        }
        Ok(())
    }
}

/// Refuses a key or a recipient as the passphrase of a new file.
pub fn refuse_mistaken(passphrase: &Passphrase) -> PyResult<()> {
    let Some(what) = passphrase.mistaken() else { return Ok(()) };
    let instead = match what {
        Mistaken::Key => "pass its 32 bytes: palladion.files.load_key reads a key file",
        Mistaken::Identity => "it is the secret half of a recipient, and opens files",
        _ => {
            "everyone who has it could open the file; pass a function that encrypts for it: \
             recipients=[lambda key: pyrage.encrypt(key, [recipient])]"
        }
    };
    Err(PyValueError::new_err(format!("{what} is not a passphrase: {instead}")))
}

/// Converts a passphrase, which is a str, encoded as UTF-8, or bytes.
pub fn passphrase(object: &Bound<'_, PyAny>) -> PyResult<Passphrase> {
    text_or_bytes("the passphrase", object, |bytes| Passphrase::new(bytes))
}

/// Converts a place, which is a str, encoded as UTF-8, or bytes.
fn place(bind: Option<Bound<'_, PyAny>>) -> PyResult<Option<Vec<u8>>> {
    let Some(object) = bind else { return Ok(None) };
    let place = text_or_bytes("bind", &object, <[u8]>::to_vec)?;
    match place.is_empty() {
        true => Err(PyValueError::new_err(
            "bind is empty: expected at least 1 byte, or None for files that are not bound",
        )),
        false => Ok(Some(place)),
    }
}

fn text_or_bytes<T>(
    what: &str,
    object: &Bound<'_, PyAny>,
    make: impl FnOnce(&[u8]) -> T,
) -> PyResult<T> {
    let Ok(text) = object.cast::<PyString>() else {
        let bytes = object.extract::<In<'_, '_>>().map_err(|error| {
            // Python's own error names neither the argument nor str.
            about(object.py(), &format!("{what} must be a str or bytes"), error)
        })?;
        return Ok(make(bytes.bytes()));
    };
    // Python's own error would show a part of the text, which may be secret.
    let text = text.to_cow().map_err(|_| {
        PyValueError::new_err(format!(
            "{what} has a surrogate, which UTF-8 cannot encode; pass it as bytes"
        ))
    })?;
    Ok(make(text.as_bytes()))
}
