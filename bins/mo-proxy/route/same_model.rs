//! Whether two names mean the same model. Upstreams answer with a date behind the name, or leave a tag away.

/// Whether they do.
pub fn same(one: &str, other: &str) -> bool {
    if one == other {
        return true;
    }
    let (one, other) = (plain(one), plain(other));
    let (short, long) = if one.len() <= other.len() { (&one, &other) } else { (&other, &one) };
    long.strip_prefix(short.as_str()).is_some_and(is_stamp)
}

/// Small letters, without the maker's name before a slash and the window in brackets behind.
fn plain(name: &str) -> String {
    let name = name.rsplit('/').next().unwrap_or(name);
    let name = name.split('[').next().unwrap_or(name).trim().to_ascii_lowercase();
    let name = name.strip_suffix("-latest").or(name.strip_suffix(":latest")).unwrap_or(&name);
    name.strip_suffix(":cloud").unwrap_or(name).to_owned()
}

/// Nothing, or a date like `-20251001`, `-2025-10-01`, `-0905`.
fn is_stamp(rest: &str) -> bool {
    let digits = rest.bytes().filter(u8::is_ascii_digit).count();
    rest.is_empty()
        || (rest.starts_with(['-', '@'])
            && rest.bytes().skip(1).all(|byte| byte.is_ascii_digit() || byte == b'-')
            && matches!(digits, 4 | 6 | 8))
}

#[cfg(test)]
mod tests {
    use super::same;

    #[test]
    fn a_date_a_tag_and_a_maker_make_no_other_model() {
        for (one, other) in [
            ("glm-5.2", "GLM-5.2"),
            ("claude-opus-4-8", "claude-opus-4-8-20260301"),
            ("claude-3-5-sonnet-latest", "claude-3-5-sonnet-20241022"),
            ("claude-opus-5-5[1m]", "claude-opus-5-5"),
            ("kimi-k2", "kimi-k2-0905"),
            ("z-ai/glm-5.2", "glm-5.2"),
            ("glm-5.2:cloud", "glm-5.2"),
            ("qwen3", "qwen3:latest"),
        ] {
            assert!(same(one, other) && same(other, one), "{one} {other}");
        }
        for (one, other) in [
            ("glm-5.2", "glm-5"),
            ("glm-5.2", "glm-5.2-air"),
            ("qwen3:30b", "qwen3:8b"),
            ("claude-opus-4-8", "claude-sonnet-4-8"),
            ("claude-opus-5", "claude-opus-5-5"),
            ("kimi-k2", "kimi-k2-thinking"),
            ("", "glm"),
        ] {
            assert!(!same(one, other) && !same(other, one), "{one} {other}");
        }
    }
}
