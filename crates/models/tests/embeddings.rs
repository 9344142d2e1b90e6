//! Sentences to vectors: the encoder against an independent implementation in float64.

mod common;

use serde_json::json;
use tilewright_models::minilm::MiniLm;
use tilewright_run::Pool;
use tilewright_run::testing::clang_or_skip;

use common::{SENTENCES, encoded, reference, tokens};

/// Largest distance between the directions of two vectors of one sentence.
const COSINE: f64 = 1e-6;
/// Largest difference of an element, as a part of the vector's largest.
const ELEMENT: f64 = 1e-5;

#[test]
fn twenty_sentences_agree_with_the_independent_implementation() {
    if clang_or_skip().is_none() {
        return;
    }
    let Some(theirs) = reference(&json!({ "sentences": SENTENCES })) else { return };
    let model = MiniLm::open(&theirs.folder).unwrap();
    let lengths = tokens(&model, &SENTENCES);
    let pool = Pool::new(2).unwrap();
    let encoder = encoded(model, &pool, &SENTENCES);
    let ours = encoder.embeddings().unwrap();
    let (mut worst_cosine, mut worst_element) = (0.0f64, 0.0f64);
    for (n, (ours, theirs)) in ours.iter().zip(&theirs.embeddings).enumerate() {
        let ours: Vec<f64> = ours.iter().map(|&x| f64::from(x)).collect();
        let (cosine, element) = (cosine_distance(&ours, theirs), distance(&ours, theirs));
        println!("{cosine:9.2e} {element:9.2e} {:3} tokens  {}", lengths[n].len(), SENTENCES[n]);
        assert!(cosine < COSINE && element < ELEMENT, "{}: {cosine:e}, {element:e}", SENTENCES[n]);
        worst_cosine = worst_cosine.max(cosine);
        worst_element = worst_element.max(element);
    }
    println!("at most: cosine distance {worst_cosine:.2e}, elements {worst_element:.2e} of the largest");
    let alone = encoded(encoder.into_model(), &pool, &SENTENCES[..1]);
    let bound = common::chain(&alone, alone.program().kernels.len()).largest_bound();
    println!("the derived bound of `{}`, all kernels in a chain: {bound:.2e} (see bounds.rs)", SENTENCES[0]);
}

#[test]
fn padding_changes_no_vector() {
    let Some(model) = common::model() else { return };
    let pool = Pool::new(2).unwrap();
    let few = [SENTENCES[18], SENTENCES[1], SENTENCES[0]];
    let encoder = encoded(model, &pool, &few);
    let together = encoder.embeddings().unwrap();
    let mut model = encoder.into_model();
    for (sentence, padded) in few.iter().zip(&together) {
        let alone = encoded(model, &pool, &[sentence]);
        let vector = &alone.embeddings().unwrap()[0];
        let [alone_f64, padded] =
            [vector, padded].map(|v| v.iter().map(|&x| f64::from(x)).collect::<Vec<_>>());
        let (cosine, element) = (cosine_distance(&alone_f64, &padded), distance(&alone_f64, &padded));
        println!("{cosine:9.2e} {element:9.2e}  {sentence}");
        assert!(cosine < COSINE && element < ELEMENT, "{sentence}: {cosine:e}, {element:e}");
        model = alone.into_model();
    }
}

#[test]
fn an_encoder_runs_again_with_other_and_fewer_sentences() {
    let Some(model) = common::model() else { return };
    let pool = Pool::new(2).unwrap();
    let [first, second] = [tokens(&model, &SENTENCES[1..3]), tokens(&model, &SENTENCES[3..4])];
    let mut encoder = encoded(model, &pool, &SENTENCES[1..4]);
    let all = encoder.embeddings().unwrap();
    encoder.run(&pool, &second).unwrap();
    let third = encoder.embeddings().unwrap();
    assert_eq!(third[0], all[2], "a row does not depend on its place");
    assert!(third[1..].iter().flatten().all(|&x| x == 0.0), "no sentence, no vector");
    encoder.run(&pool, &first).unwrap();
    assert_eq!(encoder.embeddings().unwrap()[..2], all[..2]);
    let too_long = [vec![101; 64]];
    assert_eq!(encoder.run(&pool, &too_long).unwrap_err().code, "models/tokens");
    assert_eq!(encoder.run(&pool, &[[101, 30522]]).unwrap_err().code, "models/tokens");
    encoder.run(&pool, &first).unwrap();
    assert_eq!(encoder.embeddings().unwrap()[..2], all[..2], "a refused run leaves the encoder whole");
}

