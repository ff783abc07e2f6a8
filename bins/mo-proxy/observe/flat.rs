//! Names and ids made safe to show and to keep, quickly where they are plain already, as nearly all are.

/// One line of plain text, at most so many characters: see [`shared::flatten::flatten`].
pub fn flat(text: &str, most: usize) -> String {
    let is_plain = text.len() <= most && text.bytes().all(|byte| byte.is_ascii_graphic());
    if is_plain { text.to_owned() } else { shared::flatten::flatten(text, most) }
}

#[cfg(test)]
mod tests {
    use super::flat;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_what_flatten_makes_of_it(text in "[ -~\\n\u{1b}\u{e4}]{0,12}", most in 1..14_usize) {
            prop_assert_eq!(flat(&text, most), shared::flatten::flatten(&text, most));
        }
    }
}
