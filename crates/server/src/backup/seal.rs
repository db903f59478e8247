//! Encryption in chunks, the STREAM construction: each chunk is authenticated with its number and whether it is the last one, so
//! that chunks cannot be changed, exchanged or left out, and the end cannot be missing.

use std::io::{self, BufRead, Read, Write};

use aws_lc_rs::aead::{Aad, LessSafeKey, NONCE_LEN, Nonce};

/// Bytes of a chunk before encryption.
pub(super) const CHUNK_BYTES: usize = 64 * 1024;
/// Bytes that authenticate a chunk, behind it.
const TAG_BYTES: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChunkPlace {
    Middle,
    Last,
}

/// The nonce of a chunk: three zero bytes, its number, and 1 for the last one. The key is that of one file, so no nonce is used twice.
fn chunk_nonce(number: u64, place: ChunkPlace) -> Nonce {
    let mut nonce = [0; NONCE_LEN];
    nonce[3..11].copy_from_slice(&number.to_be_bytes());
    nonce[11] = u8::from(place == ChunkPlace::Last);
    Nonce::assume_unique_for_key(nonce)
}

/// Encrypts what is written. The end must be written with [`SealWriter::finish`].
pub(super) struct SealWriter<W> {
    out: W,
    key: LessSafeKey,
    /// Authenticated with every chunk.
    header: Vec<u8>,
    number: u64,
    chunk: Vec<u8>,
}

impl<W: Write> SealWriter<W> {
    pub(super) fn new(out: W, key: LessSafeKey, header: Vec<u8>) -> Self {
        Self { out, key, header, number: 0, chunk: Vec::with_capacity(CHUNK_BYTES + TAG_BYTES) }
    }

    fn write_chunk(&mut self, place: ChunkPlace) -> io::Result<()> {
        let nonce = chunk_nonce(self.number, place);
        let sealed = self.key.seal_in_place_append_tag(nonce, Aad::from(&self.header), &mut self.chunk);
        sealed.map_err(|_| io::Error::other("a chunk could not be encrypted"))?;
        self.out.write_all(&self.chunk)?;
        self.chunk.clear();
        self.number += 1;
        Ok(())
    }

    /// Writes the last chunk.
    pub(super) fn finish(mut self) -> io::Result<W> {
        self.write_chunk(ChunkPlace::Last)?;
        Ok(self.out)
    }
}

impl<W: Write> Write for SealWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A full chunk waits for the next byte: it may be the last one.
        if self.chunk.len() == CHUNK_BYTES && !bytes.is_empty() {
            self.write_chunk(ChunkPlace::Middle)?;
        }
        let count = bytes.len().min(CHUNK_BYTES - self.chunk.len());
        self.chunk.extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Decrypts what is read. Returns nothing of a chunk that is not authentic, and ends only after an authentic last chunk.
pub(super) struct SealReader<R> {
    input: R,
    key: LessSafeKey,
    header: Vec<u8>,
    number: u64,
    chunk: Vec<u8>,
    position: usize,
    has_ended: bool,
}

impl<R: BufRead> SealReader<R> {
    pub(super) fn new(input: R, key: LessSafeKey, header: Vec<u8>) -> Self {
        Self { input, key, header, number: 0, chunk: Vec::new(), position: 0, has_ended: false }
    }

    fn read_chunk(&mut self) -> io::Result<()> {
        let mut sealed = Vec::with_capacity(CHUNK_BYTES + TAG_BYTES);
        (&mut self.input).take((CHUNK_BYTES + TAG_BYTES) as u64).read_to_end(&mut sealed)?;
        let is_at_end = self.input.fill_buf()?.is_empty();
        let place = if is_at_end { ChunkPlace::Last } else { ChunkPlace::Middle };
        let opened = self.open_chunk(sealed.clone(), place);
        if opened.is_none() && is_at_end && self.open_chunk(sealed, ChunkPlace::Middle).is_some() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, "a chunk is not authentic");
        self.chunk = opened.ok_or_else(damaged)?;
        self.position = 0;
        self.number += 1;
        self.has_ended = is_at_end;
        Ok(())
    }

    fn open_chunk(&self, mut sealed: Vec<u8>, place: ChunkPlace) -> Option<Vec<u8>> {
        let nonce = chunk_nonce(self.number, place);
        let length = self.key.open_in_place(nonce, Aad::from(&self.header), &mut sealed).ok()?.len();
        sealed.truncate(length);
        Some(sealed)
    }
}

