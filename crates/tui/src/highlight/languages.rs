//! The languages that are known, as data. Adding one is adding an entry.

/// How the text of a language is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Words, texts, comments.
    Code,
    /// The same, with keys at the beginning of lines.
    Keys,
    /// Tags in angle brackets.
    Markup,
    /// Added and removed lines.
    Change,
}

/// What the scanner knows of a language.
pub(super) struct Language {
    pub(super) names: &'static [&'static str],
    pub(super) shape: Shape,
    pub(super) keywords: &'static str,
    pub(super) types: &'static str,
    pub(super) constants: &'static str,
    /// What begins a comment up to the end of the line.
    pub(super) comments: &'static [&'static str],
    /// What begins and ends something that may span lines.
    pub(super) blocks: &'static [(&'static str, &'static str)],
    /// Characters that begin and end a text.
    pub(super) quotes: &'static str,
    /// Characters beside letters that may begin a word.
    pub(super) marks: &'static str,
    pub(super) has_capital_types: bool,
    pub(super) has_lone_apostrophes: bool,
    pub(super) ignores_case: bool,
}

/// A language of which nothing is known yet.
const NOTHING: Language = Language {
    names: &[],
    shape: Shape::Code,
    keywords: "",
    types: "",
    constants: "true false null",
    comments: &[],
    blocks: &[],
    quotes: "\"'",
    marks: "",
    has_capital_types: false,
    has_lone_apostrophes: false,
    ignores_case: false,
};

/// What the languages after C have in common.
const LIKE_C: Language =
    Language { comments: &["//"], blocks: &[("/*", "*/")], has_capital_types: true, ..NOTHING };

/// What languages with `#` comments have in common.
const LIKE_SHELL: Language = Language { comments: &["#"], ..NOTHING };

