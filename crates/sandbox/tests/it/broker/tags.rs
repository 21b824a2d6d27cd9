//! Making tags.

use contract::broker::{BrokerError, Change, Changed};

use super::Rig;

async fn tag(
    rig: &Rig,
    name: &str,
    message: Option<&str>,
    target: &str,
) -> Result<Changed, BrokerError> {
    let change = Change::Tag(name.to_owned(), message.map(str::to_owned), target.to_owned());
    sandbox::broker(rig.settings.clone()).change(&change).await
}

#[tokio::test]
async fn a_tag_is_a_name_alone_or_an_object_with_a_message() {
    let rig = Rig::new();
    rig.shell("echo two > a.txt && git commit -q -a -m second");
    let tagged = tag(&rig, "v1", None, "HEAD~1").await.unwrap();
    assert_eq!(tagged.id.unwrap(), rig.shell("git rev-parse HEAD~1").trim_end());
    assert_eq!(rig.shell("git cat-file -t v1"), "commit\n");
    tag(&rig, "v2", Some("the second\n\nwith a body"), "main").await.unwrap();
    assert_eq!(rig.shell("git cat-file -t v2"), "tag\n");
    let shown =
        rig.shell("git for-each-ref --format='%(taggername) %(subject)|%(body)' refs/tags/v2");
    assert_eq!(shown, "Úna User the second|with a body\n\n");
    assert_eq!(rig.shell("git rev-parse v2^{commit}"), rig.shell("git rev-parse HEAD"));
    tag(&rig, "v3", None, "v2").await.unwrap();
    rig.shell("git pack-refs --all && git fsck --strict --no-dangling");
    let error = tag(&rig, "v1", None, "HEAD").await.unwrap_err();
    assert_eq!(error.to_string(), "there is a tag v1 already");
}

#[tokio::test]
async fn names_that_are_none_are_refused() {
    let rig = Rig::new();
    for name in ["", "-d", "a b", "../heads/main", "x.lock", "a..b"] {
        assert!(tag(&rig, name, None, "HEAD").await.is_err(), "{name:?}");
    }
    for target in ["nowhere", "--all", "HEAD:a.txt", "HEAD^{tree}", "a.txt"] {
        let error = tag(&rig, "x", None, target).await.unwrap_err();
        assert!(error.to_string().starts_with("there is no commit"), "{target}: {error}");
    }
    assert_eq!(rig.shell("git tag"), "");
    assert!(tag(&Rig::unborn(), "x", None, "HEAD").await.is_err());
}
