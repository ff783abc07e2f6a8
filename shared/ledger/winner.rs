//! Which row speaks for a message, and when one id stands for several messages: pure rules, in an order
//! of their own, so that the order of rows, files and runs never matters.

use super::usage::Usage;
use std::cmp::Ordering;

/// Rows of one id further apart than this, with another input, are answers to different requests (where no
/// request reference tells). Blocks of one answer follow each other within seconds.
const MUCH_LATER_MS: i64 = 180_000;

/// The row's own id, kept in sixteen bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Uuid {
    /// Spelled as usual, all 36 characters are kept; else only the first sixteen.
    pub usual: bool,
    /// The bytes.
    pub bytes: [u8; 16],
}

impl Uuid {
    /// Reads the text of a uuid; `None` gives the smallest of all.
    pub fn of(text: Option<&str>) -> Self {
        let text = text.unwrap_or_default().as_bytes();
        Self::usual(text).unwrap_or_else(|| {
            let mut bytes = [0; 16];
            bytes.iter_mut().zip(text).for_each(|(to, from)| *to = *from);
            Self { usual: false, bytes }
        })
    }

    fn usual(text: &[u8]) -> Option<Self> {
        let digit = |at: usize| match *text.get(at)? {
            byte @ b'0'..=b'9' => Some(byte - b'0'),
            byte @ b'a'..=b'f' => Some(byte - b'a' + 10),
            _ => None,
        };
        if text.len() != 36 || [8, 13, 18, 23].iter().any(|at| text.get(*at) != Some(&b'-')) {
            return None;
        }
        let mut bytes = [0; 16];
        for (byte, at) in bytes.iter_mut().zip([0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34]) {
            *byte = digit(at)? << 4 | digit(at + 1)?;
        }
        Some(Self { usual: true, bytes })
    }

    /// The text again, as far as it was kept.
    pub fn text(&self) -> String {
        if !self.usual {
            return String::from_utf8_lossy(&self.bytes).trim_end_matches('\0').to_owned();
        }
        let mut text = String::with_capacity(36);
        for (at, byte) in self.bytes.iter().enumerate() {
            if matches!(at, 4 | 6 | 8 | 10) {
                text.push('-');
            }
            for digit in [byte >> 4, byte & 15] {
                text.push(char::from_digit(u32::from(digit), 16).unwrap_or('0'));
            }
        }
        text
    }
}

impl Ord for Uuid {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.usual == other.usual {
            return self.bytes.cmp(&other.bytes);
        }
        self.text().cmp(&other.text())
    }
}

impl PartialOrd for Uuid {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// What of a row decides whether it wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim {
    /// Its tokens.
    pub usage: Usage,
    /// Its time, 0 where unknown.
    pub at: i64,
    /// Its own id.
    pub uuid: Uuid,
    /// It stands off the main chain.
    pub sidechain: bool,
}

impl Claim {
    /// `Less` when this row wins: most output, then main chain, earlier, smaller uuid. What is left after
    /// that is decided by the numbers, only so that the result never depends on the order of reading.
    pub fn rank(&self, other: &Self) -> Ordering {
        let known = |at: i64| if at == 0 { i64::MAX } else { at };
        (other.usage.output.cmp(&self.usage.output))
            .then(self.sidechain.cmp(&other.sidechain))
            .then(known(self.at).cmp(&known(other.at)))
            .then_with(|| self.uuid.cmp(&other.uuid))
            .then(self.usage.cmp(&other.usage))
    }
}

/// What tells the answers of one id apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// The hash of the request reference.
    Request(u64),
    /// Without a reference: the input tokens, equal on all rows of one answer.
    Input(u64),
}

/// The rows of one id and one [`Part`], as the winner among them and what any of them showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// What tells it apart.
    pub part: Part,
    /// The winning row.
    pub claim: Claim,
    /// One of the rows stands on the main chain.
    pub on_main: bool,
    /// One of the rows carries a stop reason.
    pub finished: bool,
}

/// The messages behind one id: for each, the places of its members, the winner first.
///
/// Copies off the main chain (a side question replays its parent's messages) open no message of their own,
/// unless the main chain itself proves that a gateway gives every answer the same id.
pub fn messages(members: &[Member], rank: impl Fn(usize, usize) -> Ordering) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..members.len()).collect();
    order.sort_by(|a, b| rank(*a, *b));
    let by_time = {
        let mut order = order.clone();
        order.sort_by_key(|at| members.get(*at).map(|member| (member.claim.at, member.part)));
        order
    };
    let mut groups: Vec<Group> = Vec::new();
    let each = |on_main: bool, with_request: bool| {
        by_time.iter().filter_map(move |at| members.get(*at).map(|member| (*at, member))).filter(
            move |(_, member)| {
                member.on_main == on_main && matches!(member.part, Part::Request(_)) == with_request
            },
        )
    };
    for (at, member) in each(true, true) {
        groups.push(Group::of(at, member));
    }
    for (at, member) in each(true, false) {
        join_or_open(&mut groups, at, member);
    }
    let proven = groups.len() > 1;
    for (at, member) in each(false, true) {
        match groups.first_mut() {
            Some(group) if !proven => group.members.push(at),
            _ => groups.push(Group::of(at, member)),
        }
    }
    for (at, member) in each(false, false) {
        if proven {
            join_or_open(&mut groups, at, member);
        } else if let Some(group) = groups.first_mut() {
            group.members.push(at);
        } else {
            groups.push(Group::of(at, member));
        }
    }
    let place = |at: &usize| order.iter().position(|other| other == at);
    for group in &mut groups {
        group.members.sort_by_key(place);
    }
    groups.sort_by_key(|group| group.members.first().and_then(place));
    groups.into_iter().map(|group| group.members).collect()
}