pub(super) const ALL: &[Language] = &[
    Language {
        names: &["rust", "rs"],
        keywords: "as async await break const continue crate dyn else enum extern fn for if impl \
                   in let loop match mod move mut pub ref return self Self static struct super \
                   trait type unsafe use where while yield",
        types: "bool char str i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize f32 f64",
        constants: "true false None Some Ok Err",
        has_lone_apostrophes: true,
        ..LIKE_C
    },
    Language {
        names: &["python", "py", "python3", "pyi"],
        keywords: "and as assert async await break case class continue def del elif else except \
                   finally for from global if import in is lambda match nonlocal not or pass \
                   raise return try while with yield",
        types: "bool bytes dict float int list object set str tuple type",
        constants: "True False None self cls",
        blocks: &[("\"\"\"", "\"\"\""), ("'''", "'''")],
        marks: "@",
        has_capital_types: true,
        ..LIKE_SHELL
    },
    Language {
        names: &["javascript", "js", "jsx", "mjs", "cjs", "typescript", "ts", "tsx"],
        keywords: "abstract as async await break case catch class const continue debugger declare \
                   default delete do else enum export extends finally for from function get if \
                   implements import in instanceof interface keyof let namespace new of private \
                   protected public readonly return set static super switch this throw try type \
                   typeof var void while with yield",
        types: "any boolean bigint never number object string symbol unknown",
        constants: "true false null undefined NaN Infinity",
        blocks: &[("/*", "*/"), ("`", "`")],
        marks: "@$",
        ..LIKE_C
    },
    Language {
        names: &["go", "golang"],
        keywords: "break case chan const continue default defer else fallthrough for func go goto \
                   if import interface map package range return select struct switch type var",
        types: "any bool byte complex64 complex128 error float32 float64 int int8 int16 int32 \
                int64 rune string uint uint8 uint16 uint32 uint64 uintptr",
        constants: "true false nil iota",
        blocks: &[("/*", "*/"), ("`", "`")],
        ..LIKE_C
    },
    Language {
        names: &["c", "h", "cpp", "c++", "cc", "cxx", "hpp", "objc", "m", "cuda"],
        keywords: "alignas auto break case catch class concept const constexpr continue default \
                   delete do else enum explicit export extern final for friend goto if inline \
                   namespace new noexcept operator override private protected public register \
                   requires return sizeof static struct switch template this throw try typedef \
                   typename union using virtual volatile while #include #define #if #ifdef #ifndef \
                   #endif #else #pragma",
        types: "bool char double float int long short signed size_t unsigned void int8_t int16_t \
                int32_t int64_t uint8_t uint16_t uint32_t uint64_t wchar_t",
        constants: "true false NULL nullptr",
        marks: "#",
        ..LIKE_C
    },
    Language {
        names: &["java", "kotlin", "kt", "kts", "scala", "groovy", "gradle"],
        keywords: "abstract as assert break by case catch class companion const continue data def \
                   default do else enum extends final finally for fun if implements import in init \
                   instanceof interface internal is lateinit lazy match native new object open \
                   override package private protected public record return sealed static super \
                   suspend switch synchronized this throw throws trait try typealias val var \
                   volatile when where while with yield",
        types: "boolean byte char double float int long short void",
        blocks: &[("/*", "*/"), ("\"\"\"", "\"\"\"")],
        marks: "@",
        ..LIKE_C
    },
    Language {
        names: &["csharp", "cs", "c#", "fsharp", "fs"],
        keywords: "abstract as async await base break case catch checked class const continue \
                   default delegate do else enum event explicit extern finally fixed for foreach \
                   get goto if implicit in init interface internal is let lock match module \
                   namespace new operator out override params private protected public readonly \
                   record ref return sealed set sizeof stackalloc static struct switch this throw \
                   try type typeof unchecked unsafe using var virtual volatile when where while \
                   with yield",
        types: "bool byte char decimal double dynamic float int long object sbyte short string \
                uint ulong ushort void",
        marks: "@#",
        ..LIKE_C
    },
    Language {
        names: &["swift", "dart", "zig"],
        keywords: "actor as associatedtype async await break case catch class comptime const \
                   continue default defer deinit do else enum errdefer export extension \
                   fallthrough final fn for func guard if import in init inline inout internal is \
                   late lazy let mutating nonisolated open operator orelse override private \
                   protocol pub public repeat required return self some static struct subscript \
                   super switch test throw throws try typealias union unowned var weak where while",
        types: "Bool Character Double Float Int String Void bool i32 i64 u8 u32 u64 usize void",
        constants: "true false nil null undefined",
        marks: "@#",
        ..LIKE_C
    },
    Language {
        names: &["php"],
        keywords: "abstract and array as break case catch class clone const continue declare \
                   default do echo else elseif empty enum extends final finally fn for foreach \
                   function global if implements include instanceof interface isset match \
                   namespace new or print private protected public readonly require return static \
                   switch throw trait try unset use var while yield",
        comments: &["//", "#"],
        marks: "$",
        ..LIKE_C
    },
    Language {
        names: &["ruby", "rb", "elixir", "ex", "exs", "crystal", "cr"],
        keywords: "alias and begin break case class cond def defmacro defmodule defp do else elsif \
                   end ensure fn for if import in module next not or private raise redo rescue \
                   require retry return self super then undef unless until use when while with \
                   yield",
        constants: "true false nil",
        marks: "@:$",
        has_capital_types: true,
        ..LIKE_SHELL
    },
    Language {
        names: &["bash", "sh", "shell", "zsh", "fish", "console", "ksh"],
        keywords: "break case continue do done elif else esac eval exec exit export fi for \
                   function if in local readonly return select set shift source then time trap \
                   unset until while",
        types: "awk cat cd chmod cp curl docker echo find git grep ls make mkdir mv npm printf \
                python python3 rm sed sudo tar test touch cargo pip",
        constants: "true false",
        marks: "$",
        ..LIKE_SHELL
    },
    Language {
        names: &["powershell", "ps1", "pwsh"],
        keywords: "begin break catch class continue do else elseif end exit filter finally for \
                   foreach function if in param process return switch throw trap try until using \
                   while",
        blocks: &[("<#", "#>")],
        marks: "$",
        ignores_case: true,
        ..LIKE_SHELL
    },
    Language {
        names: &["sql", "sqlite", "postgres", "postgresql", "mysql"],
        keywords: "add all alter and as asc begin between by case check column commit constraint \
                   create cross default delete desc distinct drop else end exists explain foreign \
                   from full group having if in index inner insert into is join key left like \
                   limit not null offset on or order outer primary references returning right \
                   rollback select set table then transaction trigger union unique update using \
                   values view when where with",
        types: "bigint blob boolean char date decimal double float int integer json jsonb numeric \
                real serial smallint text timestamp uuid varchar",
        constants: "true false",
        comments: &["--"],
        blocks: &[("/*", "*/")],
        ignores_case: true,
        ..NOTHING
    },
    Language { names: &["json", "jsonc", "json5", "jsonl"], comments: &["//"], ..NOTHING },
    Language {
        names: &["yaml", "yml"],
        shape: Shape::Keys,
        constants: "true false null yes no on off",
        ..LIKE_SHELL
    },
    Language {
        names: &["toml", "ini", "cfg", "conf", "env", "properties", "editorconfig"],
        shape: Shape::Keys,
        comments: &["#", ";"],
        blocks: &[("\"\"\"", "\"\"\"")],
        ..NOTHING
    },
    Language {
        names: &["dockerfile", "docker", "containerfile"],
        keywords: "FROM AS RUN CMD LABEL EXPOSE ENV ADD COPY ENTRYPOINT VOLUME USER WORKDIR ARG \
                   ONBUILD STOPSIGNAL HEALTHCHECK SHELL",
        marks: "$",
        ..LIKE_SHELL
    },
    Language {
        names: &["make", "makefile", "mk", "cmake"],
        shape: Shape::Keys,
        keywords: "define else endef endif export if ifdef ifeq ifndef ifneq include function \
                   endfunction foreach set add_executable target_link_libraries",
        marks: "$.",
        ..LIKE_SHELL
    },
    Language {
        names: &["nix", "hcl", "terraform", "tf", "r", "perl", "pl", "julia", "jl"],
        keywords: "assert begin break do else elsif end for foreach function if import in inherit \
                   let library local match module my next our package rec repeat require resource \
                   return sub then try use using variable while with",
        constants: "true false null TRUE FALSE NULL NA nothing",
        marks: "$@",
        ..LIKE_SHELL
    },
    Language {
        names: &["lua"],
        keywords: "and break do else elseif end for function goto if in local not or repeat \
                   return then until while",
        constants: "true false nil self",
        comments: &["--"],
        blocks: &[("--[[", "]]"), ("[[", "]]")],
        ..NOTHING
    },
    Language {
        names: &["haskell", "hs", "elm", "ocaml", "ml", "purescript"],
        keywords: "and as begin case class data deriving do else end exception fun function if \
                   import in infix instance let match module mutable newtype of open qualified rec \
                   sig struct then try type val when where with",
        constants: "True False true false",
        comments: &["--"],
        blocks: &[("{-", "-}"), ("(*", "*)")],
        has_capital_types: true,
        has_lone_apostrophes: true,
        ..NOTHING
    },
    Language {
        names: &["clojure", "clj", "lisp", "scheme", "scm", "el", "racket", "rkt"],
        keywords: "begin case cond def defmacro define defn defun do fn if lambda let letrec loop \
                   ns progn quote recur require set setq unless when while",
        constants: "true false nil t",
        comments: &[";"],
        quotes: "\"",
        ..NOTHING
    },
    Language {
        names: &["html", "htm", "xml", "svg", "vue", "svelte", "xhtml", "plist"],
        shape: Shape::Markup,
        ..NOTHING
    },
    Language {
        names: &["css", "scss", "sass", "less"],
        shape: Shape::Keys,
        keywords: "important media import include mixin extend supports keyframes",
        marks: "@#.$-",
        blocks: &[("/*", "*/")],
        ..NOTHING
    },
    Language { names: &["diff", "patch"], shape: Shape::Change, ..NOTHING },
    Language {
        names: &["proto", "protobuf", "graphql", "gql", "thrift", "solidity", "sol"],
        keywords: "contract enum event extend fragment function import input interface mapping \
                   message modifier mutation oneof option optional package public query repeated \
                   required returns rpc scalar schema service struct subscription syntax type \
                   union view",
        types: "address bool bytes double fixed32 float int32 int64 string uint uint32 uint64 \
                uint256 Boolean Float ID Int String",
        comments: &["//", "#"],
        ..LIKE_C
    },
];
