//! The id of a message as it stands in a record. Looking names up is left to `names`.

use super::layout::{Fields, Place, Writer};

/// An id up to this length stands in the record itself, a longer one is a name.
pub(super) const INLINE_ID: usize = 40;

/// The id of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Id {
    Inline { length: u8, bytes: [u8; INLINE_ID] },
    Name(Place),
}

impl Id {
    pub(super) fn write(&self, writer: &mut Writer) {
        match self {
            Self::Inline { length, bytes } => {
                writer.put(&[*length]);
                writer.put(bytes);
            }
            Self::Name(place) => {
                writer.put(&[u8::MAX]);
                writer.number(u64::from(*place), 8);
                writer.put(&[0; INLINE_ID - 8]);
            }
        }
    }

    pub(super) fn read(fields: &mut Fields<'_>) -> Self {
        let length = fields.number(1) as u8;
        let bytes: [u8; INLINE_ID] = fields.array();
        if length == u8::MAX {
            Self::Name(Fields { bytes: &bytes }.small())
        } else {
            Self::Inline { length, bytes }
        }
    }
}