/// One message while its members are gathered: the times and inputs seen so far.
struct Group {
    members: Vec<usize>,
    seen: Vec<(i64, u64)>,
}

impl Group {
    fn of(at: usize, member: &Member) -> Self {
        Self { members: vec![at], seen: vec![(member.claim.at, member.claim.usage.input)] }
    }

    /// How far away in time, when it may be the same answer at all.
    fn distance(&self, member: &Member) -> Option<i64> {
        self.seen
            .iter()
            .filter_map(|(at, input)| {
                let apart = member.claim.at.saturating_sub(*at).saturating_abs();
                (apart <= MUCH_LATER_MS || *input == member.claim.usage.input).then_some(apart)
            })
            .min()
    }
}

/// Adds a member without a reference to the nearest message it may belong to, else opens one.
fn join_or_open(groups: &mut Vec<Group>, at: usize, member: &Member) {
    let near = groups
        .iter()
        .enumerate()
        .filter_map(|(place, group)| Some((group.distance(member)?, place)))
        .min()
        .and_then(|(_, place)| groups.get_mut(place));
    match near {
        Some(group) => {
            group.members.push(at);
            group.seen.push((member.claim.at, member.claim.usage.input));
        }
        None => groups.push(Group::of(at, member)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(part: Part, at: i64, output: u64, on_main: bool) -> Member {
        let input = if let Part::Input(input) = part { input } else { 7 };
        let claim = Claim {
            usage: Usage { input, output, ..Usage::default() },
            at,
            uuid: Uuid::of(None),
            sidechain: !on_main,
        };
        Member { part, claim, on_main, finished: true }
    }

    fn count(members: &[Member]) -> Vec<Vec<usize>> {
        messages(members, |a, b| members[a].claim.rank(&members[b].claim).then(a.cmp(&b)))
    }

    #[test]
    fn most_output_wins_then_main_chain_then_time_then_uuid() {
        let row = |output, sidechain, at, uuid| Claim {
            usage: Usage { output, ..Usage::default() },
            at,
            uuid: Uuid::of(Some(uuid)),
            sidechain,
        };
        let ranked = [
            row(9, true, 9, "9"),
            row(8, false, 9, "9"),
            row(8, true, 1, "1"),
            row(7, false, 3, "00000000-0000-4000-a000-000000000025"),
            row(7, false, 3, "00000000-0000-4000-a000-000000000026"),
            row(7, false, 0, "0"),
        ];
        for (place, a) in ranked.iter().enumerate() {
            for b in &ranked[place + 1..] {
                assert_eq!((a.rank(b), b.rank(a)), (Ordering::Less, Ordering::Greater));
            }
        }
    }

    #[test]
    fn a_uuid_survives_its_sixteen_bytes() {
        let text = "22222222-2222-4222-a222-0123456789af";
        assert_eq!(Uuid::of(Some(text)).text(), text);
        assert_eq!(Uuid::of(Some("odd")).text(), "odd");
        assert!(Uuid::of(None) < Uuid::of(Some("odd")));
    }

    #[test]
    fn a_second_request_on_the_main_chain_is_a_second_message() {
        use Part::{Input, Request};
        let (a, b) = (member(Request(1), 10, 5, true), member(Request(2), 20, 6, true));
        assert_eq!(count(&[a, b]), [[1], [0]]);
        assert_eq!(count(&[a, member(Request(2), 20, 6, false)]), [[1, 0]], "a replay");
        assert_eq!(count(&[a, b, member(Request(3), 20, 4, false)]).len(), 3, "a constant id");
        assert_eq!(count(&[a, member(Input(6), 50, 4, true)]), [[0, 1]], "a partial without a reference");
        assert_eq!(count(&[a, member(Input(6), 900_000, 4, true)]).len(), 2);
        assert_eq!(count(&[member(Input(5), 0, 1, true), member(Input(6), 300_000, 2, true)]).len(), 2);
        assert_eq!(count(&[member(Input(5), 0, 1, true), member(Input(6), 3_000, 2, true)]).len(), 1);
        assert_eq!(count(&[member(Request(5), 0, 1, false), member(Request(6), 3_000, 2, false)]).len(), 1);
    }
}