impl<R: BufRead> Read for SealReader<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        while self.position == self.chunk.len() {
            if self.has_ended {
                return Ok(0);
            }
            self.read_chunk()?;
        }
        let rest = &self.chunk[self.position..];
        let count = rest.len().min(bytes.len());
        bytes[..count].copy_from_slice(&rest[..count]);
        self.position += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::aead::{CHACHA20_POLY1305, UnboundKey};

    use super::*;

    const SEALED_CHUNK: usize = CHUNK_BYTES + TAG_BYTES;

    fn key(byte: u8) -> LessSafeKey {
        LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, &[byte; 32]).unwrap())
    }

    fn seal(plain: &[u8]) -> Vec<u8> {
        let mut writer = SealWriter::new(Vec::new(), key(1), b"header".to_vec());
        writer.write_all(plain).unwrap();
        writer.finish().unwrap()
    }

    fn open(sealed: &[u8]) -> io::Result<Vec<u8>> {
        let mut plain = Vec::new();
        SealReader::new(sealed, key(1), b"header".to_vec()).read_to_end(&mut plain)?;
        Ok(plain)
    }

    #[test]
    fn what_is_sealed_is_opened() {
        for length in [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES] {
            let plain: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
            let sealed = seal(&plain);
            assert_eq!(sealed.len(), length + length.div_ceil(CHUNK_BYTES).max(1) * TAG_BYTES);
            assert_eq!(open(&sealed).unwrap(), plain);
        }
    }

    #[test]
    fn every_change_is_noticed() {
        let sealed = seal(&[7; 2 * CHUNK_BYTES + 100]);
        let kind = |changed: &[u8]| open(changed).unwrap_err().kind();
        for at in [0, CHUNK_BYTES, SEALED_CHUNK, sealed.len() - 1] {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert_eq!(kind(&changed), io::ErrorKind::InvalidData, "byte {at}");
        }
        assert_eq!(kind(&sealed[..2 * SEALED_CHUNK]), io::ErrorKind::UnexpectedEof, "cut between chunks");
        assert_eq!(kind(&sealed[..sealed.len() - 1]), io::ErrorKind::InvalidData, "cut in a chunk");
        assert_eq!(kind(&[]), io::ErrorKind::InvalidData, "nothing at all");
        assert_eq!(kind(&[&sealed[..], b"more"].concat()), io::ErrorKind::InvalidData);
        let (first, second) = (&sealed[..SEALED_CHUNK], &sealed[SEALED_CHUNK..2 * SEALED_CHUNK]);
        let exchanged = [second, first, &sealed[2 * SEALED_CHUNK..]].concat();
        assert_eq!(kind(&exchanged), io::ErrorKind::InvalidData, "exchanged");
        let left_out = [first, &sealed[2 * SEALED_CHUNK..]].concat();
        assert_eq!(kind(&left_out), io::ErrorKind::InvalidData, "left out");
    }

    #[test]
    fn another_key_or_header_opens_nothing() {
        let sealed = seal(b"secret");
        let mut plain = Vec::new();
        assert!(SealReader::new(&sealed[..], key(2), b"header".to_vec()).read_to_end(&mut plain).is_err());
        assert!(SealReader::new(&sealed[..], key(1), b"other".to_vec()).read_to_end(&mut plain).is_err());
        assert!(plain.is_empty());
    }
}
