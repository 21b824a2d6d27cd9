//! XML as texts and tags, as the HTML tokenizer finds them: names in lower case, and no errors.

use std::cell::RefCell;
use std::collections::VecDeque;

use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token as HtmlToken, TokenSink, TokenSinkResult, Tokenizer,
    TokenizerOpts,
};

const CHUNK: usize = 64 << 10;

pub(super) enum Token {
    Text(String),
    Open { name: String, attributes: Vec<(String, String)>, is_closed: bool },
    Close(String),
}

pub(super) struct Tokens<'a> {
    rest: &'a str,
    tokenizer: Tokenizer<Queue>,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(page: &'a str) -> Self {
        Self { rest: page, tokenizer: Tokenizer::new(Queue::default(), TokenizerOpts::default()) }
    }
}

impl Iterator for Tokens<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        loop {
            let token = self.tokenizer.sink.0.borrow_mut().pop_front();
            if token.is_some() || self.rest.is_empty() {
                return token;
            }
            let (chunk, rest) = self.rest.split_at(self.rest.floor_char_boundary(CHUNK));
            let input = BufferQueue::default();
            input.push_back(chunk.into());
            let _ = self.tokenizer.feed(&input);
            self.rest = rest;
            if rest.is_empty() {
                self.tokenizer.end();
            }
        }
    }
}

#[derive(Default)]
struct Queue(RefCell<VecDeque<Token>>);

impl TokenSink for Queue {
    type Handle = ();

    fn process_token(&self, token: HtmlToken, _: u64) -> TokenSinkResult<()> {
        let token = match token {
            HtmlToken::CharacterTokens(text) => Token::Text(text.to_string()),
            HtmlToken::TagToken(Tag { kind: TagKind::EndTag, name, .. }) => {
                Token::Close(name.to_string())
            }
            HtmlToken::TagToken(Tag { name, self_closing, attrs, .. }) => {
                let attribute =
                    |it: html5ever::Attribute| (it.name.local.to_string(), it.value.to_string());
                let attributes = attrs.into_iter().map(attribute).collect();
                Token::Open { name: name.to_string(), attributes, is_closed: self_closing }
            }
            _ => return TokenSinkResult::Continue,
        };
        self.0.borrow_mut().push_back(token);
        TokenSinkResult::Continue
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        true
    }
}
