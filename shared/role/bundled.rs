//! The roles that every program carries: `plugin/roles/`, compiled in.

/// Their names and files, in order.
pub const BUNDLED: [(&str, &str); 10] = [
    ("analyst", include_str!("../../plugin/roles/analyst.md")),
    ("api-designer", include_str!("../../plugin/roles/api-designer.md")),
    ("architect", include_str!("../../plugin/roles/architect.md")),
    ("docs-writer", include_str!("../../plugin/roles/docs-writer.md")),
    ("explorer", include_str!("../../plugin/roles/explorer.md")),
    ("implementer", include_str!("../../plugin/roles/implementer.md")),
    ("reviewer", include_str!("../../plugin/roles/reviewer.md")),
    ("security-auditor", include_str!("../../plugin/roles/security-auditor.md")),
    ("test-writer", include_str!("../../plugin/roles/test-writer.md")),
    ("ui-builder", include_str!("../../plugin/roles/ui-builder.md")),
];

/// The file of this bundled role.
pub fn file(name: &str) -> Option<&'static str> {
    BUNDLED.iter().find(|(own, _)| *own == name).map(|(_, text)| *text)
}
