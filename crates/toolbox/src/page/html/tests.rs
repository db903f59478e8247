use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

fn read_page(html: &str) -> TextPage {
    html_to_page(html, &"https://example.com/a/b".parse().unwrap(), &|| false).unwrap()
}

fn text(html: &str) -> String {
    read_page(html).text
}

#[test]
fn paragraphs_headings_and_lists_keep_their_lines() {
    let html = "<!doctype html><html><head><title> A &amp; B </title><meta charset=utf-8></head><body>
        <h1>Top <em>news</em></h1>
        <p>One
           two.<p>Three<br>four
        <ul><li>first<li><b>second</b><li></ul>
        <h3>Sub</h3><div>five</div><div>six</div></body></html>";
    let page = read_page(html);
    assert_eq!(page.title.as_deref().map(str::trim), Some("A & B"));
    assert_eq!(
        page.text,
        "# Top news\n\nOne two.\n\nThree\nfour\n\n- first\n- second\n\n### Sub\n\nfive\nsix"
    );
}

#[test]
fn tables_are_rows_of_cells() {
    let html = "<table><tr><th>Name<th>Age</tr><tr><td>Ada</td><td>36</td></tr></table>after";
    assert_eq!(text(html), "Name | Age\nAda | 36\n\nafter");
}

#[test]
fn preformatted_text_stays() {
    assert_eq!(text("x<pre>fn a() {\n    b\n\n\n}\n</pre>y  z"), "x\n\nfn a() {\n    b\n\n\n}\n\ny z");
}

#[test]
fn what_is_not_text_is_left_out() {
    for html in [
        "a<script>if (1 < 2) { '<p>no</p>' }</script>b",
        "a<style>p { content: '<b>' }</style>b",
        "a<!-- no <b>no</b> -->b",
        "a<template>no<template>no</template>no</template>b",
        "a<svg><title>no</title><script>no</script><text>no</text></svg>b",
        "a<svg/>b",
        "a<iframe>no<b></iframe>b",
        "a<textarea>no</textarea>b",
        "a<span hidden-ish>b</span>",
    ] {
        assert_eq!(text(html), "ab", "{html}");
    }
    assert_eq!(text("a <noscript>shown</noscript> b"), "a shown b");
}

#[test]
fn spaces_are_one_and_entities_are_characters() {
    assert_eq!(text("a&nbsp;&nbsp; b &lt;c&gt; &eacute;&#128512; d\u{1}e"), "a b <c> é😀 de");
    assert_eq!(text("<b>a</b><i>b</i> <u>c</u>"), "ab c");
    assert_eq!(text("<img alt='A cat'> and <img alt=''> and <img>"), "[image: A cat] and and");
    assert_eq!(text(""), "");
}

#[test]
fn links_are_whole_and_come_once() {
    let html = "<a href='/x#top'>One</a> <a href='c?q=1'>Two <b>words</b></a> <a href='/x'>again</a>
        <a href='mailto:a@b.c'>mail</a> <a href='javascript:x'>js</a> <a href='/empty'> </a> <a>none</a>
        <a href='https://other.example/'>Other<a href='/unclosed'>Last</a>";
    let links: Vec<_> = read_page(html).links.into_iter().map(|link| (link.text, link.url)).collect();
    let expected = [
        ("One", "https://example.com/x"),
        ("Two words", "https://example.com/a/c?q=1"),
        ("Other", "https://other.example/"),
        ("Last", "https://example.com/unclosed"),
    ];
    assert_eq!(links, expected.map(|(text, url)| (text.to_owned(), url.to_owned())));
}

#[test]
fn only_the_first_title_counts() {
    assert_eq!(read_page("<title>a</title><title>b</title>").title.as_deref(), Some("a"));
    assert_eq!(read_page("<title> </title>").title, None);
}

#[test]
fn a_text_with_tags_becomes_plain() {
    assert_eq!(html_to_line("The <strong>best</strong> &amp; only\n one"), "The best & only one");
}

#[test]
fn deep_and_broken_pages_are_read_like_others() {
    let deep = 50_000;
    assert_eq!(text(&format!("{}x{}", "<div>".repeat(deep), "</div>".repeat(deep))), "x");
    assert_eq!(text(&format!("{}x", "<table><tr><td>".repeat(deep / 4))), "x");
    assert_eq!(text(&format!("{}x", "<b><a href=x>".repeat(deep / 4))), "x");
    assert_eq!(text(&format!("{}x", "</p></svg></pre>".repeat(deep / 4))), "x");
    assert_eq!(text("<p>x<"), "x<");
    assert_eq!(text("x<a href='"), "x");
    assert_eq!(text("x<script>never closed"), "x");
}

#[test]
fn links_are_bounded() {
    let html: String = (0..MAX_KEPT_LINKS + 10).map(|n| format!("<a href='/{n}'>x</a>")).collect();
    assert_eq!(read_page(&html).links.len(), MAX_KEPT_LINKS);
}

#[test]
fn reading_ends_when_the_time_is_over() {
    // One tag with hundreds of thousands of attributes, each of which is compared with all the others.
    let html: String =
        std::iter::once("<a ".to_owned()).chain((0..300_000).map(|n| format!("a{n} "))).collect();
    let asked = AtomicUsize::new(0);
    let base = "https://example.com/".parse().unwrap();
    let outcome = html_to_page(&html, &base, &|| asked.fetch_add(1, Ordering::Relaxed) == 10);
    assert!(outcome.is_none());
    assert_eq!(asked.into_inner(), 11);
}
