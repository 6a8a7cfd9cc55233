//! Decoding a row.

use rowmill_model::cell::{Detail, Details};
use rowmill_model::record::{Cells, Slot};
use serde::de::IgnoredAny;

use crate::inspect::InspectedRow;

/// A row's values, if every one of them can be read; or what is the matter.
pub(super) fn values(row: &InspectedRow) -> Result<Cells<'_>, String> {
    if let Some(damage) = row.damage {
        return Err(damage.to_owned());
    }
    let bytes = row.values.as_deref().ok_or("its values are not bytes")?;
    let cells = Cells::unpack(bytes).map_err(|_| "its values cannot be unpacked")?;
    let mut last: Option<Slot> = None;
    for (slot, text) in cells.iter() {
        if last.is_some_and(|last| last >= slot) {
            return Err("its values are not in order".to_owned());
        }
        last = Some(slot);
        serde_json::from_str::<IgnoredAny>(text)
            .map_err(|error| format!("the value in column slot {slot} is not JSON: {error}"))?;
    }
    Ok(cells)
}

/// What a row keeps of its cells.
pub(super) fn details(row: &InspectedRow) -> Result<Details, String> {
    let Some(bytes) = row.details.as_deref() else { return Ok(Details::default()) };
    let details = Details::from_bytes(bytes).map_err(|_| "its details cannot be unpacked")?;
    let Some(bytes) = details.as_bytes() else { return Ok(details) };
    let cells = Cells::unpack(bytes).map_err(|_| "its details cannot be unpacked")?;
    for (slot, text) in cells.iter() {
        serde_json::from_str::<Detail>(text)
            .map_err(|error| format!("the details of column slot {slot} cannot be read: {error}"))?;
    }
    Ok(details)
}

#[cfg(test)]
mod tests {
    use rowmill_model::Record;

    use super::*;

    #[test]
    fn what_cannot_be_decoded_is_told() {
        let row = |values: &[u8], details: Option<&[u8]>| InspectedRow {
            position: 0,
            id: None,
            values: Some(values.into()),
            details: details.map(Into::into),
            damage: None,
        };
        let good = Record::pack([(1, "1.50"), (2, "{\"a\":[]}")]);
        let row_of = |record: &Record| row(record.as_bytes(), None);
        assert_eq!(values(&row_of(&good)).unwrap().get(1), Some("1.50"));
        assert!(values(&row(&[], None)).unwrap().is_empty());
        assert!(values(&row_of(&Record::pack([(1, "{no")]))).unwrap_err().contains("slot 1"));
        assert!(values(&row(&[3, 1, 1], None)).unwrap_err().contains("unpacked"));
        // Slot 2 before slot 1.
        assert!(values(&row(&[2, 2, 1, 1, 1, b'7', b'8'], None)).unwrap_err().contains("order"));
        assert!(values(&InspectedRow { values: None, ..row(&[], None) }).is_err());

        let packed = Record::pack([(3, "{\"attempts\":2}")]);
        assert_eq!(details(&row(&[], Some(packed.as_bytes()))).unwrap().get(3).unwrap().attempts, 2);
        let bad = Record::pack([(3, "{\"attempts\":true}")]);
        assert!(details(&row(&[], Some(bad.as_bytes()))).unwrap_err().contains("slot 3"));
        assert!(details(&row(&[], Some(b"\xff\xff"))).is_err());
    }
}
