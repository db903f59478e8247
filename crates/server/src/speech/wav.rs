//! Minimal WAV support: writes a header for samples, and corrects the lengths in the header of a streamed file.

/// Bytes of the header that [`wav_from_samples`] writes.
const HEADER: usize = 44;
/// Bytes of a sample, signed and mono.
const SAMPLE_BYTES: u32 = 2;

/// A WAV file with one channel of 16 bits.
pub(super) fn wav_from_samples(samples: &[u8], per_second: u32) -> Vec<u8> {
    let length = u32::try_from(samples.len()).unwrap_or(u32::MAX);
    let mut wav = Vec::with_capacity(HEADER + samples.len());
    wav.extend_from_slice(b"RIFF");
    wav.extend_from_slice(&length.saturating_add(HEADER as u32 - 8).to_le_bytes());
    wav.extend_from_slice(b"WAVEfmt ");
    wav.extend_from_slice(&16_u32.to_le_bytes());
    wav.extend_from_slice(&1_u16.to_le_bytes());
    wav.extend_from_slice(&1_u16.to_le_bytes());
    wav.extend_from_slice(&per_second.to_le_bytes());
    wav.extend_from_slice(&per_second.saturating_mul(SAMPLE_BYTES).to_le_bytes());
    wav.extend_from_slice(&2_u16.to_le_bytes());
    wav.extend_from_slice(&16_u16.to_le_bytes());
    wav.extend_from_slice(b"data");
    wav.extend_from_slice(&length.to_le_bytes());
    wav.extend_from_slice(samples);
    wav
}

/// Writes the actual lengths into the header, which a program that writes WAV to a pipe cannot know. None if it is not a WAV
/// file or has no samples.
pub(super) fn fix_wav_lengths(mut wav: Vec<u8>) -> Option<Vec<u8>> {
    if wav.get(..4)? != b"RIFF" || wav.get(8..12)? != b"WAVE" {
        return None;
    }
    let mut chunk = 12;
    while wav.get(chunk..chunk + 4)? != b"data" {
        let length = u32::from_le_bytes(wav.get(chunk + 4..chunk + 8)?.try_into().ok()?);
        chunk = chunk.checked_add(8)?.checked_add(usize::try_from(length).ok()?)?;
    }
    let samples = wav.len().checked_sub(chunk + 8).filter(|samples| *samples > 0)?;
    let (riff, data) = (u32::try_from(wav.len() - 8).ok()?, u32::try_from(samples).ok()?);
    wav.get_mut(4..8)?.copy_from_slice(&riff.to_le_bytes());
    wav.get_mut(chunk + 4..chunk + 8)?.copy_from_slice(&data.to_le_bytes());
    Some(wav)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_describes_the_samples() {
        let wav = wav_from_samples(&[1, 2, 3, 4], 16_000);
        assert_eq!(wav.len(), 48);
        assert_eq!(&wav[..8], b"RIFF\x28\0\0\0");
        assert_eq!(wav[24..32], [0x80, 0x3e, 0, 0, 0, 0x7d, 0, 0]);
        assert_eq!(&wav[36..], b"data\x04\0\0\0\x01\x02\x03\x04");
        assert_eq!(fix_wav_lengths(wav.clone()), Some(wav));
    }

    #[test]
    fn unknown_lengths_are_corrected() {
        let right = wav_from_samples(&[1, 2, 3, 4], 22_050);
        let mut endless = right.clone();
        endless[4..8].copy_from_slice(&0x7fff_f024_u32.to_le_bytes());
        endless[40..44].copy_from_slice(&0x7fff_f000_u32.to_le_bytes());
        assert_eq!(fix_wav_lengths(endless), Some(right));
    }

    #[test]
    fn other_data_is_refused() {
        let wav = wav_from_samples(&[1, 2], 22_050);
        let mut lost = wav.clone();
        lost[36..40].copy_from_slice(b"fact");
        let mut far = wav.clone();
        far[16..20].copy_from_slice(&u32::MAX.to_le_bytes());
        for bad in [Vec::new(), b"RIFF".to_vec(), b"<html></html>".to_vec(), wav[..44].to_vec(), lost, far] {
            assert_eq!(fix_wav_lengths(bad), None);
        }
    }
}
