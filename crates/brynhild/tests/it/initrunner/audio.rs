//! The tool type `audio`.

use serde_json::{Value, json};

use super::Server;
use super::builtin::{failure, output, role, with_tools};

const PLAYER: &str = "/youtubei/v1/player?key=k-1";

#[test]
fn captions_of_a_video_are_returned() {
    let server = Server::start(|seen| {
        let track = |language: &str, kind: &str| {
            let url = format!("https://www.youtube.com/api/timedtext?lang={language}{kind}");
            json!({"baseUrl": url, "languageCode": language, "kind": kind})
        };
        let body = match seen.line.split(' ').nth(1).unwrap() {
            "/watch?v=abcdefghij_" | "/watch?v=silent-vide" => {
                String::from("{\"INNERTUBE_API_KEY\":\"k-1\"}")
            }
            PLAYER if seen.body().contains("silent") => String::from("{}"),
            PLAYER => {
                let tracks = [track("en", "asr"), track("en", ""), track("de", "asr")];
                let list = json!({"captionTracks": tracks});
                json!({"captions": {"playerCaptionsTracklistRenderer": list}}).to_string()
            }
            "/api/timedtext?lang=en" => String::from(
                "<transcript><text start=\"0\" dur=\"1.5\">It&amp;#39;s</text><text \
                 start=\"12.34\">me &amp;amp;\nyou</text></transcript>",
            ),
            "/api/timedtext?lang=deasr" => String::from("<text start=\"1\">Ja</text>"),
            _ => return (404, Vec::new(), String::new()),
        };
        (200, Vec::new(), body)
    });
    let tool = |more: Value| {
        let mut entry = json!({"type": "audio"});
        entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let project = with_tools(&json!([entry])).env("INITRUNNER_YOUTUBE_URL", server.url());
        project.config("api: {allow_private: [127.0.0.1]}\n");
        project
    };
    let project = tool(json!({}));
    let run = project.brynhild(&["validate", "role.yaml"]);
    assert!(!run.success().stderr.contains("audio"), "{run}");
    let name = "get_youtube_transcript";
    let url = "https://www.youtube.com/watch?v=abcdefghij_&t=3";
    assert_eq!(output(&project, name, &json!({"url": url})), "It's me & you");
    let input = json!({"url": "https://youtu.be/abcdefghij_", "language": "de"});
    assert_eq!(output(&project, name, &input), "Ja");
    for (input, wanted) in [
        (
            json!({"url": "https://example.com/"}),
            "Error: could not extract a YouTube video ID from URL: 'https://example.com/'",
        ),
        (
            json!({"url": url, "language": "fr"}),
            "Error: no transcript found for video 'abcdefghij_' in languages ['fr'].",
        ),
        (json!({"url": "silent-vide"}), "Error: transcripts are disabled for this video."),
        (json!({"url": "other-video"}), "Error fetching transcript: HTTP 404"),
    ] {
        assert_eq!(failure(&project, name, &input), wanted);
    }
    let project = tool(json!({"include_timestamps": true, "max_transcript_chars": 20}));
    let said = output(&project, name, &json!({"url": url}));
    assert_eq!(said, "[0.0s] It's [12.3s] \n[truncated]");
}

#[test]
fn recordings_are_checked_before_they_are_sent() {
    let project = with_tools(&json!([{"type": "audio", "max_audio_mb": 1}]));
    project.file("a.mp3", "x").file("a.txt", "x").file("long.wav", vec![0_u8; 3 << 20]);
    for (path, wanted) in [
        ("none.mp3", "Error: file not found: 'none.mp3'"),
        (".", "Error: path is not a file: '.'"),
        (
            "a.txt",
            "Error: unsupported format '.txt'. Supported: .mp3, .mp4, .m4a, .wav, .ogg, .webm, \
             .mpeg, .flac",
        ),
        ("long.wav", "Error: file is 3 MB, exceeds 1 MB limit. Split it into shorter files."),
        ("a.mp3", "Error: transcription failed: OPENAI_API_KEY is not set"),
    ] {
        let said = failure(&project, "transcribe_audio", &json!({"file_path": path}));
        assert_eq!(said, wanted);
    }
}

#[test]
fn model_of_the_role_transcribes_a_recording() {
    let server = Server::start(|_| {
        let message = json!({"role": "assistant", "content": "Good morning."});
        (200, Vec::new(), json!({"choices": [{"message": message}]}).to_string())
    });
    let tools = json!([{"type": "audio", "max_transcript_chars": 4}]);
    let model = json!({
        "provider": "openai", "name": "hears", "base_url": server.url(), "api_key_env": "HEAR_KEY",
    });
    let project = with_tools(&tools).env("HEAR_KEY", "s3cret");
    project.file("role.yaml", format!("{}model: {model}\n", role(&tools))).file("a.wav", "RIFF");
    project.config_more("api: {allow_private: [127.0.0.1]}\n");
    let said = output(&project, "transcribe_audio", &json!({"file_path": "a.wav"}));
    assert_eq!(said, "Good\n[truncated]");
    let seen = &server.seen()[0];
    assert_eq!(seen.line, "POST /chat/completions");
    assert_eq!(seen.header("authorization"), Some("Bearer s3cret"));
    let body: Value = serde_json::from_str(seen.body()).unwrap();
    assert_eq!(body["model"], "hears");
    let sent = &body["messages"][0]["content"][1]["input_audio"];
    assert_eq!(*sent, json!({"data": "UklGRg==", "format": "wav"}));
}
