use super::*;

fn rendered(page: &str, form: Form) -> String {
    render(page, &Url::parse("https://a.test/dir/page").unwrap(), form)
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
        rendered(PAGE, Form::Markdown),
        "# News & more\n\nFirst paragraph with **bold**, *slanted* and `a<b`.\nSecond line.\n\n\
         - one\n- two [linked](https://a.test/x?y=1&z=2)\n  1. inner\n  2. again\n\n\
         > Quoted\n>\n> Twice\n\n```\nfn main() {\n    run();\n}\n```\n\n\
         Name | Age\nAnn | 7\n\n![A picture](https://a.test/i.png)\n\n---\n\nUp Run\n\n\
         End —! &unknown; ©"
    );
}

#[test]
fn a_page_becomes_text() {
    assert_eq!(
        rendered(PAGE, Form::Text),
        "News & more\n\nFirst paragraph with bold, slanted and a<b.\nSecond line.\n\n- one\n\
         - two linked\n  1. inner\n  2. again\n\nQuoted\n\nTwice\n\nfn main() {\n    run();\n}\n\n\
         Name | Age\nAnn | 7\n\nA picture\n\nUp Run\n\nEnd —! &unknown; ©"
    );
}

#[test]
fn broken_page_keeps_its_text() {
    for (page, wanted) in [
        ("a < b and <3", "a < b and <3"),
        ("<p>one<p>two", "one\n\ntwo"),
        ("<b>open", "**open"),
        ("</div></b>closed", "closed"),
        ("text <a href='x", "text"),
        ("<div a=1 b='<p>' c>x</div>", "x"),
        ("<script>never closed", ""),
        ("<title>t</title>after", "tafter"),
        ("<p>&#xD800;&#0;&#99999999;</p>", "&#xD800;&#0;&#99999999;"),
        ("<svg><text>no</text></svg>yes", "yes"),
        ("<b></b><strong> </strong>x", "x"),
        ("", ""),
    ] {
        let text = rendered(page, Form::Markdown);
        let text = text.trim_start_matches("****").trim();
        assert_eq!(text, wanted, "{page}");
    }
}

#[test]
fn hostile_page_is_converted_in_linear_time() {
    let deep = "<div>".repeat(30_000) + "deep";
    assert_eq!(rendered(&deep, Form::Markdown), "deep");
    let open = "<".repeat(50_000);
    assert_eq!(rendered(&open, Form::Text).len(), 50_000);
    let entities = "&".repeat(50_000);
    assert_eq!(rendered(&entities, Form::Text).len(), 50_000);
    let links = "<a href=/x>".repeat(20_000) + "t" + &"</a>".repeat(20_000);
    assert_eq!(rendered(&links, Form::Markdown), "[t](https://a.test/x)");
    let quotes = "<blockquote>x".repeat(5_000);
    assert!(rendered(&quotes, Form::Markdown).len() < 1_000_000);
    let marks = "<h1>a</h1></b>".repeat(20_000);
    assert!(rendered(&marks, Form::Markdown).len() < 200_000);
    let lists = "<ul><li>".repeat(5_000);
    assert!(rendered(&lists, Form::Markdown).len() < 1_000_000);
}
