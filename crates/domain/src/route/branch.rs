//! Which issue a branch belongs to, by its name alone. That its open change names the issue is for
//! a job's first stage to find out.

/// Returns the number of the issue that a branch's name carries: the first whole number after the
/// last slash.
///
/// A number is whole when no letter or digit touches it and no full stop joins it to another:
/// `feature/12-login` and `agent/fix-12-0822` belong to issue 12, `v2` and `release/1.2` to none.
pub fn issue_of_branch(name: &str) -> Option<u64> {
    let last = name.rsplit('/').next().unwrap_or(name);
    last.split(|c: char| !c.is_alphanumeric() && c != '.').find_map(|word| {
        let is_number = !word.starts_with('0') && word.bytes().all(|byte| byte.is_ascii_digit());
        if is_number { word.parse().ok() } else { None }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_belongs_to_the_first_whole_number_after_the_last_slash() {
        for (name, issue) in [
            ("feature/12-login", Some(12)),
            ("12-login", Some(12)),
            ("bugfix/login-12", Some(12)),
            ("fix_12_login", Some(12)),
            ("fix#12", Some(12)),
            ("a/b/12", Some(12)),
            ("agent/fix-42-0822-103000", Some(42)),
            ("12/login", None),
            ("v2-login", None),
            ("issue12", None),
            ("release/1.2", None),
            ("release-1.2.3", None),
            ("fix-007", None),
            ("fix-0", None),
            ("fix-99999999999999999999999", None),
            ("fix-１２", None),
            ("main", None),
            ("", None),
            ("feature/", None),
        ] {
            assert_eq!(issue_of_branch(name), issue, "{name}");
        }
    }
}
