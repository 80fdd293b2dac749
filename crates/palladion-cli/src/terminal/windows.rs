//! The console of Windows, whose text is UTF-16. The standard library reads and writes it as
//! standard streams alone, and these may be redirected.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::windows::io::AsRawHandle;
use std::ptr;

use windows_sys::Win32::Foundation::ERROR_OPERATION_ABORTED;
use windows_sys::Win32::System::Console::{
    CONSOLE_MODE, ENABLE_ECHO_INPUT, ENABLE_LINE_INPUT, ENABLE_PROCESSED_INPUT,
    FlushConsoleInputBuffer, GetConsoleMode, ReadConsoleW, SetConsoleMode, WriteConsoleW,
};
use windows_sys::core::BOOL;
use zeroize::Zeroizing;

pub type Mode = CONSOLE_MODE;

pub struct Terminal {
    input: File,
    output: File,
}

/// Returns the mode without an echo.
pub fn without_echo(before: &Mode) -> Mode {
    before & !ENABLE_ECHO_INPUT | ENABLE_LINE_INPUT | ENABLE_PROCESSED_INPUT
}

impl Terminal {
    pub fn open() -> io::Result<Self> {
        let open = |name| File::options().read(true).write(true).open(name);
        Ok(Self { input: open("CONIN$")?, output: open("CONOUT$")? })
    }

    pub fn mode(&self) -> io::Result<Mode> {
        let mut mode = 0;
        // SAFETY: `input` keeps its handle open, and the pointer is valid for writing a number.
        check(unsafe { GetConsoleMode(self.input.as_raw_handle(), &raw mut mode) })?;
        Ok(mode)
    }

    pub fn set_mode(&self, mode: &Mode) -> io::Result<()> {
        // SAFETY: `input` keeps its handle open.
        check(unsafe { SetConsoleMode(self.input.as_raw_handle(), *mode) })
    }

    /// Returns whether the console is the program's to change. There is no background here.
    pub fn is_ours(&self) -> bool {
        true
    }

    pub fn discard_input(&self) {
        // SAFETY: `input` keeps its handle open.
        unsafe { FlushConsoleInputBuffer(self.input.as_raw_handle()) };
    }

    pub fn write(&self, text: &str) -> io::Result<()> {
        let mut units = Zeroizing::new(Vec::with_capacity(text.len()));
        units.extend(text.encode_utf16());
        let mut rest = &units[..];
        while !rest.is_empty() {
            let (from, len, mut written) = (rest.as_ptr(), rest.len() as u32, 0);
            let handle = self.output.as_raw_handle();
            // SAFETY: `output` keeps its handle open. `from` is valid for reading `len` units, and
            // `written` for writing a number.
            check(unsafe { WriteConsoleW(handle, from, len, &raw mut written, ptr::null()) })?;
            rest = &rest[written as usize..];
        }
        Ok(())
    }

    pub fn read_line(&self) -> io::Result<Zeroizing<String>> {
        // Growing would leave copies in freed memory.
        let mut buffer = Zeroizing::new(vec![0_u16; 4096]);
        let mut len = 0;
        while len < buffer.len() && !buffer[..len].contains(&u16::from(b'\n')) {
            len += self.read(&mut buffer[len..])?;
        }
        self.write("\n")?;
        let line = &buffer[..len];
        if line.first() == Some(&0x1A) {
            return Err(io::ErrorKind::UnexpectedEof.into()); // Ctrl-Z
        }
        let mut text = Zeroizing::new(String::with_capacity(3 * len));
        for unit in char::decode_utf16(line.iter().copied()) {
            text.push(unit.map_err(|_| {
                let message = "the passphrase is not valid Unicode";
                io::Error::new(io::ErrorKind::InvalidInput, message)
            })?);
        }
        let end = text.trim_end_matches(['\r', '\n']).len();
        text.truncate(end);
        Ok(text)
    }

    fn read(&self, buffer: &mut [u16]) -> io::Result<usize> {
        let (handle, to) = (self.input.as_raw_handle(), buffer.as_mut_ptr().cast());
        let (len, mut read) = (buffer.len() as u32, 0);
        loop {
            // SAFETY: `input` keeps its handle open. `to` is valid for writing `len` units, and
            // `read` for writing a number.
            check(unsafe { ReadConsoleW(handle, to, len, &raw mut read, ptr::null()) })?;
            // Ctrl-C ends a read that succeeds with nothing. Its handler is about to end the
            // program.
            let error = io::Error::last_os_error();
            match read {
                0 if error.raw_os_error() == Some(ERROR_OPERATION_ABORTED as i32) => {}
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                _ => return Ok(read as usize),
            }
        }
    }
}

fn check(result: BOOL) -> io::Result<()> {
    if result == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
