use std::fs;

use super::*;

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn install(site: &Path, name: &str, points: &str) {
    let info = site.join(format!("{}-1.2.dist-info", name.replace('-', "_")));
    let headers = format!(
        "Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\nSummary: Does it\n\nName: body\n"
    );
    write(&info.join("METADATA"), &headers);
    write(&info.join("entry_points.txt"), points);
}

#[test]
fn only_known_entry_point_groups_are_read() {
    let text = "[console_scripts]\nx = a:b\n\n# a note\n[brynhild.tools]\n one = pkg.mod:Tool [extra]\n\
                two=pkg:Two\n[brynhild.plugins]\nplug = pkg:register\n[brynhildx.tools]\nz = a:b\n";
    let points = entry_points(text);
    let words: Vec<String> =
        points.iter().map(|it| format!("{} {} {}", it.group, it.name, it.object)).collect();
    assert_eq!(
        words,
        [
            "brynhild.tools one pkg.mod:Tool",
            "brynhild.tools two pkg:Two",
            "brynhild.plugins plug pkg:register"
        ]
    );
}

#[test]
fn package_is_a_plugin_with_name_version_and_summary() {
    let directory = tempfile::tempdir().unwrap();
    let site = directory.path();
    install(
        site,
        "acme-things",
        "[brynhild.plugins]\nacme = acme:register\n[brynhild.tools]\nt = acme.t:T\n",
    );
    install(site, "other", "[console_scripts]\nx = y:z\n");
    fs::create_dir(site.join("acme")).unwrap();
    let found = packages(&[site.to_path_buf()], &mut Index::default());
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].root, site.join("acme"));
    let plugin = plugin(found[0].clone(), |_| false);
    assert_eq!(plugin.source(), "entry_point");
    let manifest = &plugin.manifest;
    let words = [&manifest.name, &manifest.version, &manifest.description, &manifest.tools[0]];
    assert_eq!(words, ["acme", "1.2", "Does it", "t"]);
    assert_eq!(plugin.to_json()["package_name"], "acme-things");
    assert_eq!(plugin.to_json()["path"], "<entry-point>");
}

#[test]
fn package_with_two_plugins_is_listed_twice() {
    let directory = tempfile::tempdir().unwrap();
    let points = "[brynhild.tools]\nt = acme.t:T\n[brynhild.plugins]\na = acme:a\nb = acme:b\n";
    install(directory.path(), "acme", points);
    let found = packages(&[directory.path().to_path_buf()], &mut Index::default());
    let plugins: Vec<Plugin> = found.into_iter().map(|it| plugin(it, |_| false)).collect();
    let told = |plugin: &Plugin| format!("{} {:?}", plugin.name(), plugin.manifest.tools);
    let told: Vec<String> = plugins.iter().map(told).collect();
    assert_eq!(told, ["a [\"t\"]", "b []"]);
}

#[test]
fn provider_package_does_not_replace_a_plugin() {
    let directory = tempfile::tempdir().unwrap();
    install(directory.path(), "Acme.Cloud", "[brynhild.providers]\nacme = acme:Provider\n");
    let found = packages(&[directory.path().to_path_buf()], &mut Index::default());
    let free = plugin(found[0].clone(), |_| false);
    assert_eq!((free.name(), free.source()), ("acme", "entry_point_provider"));
    let taken = plugin(found[0].clone(), |name| name == "acme");
    assert_eq!(taken.name(), "acme-cloud");
}

#[test]
fn first_directory_with_a_package_wins() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    install(one.path(), "a-b", "[brynhild.tools]\nfirst = a:b\n");
    install(two.path(), "A_B", "[brynhild.tools]\nsecond = a:b\n");
    let sites = [one.path().to_path_buf(), two.path().to_path_buf(), "/nowhere".into()];
    let found = packages(&sites, &mut Index::default());
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].package.entry_points[0].name, "first");
}

#[test]
fn editable_package_is_found_at_its_source() {
    let (site, source) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    install(site.path(), "dev", "[brynhild.tools]\nt = dev:T\n");
    let url = format!(
        "{{\"url\": \"file://{}\", \"dir_info\": {{\"editable\": true}}}}",
        source.path().display()
    );
    write(&site.path().join("dev-1.2.dist-info/direct_url.json"), &url);
    let found = packages(&[site.path().to_path_buf()], &mut Index::default());
    assert_eq!(found[0].root, source.path());
}