#[test]
fn tokens_are_those_of_the_reference_tokeniser() {
    let long_word = "x".repeat(101);
    let at_limit = "ab".repeat(50);
    let long_text = "word ".repeat(400);
    let texts = [
        "",
        " ",
        "\t\n\r\u{a0}\u{3000}",
        "ÀÉÎÕÜ àéîõü ñ ç ß ø ł đ İı",
        "e\u{301} combined, o\u{308}\u{304}",
        "日本語 中文abc한국어",
        "\u{20000}\u{2f800}\u{3400}\u{f900}",
        "a\0b\u{fffd}c\u{200b}d\u{ad}e\u{7f}f\u{e000}g",
        "x\u{2028}y\u{2029}z\u{85}w",
        "don't-stop_now$5^2`~|<>=+",
        "「quote」—dash…‘’“”¿¡§¶•",
        "[CLS] a [MASK] b [SEP][PAD] [mask] [unused5] [UNK]",
        "ＡＢＣ ﬁﬂ ½ ² Ⅷ №",
        "ǅ ϓ Σς ΑΣ ẞ K Å",
        "हिन्दी ไทย עִבְרִית العَرَبِيَّة",
        "🙂👩‍👩‍👧 ♥️ 1️⃣",
        "##ing # # ##",
        "3.14159e-10 1,000,000 v1.2.3",
        &long_word,
        &at_limit,
        &long_text,
    ];
    let Some(theirs) = reference(&json!({ "texts": texts })) else { return };
    let model = MiniLm::open(&theirs.folder).unwrap();
    for ((text, ours), theirs) in texts.iter().zip(tokens(&model, &texts)).zip(&theirs.tokens) {
        assert_eq!(ours, *theirs, "{text:?}");
    }
    let Some(theirs) = reference(&json!({ "texts": SENTENCES })) else { return };
    assert_eq!(tokens(&model, &SENTENCES), theirs.tokens);
}

#[test]
fn each_character_is_treated_as_by_the_reference_tokeniser() {
    // Within a word each: whether it is dropped, parts it, stands alone, loses an accent, changes case.
    let all: Vec<char> = (0..0x3_2000).filter_map(char::from_u32).collect();
    let texts = all.chunks(32).map(|some| some.iter().map(|c| format!("a{c}b ")).collect::<String>());
    let texts: Vec<String> = texts.collect();
    let Some(theirs) = reference(&json!({ "texts": texts })) else { return };
    let model = MiniLm::open(&theirs.folder).unwrap();
    let ours = texts.iter().map(|text| model.tokenizer.encode(text, model.shape.longest));
    for ((text, ours), theirs) in texts.iter().zip(ours).zip(&theirs.tokens) {
        assert_eq!(ours, *theirs, "{text:?}");
    }
}

/// One less the cosine of the angle between two vectors. Half the squared distance of the unit vectors: the difference of
/// 1 and a cosine would drown in rounding.
fn cosine_distance(x: &[f64], y: &[f64]) -> f64 {
    let norm = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
    let (nx, ny) = (norm(x), norm(y));
    x.iter().zip(y).map(|(x, y)| (x / nx - y / ny).powi(2)).sum::<f64>() / 2.0
}

/// The largest difference of elements as a part of the largest element of `y`.
fn distance(x: &[f64], y: &[f64]) -> f64 {
    let largest = y.iter().fold(0.0f64, |m, y| m.max(y.abs()));
    x.iter().zip(y).fold(0.0f64, |m, (x, y)| m.max((x - y).abs())) / largest
}
