//! Where the store lies.

use std::path::PathBuf;

use tilewright_diag::{Diagnostic, Result};

/// The environment variable that names the store where no option does.
pub const ENVIRONMENT: &str = "TILEWRIGHT_STORE";

/// The absolute path of the store: `given` (`--store`), else `$TILEWRIGHT_STORE`, else `tilewright/store.db` in the user's
/// data folder (`$XDG_DATA_HOME`, by default `~/.local/share`). An empty name counts as none.
///
/// # Errors
/// `store/no-home` when nothing names a place, `store/unknown-backend` for a database's address.
pub fn locate(given: Option<&str>) -> Result<PathBuf> {
    resolve(given, std::env::var_os(ENVIRONMENT).map(PathBuf::from), dirs::data_dir())
}

fn resolve(given: Option<&str>, environment: Option<PathBuf>, data: Option<PathBuf>) -> Result<PathBuf> {
    if given == Some("") {
        return Err(Diagnostic::request("store/no-name", "`--store` names no file").help("--store FILE"));
    }
    let named = given.map(PathBuf::from).into_iter().chain(environment).find(|p| !p.as_os_str().is_empty());
    let Some(path) = named.or_else(|| data.map(|folder| folder.join("tilewright").join("store.db"))) else {
        return Err(Diagnostic::request("store/no-home", "there is no home folder to keep the store in")
            .help(format!("name a file: --store FILE, or {ENVIRONMENT}=FILE")));
    };
    let text = path.to_string_lossy();
    if let Some((scheme, _)) = text.split_once("://") {
        // The address may hold a password: only its scheme is repeated.
        return Err(Diagnostic::request(
            "store/unknown-backend",
            format!("no store opens a `{scheme}://` address"),
        )
        .rule("a store is a SQLite file")
        .help("name a file"));
    }
    // Absolute, so that no name means something else to SQLite (`:memory:`, `file:…`) and messages say which file.
    std::path::absolute(&path).map_err(|e| {
        Diagnostic::request("store/unwritable", format!("{} is no place for a store: {e}", path.display()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_wins_then_the_environment_then_the_data_folder() {
        let env = || Some(PathBuf::from("/e/store.db"));
        let data = || Some(PathBuf::from("/home/u/.local/share"));
        let at = |given, env, data| resolve(given, env, data).unwrap();
        assert_eq!(at(Some("/o/s.db"), env(), data()), PathBuf::from("/o/s.db"));
        assert_eq!(at(None, env(), data()), PathBuf::from("/e/store.db"));
        assert_eq!(
            at(None, Some(PathBuf::new()), data()),
            PathBuf::from("/home/u/.local/share/tilewright/store.db")
        );
        assert_eq!(resolve(None, None, None).unwrap_err().code, "store/no-home");
        assert_eq!(resolve(Some(""), env(), data()).unwrap_err().code, "store/no-name");
    }

    #[test]
    fn no_name_is_special() {
        assert!(resolve(Some(":memory:"), None, None).unwrap().is_absolute());
        let d = resolve(Some("postgres://user:secret@host/db"), None, None).unwrap_err();
        assert_eq!(d.code, "store/unknown-backend");
        assert!(!d.to_string().contains("secret"), "{d}");
    }
}
