use super::*;

fn converted(page: &str) -> String {
    markdown(page, Some(&Url::parse("https://a.test/dir/page").unwrap()))
}

const PAGE: &str = r##"<!DOCTYPE html>
<html><head><title>Ignored</title><style>p { color: red }</style></head>
<body>
<script>if (a < b) { document.write("<p>no</p>") }</script>
<!-- <p>a comment</p> -->
<h1>News &amp; more</h1>
<p>First   paragraph with <b>bold</b>, <em>slanted</em> and <code>a&lt;b</code>.<br>Second line.</p>
<ul><li>one</li><li>two <a href="../x?y=1&amp;z=2">linked</a>
  <ol><li>inner</li><li>again</li></ol></li></ul>
<blockquote><p>Quoted</p><p>Twice</p></blockquote>
<pre><code>fn main() {
    run();
}</code></pre>
<table><tr><th>Name</th><th>Age</th></tr><tr><td>Ann</td><td>7</td></tr></table>
<img src="/i.png" alt="A picture"><hr>
<a href="#top">Up</a> <a href="javascript:x()">Run</a>
<p>End&nbsp;&#8212;&#x21; &unknown; &copy;</p>
</body></html>"##;

#[test]
fn a_page_becomes_markdown() {
    assert_eq!(
        converted(PAGE),
        "# News & more\n\nFirst paragraph with **bold**, *slanted* and `a<b`.  \nSecond line.\n\n\
         - one\n- two [linked](https://a.test/x?y=1&z=2)\n  1. inner\n  2. again\n\n\
         > Quoted\n> \n> Twice\n\n```\nfn main() {\n    run();\n}\n```\n\n\
         | Name | Age |\n| ---- | --- |\n| Ann  | 7   |\n\n\
         ![A picture](https://a.test/i.png)\n\n- - -\n\nUp Run\n\n\
         End —! &unknown; ©"
    );
}

#[test]
fn markup_becomes_one_line() {
    assert_eq!(plain("a <b>bold</b>\n &amp; <i>x &lt; y</i>"), "a bold & x < y");
    assert_eq!(plain("plain"), "plain");
}

#[test]
fn relative_link_without_a_base_is_dropped() {
    let page = "<a href=/x>in</a> <a href=https://a.test/y>out</a>";
    assert_eq!(markdown(page, None), "in [out](https://a.test/y)");
}

#[test]
fn broken_page_keeps_its_text() {
    for (page, wanted) in [
        ("a < b and <3", "a < b and <3"),
        ("<p>one<p>two", "one\n\ntwo"),
        ("</div></b>closed", "closed"),
        ("text <a href='x", "text"),
        ("<div a=1 b='<p>' c>x</div>", "x"),
        ("<script>never closed", ""),
        ("<svg><text>no</text></svg>yes", "yes"),
        ("", ""),
    ] {
        assert_eq!(converted(page), wanted, "{page}");
    }
}

#[test]
fn deep_page_is_cut() {
    for tag in ["<div>", "<ul><li>", "<blockquote>", "<table><tr><td>", "<b>"] {
        let page = converted(&("text".to_owned() + &tag.repeat(30_000) + "deep"));
        assert!(page.contains("text") && page.ends_with(CUT), "{tag}");
    }
    let flat = "<p>one<br>two</p>".repeat(10_000);
    assert!(converted(&flat).ends_with("one  \ntwo"));
}
